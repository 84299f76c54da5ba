"""k and ‖φ(x) − φ(z)‖ of listed pairs: the neighbours that a search has found.

Where k is a function of the statistic the search ranked by, that value is all that is needed, and
1 − e^(−u) is taken as such, without its cancellation. Any other kernel is asked for small blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._examples import count, take
from mercer.formula.nodes import statistics
from mercer.formula.profile import DISTANCES, log2_of
from mercer.formula.ranking import Ranking, evaluated, only, profile_distance
from mercer.solvers.local.weights import on_host
from mercer.solvers.neighbors.search import Neighbours

#: Queries whose neighbours share a block.
PANEL = 64


def weights_of(rank: Ranking, X: Any, Z: Any, found: Neighbours) -> np.ndarray:
    """k(x, z) of every query and its neighbours, relative to the largest where log k is known."""
    log2 = log2_of(rank.kernel)
    if log2 is not None and only(log2, rank.statistic):
        logs = evaluated(log2, rank.statistic, found.value / rank.scale)
        return np.asarray(np.exp2(logs - logs.max(axis=1, keepdims=True)))
    values = check_votes(_similarities(rank, X, Z, found))
    # Neighbours with no weight at all vote alike.
    return np.where(values.sum(axis=1, keepdims=True) > 0, values, 1.0)


def check_votes(values: np.ndarray) -> np.ndarray:
    """The same values, or an error where one is negative."""
    if values.size and values.min() < 0:
        raise ValueError(
            f"the kernel takes negative values here (as low as {values.min():.3g}), so it cannot "
            "weight votes; use weights='uniform', or a kernel with k(x, z) ≥ 0"
        )
    return values


def distances(rank: Ranking, X: Any, Z: Any, found: Neighbours) -> np.ndarray:
    """‖φ(x) − φ(z)‖ of every query and its neighbours."""
    known = rank.statistic.op in DISTANCES and only(rank.kernel, rank.statistic)
    if rank.offset is None and (known or rank.kernel_is_linear):
        return profile_distance(rank, found.value / rank.scale)
    own = own_similarity(rank, X)
    assert rank.diagonal is not None
    values = _similarities(rank, X, Z, found)
    return np.sqrt(np.maximum(own[:, None] - 2.0 * values + rank.diagonal[found.index], 0.0))


def own_similarity(rank: Ranking, X: Any) -> np.ndarray:
    """k(x, x) of every query. New rows of a given matrix do not hold it: then it must be the same
    for all training examples, and is taken to be the same for the new ones."""
    leaves = [n.value[0] for n in statistics(rank.kernel) if n.op == "opaque"]
    if not any(leaf.takes_matrix for leaf in leaves):
        return on_host(rank.kernel, X, None).diagonal().astype(np.float64)
    if rank.diagonal is None or np.ptp(rank.diagonal) > 0:
        raise ValueError(
            "distances need k(x, x), which a precomputed matrix of new rows does not hold; "
            "return_distance=False gives the neighbours"
        )
    return np.full(count(X), rank.diagonal[0])


def _similarities(rank: Ranking, X: Any, Z: Any, found: Neighbours) -> np.ndarray:
    if rank.offset is not None:
        return (found.value - rank.offset[found.index]) / rank.scale
    if only(rank.kernel, rank.statistic):
        return evaluated(rank.kernel, rank.statistic, found.value / rank.scale)
    values = np.empty(found.index.shape)
    for start in range(0, len(values), PANEL):
        rows = slice(start, start + PANEL)
        places, inverse = np.unique(found.index[rows], return_inverse=True)
        part = on_host(rank.kernel, take(X, rows), take(Z, places)).dense()
        values[rows] = np.take_along_axis(part, inverse.reshape(found.index[rows].shape), axis=1)
    return values
