"""f(x) = Σᵢ αᵢ q(xᵢ·x) = Σₘ wₘ x^m for a polynomial q: one number per monomial, not per point.

(x·z)ⁿ is a sum over the monomials x^m of degree n (`mercer.formula.monomials`), so

    wₘ = aₙ n!/(m₁! m₂! …) Σᵢ αᵢ xᵢ^m,

and after one pass over the points a row takes as many multiplications as there are monomials: 10
for a cubic in two columns, 165 in eight, however many points there are. All aₙ are at least 0, so
Σₘ |wₘ x^m| is at most Σᵢ |αᵢ| √(k(xᵢ, xᵢ) k(x, x)): the sum is rounded as that over the points is.

Most monomials are of the highest degree. Where all of them do not stay in the cache, those are not
made: with p the monomials of lower degrees and x₀ = 1, f(x) = Σⱼ xⱼ (p·wⱼ), and all p·wⱼ are one
product of matrices. wⱼ holds the weights of what p becomes when it is multiplied by xⱼ.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from math import comb
from typing import Any, Final

import numpy as np

import mercer.tuning as tuning
from mercer._arrays import are_float_rows, is_sparse
from mercer._config import get_config
from mercer._machine.threads import single_threaded_blas, threads_for
from mercer._tiles import Scratch, Tiling, cut, sweep
from mercer.formula.monomials import Monomials, powers_of_dot
from mercer.formula.nodes import ROOT
from mercer.gram.base import simplified
from mercer.gram.dispatch import HOST, engine_for
from mercer.kernels.core import Kernel

#: Points between these are far from the ends of the range, and so are the powers of their numbers.
RANGE: Final = (1e-8, 1e8)

#: Per degree, two slices for each column: see `_levels`.
Levels = tuple[tuple[slice, ...], ...]


class MonomialSums:
    """The weights w of an expansion whose kernel is a polynomial in x·z.

    `coef` has a row per point; those of one run of points between `ends` are added up, and
    `joined` makes one column of weights per output of the sums, which have the shape (runs,
    monomials, columns of coef).
    """

    def __init__(
        self,
        coefficients: tuple[float, ...],
        points: np.ndarray,
        coef: np.ndarray,
        ends: np.ndarray,
        joined: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self._levels = _levels(points.shape[1], len(coefficients) - 1)
        factors = [a * _multinomials(points.shape[1], n) for n, a in enumerate(coefficients)]
        sums = self._collected(points, coef, ends)
        self.weights: np.ndarray = joined(sums * np.concatenate(factors)[:, None])
        self._by_column: np.ndarray | None = None
        if leaves_out(self._count, len(coefficients) - 1, self.weights.shape[1]):
            self._by_column = self._spread(self.weights)

    def __call__(self, X: Any, then: Callable[[np.ndarray], np.ndarray]) -> np.ndarray | None:
        """Apply `then` to Σ wₘ x^m, a few rows at a time; None where that overflows."""
        X = X.toarray() if is_sparse(X) else X
        monomials, outputs = self.weights.shape
        threads = threads_for(float(len(X)) * monomials * (tuning.MONOMIAL_COST + 2 * outputs))
        levels = self._levels if self._by_column is None else self._levels[:-1]
        height = min(_height(levels), -(-len(X) // threads))
        parts: dict[int, np.ndarray] = {}

        def body(rows: slice, columns: slice, scratch: Scratch) -> None:
            scores = self._scores(X[rows], scratch)
            finite = np.isfinite(scores).all()
            parts[rows.start] = then(scores) if finite else np.empty(0)

        with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
            sweep(Tiling((len(X), 1), (height, 1), threads), body, "monomials")
        whole = all(map(len, parts.values()))
        return np.concatenate([parts[start] for start in sorted(parts)]) if whole else None

    def _scores(self, rows: np.ndarray, scratch: Scratch) -> np.ndarray:
        if self._by_column is None:
            return self._of(rows, scratch, self._levels).T @ self.weights  # type: ignore[no-any-return]
        each = self._of(rows, scratch, self._levels[:-1]).T @ self._by_column
        each = each.reshape(len(rows), 1 + rows.shape[1], -1)
        return each[:, 0] + np.einsum("ij,ijk->ik", rows, each[:, 1:])  # type: ignore[no-any-return]

    def _spread(self, weights: np.ndarray) -> np.ndarray:
        """The weights of monomials of lower degrees, and those of their products with columns."""
        low, top = self._levels[-2][-1].stop, self._levels[-1]
        spread = np.zeros((low, 1 + len(top) // 2, weights.shape[1]))
        spread[:, 0] = weights[:low]
        for v, (below, here) in enumerate(zip(top[0::2], top[1::2], strict=True), start=1):
            spread[below, v] = weights[here]
        return spread.reshape(low, -1)

    def _gathered(self, spread: np.ndarray) -> np.ndarray:
        """The inverse of `_spread`."""
        low, top = self._levels[-2][-1].stop, self._levels[-1]
        spread = spread.reshape(low, 1 + len(top) // 2, -1)
        parts = [spread[below, v] for v, below in enumerate(top[0::2], start=1)]
        return np.concatenate([spread[:, 0], *parts])

    @property
    def _count(self) -> int:
        return self._levels[-1][-1].stop

    def _of(self, rows: np.ndarray, scratch: Scratch, levels: Levels) -> np.ndarray:
        """x^m of some rows, one column per row, for the degrees of these levels."""
        n, count = len(rows), levels[-1][-1].stop
        out = scratch.get("monomials", (count, n), np.dtype(np.float64))
        out[0] = 1.0
        variables = out[1 : 1 + rows.shape[1]]
        variables[...] = rows.T
        for level in levels[1:]:
            for variable, below, here in zip(variables, level[0::2], level[1::2], strict=True):
                np.multiply(out[below], variable, out=out[here])
        return out

    def _collected(self, points: np.ndarray, coef: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Σᵢ xᵢ^m αᵢ over each run of points."""
        each = coef.shape[1]
        short = leaves_out(self._count, len(self._levels), len(ends) * each)
        levels = self._levels[:-1] if short else self._levels
        blocks = [
            (stretch, rows)
            for stretch, (start, stop) in enumerate(zip([0, *ends[:-1]], ends, strict=True))
            for rows in cut(int(start), int(stop), _height(levels))
        ]
        threads = threads_for(float(len(points)) * self._count * (tuning.MONOMIAL_COST + 2 * each))
        each *= 1 + points.shape[1] if short else 1
        sums = np.zeros((threads, len(ends), levels[-1][-1].stop, each))

        def body(numbers: slice, columns: slice, scratch: Scratch) -> None:
            stretch, rows = blocks[numbers.start]
            right = coef[rows]
            if short:
                products = points[rows, :, None] * right[:, None, :]
                right = np.concatenate([right[:, None, :], products], axis=1)
            monomials = self._of(points[rows], scratch, levels)
            sums[scratch.thread, stretch] += monomials @ right.reshape(len(right), -1)

        tiling = Tiling((len(blocks), 1), (1, 1), threads, fixed=True)
        with single_threaded_blas():
            sweep(tiling, body, "monomials")
        total = sums.sum(axis=0) if threads > 1 else sums[0]
        return np.stack([self._gathered(part) for part in total]) if short else total


