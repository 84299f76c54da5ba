"""The nearest training examples in feature space, by the statistic that k itself is made of.

Squared distances from a matrix product cancel. So a few more neighbors than asked for are found
that way, measured again from x − z, and where the product's error could still have hidden a nearer
one, the row is searched again with safe distances.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer._examples import count, widened
from mercer._lazy import record
from mercer._machine.jit import may_compile
from mercer._tiles import Scratch
from mercer.formula import Formula, simplify
from mercer.formula.nodes import ROOT, sqdist
from mercer.formula.ranking import SPARE, Ranking, ranking
from mercer.gram.base import Gram, constant_diagonal
from mercer.gram.dispatch import HOST, engine_for, solver_gram
from mercer.gram.host import HostGram
from mercer.gram.plan.accuracy import SMALL_WORK
from mercer.gram.rows.validate import matrix
from mercer.solvers.neighbors.products import by_product

#: Columns up to which a tree may be asked, and the dimensions of the data up to which it is. Five
#: neighbors of 3750 points among 7500 on one thread: with 16 columns 34 ms against 68 ms by tiles
#: in four dimensions, 407 ms against 70 ms in sixteen; even with five.
TREE_COLUMNS, TREE_DIMENSIONS = 20, 5.0
#: Pairs from which on it is asked where there are no more columns than that, and where dimensions
#: have to be found first. With 1100 points in the plane 0.5 ms against 2.5 ms by tiles.
TREE_PAIRS, TREE_SAMPLE_PAIRS = 250_000, 1_000_000
#: Rows that are looked at for the dimensions.
SAMPLE = 256
#: Numbers of which NumPy takes the differences, and pairs up to which it sorts rather than that
#: Numba is imported, which takes half a second.
FEW_NUMBERS, FEW_PAIRS = 1 << 16, 1 << 18
#: Neighbors from which on sorting and merging each tile beats inserting its entries one by one.
MERGE = 256


@record
class Neighbors:
    """For each query the indices of its neighbors, nearest first, and what they rank by."""

    index: np.ndarray
    value: np.ndarray


def ranking_among(kernel: Formula, Z: Any) -> Ranking:
    """How neighbors are ranked among Z; k(z, z) is computed where it can be."""
    peak = constant_diagonal(simplify(kernel))
    if peak is not None:
        return ranking(kernel, np.full(count(Z), peak))
    try:
        return ranking(kernel, solver_gram(kernel, Z).diagonal().astype(np.float64))
    except (TypeError, ValueError):  # columns of a given matrix
        return ranking(kernel, None)


def nearest(rank: Ranking, X: Any, Z: Any, k: int, own: np.ndarray | None = None) -> Neighbors:
    """The k nearest of Z for each of X; `own[i]` is an index that does not count for query i.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> Z = np.array([[0.0], [1.0], [50.0]])
    >>> nearest(ranking_among(Gaussian().formula(), Z), np.array([[40.0]]), Z, 2).index
    array([[2, 1]])
    """
    return engine_for(rank.statistic, X, Z).solver("neighbors", search_host)(rank, X, Z, k, own)  # type: ignore[no-any-return]


def search_host(rank: Ranking, X: Any, Z: Any, k: int, own: np.ndarray | None) -> Neighbors:
    """The same for examples in this process, on the processor."""
    if rank.by_distance and isinstance(X, np.ndarray) and isinstance(Z, np.ndarray):
        rows = rank.statistic.value
        x, z = matrix(X, rows, "X"), matrix(Z, rows, "Z")
        if not (is_sparse(x) or is_sparse(z)):
            return _by_distance(x, z, k, own)
    return _search(HOST.make(rank.statistic, X, Z), rank.scale, rank.offset, k, own)


def _by_distance(x: np.ndarray, z: np.ndarray, k: int, own: np.ndarray | None) -> Neighbors:
    """By −‖x − z‖², each distance from its difference in float64."""
    known = x.shape[1] <= TREE_DIMENSIONS
    many = len(x) * len(z) >= (TREE_PAIRS if known else TREE_SAMPLE_PAIRS)
    if many and x.shape[1] <= TREE_COLUMNS and _dimensions(z) <= TREE_DIMENSIONS:
        return _by_tree(x, z, k, own)
    if x.size * len(z) <= SMALL_WORK:
        gram = HostGram(sqdist(ROOT), x, z)
        return _measured(x, z, _search(gram, -1.0, None, k, own).index, k)
    others = len(z) - (own is not None)
    some = min(k + SPARE, max(k, others))
    index, bound = by_product(x, z, lambda gram, offset: _search(gram, 2.0, offset, some, own))
    found = _measured(x, z, index, k)
    doubtful = np.flatnonzero((-found.value[:, -1] > bound) & (some < others))
    if len(doubtful):
        safe = HOST.make(sqdist(ROOT).sqrt(), widened(x[doubtful]), widened(z))
        mine = None if own is None else own[doubtful]
        again = _measured(x[doubtful], z, _search(safe, -1.0, None, some, mine).index, k)
        found.index[doubtful], found.value[doubtful] = again.index, again.value
    return found


def _dimensions(z: np.ndarray) -> float:
    """Of the set that the rows lie on, which may be far fewer than the columns.

    In d dimensions a ball that holds twice as many points has 2^(1/d) times the radius; here the
    balls around each of some rows, with two and with four of the others.
    """
    from scipy.spatial.distance import cdist

    some = z[np.linspace(0, len(z) - 1, min(SAMPLE, len(z))).astype(np.intp)]
    if len(some) <= 4 or z.shape[1] <= TREE_DIMENSIONS:
        return float(z.shape[1])
    radius = np.partition(cdist(some, some), (2, 4), axis=1)
    growth = np.log(np.maximum(radius[:, 4], 1e-300) / np.maximum(radius[:, 2], 1e-300))
    return float(np.log(2.0) / max(np.median(growth), 1e-300))


def _measured(x: np.ndarray, z: np.ndarray, index: np.ndarray, k: int) -> Neighbors:
    """The k nearest of those listed, by exact differences."""
    if index.size * x.shape[1] <= FEW_NUMBERS:
        gaps = x[:, None].astype(np.float64) - z[index]
        exact = np.einsum("ijd,ijd->ij", gaps, gaps)
    else:
        from mercer.solvers.neighbors.loops import squared_distances

        exact = np.empty(index.shape)
        squared_distances(x, z, index, exact)
    order = np.lexsort((index, exact), axis=1)[:, :k]  # of equal ones the first
    return Neighbors(
        np.take_along_axis(index, order, axis=1), -np.take_along_axis(exact, order, axis=1)
    )


def _by_tree(x: np.ndarray, z: np.ndarray, k: int, own: np.ndarray | None) -> Neighbors:
    from scipy.spatial import cKDTree

    some = min(len(z), k + (own is not None))
    _, index = cKDTree(z).query(x, k=some, workers=get_config().n_threads)
    found = _measured(x, z, index.reshape(len(x), some), some)
    if own is None or some == k:
        return found
    # Drop the query itself where it was found, else the farthest.
    mine = found.index == own[:, None]
    mine[~mine.any(axis=1), -1] = True
    return Neighbors(found.index[~mine].reshape(-1, k), found.value[~mine].reshape(-1, k))


def _search(
    gram: Gram, scale: float, offset: np.ndarray | None, k: int, own: np.ndarray | None
) -> Neighbors:
    """The k largest of scale · K + offset in each row, while tiles pass by."""
    keep = _keeper(gram.shape[0] * gram.shape[1], k)
    (n, m), dtype = gram.shape, gram.dtype
    values = np.full((n, k), -np.inf, dtype=dtype)
    index = np.zeros((n, k), dtype=np.intp)
    extra = np.zeros(m, dtype=dtype) if offset is None else offset.astype(dtype)
    mine = np.full(n, -1, dtype=np.intp) if own is None else own.astype(np.intp)
    factor = dtype.type(scale)

    def body(rows: slice, columns: slice, tile: np.ndarray, scratch: Scratch) -> None:
        start, kept = columns.start, (values[rows], index[rows])
        keep(tile, start, factor, extra[columns], mine[rows], *kept)

    gram.sweep(body, what="neighbors")
    return Neighbors(index, values.astype(np.float64))


def _keeper(pairs: int, k: int) -> Any:
    """What keeps the k largest of each row: in NumPy where Numba is missing, or would be imported
    for a few pairs. The three keep the same entries."""
    if not may_compile() or (pairs <= FEW_PAIRS and "numba" not in sys.modules):
        return _keep_by_sorting
    from mercer.solvers.neighbors.loops import keep_largest, merge_largest

    return keep_largest if k < MERGE else merge_largest


def _keep_by_sorting(
    tile: np.ndarray,
    start: int,
    scale: Any,
    offset: np.ndarray,
    own: np.ndarray,
    values: np.ndarray,
    index: np.ndarray,
) -> None:
    """As `mercer.solvers.neighbors.loops.keep_largest`: of equal entries the first ones stay."""
    scores, k = scale * tile + offset, values.shape[1]
    mine = np.flatnonzero((own >= start) & (own < start + tile.shape[1]))
    scores[mine, own[mine] - start] = -np.inf
    scores = np.hstack([values, scores])
    # Sorted are those as large as the k-th largest of their row: more than k where some are equal.
    enough = np.partition(scores, -k, axis=1)[:, -k, None]
    row, column = np.nonzero(scores >= enough)
    order = np.lexsort((column, -scores[row, column], row))
    first = np.concatenate([[0], np.flatnonzero(np.diff(row)) + 1])
    chosen = column[order[first[:, None] + np.arange(k)]]
    values[...] = np.take_along_axis(scores, chosen, axis=1)
    kept = np.take_along_axis(index, np.minimum(chosen, k - 1), axis=1)
    index[...] = np.where(chosen < k, kept, start + chosen - k)
