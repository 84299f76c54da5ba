"""Who is near: the search for neighbors in feature space, as both neighbor learners offer it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from mercer._arrays import host, like
from mercer._config import check_memory, get_config
from mercer._examples import count, take
from mercer._parameters import Count, Number, OneOf, Several, checked
from mercer._tiles import cut
from mercer.formula.ranking import Ranking, ranking
from mercer.gram import constant_diagonal, formula_of
from mercer.learners._base import KernelLearner, check_fitted
from mercer.solvers.neighbors.distances import Within, distances, within
from mercer.solvers.neighbors.search import Neighbors, nearest

#: What a search keeps per query and neighbor before it gives index and value: bytes, counted from
#: the arrays it makes (lists, exact distances, their order, what is taken from them).
SEARCH_BYTES: Final = 72
#: The same for a search within a radius, where all examples may be neighbors.
WITHIN_BYTES: Final = 120
#: What a graph of neighbors holds.
MODES = OneOf("connectivity", "distance")


class NeighborSearch(KernelLearner):
    """The training examples kept, how they are ranked, and which of them are near."""

    n_neighbors: int
    radius: float | None
    X_fit_: Any
    diagonal_: np.ndarray

    def _keep_examples(self, X: Any, kept: np.ndarray | None) -> None:
        """Keep the examples (those at the indices `kept`) to be found again."""
        self.X_fit_ = self.kernel_.points(X, kept)
        # k(x, x) of the training examples: all that ranking needs beyond the examples.
        peak = constant_diagonal(formula_of(self.kernel_))
        single = getattr(X, "dtype", None) == np.float32
        own = np.full(count(X), peak, np.float32 if single else np.float64)
        own = np.asarray(host(self.kernel_.diag(X) if peak is None else own), dtype=np.float64)
        self.diagonal_ = own if kept is None else own[kept]
        if self.radius is None and self.n_neighbors > self.n_samples_fit_:
            raise ValueError(
                f"{self.n_neighbors} neighbors cannot be had from n_samples = "
                f"{self.n_samples_fit_}: n_neighbors is too large"
            )

    @property
    def n_samples_fit_(self) -> int:
        """How many training examples there are to be found."""
        return len(self.diagonal_)

    @property
    def ranking(self) -> Ranking:
        """What tells near from far, and how distances follow from it."""
        return ranking(formula_of(self.kernel_), self.diagonal_)

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Feature-space distances to the nearest training examples, and their indices.

        Without X, the neighbors of every training example, itself not counted.
        """
        check_fitted(self, "X_fit_")
        queries, own = self._queries(X)
        k = self._neighbors_asked_for(n_neighbors, own)
        n, each = count(queries), k * (16 if return_distance else 8)
        search = min(n, _at_a_time(k)) * SEARCH_BYTES * k
        fitting = max(1, 3 * get_config().memory_bytes // (4 * each))
        instead = f"Ask for {fitting} rows at a time, or for fewer neighbors."
        check_memory(n, k, n * each + search, instead, "neighbors")
        index = np.empty((n, k), dtype=np.intp)
        apart = np.empty(index.shape if return_distance else (0, 0))
        for rows, part, found in self._near(queries, k, own):
            index[rows] = found.index
            if return_distance:
                apart[rows] = distances(self.ranking, part, self.X_fit_, found)
        if not return_distance:
            return like(index, queries)
        return like(apart, queries), like(index, queries)

    def _neighbors_asked_for(self, n_neighbors: int | None, own: np.ndarray | None) -> int:
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        k = checked("kneighbors", "n_neighbors", k, Count())
        most = self.n_samples_fit_ - (own is not None)
        if k > most:
            raise ValueError(f"n_neighbors must lie between 1 and {most} here, got {k}")
        return int(k)

    def _near(
        self, queries: Any, k: int, own: np.ndarray | None = None
    ) -> Iterator[tuple[slice, Any, Neighbors]]:
        """The neighbors of all queries, a block at a time."""
        n, step = count(queries), _at_a_time(k)
        for rows in cut(0, n, step):
            part = queries if n <= step else take(queries, rows)
            mine = None if own is None else own[rows]
            yield rows, part, nearest(self.ranking, part, self.X_fit_, k, mine)

    def radius_neighbors(
        self, X: Any = None, radius: Any = None, return_distance: bool = True
    ) -> Any:
        """All examples within a feature-space distance, an array per row, nearest first.

        `radius` is one number, or one per row.
        """
        check_fitted(self, "X_fit_")
        radius = self.radius if radius is None else radius
        if radius is None:
            raise ValueError("radius_neighbors needs a radius, here or in the constructor")
        radii = checked("radius_neighbors", "radius", radius, Several(Number(0.0, infinite=True)))
        queries, own = self._queries(X)
        if len(radii) not in (1, count(queries)):
            raise ValueError(
                f"radius has {len(radii)} numbers for {count(queries)} rows: give one for all, or "
                "one per row"
            )
        n, each, total = count(queries), 16 if return_distance else 8, 0
        limit, index, apart = get_config().memory_bytes, np.empty(n, object), np.empty(n, object)
        for rows, found in self._within(queries, radii, own):
            so_far, total = rows.stop, total + len(found.index)
            fitting = max(1, 3 * limit * so_far // (4 * each * max(total, 1)))
            instead = f"Ask for {fitting} rows at a time, or for a smaller radius."
            n_bytes = each * total + limit // 4  # a quarter is left to the search
            check_memory(so_far, total // so_far, n_bytes, instead, "neighbors each")
            index[rows] = ragged(found.index, found.start)
            if return_distance:
                apart[rows] = ragged(found.distance, found.start)
        return (apart, index) if return_distance else index

    def _within(
        self, queries: Any, radii: Any, own: np.ndarray | None = None
    ) -> Iterator[tuple[slice, Within]]:
        """The neighbors of all queries within a radius, a block at a time."""
        n, step = count(queries), _at_a_time(self.n_samples_fit_, WITHIN_BYTES)
        radii = np.broadcast_to(radii, n)
        for rows in cut(0, n, step):
            part = queries if n <= step else take(queries, rows)
            mine = None if own is None else own[rows]
            yield rows, within(self.ranking, part, self.X_fit_, radii[rows], mine)

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> sp.csr_array:
        """A sparse matrix with a row per query and its k nearest training examples.

        The entries are 1, or with ``mode="distance"`` the distances in feature space.
        """
        checked("kneighbors_graph", "mode", mode, MODES)
        told = self.kneighbors(X, n_neighbors, return_distance=mode == "distance")
        apart, index = map(host, told) if mode == "distance" else (None, host(told))
        values = np.ones(index.size) if apart is None else apart.ravel()
        start = np.arange(0, index.size + 1, index.shape[1])
        return sp.csr_array((values, index.ravel(), start), shape=(len(index), self.n_samples_fit_))

    def radius_neighbors_graph(
        self, X: Any = None, radius: Any = None, mode: str = "connectivity"
    ) -> sp.csr_array:
        """As `kneighbors_graph`, with all training examples within the radius of each query."""
        checked("radius_neighbors_graph", "mode", mode, MODES)
        apart, index = self.radius_neighbors(X, radius)
        start = np.concatenate([[0], np.cumsum([len(row) for row in index])])
        flat = np.concatenate(index)
        values = np.concatenate(apart) if mode == "distance" else np.ones(len(flat))
        return sp.csr_array((values, flat, start), shape=(len(index), self.n_samples_fit_))

    def _queries(self, X: Any) -> tuple[Any, np.ndarray | None]:
        """The rows that are asked about; training examples, where there are none, and their own
        indices."""
        if X is not None:
            return self._examples(X, reset=False), None
        if self.kernel_.takes_matrix:
            raise ValueError("give the training matrix again: a precomputed one is not kept")
        return self.X_fit_, np.arange(self.n_samples_fit_)


def _at_a_time(k: int, each: int = SEARCH_BYTES) -> int:
    """Queries whose search for k neighbors takes a quarter of the memory limit."""
    return max(1, get_config().memory_bytes // (4 * each * k))


def ragged(values: np.ndarray, start: np.ndarray) -> np.ndarray:
    """One array per row, as an array of objects."""
    rows = np.empty(len(start) - 1, dtype=object)
    rows[:] = [values[a:b] for a, b in pairwise(start.tolist())]
    return rows
