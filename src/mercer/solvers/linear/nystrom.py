"""f(x) = Σⱼ βⱼ k(x, cⱼ) over m centers cⱼ: ridge regression on a subspace of the features.

(K_nmᵀ W K_nm + λK_mm) β = K_nmᵀ W t. The normal matrix is summed in double precision from panels of
K_nm in the precision of the data, each of which exists only for a moment. Where N m² is out of
proportion, conjugate gradients in q = Lᵀβ, K_mm = LLᵀ, need products only: there the system is
L⁻¹K_nmᵀWK_nmL⁻ᵀ + λI ≈ (Σw/m) LᵀL + λI, and that approximation, factorized, preconditions it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer._arrays import host
from mercer._config import show_bytes
from mercer._linalg import add_to_diagonal, cholesky, cholesky_solve, solve_lower
from mercer._machine.threads import single_threaded_blas
from mercer._progress import progress
from mercer.gram.base import Gram
from mercer.solvers.linear import primal
from mercer.solvers.linear.panels import Normal, Panels, panels_of
from mercer.solvers.linear.problem import RidgePath, RidgeProblem, RidgeSolution

#: Operations of the normal matrix from which conjugate gradients are the shorter way.
DIRECT = 4e14
#: Steps without a smaller residual after which rounding has taken over.
PATIENCE = 10


@dataclass(frozen=True, eq=False)
class Centers:
    """`positions` among the examples; K_nm as `panels`; K_mm in double precision."""

    gram: Gram
    positions: np.ndarray
    panels: Panels

    @cached_property
    def penalty(self) -> Any:
        return center_matrix(self.gram, self.positions)


def default_count(n: int) -> int:
    """20 √N centers, at most 5000: enough for the statistics, small enough for an M×M matrix."""
    return int(min(n, 5000, max(100, round(20 * np.sqrt(n)))))


def draw_centers(gram: Gram, count: int | None, random: np.random.RandomState) -> Centers:
    """A uniform sample of the examples, without repetition, in their order."""
    n = gram.shape[0]
    m = min(n, default_count(n) if count is None else count)
    need, limit = 4 * 8 * m * m, gram.limit_bytes
    if need > limit:
        raise MemoryError(
            f"{m} centers need {show_bytes(need)}, but the memory limit is {show_bytes(limit)}: "
            f"{int(np.sqrt(limit / 32))} centers fit (n_centers=…), or raise the limit with "
            "mercer.set_config(memory=…)."
        )
    positions = np.arange(n) if m == n else np.sort(random.permutation(n)[:m])
    return Centers(gram, positions, panels_of(gram.take(columns=positions)))


def center_matrix(gram: Gram, positions: np.ndarray) -> Any:
    """K_mm in double precision, the diagonal exact, where the data is."""
    K = gram.in_double(positions)
    return K if gram.symmetric else (K + K.T) / 2


def ridge(
    centers: Centers, problem: RidgeProblem, *, tol: float = 1e-6, max_iter: int = 1000
) -> RidgeSolution:
    """β, one column per target; `tol` and `max_iter` are for conjugate gradients."""
    n, m = centers.panels.shape
    if 2.0 * n * m * m > DIRECT:
        found = _by_products(centers, problem, tol, max_iter)
    else:
        found = primal.ridge(centers.panels, problem, centers.penalty)
    return replace(found, centers=centers.positions)


def ridge_path(centers: Centers, problem: RidgeProblem) -> RidgePath:
    """β for every λ, with the exact leave-one-out predictions of the model with these centers."""
    return primal.ridge_path(centers.panels, problem, centers.penalty)[0]


def _by_products(
    centers: Centers, problem: RidgeProblem, tol: float, max_iter: int
) -> RidgeSolution:
    panels = centers.panels
    panels.keep(0.4)
    normal = panels.normal(problem.targets, problem.weights, matrix=False)
    R = normal.centered()[1] if problem.intercept else normal.R
    coef, steps, stopped = 0.0 * R, 1, ""
    L = primal.lower_factor(centers.penalty)
    for alpha, mine in problem.each_alpha():
        system = _System(panels, L, normal, problem, alpha)
        coef[:, mine], more, why = system.solve(R[:, mine], tol, max_iter)
        steps, stopped = max(steps, more), stopped or why
    b = normal.intercept(coef) if problem.intercept else np.zeros(len(problem.alphas))
    return RidgeSolution(host(coef), host(b), steps, stopped)


class _System:
    """L⁻¹ΦᵀWΦL⁻ᵀ + λI and its preconditioner; W without its mean where b is free."""

    def __init__(
        self, panels: Panels, L: Any, normal: Normal, problem: RidgeProblem, alpha: float
    ) -> None:
        self.panels, self.L, self.normal, self.alpha = panels, L, normal, alpha
        self.intercept = problem.intercept
        self.w = None if problem.weights is None else panels.asarray(problem.weights)
        inner = (normal.weight / len(L)) * (L.T @ L)
        add_to_diagonal(inner, alpha)
        self.A = cholesky(inner)

    def multiply(self, q: Any) -> Any:
        beta = solve_lower(self.L, q, transposed=True)
        image = self.panels.normal_product(beta, self.w)
        if self.intercept:
            sums = self.normal.sums
            image -= sums[:, None] * ((sums @ beta) / self.normal.weight)
        return solve_lower(self.L, image) + self.alpha * q

    def solve(self, R: Any, tol: float, max_iter: int) -> tuple[Any, int, str]:
        """All targets in step; ends at `tol` or where rounding takes over."""
        xp = self.panels.xp

        def above_zero(x: Any) -> Any:
            return xp.clip(x, min=1e-300)

        r = solve_lower(self.L, R)
        x, size = 0.0 * r, above_zero(xp.linalg.vector_norm(r, axis=0))
        z = cholesky_solve(self.A, r)
        p, rz = z, xp.sum(r * z, axis=0)
        best, stalled, steps, stopped = float("inf"), 0, 0, "max_iter"
        with progress("conjugate gradients", None) as bar, single_threaded_blas():
            try:
                while steps < max_iter:
                    steps += 1
                    Ap = self.multiply(p)
                    length = rz / above_zero(xp.sum(p * Ap, axis=0))
                    x, r = x + length * p, r - length * Ap
                    worst = float(xp.max(xp.linalg.vector_norm(r, axis=0) / size))
                    bar.advance(note=f"residual {worst:.1e}")
                    stalled = 0 if worst < 0.9 * best else stalled + 1
                    best = min(best, worst)
                    if worst <= tol or stalled > PATIENCE:
                        stopped = ""
                        break
                    z = cholesky_solve(self.A, r)
                    new = xp.sum(r * z, axis=0)
                    p, rz = z + (new / above_zero(rz)) * p, new
            except KeyboardInterrupt:
                stopped = "interrupt"
        return solve_lower(self.L, x, transposed=True), steps, stopped
