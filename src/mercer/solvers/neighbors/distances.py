"""k and ‖φ(x) − φ(z)‖ of listed pairs: the neighbors that a search has found.

Where k is a function of the statistic the search ranked by, that value is all that is needed. Any
other kernel is asked for small blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._examples import count, take
from mercer._tiles import cut
from mercer.formula.nodes import statistics
from mercer.formula.ranking import Ranking
from mercer.gram import HOST
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
