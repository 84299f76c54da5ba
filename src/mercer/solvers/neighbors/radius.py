"""All training examples within a distance in feature space, as the rows of a sparse matrix."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from mercer._examples import widened
from mercer._lazy import record
from mercer._tiles import Scratch
from mercer.formula.ranking import Ranking
from mercer.gram import HOST, Gram
from mercer.solvers.neighbors.distances import own_similarity


@record
class Within:
    """Row i holds the entries from `start[i]` to `start[i + 1]`, nearest first."""

    start: np.ndarray
    index: np.ndarray
    distance: np.ndarray
    similarity: np.ndarray


def within(rank: Ranking, X: Any, Z: Any, radius: Any, own: np.ndarray | None = None) -> Within:
    """The examples of Z within `radius` (one for all, or one per query) of each of X.

    `own[i]` is an index that does not count for query i.

    >>> import numpy as np
    >>> from mercer import Linear
    >>> from mercer.solvers.neighbors.search import ranking_among
    >>> Z = np.array([[0.0], [1.0], [3.0]])
    >>> within(ranking_among(Linear().formula(), Z), np.array([[1.2]]), Z, 1.5).index
    array([1, 0])
    """
    if rank.distance_by_statistic:
        # In float64, and for ‖x − z‖² from differences where x and z are close.
        formula = rank.statistic.sqrt() if rank.by_distance else rank.statistic
        gram = HOST.make(formula, widened(X), widened(Z))
        radii, which = np.unique(np.broadcast_to(radius, gram.shape[:1]), return_inverse=True)
        limits = rank.statistic_at(radii)[which]
        least = -np.sqrt(limits) if rank.by_distance else -limits
        rows, index, value = _collect(gram, -1.0, None, least, own)
        statistic = value**2 if rank.by_distance else -value
        distance, similarity = rank.distance(statistic), rank.similarity(statistic)
        if rank.kernel_is_linear and rank.diagonal is not None:
            # ‖x − z‖² does not tell x·z, but with k(x, x) and k(z, z) it does.
            both = own_similarity(rank, X)[rows] + rank.diagonal[index]
            similarity = 0.5 * (both - distance**2)
    else:
        gram, k_xx = HOST.make(rank.kernel, X, Z), own_similarity(rank, X)
        assert rank.diagonal is not None
        rows, index, value = _collect(gram, 2.0, -rank.diagonal, k_xx - np.square(radius), own)
        distance = np.sqrt(np.maximum(k_xx[rows] - value, 0.0))
        similarity = 0.5 * (value + rank.diagonal[index])
    counts = np.bincount(rows, minlength=gram.shape[0])
    start = np.concatenate([[0], np.cumsum(counts)])
    # Columns come in order, and these sorts are stable: of equal ones the first.
    order = np.argsort(rows, kind="stable")
    for a, b in pairwise(start.tolist()):
        order[a:b] = order[a:b][np.argsort(distance[order[a:b]], kind="stable")]
    return Within(start, index[order], distance[order], similarity[order])


def _collect(
    gram: Gram, scale: float, offset: np.ndarray | None, least: np.ndarray, own: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of all entries scale · K + offset that reach their row's least."""
    found: dict[tuple[int, int], tuple[np.ndarray, ...]] = {}

    def body(rows: slice, columns: slice, tile: np.ndarray, scratch: Scratch) -> None:
        tile *= scale
        if offset is not None:
            tile += offset[columns]
        i, j = np.nonzero(tile >= least[rows, None])
        if own is not None:
            other = own[rows][i] != j + columns.start
            i, j = i[other], j[other]
        value = tile[i, j].astype(np.float64)
        found[rows.start, columns.start] = (i + rows.start, j + columns.start, value)

    gram.sweep(body, what="neighbors")
    parts = zip(*(found[at] for at in sorted(found)), strict=True)
    rows, columns, values = map(np.concatenate, parts)
    return rows, columns, values
