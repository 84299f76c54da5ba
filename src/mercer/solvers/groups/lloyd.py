"""k-means in feature space by Lloyd's steps: μ_c = Σᵢ A_ic φ(xᵢ), and each example to its nearest.

    ‖φ(xᵢ) − μ_c‖² = kᵢᵢ − 2 (KA)ᵢ_c + (AᵀKA)_cc

All starts run side by side: their means are columns of one A, and one pass over K serves all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import host
from mercer._lazy import record
from mercer._progress import progress
from mercer.gram import Gram
from mercer.maps.centers import choose_centers
from mercer.solvers.linear.panels import Panels, panels_of
from mercer.tuning import LLOYD_ARRAYS


@record
class Groups:
    """The group of each example, the coefficients A of the means, ‖μ‖², and Σ w ‖φ − μ‖²."""

    labels: np.ndarray
    A: np.ndarray
    squares: np.ndarray
    inertia: float
    n_iter: int
    stopped: str = ""


def first_labels(gram: Gram, groups: int, starts: int, random: np.random.RandomState) -> np.ndarray:
    """Each example's nearest of `groups` centers by k-means++, a column for every start."""
    own = host(gram.diagonal()).astype(np.float64)
    labels = np.zeros((gram.shape[0], starts), dtype=np.intp)
    for start in range(starts):
        index = choose_centers(gram, "kmeans++", groups, random).index
        if len(index) < groups:
            raise ValueError(
                f"k tells only {len(index)} different examples apart, and {groups} groups were "
                "asked for: take fewer (n_clusters=…)"
            )
        k = host(gram.take(columns=index).dense()).astype(np.float64)
        labels[:, start] = (own[index] - 2.0 * k).argmin(axis=1)
    return labels


def best_groups(
    gram: Gram, labels: np.ndarray, groups: int, weight: np.ndarray, max_iter: int
) -> Groups:
    """The best of all starts, as many at once as a fifth of the memory limit holds."""
    together = max(1, int(0.2 * gram.limit_bytes / (LLOYD_ARRAYS * 8 * len(labels) * groups)))
    parts = [labels[:, at : at + together] for at in range(0, labels.shape[1], together)]
    found = [lloyd(gram, part, groups, weight, max_iter) for part in parts]
    least = min(one.inertia for one in found)
    return next(one for one in found if one.inertia <= least * (1 + 1e-9))


def lloyd(gram: Gram, labels: np.ndarray, groups: int, weight: np.ndarray, max_iter: int) -> Groups:
    """The best of all starts, each from its column of `labels`, when no example moves any more."""
    own = host(gram.diagonal()).astype(np.float64)
    panels = panels_of(gram)
    panels.keep(0.5)
    n, starts = labels.shape
    labels, stopped, steps = labels.copy(), "max_iter", 0
    running = np.arange(starts)
    A = np.zeros((n, starts, groups))
    squares, inertia = np.zeros((starts, groups)), np.full(starts, np.inf)
    with progress("k-means", None) as bar:
        try:
            while steps < max_iter:
                distance = _distances(panels, labels, running, weight, own, A, squares)
                nearest = distance.argmin(axis=2)
                inertia[running] = weight @ distance.min(axis=2).clip(0.0)
                steps += 1
                bar.advance(note=f"{len(running)} of {starts} starts")
                moved = (nearest != labels[:, running]).any(axis=0)
                for j in np.flatnonzero(moved):
                    labels[:, running[j]] = _all_filled(nearest[:, j], distance[:, j], groups)
                running = running[moved]
                if not len(running):
                    stopped = ""
                    break
        except KeyboardInterrupt:
            if not np.isfinite(inertia).any():
                raise
            stopped = "interrupt"
    # The first start within rounding of the best: starts often end in the same groups.
    best = int(np.argmax(inertia <= inertia.min() * (1 + 1e-9)))
    # The groups are those that the means were made of: without an end they may differ by a step.
    return Groups(labels[:, best], A[:, best], squares[best], float(inertia[best]), steps, stopped)


def _distances(
    panels: Panels,
    labels: np.ndarray,
    running: np.ndarray,
    weight: np.ndarray,
    own: np.ndarray,
    A: np.ndarray,
    squares: np.ndarray,
) -> np.ndarray:
    """‖φ(x) − μ_c‖² (n, running, groups); A and ‖μ_c‖² of the starts that run are set."""
    n, groups = len(labels), A.shape[2]
    for start in running:
        A[:, start] = 0.0
        A[np.arange(n), start, labels[:, start]] = weight
        A[:, start] /= A[:, start].sum(axis=0)
    now = A[:, running].reshape(n, -1)
    KA = host(panels.product(panels.asarray(now)))
    squares[running] = np.einsum("ic,ic->c", now, KA).reshape(-1, groups)
    result: Any = KA.reshape(n, -1, groups)
    result = squares[running] - 2.0 * result
    result += own[:, None, None]
    return np.asarray(result)


def _all_filled(nearest: np.ndarray, distance: np.ndarray, groups: int) -> np.ndarray:
    """A group that nobody is nearest to gets the example that is farthest from its own mean."""
    sizes = np.bincount(nearest, minlength=groups)
    far = distance[np.arange(len(nearest)), nearest]
    for empty in np.flatnonzero(sizes == 0):
        able = np.where(sizes[nearest] > 1, far, -np.inf)
        one = int(able.argmax())
        sizes[nearest[one]] -= 1
        sizes[empty], nearest[one], far[one] = 1, empty, -np.inf
    return nearest
