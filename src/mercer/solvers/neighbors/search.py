"""The nearest training examples in feature space, by the statistic that k itself is made of.

Squared distances from a matrix product cancel. So a few more neighbors than asked for are found
that way, measured again from x − z, and where the product's error could still have hidden a nearer
one, the row is searched again with safe distances.
"""

from __future__ import annotations

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
from mercer.gram.byte_products.rows import ROOM
from mercer.gram.dispatch import HOST, engine_for, solver_gram
from mercer.gram.host import HostGram
from mercer.gram.plan.accuracy import SMALL_WORK
from mercer.gram.rows.validate import matrix
from mercer.solvers.neighbors.products import by_product, on_grid, single_fits
from mercer.solvers.neighbors.scattered import listed_distances, scattered

#: Where no compiled search is at hand: columns up to which, and pairs from which on a tree is. With
#: 1100 points in the plane 0.5 ms against 2.5 ms by tiles; even with five columns.
TREE_COLUMNS, TREE_PAIRS = 5, 250_000
#: Numbers of which NumPy takes the differences, and pairs up to which it sorts rather than that
#: Numba is imported, which takes half a second.
FEW_NUMBERS, FEW_PAIRS = 1 << 16, 1 << 16
#: Columns up to which, and the share of numbers from which on sparse rows are searched as dense
#: ones: a number that is scattered costs fifty times as much as one of a panel.
FEW_COLUMNS, FULL = 20, 0.15
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
    if rank.by_distance and all(isinstance(s, np.ndarray) or is_sparse(s) for s in (X, Z)):
        rows = rank.statistic.value
        x, z = matrix(X, rows, "X"), matrix(Z, rows, "Z")
        if is_sparse(x) and is_sparse(z) and _better_dense(x, z):
            x, z = x.toarray(), z.toarray()
        if not (is_sparse(x) or is_sparse(z)):
            return _by_distance(x, z, k, own)
        if is_sparse(x) and is_sparse(z) and _compiles(x.shape[0] * z.shape[0]) and k < MERGE:
            return _settled(x, z, k, own, *scattered(x, z, k, own))
    return _search(HOST.make(rank.statistic, X, Z), rank.scale, rank.offset, k, own)


def _by_distance(x: np.ndarray, z: np.ndarray, k: int, own: np.ndarray | None) -> Neighbors:
    """By −‖x − z‖², each distance from its difference in float64."""
    pairs = len(x) * len(z)
    if _compiles(pairs) and k < MERGE and single_fits(z) and not on_grid(x, z):
        from mercer.solvers.neighbors.panels import search_panels

        index, distance = search_panels(x, z, k, own)
        return Neighbors(index, -distance)
    if pairs >= TREE_PAIRS and x.shape[1] <= TREE_COLUMNS:
        return _by_tree(x, z, k, own)
    if x.size * len(z) <= SMALL_WORK:
        gram = HostGram(sqdist(ROOT), x, z)
        return _measured(x, z, _search(gram, -1.0, None, k, own).index, k)
    some = min(k + SPARE, len(z) - (own is not None))
    index, bound = by_product(x, z, lambda gram, offset: _search(gram, 2.0, offset, some, own))
    return _settled(x, z, k, own, index, bound)


def _better_dense(x: Any, z: Any) -> bool:
    """Whether sparse rows have so few columns, or so many numbers, that copies are faster."""
    n, m, columns = x.shape[0], z.shape[0], x.shape[1]
    full = min(x.nnz / n, z.nnz / m) >= FULL * columns or columns <= FEW_COLUMNS
    return full and 8 * (n + m) * columns <= ROOM * get_config().memory_bytes


def _settled(
    x: Any, z: Any, k: int, own: np.ndarray | None, index: np.ndarray, bound: np.ndarray
) -> Neighbors:
    """The k nearest of those listed, and of all where another may be nearer than `bound` tells."""
    found, some = _measured(x, z, index, k), index.shape[1]
    everyone = some == z.shape[0] - (own is not None)
    doubtful = np.flatnonzero((-found.value[:, -1] > bound) & (not everyone))
    if len(doubtful):
        safe = HOST.make(sqdist(ROOT).sqrt(), widened(x[doubtful]), widened(z))
        mine = None if own is None else own[doubtful]
        again = _measured(x[doubtful], z, _search(safe, -1.0, None, some, mine).index, k)
        found.index[doubtful], found.value[doubtful] = again.index, again.value
    return found


def _measured(x: Any, z: Any, index: np.ndarray, k: int) -> Neighbors:
    """The k nearest of those listed, by exact differences."""
    if is_sparse(x):
        exact = listed_distances(x, z, index)
    elif index.size * x.shape[1] <= FEW_NUMBERS:
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

    if n * m <= FEW_PAIRS:
        keep(gram.dense(), 0, factor, extra, mine, values, index)
    else:
        gram.sweep(body, what="neighbors")
    return Neighbors(index, values.astype(np.float64))


def _compiles(pairs: int) -> bool:
    """Whether compiled loops search among so many pairs."""
    return may_compile() and pairs > FEW_PAIRS


def _keeper(pairs: int, k: int) -> Any:
    """What keeps the k largest of each row: in NumPy where Numba is missing, or would be imported
    for a few pairs. The three keep the same entries."""
    if not _compiles(pairs):
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
