"""Kernel search: a kernel grows from building blocks, one rule at a time.

A step adds a block to the kernel, multiplies it by one, warps it, or changes a scale; blocks are
leaves over all columns or over single ones. The best candidate is kept while it lowers the
leave-one-out error of ridge regression, which costs one factorization per candidate. A candidate is
scored only if the rules prove it a kernel, and all that is tried is kept as a tree.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from mercer._examples import take
from mercer._machine.deadline import now
from mercer._machine.threads import single_threaded_blas
from mercer.engines.cluster.pool import Call, gather_until
from mercer.gram import host_gram
from mercer.kernels import Kernel, On, Precomputed
from mercer.selection.folds import draw_order
from mercer.selection.kernel_search.alignment import matrix_alignment, targets_of
from mercer.selection.kernel_search.blocks import blocks_for
from mercer.selection.kernel_search.tree import SearchNode, SearchTree
from mercer.selection.kernel_search.words import in_words, summands
from mercer.selection.racing.candidates import rounded, scaled_copies
from mercer.selection.racing.forecasts import with_workers
from mercer.selection.trainers.ridge import best_penalty

# How much of the targets a kernel explains, by the evidence of a Gaussian process with noise.
# With K = QΩQᵀ and covariance s²(K + δI), the best s² is the mean of (qᵢᵀt)²/(ωᵢ + δ), and
#
#     log p(t) − log p(t | noise alone) = −(n/2) log(s²/var · exp mean log(ωᵢ + δ)).
#
# 1 − exp(−2/n · that) is the share: 0 for what is no better than noise, 1 for what leaves nothing.
# The evidence holds back by itself where a kernel could explain everything.


#: δ that are tried, in units of the mean of k(x, x).
GRID = 10.0 ** np.arange(-6.0, 2.01, 0.25)


def explained(K: np.ndarray, T: np.ndarray) -> tuple[float, float]:
    """The share, and the standard deviation of the noise, for centered targets (n, T).

    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> share, noise = explained(x @ x.T, 2 * x)
    >>> round(share, 3), noise < 0.01
    (1.0, True)
    >>> explained(np.eye(40), x)[0] < 1e-3
    True
    """
    values, vectors = np.linalg.eigh(K)
    values = np.maximum(values, 0.0)
    unit = float(values.mean()) or 1.0
    parts = np.square(vectors.T @ T).mean(axis=1)
    variance = float(np.mean(np.square(T))) or 1.0
    shifted = values + unit * GRID[:, None]
    size = (parts / shifted).mean(axis=1)
    left = size / variance * np.exp(np.log(shifted).mean(axis=1))
    best = int(np.argmin(left))
    return 1.0 - float(left[best]), float(np.sqrt(size[best] * unit * GRID[best]))


#: Rows that the search looks at.
SEARCH_ROWS = 400
#: A step is kept if it removes at least this share of the error that is left.
STEP_WORTH = 0.03
#: A summand is left out again if that adds no more than this share to the error.
SLACK = 0.01
#: An error this small is as good as none.
NO_ERROR = 1e-4
#: Functions that a kernel is warped by where their domain allows.
WARPS = ("square", "tanh", "log1p", "sqrt")


@dataclass(frozen=True)
class SearchResult:
    """`kernel` is the best that was found, `score` its leave-one-out score (or the evidence's).

    `noise` is the standard deviation of what the kernel leaves, where the evidence has judged it.

    Parameters
    ----------
    kernel : Kernel
        The best that was found.
    score : float
        Its leave-one-out score, or what the evidence gives.
    tree : SearchTree
        Everything that was tried.
    noise : float or None
        Standard deviation of what the kernel leaves, where the evidence has judged it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import selection
    >>> x = np.linspace(-1, 1, 20)[:, None]
    >>> selection.search_kernel(x, 3 * x[:, 0], steps=1).score > 0.9
    True
    """

    kernel: Kernel
    score: float
    tree: SearchTree
    noise: float | None = None

    @property
    def structure(self) -> str:
        """What the kernel says about the targets, in words: trend, period, smooth parts, noise."""
        return in_words(self.kernel, self.noise)


def search_kernel(
    X: Any,
    y: Any,
    *,
    task: str = "regression",
    criterion: str = "loo",
    steps: int = 4,
    random_state: int = 0,
    seconds: float | None = None,
) -> SearchResult:
    """Greedy growth of a kernel over columns of numbers.

    Parameters
    ----------
    X : array or CSR matrix
        Columns of numbers.
    y : array of shape (n,)
        Numbers, or labels with ``task="classification"``.
    task : {"regression", "classification"}
        What y is.
    criterion : "loo", "evidence" or "alignment"
        1 − (leave-one-out squared error) / variance of ridge regression on numbers or ±1; the share
        that the evidence of a Gaussian process explains, 1 − (p(noise alone)/p(k))^(2/n), which
        holds back where a kernel could explain everything; or the centered alignment of K with the
        targets.
    steps : int
        How often the kernel may grow.
    random_state : int, default 0
        Draws the rows on which many candidates are tried.
    seconds : float or None
        When to stop growing; None lets the size of the search decide alone.

    Returns
    -------
    SearchResult
        The kernel, its score, and the tree of all candidates.

    Examples
    --------
    A trend with a period: neither block alone explains it.

    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> t = random.uniform(0, 10, 80)[:, None]
    >>> y = 0.5 * t[:, 0] + np.sin(3 * np.pi * t[:, 0]) + 0.1 * random.normal(size=80)
    >>> search_kernel(t, y).kernel
    Periodic(period=0.667) + 0.0571 * Linear()
    >>> search_kernel(t - 5, y, criterion="evidence").structure
    'a period of 0.667, a linear trend, noise of 0.093'
    """
    if criterion not in ("loo", "evidence", "alignment"):
        raise ValueError(f"criterion is 'loo', 'evidence' or 'alignment', got {criterion!r}")
    labels = task == "classification"
    y = np.asarray(y)
    rows = np.sort(draw_order(y, labels, random_state)[:SEARCH_ROWS])
    part = take(X, rows)
    part = part.toarray() if hasattr(part, "toarray") else np.asarray(part, dtype=np.float64)
    growth = _Growth(part, targets_of(y[rows] if labels else y[rows].astype(float)), criterion)
    end = math.inf if seconds is None else now() + seconds
    with single_threaded_blas(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return growth.run(steps, end)


#: A kernel, what makes its K, and how it was come by.
Candidate = tuple[Kernel, Callable[[], np.ndarray], str]


@dataclass(frozen=True)
class Judged:
    """The score of a candidate; the index of its best penalty, or the noise that is left."""

    score: float
    penalty: int | None = None
    noise: float | None = None


def judged(
    K: np.ndarray, T: np.ndarray, criterion: str, variance: float, start: int | None
) -> Judged:
    """`start`: where the descent over penalties begins."""
    if not np.isfinite(K).all():
        return Judged(-math.inf)
    if criterion == "alignment":
        return Judged(matrix_alignment(K, T))
    if criterion == "evidence":
        share, noise = explained(K, T)
        return Judged(share, noise=noise)
    found = best_penalty(host_gram(Precomputed(), K), T, _unit(K), start)
    return Judged(1.0 - found.error / variance, found.index)


def judged_anew(kernel: Kernel, X: np.ndarray, *about: Any) -> Judged:
    """As `judged`, of a kernel that a worker evaluates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return judged(host_gram(kernel, X).dense().astype(np.float64), *about)


class _Growth:
    def __init__(self, X: np.ndarray, T: np.ndarray, criterion: str) -> None:
        self.X, self.T, self.criterion = X, T, criterion
        self.variance = float(np.mean(T**2)) or 1.0
        self.nodes: list[SearchNode] = []
        self.kernels: list[Kernel] = []
        self.matrices: dict[Kernel, np.ndarray] = {}
        self.judged: dict[int, Judged] = {}  # by index of the node
        self.start: int | None = None  # where the descent over penalties begins: the parent's best

    # --- scores -----------------------------------------------------------------------------

    def matrix(self, block: Kernel) -> np.ndarray:
        """K of a block, kept: sums and products are made from these."""
        if block not in self.matrices:
            self.matrices[block] = host_gram(block, self.X).dense().astype(np.float64)
        return self.matrices[block]

    def consider(
        self, tried: Sequence[Candidate], parent: int | None, end: float = math.inf
    ) -> list[int]:
        """Score candidates that are proved to be kernels; returns their indices among the nodes.

        Those that have no score at `end` are passed over.
        """
        claims = [kernel.claim(self.X.shape[1]) for kernel, _, _ in tried]
        proved = [i for i, claim in enumerate(claims) if claim.holds is True]
        found = dict(zip(proved, self._judged([tried[i] for i in proved], end), strict=True))
        indices = []
        for i, (kernel, _, how) in enumerate(tried):
            if i in found and found[i] is None:
                continue
            if i not in found:
                found[i], how = Judged(-math.inf), f"not proved a kernel: {claims[i].rule}"
            indices.append(len(self.nodes))
            self.nodes.append(SearchNode(repr(kernel), found[i].score, parent, False, how))
            self.kernels.append(kernel)
            self.judged[indices[-1]] = found[i]
        return indices

    def _judged(self, tried: Sequence[Candidate], end: float) -> Iterator[Any]:
        """One after the other, from matrices that are kept; or by workers, a task per kernel."""
        about = (self.T, self.criterion, self.variance, self.start)
        if not with_workers():
            for _, make, _ in tried:
                yield None if now() > end else judged(make(), *about)
            return
        calls = [Call(judged_anew, (kernel, self.X, *about)) for kernel, _, _ in tried]
        for found in gather_until(calls, "kernel search", end):
            yield Judged(-math.inf) if isinstance(found, Exception) else found

    # --- growth -----------------------------------------------------------------------------

    def run(self, steps: int, end: float) -> SearchResult:
        blocks = blocks_for(self.X, self.T)
        self.blocks = [block for block, _ in blocks]
        indices = self.consider([(b, partial(self.matrix, b), how) for b, how in blocks], None)
        found = [self._grow(indices, "best single block", steps, end)]
        # A greedy search prefers a block over all columns, and so misses sums of blocks over single
        # columns: from those it begins once more.
        single = [i for i in indices if isinstance(self.kernels[i], On)]
        if single and not isinstance(self.kernels[self._root(found[0])], On):
            found.append(self._grow(single, "best block over one column", steps, end))
        best = max(found, key=lambda i: (self.nodes[i].score, -i))
        tree = SearchTree(tuple(self.nodes), best, self._name())
        score, noise = self.nodes[best].score, self.judged[best].noise
        return SearchResult(self.kernels[best], score, tree, noise)

    def _grow(self, indices: Sequence[int], why: str, steps: int, end: float) -> int:
        """Grow the best of these candidates step by step, and give the last one that was kept."""
        best = self._keep(indices, -math.inf, why)
        assert best is not None
        for _ in range(steps):
            if now() > end or 1.0 - self.nodes[best].score < NO_ERROR:
                break
            kept = self._keep(self._step(best, end), self.nodes[best].score, None)
            if kept is None:
                break
            best = kept
        return self._prune(best)

    def _root(self, index: int) -> int:
        parent = self.nodes[index].parent
        return index if parent is None else self._root(parent)

    def _name(self) -> str:
        if self.criterion == "alignment":
            return "alignment with the targets"
        if self.criterion == "evidence":
            return "share explained by the evidence"
        return "leave-one-out R² of ridge regression"

    def _step(self, best: int, end: float) -> list[int]:
        kernel = self.kernels[best]
        self.start = self.judged[best].penalty
        K = self.matrix(kernel)
        unit = _unit(K)
        tried: list[Candidate] = []
        inside = set(_parts(kernel))
        for block in self.blocks:
            if block in inside:
                continue
            B = self.matrix(block)
            for share in (1.0, 0.1):
                weight = rounded(share * unit / _unit(B))
                scaled = block if weight == 1.0 else weight * block
                tried.append((kernel + scaled, partial(_plus, K, weight, B), "plus a block"))
            tried.append((kernel * block, partial(np.multiply, K, B), "times a block"))
        for other in scaled_copies(kernel):
            tried.append((other, partial(self.fresh, other), "another scale"))
        for name in WARPS:
            if self._allowed(name):
                warped = kernel.warp(name)
                tried.append((warped, partial(self.fresh, warped), f"inputs through {name}"))
        known = set(self.kernels)
        new = {one[0]: one for one in reversed(tried) if one[0] not in known}
        return self.consider([one for one in tried if new.get(one[0]) is one], best, end)

    def _prune(self, best: int) -> int:
        """Leave out summands that the others have made superfluous."""
        while True:
            terms = summands(self.kernels[best])
            before = 1.0 - self.nodes[best].score
            shorter: list[Candidate] = []
            for i in range(len(terms) if len(terms) > 1 else 0):
                rest = reduce(operator.add, terms[:i] + terms[i + 1 :])
                shorter.append((rest, partial(self.fresh, rest), f"without {terms[i]!r}"))
            indices = self.consider(shorter, best)
            error = {i: 1.0 - self.nodes[i].score for i in indices}
            good = [i for i in indices if error[i] <= max(before * (1 + SLACK), NO_ERROR)]
            if not good:
                return best
            best = min(good, key=lambda i: (error[i], i))
            node = self.nodes[best]
            why = f"{node.why}: simpler, and as good"
            self.nodes[best] = SearchNode(node.expression, node.score, node.parent, True, why)

    def fresh(self, kernel: Kernel) -> np.ndarray:
        return host_gram(kernel, self.X).dense().astype(np.float64)

    def _allowed(self, name: str) -> bool:
        if name in ("log1p", "sqrt"):
            return bool(self.X.min() >= 0)
        return True

    def _keep(self, indices: Sequence[int], before: float, why: str | None) -> int | None:
        """Accept the best of these candidates if the error falls enough (STEP_WORTH), else none."""
        if not indices:
            return None
        best = max(indices, key=lambda i: (self.nodes[i].score, -i))
        node = self.nodes[best]
        if not math.isfinite(node.score):
            return best if why is not None else None
        error, old = 1.0 - node.score, 1.0 - before
        if why is None and not error < old * (1.0 - STEP_WORTH):
            return None
        reason = why or f"{node.why}: removes {100 * (1 - error / old):.0f} % of the error left"
        self.nodes[best] = SearchNode(node.expression, node.score, node.parent, True, reason)
        self.matrices[self.kernels[best]] = self.fresh(self.kernels[best])
        return best


def _plus(K: np.ndarray, weight: float, B: np.ndarray) -> np.ndarray:
    return K + weight * B


def _parts(kernel: Kernel) -> Iterator[Kernel]:
    """The kernel and everything it is made of."""
    yield kernel
    for _, child in kernel.children():
        yield from _parts(child)


def _unit(K: np.ndarray) -> float:
    value = float(np.mean(np.diagonal(K)))
    return value if value > 0 else 1.0
