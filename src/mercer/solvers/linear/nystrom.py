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
from scipy.linalg import LinAlgError

from mercer._arrays import host
from mercer._config import show_bytes
from mercer._examples import count
from mercer._linalg import add_to_diagonal, cholesky, cholesky_solve, solve_lower
from mercer.gram import Gram, solver_gram
from mercer.maps.centers import center_matrix, choose_centers, given_index
from mercer.solvers.linear import primal
from mercer.solvers.linear.iterations import Iterations, NotDefinite, conjugate_gradients
from mercer.solvers.linear.panels import Normal, Panels, panels_of
from mercer.solvers.linear.problem import RidgePath, RidgeProblem, RidgeSolution
from mercer.tuning import CENTER_PAIR_BYTES, CENTER_STALLED_STEPS, NORMAL_MATRIX_FLOPS


@dataclass(frozen=True, eq=False)
class Centers:
    """`positions` among the examples, or else `points` of any origin; K_nm as `panels`.

    `own` and `index`: where K_mm is found.
    """

    positions: np.ndarray | None
    points: Any
    panels: Panels
    own: Gram
    index: np.ndarray

    @cached_property
    def penalty(self) -> Any:
        """K_mm in double precision."""
        return center_matrix(self.own, self.index)

    @property
    def kept(self) -> Any:
        """What a model keeps of them: indices of training examples, or the points."""
        return self.points if self.positions is None else self.positions


def default_count(n: int) -> int:
    """20 √N centers, at most 5000: enough for the statistics, small enough for an M×M matrix."""
    return int(min(n, 5000, max(100, round(20 * np.sqrt(n)))))


def count_centers(n: int, wanted: int | None, how: Any = "uniform") -> int:
    """How many centers there will be (or fewer)."""
    if not isinstance(how, str):
        return count(how)
    return min(n, default_count(n) if wanted is None else wanted)


def draw_centers(
    gram: Gram,
    wanted: int | None,
    random: np.random.RandomState,
    how: Any = "uniform",
) -> Centers:
    """Centers among the examples, in their order (see `mercer.maps.centers`), or those given."""
    n = gram.shape[0]
    m = count_centers(n, wanted, how)
    need, limit = bytes_needed(m), gram.limit_bytes
    if need > limit:
        most = int((limit / CENTER_PAIR_BYTES) ** 0.5)
        raise MemoryError(
            f"{m} centers need {show_bytes(need)}, but the memory limit is {show_bytes(limit)}: "
            f"{most} centers fit (n_centers=…), or raise the limit with "
            "mercer.set_config(memory=…)."
        )
    if isinstance(how, str):
        return centers_at(gram, np.sort(choose_centers(gram, how, m, random).index))
    return centers_at(gram, how)


def centers_at(gram: Gram, given: Any) -> Centers:
    """Centers that are given, as indices of examples or as points."""
    index = given_index(given, gram.shape[0])
    if index is not None:
        return Centers(index, None, panels_of(gram.take(columns=index)), gram, index)
    columns = solver_gram(gram.kernel, gram.points(), given)
    own = solver_gram(gram.kernel, given)
    return Centers(None, given, panels_of(columns), own, np.arange(count(given)))


def bytes_needed(m: int) -> float:
    """Bytes of four m×m arrays in double precision."""
    return float(CENTER_PAIR_BYTES) * m * m


def by_products(n: int, m: int) -> bool:
    """Whether the normal matrix takes so many operations that conjugate gradients are used."""
    return 2.0 * n * m * m > NORMAL_MATRIX_FLOPS


def ridge(
    centers: Centers, problem: RidgeProblem, *, tol: float = 1e-6, max_iter: int = 1000
) -> RidgeSolution:
    """β, one column per target; `tol` and `max_iter` are for conjugate gradients."""
    n, m = centers.panels.shape
    if by_products(n, m):
        found = _by_products(centers, problem, tol, max_iter)
    else:
        found = primal.ridge(centers.panels, problem, centers.penalty)
    return replace(found, centers=centers.kept)


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
    coef, runs = 0.0 * R, []
    L = primal.lower_factor(centers.penalty)
    for alpha, mine in problem.each_alpha():
        system = _System(panels, L, normal, problem, alpha)
        coef[:, mine], run = system.solve(R[:, mine], tol, max_iter)
        runs.append(run)
    b = normal.intercept(coef) if problem.intercept else np.zeros(len(problem.alphas))
    # Rounding of single precision is expected here, so it is not reported.
    stopped = next((run.stopped for run in runs if run.stopped in ("interrupt", "max_iter")), "")
    return RidgeSolution(host(coef), host(b), max(run.n_iter for run in runs), stopped)


class _System:
    """L⁻¹ΦᵀWΦL⁻ᵀ + λI, W without its mean where b is free, in q = Lᵀβ; and a preconditioner."""

    def __init__(
        self, panels: Panels, L: Any, normal: Normal, problem: RidgeProblem, alpha: float
    ) -> None:
        self.panels, self.L, self.normal, self.alpha = panels, L, normal, alpha
        self.intercept = problem.intercept
        self.w = None if problem.weights is None else panels.asarray(problem.weights)
        inner = (normal.weight / len(L)) * (L.T @ L)
        add_to_diagonal(inner, alpha)
        self.A = cholesky(inner)

    def multiply(self, q: Any, columns: Any) -> Any:
        beta = solve_lower(self.L, q, transposed=True)
        image = self.panels.normal_product(beta, self.w)
        if self.intercept:
            sums = self.normal.sums
            image -= sums[:, None] * ((sums @ beta) / self.normal.weight)
        return solve_lower(self.L, image) + self.alpha * q

    def precondition(self, r: Any, columns: Any) -> Any:
        return cholesky_solve(self.A, r)

    def solve(self, R: Any, tol: float, max_iter: int) -> tuple[Any, Iterations]:
        """Return β for right-hand sides R, and how the iterations ended."""
        right = solve_lower(self.L, R)
        try:
            run = conjugate_gradients(
                self.multiply, right, self.precondition, tol, max_iter, CENTER_STALLED_STEPS
            )
        except NotDefinite as error:
            raise LinAlgError(
                f"the normal equations are not positive definite to rounding ({error}): raise "
                "alpha, or take fewer centers or float64"
            ) from error
        return solve_lower(self.L, run.X, transposed=True), run
