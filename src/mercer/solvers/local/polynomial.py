"""Locally weighted least squares: at each x, β minimises Σₙ w(x, xₙ) (tₙ − βᵀφₓ(xₙ))².

φₓ(z) is either all monomials of z − x up to a degree (then β₀ is the fit at x, and the next D
coefficients its gradient), or any given features φ(z) (then the fit is βᵀφ(x)). No ridge: where
the weighted design is singular the answer is the one of least norm. For monomials the constant is
not counted, so that with one example in reach the fit is its value, not something nearer zero, and
slopes are measured in units of the local spread, so that the units of the data do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer.formula.inputs import numeric
from mercer.solvers.local.least_squares import Basis, WeightedLeastSquares
from mercer.solvers.local.loops import monomials
from mercer.solvers.local.means import (
    closest,
    concentration_of,
    gather,
    squared,
    unit_weights,
)
from mercer.solvers.local.weights import Weights


@dataclass(frozen=True)
class Fits:
    """For each query the fit, the coefficients β (query × coefficient × output), the local
    variance of the residuals, the variance of the fit per unit of noise, and who had no data."""

    value: np.ndarray
    coefficients: np.ndarray
    variance: np.ndarray | None
    leverage: np.ndarray | None
    far: np.ndarray


def polynomial_basis(X: Any, degree: int) -> Basis:
    return Basis(monomials(numeric(X).shape[1], degree))


def local_fits(
    weights: Weights,
    targets: np.ndarray,
    basis: Basis,
    sample_weight: np.ndarray | None = None,
    *,
    spread: bool = False,
) -> Fits:
    """Weighted least squares at every query.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> W = Weights(Gaussian().formula(), np.array([[3.0]]), X)
    >>> fit = local_fits(W, 5.0 + 2.0 * X, polynomial_basis(X, 1))
    >>> fit.value.round(9), fit.coefficients[0, 1].round(9)
    (array([[11.]]), array([2.]))
    """
    n, block = weights.shape[0], _affordable(basis, targets.shape[1])
    if n > block:
        parts = [np.arange(start, min(start + block, n)) for start in range(0, n, block)]
        fits = [
            local_fits(weights.at(rows), targets, basis.at(rows), sample_weight, spread=spread)
            for rows in parts
        ]
        return Fits(*(_joined([getattr(f, field.name) for f in fits]) for field in fields(Fits)))
    v = unit_weights(sample_weight, len(targets))
    shift = v @ targets / v.sum() if basis.monomials is not None else np.zeros(targets.shape[1])
    problem = WeightedLeastSquares(
        basis, targets - shift, v, _coordinates(weights.Z, basis), squares=spread
    )
    sums, far = gather(weights, problem.sums, problem.own_terms(weights))
    beta, rss = problem.solve(sums, weights)
    value = problem.value(beta)
    leverage = None
    if spread:
        leverage = _leverage(problem, weights, sums)
    alone = np.flatnonzero(far)
    if len(alone):
        value[alone] = (targets - shift)[closest(weights, alone, v)]
        beta[alone] = 0.0
        if basis.monomials is not None:
            beta[alone, 0] = value[alone]
        if rss is not None and leverage is not None:
            rss[alone], leverage[alone] = 0.0, 1.0
    if basis.monomials is not None:
        beta[:, 0] += shift
    return Fits(value + shift, beta, rss, leverage, far)


def _affordable(basis: Basis, outputs: int) -> int:
    """How many queries at once a quarter of the memory limit allows."""
    moments = basis.size**2 if basis.monomials is None else basis.monomials.total
    each = 8 * (2 * moments + 6 * basis.size**2 + 3 * outputs * basis.size)
    return max(256, int(0.25 * get_config().memory_bytes / each))


def _joined(parts: list[Any]) -> Any:
    return None if parts[0] is None else np.concatenate(parts)


def _coordinates(Z: Any, basis: Basis) -> np.ndarray | None:
    if basis.monomials is None:
        return None
    rows = numeric(Z)
    if is_sparse(rows):
        raise TypeError("local polynomials need dense rows: their differences are not sparse")
    return np.ascontiguousarray(rows.T, dtype=np.float64)


def _leverage(problem: WeightedLeastSquares, weights: Weights, sums: np.ndarray) -> np.ndarray:
    """aᵀ S⁻¹ (Σ w² φφᵀ) S⁻¹ a: the variance of the fit at x for noise of variance 1."""
    nothing = np.zeros((len(problem.t), 0))
    design = WeightedLeastSquares(problem.basis, nothing, problem.v**2, problem.z)
    inverse, _ = problem.inverse(problem.normal(sums)[0])
    meat, _ = design.normal(gather(squared(weights), design.sums)[0])
    if problem.basis.monomials is not None:
        row = inverse[:, 0]
    else:
        assert problem.basis.at_x is not None
        row = np.einsum("ik,ikl->il", problem.basis.at_x, inverse)
    # Both are per unit of their own weight: Σw² / (Σw)² puts them together.
    ratio = concentration_of(weights, problem.v)
    return np.maximum(ratio * np.einsum("ij,ijk,ik->i", row, meat, row), 0.0)
