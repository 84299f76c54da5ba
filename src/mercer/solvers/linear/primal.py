"""w = (ΦᵀWΦ + λP)⁻¹ΦᵀWt: ridge regression through an M×M matrix, and leave-one-out.

P = I for explicit features; P = K_mm for columns of K at m centres, where w are the coefficients.
With P = LLᵀ and L⁻¹ΦᵀWΦL⁻ᵀ = V diag(ω) Vᵀ the features ψ = VᵀL⁻¹φ are orthogonal under the data, so
that every λ is one division, and the weight of example i on its own prediction is
hᵢ = wᵢ (1/Σw + Σⱼ ψⱼ(xᵢ)²/(ωⱼ + λ)), the first term with a free intercept only, and ψ then centred.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import (
    LinAlgError,
    LinAlgWarning,
    cholesky,
    eigh,
    lu_factor,
    lu_solve,
    solve_triangular,
)
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer._tiles import Scratch, sweep
from mercer.solvers.linear.blas import mirror
from mercer.solvers.linear.exact import RidgePath, RidgeSolution
from mercer.solvers.linear.normal_equations import Normal, Panels, normal_equations, tiling, times

#: What is added to the diagonal, relative to its mean, where P or the whole is not definite.
JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
#: So little changes no prediction that anyone could see.
UNSEEN = 1e-10


class PrimalFactor(Protocol):
    """(ΦᵀWΦ + λP)⁻¹ as an operator."""

    def solve(self, B: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class _Definite:
    U: np.ndarray

    def solve(self, B: np.ndarray) -> np.ndarray:
        return dpotrs(self.U, np.asfortranarray(B, dtype=np.float64), lower=0)[0]


@dataclass(frozen=True)
class _Indefinite:
    lu: tuple[np.ndarray, np.ndarray]

    def solve(self, B: np.ndarray) -> np.ndarray:
        return lu_solve(self.lu, B, check_finite=False)


def ridge(
    panels: Panels,
    targets: np.ndarray,
    alphas: np.ndarray,
    weights: np.ndarray | None = None,
    intercept: bool = False,
    penalty: np.ndarray | None = None,
) -> RidgeSolution:
    """One pass over the data, then one M×M factorisation for each distinct λ."""
    normal = normal_equations(panels, targets, weights)
    H, R = normal.centred() if intercept else (normal.H, normal.R)
    coef = np.empty(R.shape)
    distinct = np.unique(alphas)
    for i, alpha in enumerate(distinct):
        mine = np.flatnonzero(alphas == alpha)
        last = i == len(distinct) - 1
        factor = factorise(H, float(alpha), penalty, overwrite=last)
        coef[:, mine] = factor.solve(R[:, mine])
    b = normal.intercept(coef) if intercept else np.zeros(len(alphas))
    return RidgeSolution(coef, b)


def factorise(
    H: np.ndarray, alpha: float, penalty: np.ndarray | None = None, overwrite: bool = False
) -> PrimalFactor:
    """Cholesky of H + λP, with as little added to the diagonal as makes it definite."""
    H = H if overwrite else H.copy()
    if penalty is None:
        H.flat[:: len(H) + 1] += alpha
    else:
        for start in range(0, len(H), 512):  # no third matrix
            H[start : start + 512] += alpha * penalty[start : start + 512]
    diagonal = H.diagonal().copy()
    scale = float(diagonal.mean())
    for jitter in JITTERS:
        H.flat[:: len(H) + 1] = diagonal + jitter * scale
        # The factor is made in one triangle; the other keeps H for another try.
        U, info = dpotrf(H.T, lower=0, overwrite_a=1, clean=0)
        if info == 0:
            if jitter > UNSEEN:
                warn_jitter(jitter * scale)
            return _Definite(U)
        mirror(H)
    H.flat[:: len(H) + 1] = diagonal
    warnings.warn(
        "the normal equations have negative eigenvalues: the kernel is not positive semi-definite "
        "on the centres. They were solved all the same, by LU.",
        UserWarning,
        stacklevel=6,
    )
    return _Indefinite(lu_factor(H, overwrite_a=True, check_finite=False))


def warn_jitter(jitter: float) -> None:
    warnings.warn(
        f"the normal equations are singular to rounding: {jitter:.2g} was added to their diagonal; "
        "raise alpha, or take fewer centres",
        LinAlgWarning,
        stacklevel=6,
    )


def lower_factor(P: np.ndarray) -> np.ndarray:
    """L with LLᵀ = P, up to a jitter where P is singular to rounding."""
    scale = float(np.mean(P.diagonal())) or 1.0
    for jitter in JITTERS[1:]:
        try:
            return cholesky(P + jitter * scale * np.eye(len(P)), lower=True, check_finite=False)
        except LinAlgError:
            continue
    raise LinAlgError(
        "the kernel matrix of the centres has negative eigenvalues: this needs a positive "
        "semi-definite kernel (mercer.prove gives a counterexample)"
    )


@dataclass(frozen=True)
class Rotation:
    """ψ = Bᵀφ with BᵀHB = diag(ω), BᵀPB = I."""

    basis: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, H: np.ndarray, penalty: np.ndarray | None) -> Rotation:
        if penalty is None:
            values, vectors = eigh(H, check_finite=False)
            return cls(vectors, np.maximum(values, 0.0))
        L = lower_factor(penalty)
        inner = solve_triangular(L, H, lower=True, check_finite=False)
        inner = solve_triangular(L, inner.T, lower=True, check_finite=False, overwrite_b=True)
        values, vectors = eigh(inner, overwrite_a=True, check_finite=False)
        basis = solve_triangular(L.T, vectors, lower=False, check_finite=False)
        return cls(basis, np.maximum(values, 0.0))


def ridge_path(
    panels: Panels,
    targets: np.ndarray,
    alphas: np.ndarray,
    weights: np.ndarray | None = None,
    intercept: bool = False,
    penalty: np.ndarray | None = None,
) -> tuple[RidgePath, np.ndarray]:
    """All λ from one M×M eigendecomposition; leave-one-out in a second pass over the data.

    The second result is tᵢ − f(xᵢ) for every λ.
    """
    normal = normal_equations(panels, targets, weights)
    H, R = normal.centred() if intercept else (normal.H, normal.R)
    rotation = Rotation.of(H, penalty)
    inverse = 1.0 / (rotation.values + alphas[:, None])  # (A, M)
    theta = inverse[:, :, None] * (rotation.basis.T @ R)  # (A, M, T)
    coef = np.einsum("mk,akt->amt", rotation.basis, theta, optimize=True)
    b = np.zeros((len(alphas), targets.shape[1]))
    if intercept:
        b = np.stack([normal.intercept(c) for c in coef])
    fitted, own = _second_pass(panels, rotation, coef, inverse, normal, intercept)
    w = np.ones(len(targets)) if weights is None else weights
    leverage = w[:, None] * own
    residual = targets[None] - fitted - b[:, None, :]
    loo = targets[None] - residual / (1.0 - leverage.T[:, :, None])
    return RidgePath(alphas, coef, b, loo), residual


def _second_pass(
    panels: Panels,
    rotation: Rotation,
    coef: np.ndarray,
    inverse: np.ndarray,
    normal: Normal,
    intercept: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Φw for every λ, and hᵢ/wᵢ for every λ."""
    n = panels.shape[0]
    count, m, t = coef.shape
    mean = (normal.sums / normal.weight) @ rotation.basis if intercept else None
    flat = coef.transpose(1, 0, 2).reshape(m, -1)
    fitted, own = np.empty((n, count * t)), np.empty((n, count))

    def body(rows: slice, columns: slice, scratch: Scratch) -> None:
        panel = panels.panel(rows, scratch).astype(np.float64)
        fitted[rows] = panel @ flat
        psi = panel @ rotation.basis
        if mean is not None:
            psi -= mean
        own[rows] = np.square(psi, out=psi) @ inverse.T

    sweep(tiling(panels, 2), body, "leave-one-out")
    if intercept:
        own += 1.0 / normal.weight
    return fitted.reshape(n, count, t).transpose(1, 0, 2), own


def residuals(panels: Panels, targets: np.ndarray, solution: RidgeSolution) -> np.ndarray:
    """tᵢ − f(xᵢ)."""
    return targets - times(panels, solution.coef) - solution.intercept


def dual(residual: np.ndarray, alphas: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """aᵢ = wᵢ (tᵢ − f(xᵢ))/λ: the dual coefficients that belong to a primal solution."""
    return residual / alphas if weights is None else weights[:, None] * residual / alphas
