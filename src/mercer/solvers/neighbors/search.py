"""The nearest training examples in feature space, by the statistic that k itself is made of.

‖φ(x) − φ(z)‖² = k(x, x) − 2k(x, z) + k(z, z), so z is nearer where 2k(x, z) − k(z, z) is larger.
Where k(z, z) is one number that is k itself, and where k is a monotone function of a distance (a
Gaussian, a Matérn, a compact kernel) it is that distance: e^(−800) and e^(−900) are both 0 in a
computer, 800 and 900 are not, and √(2 − 2k) has lost half its digits long before.

Squared distances from a matrix product cancel. So a few more neighbours than asked for are found
that way, measured again from x − z, and where the product's error could still have hidden a nearer
one, the row is searched again with safe distances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer._examples import count
from mercer._tiles import Scratch
from mercer.formula import Formula, at_diagonal, evaluate, simplify
from mercer.formula.nodes import ROOT, sqdist
from mercer.formula.ranking import Ranking, rank_by
from mercer.gram.base import Gram
from mercer.gram.dispatch import engine_for
from mercer.gram.rows.prepared import squared_norms
from mercer.gram.rows.validate import matrix
from mercer.solvers.local.weights import on_host

#: Neighbours found beyond those asked for, where a product finds them.
SPARE = 8
#: A tree finds neighbours in up to this many columns faster than looking at every pair.
TREE_COLUMNS = 8
TREE_PAIRS = 1_000_000


def ranking(kernel: Formula, Z: Any, diagonal: np.ndarray | None = None) -> Ranking:
    """How neighbours are ranked among Z; `diagonal` is k(z, z) where it is known already.

    >>> import numpy as np
    >>> from mercer import Gaussian, Polynomial
    >>> Z = np.array([[0.0], [1.0]])
    >>> ranking(Gaussian().formula(), Z).statistic
    sqdist
    >>> ranking(Polynomial(2).formula(), Z).offset
    array([-0., -1.])
    """
    kernel = simplify(kernel)
    return rank_by(kernel, _diagonal(kernel, Z) if diagonal is None else diagonal)


def _diagonal(kernel: Formula, Z: Any) -> np.ndarray | None:
    """k(z, z); None where it is not known (columns of a given matrix)."""
    value = simplify(at_diagonal(kernel))
    if value.op == "const":
        return np.full(count(Z), float(evaluate(value, {})))
    try:
        return on_host(kernel, Z, None).diagonal().astype(np.float64)
    except (TypeError, ValueError):
        return None


@dataclass(frozen=True)
class Neighbours:
    """For each query the places of its neighbours, nearest first, and their rank statistic."""

    index: np.ndarray
    value: np.ndarray


def nearest(rank: Ranking, X: Any, Z: Any, k: int, own: np.ndarray | None = None) -> Neighbours:
    """The k nearest of Z for each of X; `own[i]` is a place that does not count for query i.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> Z = np.array([[0.0], [1.0], [50.0]])
    >>> nearest(ranking(Gaussian().formula(), Z), np.array([[40.0]]), Z, 2).index
    array([[2, 1]])
    """
    there = engine_for(rank.statistic, X, Z).solver("neighbors")
    if there is not None:
        return there(rank, X, Z, k, own)  # type: ignore[no-any-return]
    nearer = rank.by_distance and rank.scale < 0  # k = ‖x − z‖² itself ranks the other way round
    if nearer and isinstance(X, np.ndarray) and isinstance(Z, np.ndarray):
        rows = rank.statistic.value
        x, z = matrix(X, rows, "X"), matrix(Z, rows, "Z")
        if not (is_sparse(x) or is_sparse(z)):
            return _by_distance(x, z, k, own)
    return _search(on_host(rank.statistic, X, Z), rank.scale, rank.offset, k, own)


def _by_distance(x: np.ndarray, z: np.ndarray, k: int, own: np.ndarray | None) -> Neighbours:
    """By −‖x − z‖², each distance from its difference in float64."""
    if x.shape[1] <= TREE_COLUMNS and len(x) * len(z) >= TREE_PAIRS:
        return _by_tree(x, z, k, own)
    gram = on_host(sqdist(ROOT), x, z)
    if all(s.kind == "direct" for s in gram.program.sources):
        found = _search(gram, -1.0, None, k, own)
        return _measured(x, z, found.index, k)
    some = min(k + SPARE, len(z) - (own is not None and len(z) > k))
    first = _search(gram, -1.0, None, some, own)
    found = _measured(x, z, first.index, k)
    if some < len(z) - (own is not None):
        # No one outside the list is nearer than its last entry, less the error of the product.
        error = _product_error(x, z)
        doubtful = np.flatnonzero(-found.value[:, -1] > -first.value[:, -1] - error)
        if len(doubtful):
            safe = on_host(sqdist(ROOT).sqrt(), _double(x[doubtful]), _double(z))
            mine = None if own is None else own[doubtful]
            again = _measured(x[doubtful], z, _search(safe, -1.0, None, some, mine).index, k)
            found.index[doubtful], found.value[doubtful] = again.index, again.value
    return found


def _double(rows: np.ndarray) -> np.ndarray:
    return rows.astype(np.float64, copy=False)


def _product_error(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """A bound on the error of ‖x‖² + ‖z‖² − 2x·z (of centred rows), one number a query."""
    centre = z.mean(axis=0, dtype=np.float64).astype(z.dtype)
    largest = max(float(squared_norms(z, centre).max()), float(squared_norms(z).max()))
    own = np.maximum(squared_norms(x, centre), squared_norms(x)).astype(np.float64)
    unit = float(np.finfo(x.dtype).eps)
    return 2.0 * unit * (np.sqrt(x.shape[1]) * 4 + 8) * (own + largest)


def _measured(x: np.ndarray, z: np.ndarray, index: np.ndarray, k: int) -> Neighbours:
    """The k nearest of those listed, by exact differences."""
    from mercer.solvers.neighbors.topk import squared_distances

    exact = np.empty(index.shape)
    squared_distances(x, z, index, exact)
    order = np.lexsort((index, exact), axis=1)[:, :k]  # of equal ones the first
    return Neighbours(
        np.take_along_axis(index, order, axis=1), -np.take_along_axis(exact, order, axis=1)
    )


def _by_tree(x: np.ndarray, z: np.ndarray, k: int, own: np.ndarray | None) -> Neighbours:
    from scipy.spatial import cKDTree

    some = min(len(z), k + (own is not None))
    _, index = cKDTree(z).query(x, k=some, workers=get_config().n_threads)
    index = index.reshape(len(x), some)
    found = _measured(x, z, index, some)
    if own is None:
        return found
    # Drop the query itself where it was found, else the farthest.
    mine = found.index == own[:, None]
    mine[~mine.any(axis=1), -1] = True
    if some == k:
        return found
    return Neighbours(found.index[~mine].reshape(-1, k), found.value[~mine].reshape(-1, k))


def _search(
    gram: Gram, scale: float, offset: np.ndarray | None, k: int, own: np.ndarray | None
) -> Neighbours:
    from mercer.solvers.neighbors.topk import keep_largest

    n, m = gram.shape
    dtype = gram.dtype
    values = np.full((n, k), -np.inf, dtype=dtype)
    places = np.zeros((n, k), dtype=np.intp)
    extra = np.zeros(m, dtype=dtype) if offset is None else offset.astype(dtype)
    mine = np.full(n, -1, dtype=np.intp) if own is None else own.astype(np.intp)

    def body(rows: slice, columns: slice, tile: np.ndarray, scratch: Scratch) -> None:
        keep_largest(
            tile,
            columns.start,
            dtype.type(scale),
            extra[columns],
            mine[rows],
            values[rows],
            places[rows],
        )

    gram.sweep(body, what="neighbors")
    return Neighbours(places, values.astype(np.float64))
