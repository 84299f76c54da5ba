"""(ΦᵀWΦ + λP)β = ΦᵀWt on a device, Φ = K(X, centres), P = K(centres, centres).

By the normal equations in double precision, whose products run on tensor cores; or, where N·M² is
out of proportion, by conjugate gradients in q = Lᵀβ, P = LLᵀ, where the system is
L⁻¹ΦᵀWΦL⁻ᵀ + λI ≈ (Σw/M) LᵀL + λI: that approximation, factorised, is the preconditioner.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.linalg import LinAlgError

from mercer._arrays import host
from mercer._progress import progress
from mercer.engines.cuda.solvers.panels import DevicePanels
from mercer.solvers.linear.exact import RidgePath, RidgeSolution
from mercer.solvers.linear.nystrom import Centers
from mercer.solvers.linear.primal import JITTERS, UNSEEN, warn_jitter

#: Operations of the normal matrix from which conjugate gradients are the shorter way.
DIRECT = 4e14


@dataclass(frozen=True)
class Sums:
    """ΦᵀWΦ, ΦᵀWt, ΦᵀW1, Σwt, Σw: in double precision, on the device."""

    H: torch.Tensor | None
    R: torch.Tensor
    ones: torch.Tensor
    targets: torch.Tensor
    weight: float

    def intercept(self, coef: torch.Tensor) -> torch.Tensor:
        return (self.targets - self.ones @ coef) / self.weight


def at(centers: Centers) -> tuple[DevicePanels, torch.Tensor]:
    """Φ and P of some centres, where the data is."""
    return centers.panels, centers.gram.in_double(centers.positions)  # type: ignore[attr-defined]


def ridge_at(centers: Centers, *problem: Any, **options: Any) -> RidgeSolution:
    """`ridge` for some centers."""
    return ridge(*at(centers), *problem, **options)


def ridge_path_at(centers: Centers, *problem: Any) -> RidgePath:
    """`ridge_path` for some centers."""
    return ridge_path(*at(centers), *problem)


def gather(
    panels: DevicePanels, targets: np.ndarray, weights: np.ndarray | None, matrix: bool
) -> Sums:
    """One pass over the rows of Φ; without `matrix` only the right-hand sides."""
    m, device = panels.shape[1], panels.device
    t = torch.as_tensor(np.column_stack([targets, np.ones(len(targets))]), device=device)
    w = None if weights is None else torch.as_tensor(weights, device=device)
    right = t if w is None else w[:, None] * t
    if matrix:
        H = torch.zeros(m, m, dtype=torch.float64, device=device)
        R = torch.zeros(m, t.shape[1], dtype=torch.float64, device=device)
        with progress("normal equations", float(len(targets))) as bar:
            for rows, piece in panels.pieces():
                wide = piece.double()
                R.addmm_(wide.T, right[rows])
                if w is not None:
                    wide *= w[rows, None].sqrt()
                H.addmm_(wide.T, wide)
                bar.advance(len(piece))
    else:
        H, R = None, panels.transposed_product(right).double()
    sums = right.sum(0)
    return Sums(H, R[:, :-1], R[:, -1].clone(), sums[:-1], float(sums[-1]))


def ridge(
    panels: DevicePanels,
    penalty: torch.Tensor,
    targets: np.ndarray,
    alphas: np.ndarray,
    weights: np.ndarray | None,
    intercept: bool,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> RidgeSolution:
    """β, one column a target, with one λ for each."""
    n, m = panels.shape
    direct = 2.0 * n * m * m <= DIRECT
    if not direct:
        panels.keep(0.4)
    sums = gather(panels, targets, weights, matrix=direct)
    R = sums.R
    if intercept:
        R = R - torch.outer(sums.ones, sums.targets / sums.weight)
    coef, steps = torch.empty_like(R), 1
    for alpha in np.unique(alphas):
        mine = torch.as_tensor(np.flatnonzero(alphas == alpha), device=R.device)
        if direct:
            coef[:, mine] = _solved(_normal(sums, penalty, float(alpha), intercept), R[:, mine])
        else:
            system = _System(panels, penalty, sums, weights, float(alpha), intercept)
            coef[:, mine], more = system.solve(R[:, mine], tol, max_iter)
            steps = max(steps, more)
    b = sums.intercept(coef) if intercept else torch.zeros(len(alphas), device=R.device)
    return RidgeSolution(host(coef), host(b.double()), steps)


def _normal(sums: Sums, penalty: torch.Tensor, alpha: float, intercept: bool) -> torch.Tensor:
    assert sums.H is not None
    A = torch.add(sums.H, penalty, alpha=alpha)
    if intercept:
        A.addr_(sums.ones, sums.ones, alpha=-1.0 / sums.weight)
    return A


def _solved(A: torch.Tensor, R: torch.Tensor) -> torch.Tensor:
    L = lower_factor(A, quiet=False)
    if L is not None:
        return torch.cholesky_solve(R, L)
    warnings.warn(
        "the normal equations have negative eigenvalues: the kernel is not positive semi-definite "
        "on the centres. They were solved all the same, by LU.",
        UserWarning,
        stacklevel=6,
    )
    return torch.linalg.solve(A, R)


def lower_factor(A: torch.Tensor, quiet: bool = True) -> torch.Tensor | None:
    """L with LLᵀ = A, with as little added to the diagonal as makes it definite; None: too much."""
    diagonal = A.diagonal().clone()
    scale = float(diagonal.mean())
    for jitter in JITTERS:
        A.diagonal().copy_(diagonal + jitter * scale)
        L, info = torch.linalg.cholesky_ex(A)
        if not int(info):
            if jitter > UNSEEN and not quiet:
                warn_jitter(jitter * scale)
            return L
    A.diagonal().copy_(diagonal)
    return None


class _System:
    """L⁻¹ΦᵀWΦL⁻ᵀ + λI and its preconditioner; W without its mean where b is free."""

    def __init__(
        self,
        panels: DevicePanels,
        penalty: torch.Tensor,
        sums: Sums,
        weights: np.ndarray | None,
        alpha: float,
        intercept: bool,
    ) -> None:
        self.panels, self.sums, self.alpha, self.intercept = panels, sums, alpha, intercept
        self.w = None if weights is None else torch.as_tensor(weights, device=penalty.device)
        L = lower_factor(penalty.clone())
        if L is None:
            raise LinAlgError(
                "the kernel matrix of the centres has negative eigenvalues: conjugate gradients "
                "need a positive semi-definite kernel (mercer.prove gives a counterexample)"
            )
        self.L = L
        inner = L.T @ L
        inner *= sums.weight / len(L)
        inner.diagonal().add_(alpha)
        self.A = torch.linalg.cholesky(inner)

    def beta(self, q: torch.Tensor) -> torch.Tensor:
        return torch.linalg.solve_triangular(self.L.mT, q, upper=True)

    def _inside(self, u: torch.Tensor) -> torch.Tensor:
        return torch.linalg.solve_triangular(self.L, u, upper=False)

    def multiply(self, q: torch.Tensor) -> torch.Tensor:
        beta = self.beta(q)
        image = self.panels.normal_product(beta, self.w)
        if self.intercept:
            ones = self.sums.ones
            image -= torch.outer(ones, (ones @ beta) / self.sums.weight)
        return self._inside(image) + self.alpha * q

    def solve(self, R: torch.Tensor, tol: float, max_iter: int) -> tuple[torch.Tensor, int]:
        """Conjugate gradients, all targets in step; ends at `tol` or where rounding takes over."""
        r = self._inside(R)
        x = torch.zeros_like(r)
        size = r.norm(dim=0).clamp_min(1e-300)
        z = torch.cholesky_solve(r, self.A)
        p, rz = z, (r * z).sum(0)
        best, stalled, steps = float("inf"), 0, 0
        with progress("conjugate gradients", None) as bar:
            try:
                while steps < max_iter:
                    steps += 1
                    Ap = self.multiply(p)
                    length = rz / (p * Ap).sum(0).clamp_min(1e-300)
                    x += length * p
                    r -= length * Ap
                    worst = float((r.norm(dim=0) / size).max())
                    bar.advance(note=f"residual {worst:.1e}")
                    stalled = 0 if worst < 0.9 * best else stalled + 1
                    best = min(best, worst)
                    if worst <= tol or stalled > 10:
                        break
                    z = torch.cholesky_solve(r, self.A)
                    new = (r * z).sum(0)
                    p, rz = z + (new / rz.clamp_min(1e-300)) * p, new
            except KeyboardInterrupt:
                warnings.warn("interrupted: the model is what was found so far", stacklevel=6)
        return self.beta(x), steps


def ridge_path(
    panels: DevicePanels,
    penalty: torch.Tensor,
    targets: np.ndarray,
    alphas: np.ndarray,
    weights: np.ndarray | None,
    intercept: bool,
) -> RidgePath:
    """All λ from one eigendecomposition, with exact leave-one-out in a second pass."""
    panels.keep(0.4)
    sums = gather(panels, targets, weights, matrix=True)
    device = panels.device
    H, R = _normal(sums, penalty, 0.0, intercept), sums.R
    if intercept:
        R = R - torch.outer(sums.ones, sums.targets / sums.weight)
    L = lower_factor(penalty.clone())
    if L is None:
        raise LinAlgError("the kernel matrix of the centres has negative eigenvalues")
    inner = torch.linalg.solve_triangular(L, H, upper=False)
    inner = torch.linalg.solve_triangular(L, inner.T.contiguous(), upper=False)
    values, vectors = torch.linalg.eigh(inner)
    basis = torch.linalg.solve_triangular(L.mT, vectors, upper=True)
    inverse = 1.0 / (values.clamp_min(0.0) + torch.as_tensor(alphas, device=device)[:, None])
    theta = inverse[:, :, None] * (basis.T @ R)
    coef = basis @ theta  # (A, M, T)
    b = torch.zeros(len(alphas), targets.shape[1], dtype=torch.float64, device=device)
    if intercept:
        b = torch.stack([sums.intercept(c) for c in coef])
    loo = _left_out(panels, basis, coef, b, inverse, sums, targets, weights, intercept)
    return RidgePath(alphas, host(coef), host(b), host(loo))


def _left_out(
    panels: DevicePanels,
    basis: torch.Tensor,
    coef: torch.Tensor,
    b: torch.Tensor,
    inverse: torch.Tensor,
    sums: Sums,
    targets: np.ndarray,
    weights: np.ndarray | None,
    intercept: bool,
) -> Any:
    count, m, outputs = coef.shape
    device = panels.device
    mean = (sums.ones / sums.weight) @ basis
    flat = coef.permute(1, 0, 2).reshape(m, -1)
    t = torch.as_tensor(targets, device=device)
    w = torch.ones(len(t), dtype=torch.float64, device=device)
    w = w if weights is None else torch.as_tensor(weights, device=device)
    loo = torch.empty(count, len(t), outputs, dtype=torch.float64, device=device)
    for rows, piece in panels.pieces():
        wide = piece.double()
        fitted = (wide @ flat).reshape(len(wide), count, outputs).permute(1, 0, 2) + b[:, None]
        psi = wide @ basis
        if intercept:
            psi -= mean
        own = psi.square_() @ inverse.T + (1.0 / sums.weight if intercept else 0.0)
        leverage = (w[rows, None] * own).T[:, :, None]
        loo[:, rows] = t[rows] - (t[rows] - fitted) / (1.0 - leverage)
    return loo
