"""f(x) = Σⱼ βⱼ k(x, cⱼ) over m centres cⱼ: ridge regression on a subspace of the features.

(K_nmᵀ W K_nm + λK_mm) β = K_nmᵀ W t. The normal matrix is summed in double precision from tiles of
K_nm in the precision of the data, each of which exists only for a moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._config import show_bytes
from mercer.gram.base import Gram
from mercer.solvers.linear import primal
from mercer.solvers.linear.exact import RidgePath, RidgeSolution
from mercer.solvers.linear.matrix import dense_in_double
from mercer.solvers.linear.normal_equations import GramPanels
from mercer.solvers.requirements import limit_of


@dataclass(frozen=True, eq=False)
class Centers:
    """`positions` among the examples; K_nm as `panels`; K_mm in double precision."""

    gram: Gram
    positions: np.ndarray
    panels: Any

    @cached_property
    def penalty(self) -> np.ndarray:
        return center_matrix(self.gram, self.positions)


def default_count(n: int) -> int:
    """20 √N centres, at most 5000: enough for the statistics, small enough for an M×M matrix."""
    return int(min(n, 5000, max(100, round(20 * np.sqrt(n)))))


def draw_centers(gram: Gram, count: int | None, random: np.random.RandomState) -> Centers:
    """A uniform sample of the examples, without repetition, in their order."""
    n = gram.shape[0]
    m = min(n, default_count(n) if count is None else count)
    need = 4 * 8 * m * m
    limit = limit_of(gram)
    if need > limit:
        raise MemoryError(
            f"{m} centres need {show_bytes(need)}, but the memory limit is {show_bytes(limit)}: "
            f"{int(np.sqrt(limit / 32))} centres fit (n_centers=…), or raise the limit with "
            "mercer.set_config(memory=…)."
        )
    positions = np.arange(n) if m == n else np.sort(random.permutation(n)[:m])
    columns = gram.take(columns=positions)
    return Centers(gram, positions, gram.solver("centers", GramPanels)(columns))


def center_matrix(gram: Gram, positions: np.ndarray) -> np.ndarray:
    """K_mm in double precision, the diagonal exact."""
    K = dense_in_double(gram, positions)
    return K if gram.symmetric else (K + K.T) / 2


def ridge(
    centers: Centers,
    targets: np.ndarray,
    alphas: np.ndarray,
    weights: np.ndarray | None = None,
    intercept: bool = False,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> RidgeSolution:
    """β, one column a target, with one λ for each; the options are for an iterative solution."""
    there = centers.gram.solver("nystrom ridge", None)
    if there is not None:
        problem = (centers, targets, alphas, weights, intercept)
        return there(*problem, tol=tol, max_iter=max_iter)  # type: ignore[no-any-return]
    return primal.ridge(centers.panels, targets, alphas, weights, intercept, centers.penalty)


def ridge_path(
    centers: Centers,
    targets: np.ndarray,
    alphas: np.ndarray,
    weights: np.ndarray | None = None,
    intercept: bool = False,
) -> RidgePath:
    """β for every λ, with the exact leave-one-out predictions of the model with these centres."""
    there = centers.gram.solver("nystrom path", None)
    if there is not None:
        return there(centers, targets, alphas, weights, intercept)  # type: ignore[no-any-return]
    path, _ = primal.ridge_path(
        centers.panels, targets, alphas, weights, intercept, centers.penalty
    )
    return path


__all__ = ["Centers", "center_matrix", "default_count", "draw_centers", "ridge", "ridge_path"]
