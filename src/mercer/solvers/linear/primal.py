"""w = (ΦᵀWΦ + λP)⁻¹ΦᵀWt: ridge regression through an M×M matrix, and leave-one-out.

P = I for explicit features; P = K_mm for columns of K at m centers, where w are the coefficients.
With P = LLᵀ and L⁻¹ΦᵀWΦL⁻ᵀ = V diag(ω) Vᵀ the features ψ = VᵀL⁻¹φ are orthogonal under the data, so
that every λ is one division, and the weight of example i on its own prediction is
hᵢ = wᵢ (1/Σw + Σⱼ ψⱼ(xᵢ)²/(ωⱼ + λ)), the first term and centered ψ where b is free.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from mercer._arrays import host, namespace
from mercer._lazy import record
from mercer._linalg import add_to_diagonal, cholesky, cholesky_solve, eigh, solve_lower
from mercer._notices import KernelWarning, warn
from mercer.solvers.linear.matrix import IllConditioned
from mercer.solvers.linear.panels import Panels
from mercer.solvers.linear.problem import RidgePath, RidgeProblem, RidgeSolution
from mercer.tuning import JITTERS, UNSEEN_JITTER


@record
class PrimalFactor:
    """(ΦᵀWΦ + λP)⁻¹ as an operator, by its Cholesky factor, or by LU where it has none."""

    matrix: Any
    definite: bool

    def solve(self, B: Any) -> Any:
        if self.definite:
            return cholesky_solve(self.matrix, B)
        return namespace(B).linalg.solve(self.matrix, B)


def ridge(panels: Panels, problem: RidgeProblem, penalty: Any = None) -> RidgeSolution:
    """One pass over the data, then one M×M factorization for each distinct λ."""
    normal = panels.normal(problem.targets, problem.weights)
    H, R = normal.centered() if problem.intercept else (normal.H, normal.R)
    coef = 0.0 * R
    largest = float(problem.alphas.max())
    for alpha, mine in problem.each_alpha():
        factor = factorize(H, alpha, penalty, overwrite=alpha == largest)
        coef[:, mine] = factor.solve(R[:, mine])
    b = normal.intercept(coef) if problem.intercept else np.zeros(len(problem.alphas))
    return RidgeSolution(host(coef), host(b))


def factorize(H: Any, alpha: float, penalty: Any = None, overwrite: bool = False) -> PrimalFactor:
    """Cholesky of H + λP, with as little added to the diagonal as makes it definite."""
    H = H if overwrite else 1.0 * H
    if penalty is None:
        add_to_diagonal(H, alpha)
    else:
        for start in range(0, len(H), 512):  # no third matrix
            H[start : start + 512] += alpha * penalty[start : start + 512]
    scale = float(H.diagonal().mean())
    L, jitter = _jittered(H, scale, JITTERS)
    if L is not None:
        if jitter > UNSEEN_JITTER:
            warn_jitter(jitter * scale)
        return PrimalFactor(L, definite=True)
    warn(
        "the normal equations have negative eigenvalues: the kernel is not positive semi-definite "
        "on the centers. They were solved all the same, by LU.",
        KernelWarning,
    )
    return PrimalFactor(H, definite=False)


def _jittered(A: Any, scale: float, jitters: tuple[float, ...]) -> tuple[Any, float]:
    """L with LLᵀ = A + jitter·scale·I for the first jitter that allows it, or None, A as it was."""
    at = namespace(A).arange(len(A))
    diagonal = 1.0 * A[at, at]
    for jitter in jitters:
        A[at, at] = diagonal + jitter * scale
        L = cholesky(A)
        if L is not None:
            return L, jitter
    A[at, at] = diagonal
    return None, 0.0


def warn_jitter(jitter: float) -> None:
    warn(
        f"the normal equations are singular to rounding: {jitter:.2g} was added to their diagonal; "
        "raise alpha, or take fewer centers",
        IllConditioned,
    )


def lower_factor(P: Any) -> Any:
    """L with LLᵀ = P, up to a jitter where P is singular to rounding."""
    L, _ = _jittered(1.0 * P, float(P.diagonal().mean()) or 1.0, JITTERS[1:])
    if L is not None:
        return namespace(L).tril(L)
    raise LinAlgError(
        "the kernel matrix of the centers has negative eigenvalues: this needs a positive "
        "semi-definite kernel (mercer.prove gives a counterexample)"
    )


@record
class Rotation:
    """ψ = Bᵀφ with BᵀHB = diag(ω), BᵀPB = I."""

    basis: Any
    values: Any

    @classmethod
    def of(cls, H: Any, penalty: Any) -> Rotation:
        L = None if penalty is None else lower_factor(penalty)
        if L is not None:
            H = solve_lower(L, solve_lower(L, H).T)
        values, vectors = eigh(H)
        basis = vectors if L is None else solve_lower(L, vectors, transposed=True)
        return cls(basis, namespace(values).clip(values, 0.0, None))


def ridge_path(panels: Panels, problem: RidgeProblem, penalty: Any = None) -> tuple[RidgePath, Any]:
    """All λ from one M×M eigendecomposition; leave-one-out in a second pass over the data.

    The second result is tᵢ − f(xᵢ) for every λ.
    """
    xp, alphas = panels.xp, problem.alphas
    targets = panels.asarray(problem.targets)
    count, outputs = len(alphas), targets.shape[1]
    normal = panels.normal(problem.targets, problem.weights)
    H, R = normal.centered() if problem.intercept else (normal.H, normal.R)
    rotation = Rotation.of(H, penalty)
    inverse = 1.0 / (rotation.values[:, None] + panels.asarray(alphas))  # (M, A)
    theta = inverse[:, :, None] * (rotation.basis.T @ R)[:, None, :]
    flat = rotation.basis @ xp.reshape(theta, (-1, count * outputs))
    coef = xp.permute_dims(xp.reshape(flat, (-1, count, outputs)), (1, 0, 2))
    b = 0.0 * coef[:, 0]
    if problem.intercept:
        b = normal.intercept(coef)
    mean = (normal.sums / normal.weight) @ rotation.basis if problem.intercept else None
    fitted, own = panels.images_and_squares(flat, rotation.basis, mean, inverse)
    own = own + (1.0 / normal.weight if problem.intercept else 0.0)
    leverage = own if problem.weights is None else panels.asarray(problem.weights)[:, None] * own
    fitted = xp.permute_dims(xp.reshape(fitted, (-1, count, outputs)), (1, 0, 2))
    residual = targets[None] - fitted - b[:, None, :]
    loo = targets[None] - residual / (1.0 - leverage.T[:, :, None])
    return RidgePath(alphas, host(coef), host(b), host(loo)), residual


def dual(residual: Any, alphas: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """aᵢ = wᵢ (tᵢ − f(xᵢ))/λ: the dual coefficients that belong to a primal solution."""
    return residual / alphas if weights is None else weights[:, None] * residual / alphas
