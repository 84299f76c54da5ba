"""The nearest training examples in feature space, by the statistic that k itself is made of.

Two searches. Dense rows that rank by ‖x − z‖² are searched in packed panels by compiled loops
(`mercer.solvers.neighbors.panels`). Everything else passes in tiles of a Gram, of which each query
keeps its k largest: tiles of the statistic, or of x·z where that ranks by ‖x − z‖² of sparse rows,
of bytes, or without Numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mercer.tuning as tuning
from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer._examples import count, widened
from mercer._lazy import record
from mercer._machine.jit import may_compile
from mercer._tiles import Scratch
from mercer.formula import Formula, simplify
from mercer.formula.nodes import ROOT, dot, sqdist
from mercer.formula.ranking import Ranking, ranking
from mercer.gram import (
    HOST,
    Gram,
    constant_diagonal,
    engine_for,
    host_gram,
    matrix,
    solver_gram,
    squared_norms,
)


@record
class Neighbors:
    """For each query the indices of its neighbors, nearest first, and what they rank by."""

    index: np.ndarray
    value: np.ndarray


def ranking_among(kernel: Formula, Z: Any) -> Ranking:
    """The ranking of neighbors among Z; k(z, z) is computed where the kernel allows it."""
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
    """Search among examples in this process: by panels, by products, or by tiles of any kernel."""
    both = _vectors(rank, X, Z)
    if both is None:
        return _search(HOST.make(rank.statistic, X, Z), rank.scale, rank.offset, k, own)
    x, z = both
    if is_sparse(x) or _of_bytes(x, z):
        return _by_products(x, z, k, own, center=False)
    fits = 4 * z.size <= tuning.COPY_SHARE * get_config().memory_bytes
    if fits and _compiles(len(x) * len(z)):
        from mercer.solvers.neighbors.panels import search_panels

        index, distance = search_panels(x, z, k, own)
        return Neighbors(index, -distance)
    if x.size * len(z) <= tuning.SMALL_WORK:  # a Gram so small is made of differences
        gram = HOST.make(sqdist(ROOT), x, z)
        return _measured(x, z, _search(gram, -1.0, None, k, own).index, k)
    return _by_products(x, z, k, own, center=True)


def _vectors(rank: Ranking, X: Any, Z: Any) -> tuple[Any, Any] | None:
    """Both as dense rows or both as sparse rows, where neighbors rank by ‖x − z‖²; else None."""
    if not (rank.by_distance and all(isinstance(s, np.ndarray) or is_sparse(s) for s in (X, Z))):
        return None
    x, z = (matrix(s, rank.statistic.value, name) for s, name in ((X, "X"), (Z, "Z")))
    if is_sparse(x) and is_sparse(z) and _better_dense(x, z):
        return x.toarray(), z.toarray()
    return (x, z) if is_sparse(x) == is_sparse(z) else None


def _by_products(x: Any, z: Any, k: int, own: np.ndarray | None, center: bool) -> Neighbors:
    """The k nearest from candidates of the largest 2x·z − ‖z‖², each measured from x − z.

    A few more candidates than k are listed. Where the rounding of the products could hide a nearer
    example than the list has, the query is searched again by distances that do not cancel.
    """
    some = min(k + tuning.SPARE, z.shape[0] - (own is not None))
    mean = z.mean(axis=0, dtype=np.float64) if center else 0.0
    left, right = (side - mean if center else side for side in (x, z))
    if is_sparse(x):
        left, right = (side.astype(np.float64, copy=False) for side in (x, z))
    with np.errstate(over="ignore", invalid="ignore"):
        lengths, norms = (squared_norms(side).astype(np.float64) for side in (left, right))
        found = _search(HOST.make(dot(ROOT), left, right), 2.0, -norms, some, own)
        unit = 2.0 * float(np.finfo(left.dtype).eps) * (4.0 * np.sqrt(x.shape[1]) + 8.0)
        bound = lengths - found.value[:, -1] - unit * (lengths + norms.max())
    nearest = _measured(x, z, found.index, k)
    if some == z.shape[0] - (own is not None):
        return nearest
    # Where products overflow nothing is known: no distance is below 0.
    bound = np.where(np.isfinite(bound), bound, 0.0)
    doubtful = np.flatnonzero(-nearest.value[:, -1] > bound)
    if len(doubtful):
        safe = HOST.make(sqdist(ROOT).sqrt(), widened(x[doubtful]), widened(z))
        mine = None if own is None else own[doubtful]
        again = _measured(x[doubtful], z, _search(safe, -1.0, None, some, mine).index, k)
        nearest.index[doubtful], nearest.value[doubtful] = again.index, again.value
    return nearest


def _of_bytes(x: np.ndarray, z: np.ndarray) -> bool:
    """Whether products are made of bytes, which are faster than a search in panels."""
    large = x.size * len(z) >= tuning.BYTE_PRODUCT_FLOPS
    return large and bool(host_gram(dot(ROOT), x, z).operands()[0].grids)


def _better_dense(x: Any, z: Any) -> bool:
    """Whether sparse rows have so few columns, or so many numbers, that copies are faster."""
    n, m, columns = x.shape[0], z.shape[0], x.shape[1]
    share = min(x.nnz / n, z.nnz / m) / columns
    full = share >= tuning.SPARSE_ONE or columns <= tuning.DENSE_COPY_COLUMNS
    return full and 8 * (n + m) * columns <= tuning.COPY_SHARE * get_config().memory_bytes


def _measured(x: Any, z: Any, index: np.ndarray, k: int) -> Neighbors:
    """The k nearest of the examples listed per query, by exact differences."""
    if is_sparse(x):
        from mercer.solvers.neighbors.loops import distances_of_pairs

        exact = np.empty(index.shape)
        distances_of_pairs(_canonical(x), _canonical(z), index, exact)
    elif index.size * x.shape[1] <= tuning.NUMPY_PAIRS:
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


def _canonical(rows: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row starts, columns in order and numbers of a sparse matrix without duplicates."""
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows.indptr, rows.indices, rows.data


def _search(
    gram: Gram, scale: float, offset: np.ndarray | None, k: int, own: np.ndarray | None
) -> Neighbors:
    """The k largest of scale · K + offset in each row, tile by tile."""
    (n, m), dtype = gram.shape, gram.dtype
    keep: Any = _keep_by_sorting
    if _compiles(n * m):
        from mercer.solvers.neighbors.loops import keep_largest as keep
    values = np.full((n, k), -np.inf, dtype=dtype)
    index = np.zeros((n, k), dtype=np.intp)
    extra = np.zeros(m, dtype=dtype) if offset is None else offset.astype(dtype)
    mine = np.full(n, -1, dtype=np.intp) if own is None else own.astype(np.intp)
    factor = dtype.type(scale)

    def body(rows: slice, columns: slice, tile: np.ndarray, scratch: Scratch) -> None:
        start, kept = columns.start, (values[rows], index[rows])
        keep(tile, start, factor, extra[columns], mine[rows], *kept)

    if n * m <= tuning.NUMPY_PAIRS:
        keep(gram.dense(), 0, factor, extra, mine, values, index)
    else:
        gram.sweep(body, what="neighbors")
    return Neighbors(index, values.astype(np.float64))


def _compiles(pairs: int) -> bool:
    """Whether a compiled loop searches among so many pairs."""
    return may_compile() and pairs > tuning.NUMPY_PAIRS


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