def _height(levels: Levels) -> int:
    """Rows whose monomials of these degrees are made at a time."""
    return max(tuning.MONOMIAL_ROWS, tuning.CACHE_ELEMENTS // levels[-1][-1].stop)


def leaves_out(count: int, degree: int, outputs: int) -> bool:
    """Whether monomials of the highest degree are not made, of `count` monomials in all."""
    return (
        degree > 1
        and count * tuning.MONOMIAL_ROWS > tuning.CACHE_ELEMENTS
        and outputs <= tuning.FEW_OUTPUTS
    )


def monomials_pay(kernel: Kernel, X: Any, points: Any, coef: np.ndarray, outputs: int) -> bool:
    """Whether f of these rows takes longer by k with all points, which decides by sizes alone."""
    if not (are_float_rows(X) and are_float_rows(points)):
        return False
    coefficients = coefficients_of(kernel)
    if coefficients is None or X.shape[1] != points.shape[1]:
        return False
    (n, columns), m, each = X.shape, points.shape[0], coef.shape[1]
    count = comb(columns + len(coefficients) - 1, columns)
    by_pairs = n * m * (columns + tuning.PAIR_COST + each)
    by_monomials = count * (
        n * (tuning.MONOMIAL_COST + outputs) + m * (tuning.MONOMIAL_COST + each)
    )
    settings = get_config()
    unlimited = settings.memory is None and settings.device == HOST.name
    return by_monomials < by_pairs and unlimited and engine_for(kernel, X, points) is HOST


def coefficients_of(kernel: Kernel) -> tuple[float, ...] | None:
    """a₀, a₁, … where k = Σ aₙ (x·z)ⁿ over the rows as they are, and no aₙ is below 0."""
    powers = None if kernel.is_opaque else powers_of_dot(simplified(kernel))
    if powers is None or powers[0] != ROOT or min(powers[1]) < 0:
        return None
    return powers[1]


def monomial_sums(
    kernel: Kernel,
    points: Any,
    coef: np.ndarray,
    ends: np.ndarray,
    joined: Callable[[np.ndarray], np.ndarray],
) -> MonomialSums | None:
    """The weights of all monomials; None where powers of the points could leave the range."""
    dense = points.toarray() if is_sparse(points) else points
    largest = float(np.abs(dense).max(initial=0.0))
    coefficients = coefficients_of(kernel)
    if coefficients is None or not RANGE[0] <= largest <= RANGE[1]:
        return None
    return MonomialSums(coefficients, dense, coef, ends, joined)


@lru_cache(maxsize=64)
def _levels(columns: int, degree: int) -> Levels:
    """Two slices per column from degree 1 on: monomials of the degree below, and their products.

    The last slice of all ends at the number of monomials.
    """
    starts = [Monomials(columns, [0.0]).starts(n) for n in range(degree + 1)]
    begin, levels = 0, []
    for below, here in pairwise(starts):
        after = begin + below[-1]
        level: list[slice] = []
        for v in range(columns):
            level += [slice(begin + below[v], after), slice(after + here[v], after + here[v + 1])]
        levels.append(tuple(level))
        begin = after
    return tuple(levels)


@lru_cache(maxsize=64)
def _multinomials(columns: int, degree: int) -> np.ndarray:
    """n!/(m₁! m₂! …) of every monomial of this degree n.

    Whole numbers: where those of the rows are, too, a score that is 0 comes out as 0.
    """
    return np.rint(np.square(Monomials(columns, [0.0] * degree + [1.0]).weights))
