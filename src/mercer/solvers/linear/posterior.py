"""var f(x) = k(x,x) − k(x)ᵀ(K + λW⁻¹)⁻¹k(x): how far data with noise λ leave f(x) open.

f is a Gaussian process with covariance k; ridge regression is its mean. A free intercept has no
prior: it adds (1 − 1ᵀ(K + λW⁻¹)⁻¹k(x))² / 1ᵀ(K + λW⁻¹)⁻¹1. With a finite φ the same number is
λ φ(x)ᵀ(ΦᵀWΦ + λI)⁻¹φ(x); with centers it is the variance within their span, plus what of k(x,x)
lies outside of it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from mercer._linalg import solve_lower
from mercer.solvers.linear.cg import RidgeSystem
from mercer.solvers.linear.factor import Inverse
from mercer.solvers.linear.panels import Normal
from mercer.solvers.linear.primal import factorize, lower_factor


class Posterior(Protocol):
    """`own` is k(x, x) for each row; `rows` is k(x, xᵢ), φ(x), or k(x, cⱼ)."""

    def variance(self, rows: np.ndarray, own: np.ndarray) -> np.ndarray: ...

    def covariance(self, rows: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """The same for all pairs of rows; `prior` is k between them."""


class Dual:
    """From a factor of SKS + λI."""

    def __init__(self, factor: Inverse, scale: np.ndarray, intercept: bool) -> None:
        self.factor: Inverse = factor
        self.scale: np.ndarray = scale
        self.d: np.ndarray | None = (
            factor.solve(scale[:, None])[:, 0].astype(np.float64) if intercept else None
        )

    def variance(self, rows: np.ndarray, own: np.ndarray) -> np.ndarray:
        scaled = (self.scale * rows).T
        solved = self.factor.solve(scaled)
        variance = own - np.einsum("ij,ij->j", scaled, solved, dtype=np.float64)
        if self.d is not None:
            variance += np.square(1.0 - self.d @ scaled) / (self.scale @ self.d)
        return np.maximum(variance, 0.0)

    def covariance(self, rows: np.ndarray, prior: np.ndarray) -> np.ndarray:
        scaled = (self.scale * rows).T.astype(np.float64)
        covariance = prior - scaled.T @ self.factor.solve(scaled)
        if self.d is not None:
            left = 1.0 - self.d @ scaled
            covariance += np.outer(left, left) / (self.scale @ self.d)
        return np.asarray((covariance + covariance.T) / 2.0)


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


class Primal:
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

    def variance(self, rows: np.ndarray, own: np.ndarray) -> np.ndarray:
        rows = rows.astype(np.float64)
        variance = np.zeros(len(rows))
        if self.L is not None:
            inside = solve_lower(self.L, rows.T)
            variance = np.maximum(own - np.einsum("ij,ij->j", inside, inside), 0.0)
        if self.mean is not None:
            rows = rows - self.mean
            variance = variance + self.alpha / self.weight
        return variance + self.alpha * np.einsum("ij,ji->i", rows, self.factor.solve(rows.T))

    def covariance(self, rows: np.ndarray, prior: np.ndarray) -> np.ndarray:
        rows = rows.astype(np.float64)
        covariance = np.zeros(prior.shape)
        if self.L is not None:
            inside = solve_lower(self.L, rows.T)
            covariance = prior - inside.T @ inside
        if self.mean is not None:
            rows = rows - self.mean
            covariance = covariance + self.alpha / self.weight
        covariance = covariance + self.alpha * (rows @ self.factor.solve(rows.T))
        return np.asarray((covariance + covariance.T) / 2.0)
