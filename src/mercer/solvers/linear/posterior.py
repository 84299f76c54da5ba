"""var f(x) = k(x,x) − k(x)ᵀ(K + λW⁻¹)⁻¹k(x): how far data with noise λ leave f(x) open.

f is a Gaussian process with covariance k; ridge regression is its mean. A free intercept has no
prior: it adds (1 − 1ᵀ(K + λW⁻¹)⁻¹k(x))² / 1ᵀ(K + λW⁻¹)⁻¹1. With a finite φ the same number is
λ φ(x)ᵀ(ΦᵀWΦ + λI)⁻¹φ(x); with centers it is the variance within their span, plus what of k(x,x)
lies outside of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from mercer._linalg import solve_lower
from mercer.solvers.linear.cg import RidgeSystem
from mercer.solvers.linear.factor import Inverse
from mercer.solvers.linear.panels import Normal
from mercer.solvers.linear.primal import factorize, lower_factor


class Posterior(ABC):
    """What is left open of f; `rows` is k(x, xᵢ), φ(x), or k(x, cⱼ) for each row x."""

    def variance(self, rows: np.ndarray, own: np.ndarray) -> np.ndarray:
        """var f(x) for every row; `own` is k(x, x)."""
        return np.maximum(self._open(rows, own, pairs=False), 0.0)

    def covariance(self, rows: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """The same for all pairs of rows; `prior` is k between them."""
        covariance = self._open(rows, prior, pairs=True)
        return np.asarray((covariance + covariance.T) / 2.0)

    @abstractmethod
    def _open(self, rows: np.ndarray, prior: np.ndarray, pairs: bool) -> np.ndarray:
        """For all pairs of rows, or for each row with itself."""


def _products(left: np.ndarray, right: np.ndarray, pairs: bool) -> np.ndarray:
    """LᵀR in double precision, or its diagonal alone."""
    if pairs:
        return np.asarray(left.T.astype(np.float64) @ right)
    return np.einsum("ij,ij->j", left, right, dtype=np.float64)


class Dual(Posterior):
    """From a factor of SKS + λI."""

    def __init__(self, factor: Inverse, scale: np.ndarray, intercept: bool) -> None:
        self.factor: Inverse = factor
        self.scale: np.ndarray = scale
        self.d: np.ndarray | None = (
            factor.solve(scale[:, None])[:, 0].astype(np.float64) if intercept else None
        )

    def _open(self, rows: np.ndarray, prior: np.ndarray, pairs: bool) -> np.ndarray:
        scaled = (self.scale * rows).T
        left = prior - _products(scaled, self.factor.solve(scaled), pairs)
        if self.d is not None:
            rest = (1.0 - self.d @ scaled)[None]
            left += _products(rest, rest, pairs) / (self.scale @ self.d)
        return left


class Iterative:
    """(SKS + λI)⁻¹ by conjugate gradients, for each block of columns anew."""

    def __init__(self, system: RidgeSystem, tol: float, max_iter: int) -> None:
        self.system: RidgeSystem = system
        self.tol: float = tol
        self.max_iter: int = max_iter
        self.alpha = system.shifts[0]

    def solve(self, B: np.ndarray) -> np.ndarray:
        self.system.shifts = np.full(B.shape[1], self.alpha)
        return self.system.solve(np.asarray(B, dtype=np.float64), self.tol, self.max_iter).X


class Primal(Posterior):
    """From ΦᵀWΦ; with `penalty` K_mm, from the centers."""

    def __init__(
        self, normal: Normal, alpha: float, intercept: bool, penalty: np.ndarray | None = None
    ) -> None:
        self.alpha = alpha
        self.mean = normal.sums / normal.weight if intercept else None
        self.weight: float = normal.weight
        H = normal.centered()[0] if intercept else normal.H
        self.factor = factorize(H, alpha, penalty, overwrite=True)
        self.L = None if penalty is None else lower_factor(penalty)

    def _open(self, rows: np.ndarray, prior: np.ndarray, pairs: bool) -> np.ndarray:
        rows = rows.astype(np.float64)
        left = np.zeros((len(rows),) * (1 + pairs))
        if self.L is not None:
            inside = solve_lower(self.L, rows.T)
            left = prior - _products(inside, inside, pairs)
            left = left if pairs else np.maximum(left, 0.0)
        if self.mean is not None:
            rows = rows - self.mean
            left = left + self.alpha / self.weight
        return left + self.alpha * _products(rows.T, self.factor.solve(rows.T), pairs)
