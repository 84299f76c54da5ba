"""Kernels of pairs of strings: a compiled dynamic program for each pair."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from mercer._parameters import Count, Declared, NonNegative, Number, Positive, declare
from mercer._tiles import over_pairs
from mercer.kernels.catalog import kernel
from mercer.kernels.claims import Claim, Rule
from mercer.kernels.core import Examples
from mercer.kernels.opaque import OpaqueKernel
from mercer.kernels.strings.sequences import Sequences, checked_weights, read_pair


class PairKernel(OpaqueKernel):
    """k by a compiled loop over pairs; the strings as arrays are the state."""

    takes = "strings"

    def _fill(self, x: Sequences, z: Sequences, out: np.ndarray) -> None:
        raise NotImplementedError

    def _work(self, x: float, z: float) -> float:
        """Operations for a pair of strings of these lengths."""
        raise NotImplementedError

    def prepare_pair(self, X: Any, Z: Any) -> tuple[Sequences, Sequences]:
        return read_pair(X, Z)

    def prepare(self, X: Any) -> Sequences:
        return read_pair(X, None)[0]

    def block(self, state_x: Sequences, state_z: Sequences) -> np.ndarray:
        def body(rows: slice, columns: slice, out: np.ndarray) -> None:
            self._fill(state_x[rows], state_z[columns], out)

        shape = (state_x.shape[0], state_z.shape[0])
        work = self._work(float(state_x.lengths.mean()), float(state_z.lengths.mean()))
        return over_pairs(shape, body, work, state_x.same_as(state_z))

    def diag_of(self, state: Sequences) -> np.ndarray:
        def body(rows: slice, columns: slice, out: np.ndarray) -> None:
            for i in range(rows.start, rows.stop):
                one = state[i : i + 1]
                self._fill(one, one, out[i - rows.start : i - rows.start + 1])

        mean = float(state.lengths.mean())
        return over_pairs((state.shape[0], 1), body, self._work(mean, mean), False)[:, 0]


@kernel
class Subsequence(PairKernel):
    """k(x, z) = Σᵤ Σ over positions i, j with x[i] = z[j] = u of λ^(span(i) + span(j)), |u| = p.

    All common subsequences of p letters, gaps allowed, each weighted by how far it stretches in
    both strings (Lodhi et al. 2002). Exact, in time p·|x|·|z| and memory linear in the shorter
    string; pairs are shared among threads.

    Parameters
    ----------
    p : int
        Letters of the subsequences.
    decay : float, default 0.5
        Factor λ of each letter that a subsequence spans; smaller punishes gaps more.

    Examples
    --------
    >>> from mercer.kernels import Subsequence
    >>> k = Subsequence(2, decay=0.5)
    >>> k(["car"], ["cat", "cart"])
    array([[0.0625  , 0.140625]])
    >>> k.normalized()(["car"], ["cat"])  # 1 / (2 + λ²)
    array([[0.44444444]])
    """

    p: int
    decay: float = 0.5
    tex = (
        r"\sum_{u \in \Sigma^{<p>}} \sum_{x[\mathbf{i}] = z[\mathbf{j}] = u} "
        r"<decay>^{l(\mathbf{i}) + l(\mathbf{j})}"
    )
    examples: ClassVar[Examples] = ("subsequence(2)",)
    proof: ClassVar[Rule] = Rule(
        True, "inner product of features", "φᵤ(x) = Σ over occurrences of u in x of λ^span"
    )

    parameters: ClassVar[Declared] = declare(p=Count(1, floats=True), decay=Positive())

    def _fill(self, x: Sequences, z: Sequences, out: np.ndarray) -> None:
        from mercer.kernels.strings.loops import fill_subsequence

        fill_subsequence(*x.arrays, *z.arrays, self.p, self.decay, out)

    def _work(self, x: float, z: float) -> float:
        return self.p * x * z


@kernel
class LocalAlignment(PairKernel):
    """k(x, z) = (1/β) ln Σ over local alignments a of exp(β · score(a)).

    A soft maximum of the score of Smith and Waterman, which is its limit for large β. An alignment
    scores `match` or `mismatch` for each pair of letters it joins, and loses
    ``gap_open + (n − 1) · gap_extend`` for a gap of n letters. The sum itself is a kernel where
    match ≥ mismatch (Saigo et al. 2004); its logarithm, which keeps k(x, x) from dwarfing all else,
    is symmetric but not positive semi-definite in general: `mercer.repair` makes a matrix usable.

    Parameters
    ----------
    beta : float, default 1.0
        How much the best alignments outweigh others; larger is nearer to the best alone.
    gap_open : float, default 2.0
        Price of a gap's first letter.
    gap_extend : float, default 0.5
        Price of each further letter of a gap.
    match : float, default 1.0
        Score of two equal letters.
    mismatch : float, default -1.0
        Score of two different letters.

    Examples
    --------
    >>> from mercer.kernels import LocalAlignment
    >>> LocalAlignment(beta=20.0)(["ACGT"], ["ACGT", "ACGGT", "TTTT"]).round(3)
    array([[4.   , 3.   , 1.069]])
    """

    beta: float = 1.0
    gap_open: float = 2.0
    gap_extend: float = 0.5
    match: float = 1.0
    mismatch: float = -1.0
    tex = r"\tfrac{1}{<beta>} \ln \sum_{a \in \mathcal{A}(x, z)} e^{<beta> \, s(a)}"
    examples: ClassVar[Examples] = ("local_alignment(0.5)",)
    proof: ClassVar[Rule] = Rule(
        None, "logarithm of a kernel", "the logarithm may lose definiteness"
    )

    parameters: ClassVar[Declared] = declare(
        beta=Positive(),
        gap_open=NonNegative(),
        gap_extend=NonNegative(),
        match=Number(),
        mismatch=Number(),
    )

    def _check_together(self) -> None:
        if self.beta * max(self.match, self.mismatch) > 200:
            raise ValueError(
                f"LocalAlignment: beta * match = {self.beta * max(self.match, self.mismatch):g} "
                "is beyond 200, where the exponentials leave the range of numbers"
            )

    def _fill(self, x: Sequences, z: Sequences, out: np.ndarray) -> None:
        from mercer.kernels.strings.loops import fill_alignment

        scores = (self.match, self.mismatch, -self.gap_open, -self.gap_extend)
        match, mismatch, begin, extend = (math.exp(self.beta * score) for score in scores)
        fill_alignment(*x.arrays, *z.arrays, match, mismatch, begin, extend, out)
        out /= self.beta

    def _work(self, x: float, z: float) -> float:
        return 8 * x * z


@kernel
class WeightedDegree(PairKernel):
    """k(x, z) = Σ_{d≤p} β_d Σᵢ [x and z have the same d letters from position i on].

    For sequences that are aligned with each other (DNA around a site), β_d = 2(p−d+1)/(p(p+1)) or
    `weights`. Sequences of different lengths are compared over the length they share.

    Parameters
    ----------
    p : int
        Letters of the longest stretch.
    weights : tuple of float or None
        One per length; None weighs short ones more.

    Examples
    --------
    >>> from mercer.kernels import WeightedDegree
    >>> WeightedDegree(2, weights=[1, 10])(["GATTACA"], ["GATTTCA", "ATTACAG"])
    array([[46.,  1.]])
    """

    p: int
    weights: tuple[float, ...] | None = None
    tex = r"\sum_{d=1}^{<p>} \beta_d \sum_i \mathbb{1}[x_{i..i+d} = z_{i..i+d}]"
    examples: ClassVar[Examples] = (
        "weighted_degree(3)",
        "weighted_degree(2, weights=[1, 10])",
    )

    parameters: ClassVar[Declared] = declare(p=Count(1, floats=True))

    def _check_together(self) -> None:
        if self.weights is None:
            return
        self._set("weights", checked_weights(self.weights, self.p, "WeightedDegree"))

    @property
    def _beta(self) -> np.ndarray:
        if self.weights is not None:
            return np.asarray(self.weights)
        return 2.0 * np.arange(self.p, 0, -1) / (self.p * (self.p + 1))

    def _fill(self, x: Sequences, z: Sequences, out: np.ndarray) -> None:
        from mercer.kernels.strings.loops import fill_weighted_degree

        sums = np.concatenate([[0.0], np.cumsum(self._beta)])
        fill_weighted_degree(*x.arrays, *z.arrays, sums, out)

    def _work(self, x: float, z: float) -> float:
        return 3 * min(x, z)

    def claim(self, n_features: int | None = None) -> Claim:
        if self._beta.min() < 0:
            return Claim(None, "weighted degree", self, "the rule needs weights ≥ 0")
        because = "φ(x) = an indicator for each gram at each position"
        return Claim(True, "inner product of features", self, because)
