"""k and ‖φ(x) − φ(z)‖ of listed pairs: the neighbors that a search has found.

Where k is a function of the statistic the search ranked by, that value is all that is needed. Any
other kernel is asked for small blocks.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from mercer._examples import count, take, widened
from mercer._lazy import record
from mercer._tiles import Scratch, cut
from mercer.formula.nodes import statistics
from mercer.formula.ranking import Ranking
from mercer.gram import HOST, Gram
from mercer.solvers.neighbors.search import Neighbors
from mercer.tuning import SMALL_BLOCK_ROWS


def weights_of(rank: Ranking, X: Any, Z: Any, found: Neighbors) -> np.ndarray:
    """k(x, z) of every query and its neighbors, relative to the largest where log k is known."""
    log2 = rank.log2
    if log2 is not None:
        logs = rank.evaluate(log2, found.value / rank.scale)
        return np.asarray(np.exp2(logs - logs.max(axis=1, keepdims=True)))
    values = check_votes(_similarities(rank, X, Z, found))
    # Neighbors with no weight at all vote alike.
    return np.where(values.sum(axis=1, keepdims=True) > 0, values, 1.0)


def check_votes(values: np.ndarray) -> np.ndarray:
    """The same values, or an error where one is negative."""
    if values.size and values.min() < 0:
        raise ValueError(
            f"the kernel takes negative values here (as low as {values.min():.3g}), so it cannot "
            "weight votes; use weights='uniform', or a kernel with k(x, z) ≥ 0"
        )
    return values


def distances(rank: Ranking, X: Any, Z: Any, found: Neighbors) -> np.ndarray:
    """‖φ(x) − φ(z)‖ of every query and its neighbors."""
    if rank.distance_by_statistic:
        return rank.distance(found.value / rank.scale)
    own = own_similarity(rank, X)
    assert rank.diagonal is not None
    values = _similarities(rank, X, Z, found)
    return np.sqrt(np.maximum(own[:, None] - 2.0 * values + rank.diagonal[found.index], 0.0))


def own_similarity(rank: Ranking, X: Any) -> np.ndarray:
    """k(x, x) of every query. New rows of a given matrix do not hold it: then it must be the same
    for all training examples, and is taken to be the same for the new ones."""
    leaves = [n.value[0] for n in statistics(rank.kernel) if n.op == "opaque"]
    if not any(leaf.takes_matrix for leaf in leaves):
        own: np.ndarray = HOST.make(rank.kernel, X, None).diagonal().astype(np.float64)
        return own
    if rank.diagonal is None or np.ptp(rank.diagonal) > 0:
        raise ValueError(
            "distances need k(x, x), which a precomputed matrix of new rows does not hold; "
            "return_distance=False gives the neighbors"
        )
    return np.full(count(X), rank.diagonal[0])


def _similarities(rank: Ranking, X: Any, Z: Any, found: Neighbors) -> np.ndarray:
    if rank.offset is not None:
        return (found.value - rank.offset[found.index]) / rank.scale
    if rank.kernel_by_statistic:
        return rank.evaluate(rank.kernel, found.value / rank.scale)
    values = np.empty(found.index.shape)
    for rows in cut(0, len(values), SMALL_BLOCK_ROWS):
        index, inverse = np.unique(found.index[rows], return_inverse=True)
        part = HOST.make(rank.kernel, take(X, rows), take(Z, index)).dense()
        values[rows] = np.take_along_axis(part, inverse.reshape(found.index[rows].shape), axis=1)
    return values


# --- All training examples within a distance in feature space, as the rows of a sparse matrix -----


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
