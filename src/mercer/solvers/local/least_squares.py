"""Locally weighted least squares: at each x, β minimizes Σₙ w(x, xₙ) (tₙ − βᵀφₓ(xₙ))².

φₓ(z) is a `Basis`: monomials of z − x, or given features of z. No ridge: where the weighted design
is singular the answer is the one of least norm. For monomials the constant is not counted, so that
with one example in reach the fit is its value, not something nearer zero, and slopes are measured
in units of the local spread, so that the units of the data do not matter.

The normal equations of all queries come from sums over tiles of weights. They square the condition
number: a query where that could cost more than a few digits is solved again from its weighted
design, by singular values.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

import numpy as np

from mercer._config import check_memory, get_config
from mercer._lazy import record
from mercer._machine.threads import single_threaded_blas
from mercer._tiles import cut
from mercer.gram import constant_diagonal
from mercer.solvers.local.means import closest, concentration_of, gather, squared, unit_weights
from mercer.solvers.local.polynomial import LESS, Basis
from mercer.solvers.local.weights import Weights
from mercer.tuning import SMALL_BLOCK_ROWS

#: Eigenvalues of the normal matrix, relative to the largest: below the first (about 50 units of
#: float64 rounding) they are zero, above SURE the normal equations keep half of all digits, and
#: between the two the query is solved by singular values.
NULL_EIGENVALUE, SURE = 1e-14, 1e-7
#: A standard deviation of the weighted rows (divided by h) below this counts as zero: then nearly
#: all weight lies on one point. Its square is still far above the smallest number of float64.
TINY: Final = 1e-100


@record
class Fits:
    """For each query the fit, the coefficients β (query × coefficient × output), the local
    variance of the residuals, the variance of the fit per unit of noise, and which had no data."""

    value: np.ndarray
    coefficients: np.ndarray
    variance: np.ndarray | None
    leverage: np.ndarray | None
    far: np.ndarray


def local_fits(
    weights: Weights,
    targets: np.ndarray,
    basis: Basis,
    sample_weight: np.ndarray | None = None,
    *,
    spread: bool = False,
) -> Fits:
    """Weighted least squares at every query; with `spread`, what confidence bands need.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.solvers.local.polynomial import Polynomial
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> W = Weights(Gaussian().formula(), np.array([[3.0]]), X)
    >>> fit = local_fits(W, 5.0 + 2.0 * X, Polynomial(X, 1))
    >>> fit.value.round(9), fit.coefficients[0, 1].round(9)
    (array([[11.]]), array([2.]))
    """
    n, block = weights.shape[0], _affordable(basis, targets.shape[1])
    if n > block:
        parts = [np.arange(part.start, part.stop) for part in cut(0, n, block)]
        fits = [
            local_fits(weights.at(rows), targets, basis.at(rows), sample_weight, spread=spread)
            for rows in parts
        ]
        return Fits(*(_joined([getattr(f, field.name) for f in fits]) for field in fields(Fits)))
    v = unit_weights(sample_weight, len(targets))
    # Centered where there is a constant to take it up, so that variances do not cancel.
    shift = v @ targets / v.sum() if basis.has_constant else np.zeros(targets.shape[1])
    problem = WeightedLeastSquares(basis, targets - shift, v, squares=spread)
    sums, far = gather(weights, problem.sums, problem.own_terms(weights))
    with single_threaded_blas():  # a small matrix per query, on which threads only wait
        beta, variance = problem.solve(sums, weights)
        leverage = problem.leverage(weights, sums) if spread else None
    value = basis.value(beta)
    alone = np.flatnonzero(far)
    if len(alone):
        value[alone] = (targets - shift)[closest(weights, alone, v)]
        beta[alone] = 0.0
        if basis.has_constant:
            beta[alone, 0] = value[alone]
        if variance is not None and leverage is not None:
            variance[alone], leverage[alone] = 0.0, 1.0
    if basis.has_constant:
        beta[:, 0] += shift
    return Fits(value + shift, beta, variance, leverage, far)


def _affordable(basis: Basis, outputs: int) -> int:
    """How many queries at once a quarter of the memory limit allows."""
    each = 8 * (2 * basis.moments + 6 * basis.size**2 + 3 * outputs * basis.size)
    check_memory(1, basis.size, each, LESS, "local coefficients")
    return max(1, int(0.25 * get_config().memory_bytes / each))


def _joined(parts: list[Any]) -> Any:
    return None if parts[0] is None else np.concatenate(parts)


class WeightedLeastSquares:
    """A basis, targets t and sample weights v: sums over tiles in, coefficients out."""

    def __init__(
        self, basis: Basis, t: np.ndarray, v: np.ndarray, *, squares: bool = False
    ) -> None:
        self.basis, self.t, self.v = basis, t, v
        # Sums of w t²: with them the residuals need no second pass.
        self.squares, self.outputs = squares, t.shape[1]
        self.width: Any = basis.moments + self.outputs * basis.size

    def sums(self, weights: Weights) -> np.ndarray:
        return self.basis.sums(weights, self.t, self.v, self.squares)

    def own_terms(self, weights: Weights) -> np.ndarray | None:
        """What a query's own example adds: it stands at z − x = 0, so only to the constant."""
        peak = constant_diagonal(weights.formula)
        if weights.own is None or not self.basis.has_constant or peak is None:
            return None
        v, t = peak * self.v[weights.own], self.t[weights.own]
        terms = np.zeros((len(v), self.width + self.squares * self.outputs))
        terms[:, 0] = v
        terms[:, self.basis.moments : self.width : self.basis.size] = v[:, None] * t
        terms[:, self.width :] = v[:, None] * t**2 if self.squares else 0.0
        return terms

    def normal(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The matrix Σ w φφᵀ and the right side Σ w φ t of every query, per unit of weight."""
        scale = np.where(sums[:, 0] > 0, sums[:, 0], 1.0)[:, None, None]
        right = sums[:, self.basis.moments : self.width]
        right = right.reshape(len(sums), self.outputs, self.basis.size).transpose(0, 2, 1)
        return self.basis.matrix(sums) / scale, right / scale

    def inverse(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pseudo-inverse of each matrix, and which of them are in doubt."""
        if not self.basis.has_constant:
            return _pseudo_inverse(matrix, np.ones(matrix.shape[:2]))
        # The constant is projected out first: then least norm speaks of slopes only.
        mean = matrix[:, 0, 1:]
        inner = matrix[:, 1:, 1:] - mean[:, :, None] * mean[:, None, :]
        scale = np.sqrt(np.einsum("ijj->ij", matrix)[:, 1:])
        small, doubt = _pseudo_inverse(inner, np.where(scale > TINY, scale, 1.0))
        result = np.empty_like(matrix)
        slope = np.einsum("ijk,ik->ij", small, mean)
        result[:, 1:, 1:] = small
        result[:, 0, 1:] = result[:, 1:, 0] = -slope
        result[:, 0, 0] = 1.0 + np.einsum("ij,ij->i", slope, mean)
        return result, doubt

    def leverage(self, weights: Weights, sums: np.ndarray) -> np.ndarray:
        """aᵀ S⁻¹ (Σ w² φφᵀ) S⁻¹ a: the variance of the fit at x for noise of variance 1."""
        design = WeightedLeastSquares(self.basis, np.zeros((len(self.t), 0)), self.v**2)
        inner, _ = design.normal(gather(squared(weights), design.sums)[0])
        row = self.basis.value(self.inverse(self.normal(sums)[0])[0])
        # Both are per unit of their own weight: Σw² / (Σw)² puts them together.
        ratio = concentration_of(weights, self.v)
        return np.maximum(ratio * np.einsum("ij,ijk,ik->i", row, inner, row), 0.0)

    def solve(self, sums: np.ndarray, weights: Weights) -> tuple[np.ndarray, np.ndarray | None]:
        """β for every query, and the local variance Σ w (t − βᵀφ)² / Σ w."""
        matrix, right = self.normal(sums)
        inverse, doubt = self.inverse(matrix)
        beta = inverse @ right
        variance = None
        if self.squares:
            total = sums[:, self.width :] / np.where(sums[:, :1] > 0, sums[:, :1], 1.0)
            variance = np.maximum(total - np.einsum("iko,iko->io", beta, right), 0.0)
        rows = np.flatnonzero(doubt & (sums[:, 0] > 0))
        if len(rows):
            self._by_singular_values(weights, rows, beta, variance)
        return beta, variance

    def _by_singular_values(
        self, weights: Weights, rows: np.ndarray, beta: np.ndarray, variance: np.ndarray | None
    ) -> None:
        """Least squares from the weighted design itself, query by query."""
        part, basis = weights.careful(rows) or weights.at(rows), self.basis.at(rows)
        for some in cut(0, len(rows), SMALL_BLOCK_ROWS):
            block = part.at(np.arange(some.start, some.stop))
            w = np.zeros(block.shape)  # tiles out of reach are not visited

            def body(r: slice, c: slice, tile: np.ndarray, w: np.ndarray = w) -> None:
                w[r, c] = tile

            block.sweep(body)
            w = block.in_order(w)
            if block.near is not None:
                w[:, block.near.columns] = w.copy()
            queries = basis.at(np.arange(some.start, some.stop)).queries(block.X)
            for weight, query, row in zip(w, queries, rows[some], strict=True):
                beta[row], rest = self._one(weight * self.v, query)
                if variance is not None:
                    variance[row] = rest

    def _one(self, w: np.ndarray, query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """β and the local variance of one query, from weights w."""
        seen = np.flatnonzero(w > 0)
        w, t, phi = w[seen] / w[seen].sum(), self.t[seen], self.basis.design(query, seen)
        root = np.sqrt(w)[:, None]
        if not self.basis.has_constant:
            beta = np.linalg.lstsq(root * phi, root * t, rcond=1e-13)[0]
        else:
            mean, center = w @ phi[:, 1:], w @ t
            scale = np.sqrt(w @ phi[:, 1:] ** 2)
            scale = np.where(scale > TINY, scale, 1.0)
            design = root * (phi[:, 1:] - mean) / scale
            slopes = np.linalg.lstsq(design, root * (t - center), rcond=np.sqrt(NULL_EIGENVALUE))[0]
            slopes /= scale[:, None]
            beta = np.vstack([center - mean @ slopes, slopes])
        with np.errstate(over="ignore"):  # a variance beyond all numbers is infinite
            return beta, w @ (t - phi @ beta) ** 2


def _pseudo_inverse(matrix: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each symmetric matrix, rows and columns divided by `scale` first; which are in doubt."""
    values, vectors = np.linalg.eigh(matrix / (scale[:, :, None] * scale[:, None, :]))
    share = values / np.maximum(1.0, values[:, -1:])
    kept = share > NULL_EIGENVALUE
    root = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)[:, None, :]
    half = vectors * root / scale[:, :, None]
    return half @ half.transpose(0, 2, 1), (kept & (share < SURE)).any(axis=1)
