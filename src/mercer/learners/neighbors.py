"""Neighbors in feature space: ‖φ(x) − φ(z)‖² = k(x, x) − 2k(x, z) + k(z, z)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._arrays import host, like
from mercer._config import check_memory, get_config
from mercer._examples import count
from mercer._parameters import Anything, Check, Count, Maybe, NonNegative, OneOf, checked
from mercer._tiles import cut
from mercer.formula.nodes import ROOT
from mercer.formula.ranking import Ranking, ranking
from mercer.learners._base import KernelLearner, classes_of, encode, take
from mercer.learners._device import ClassifierMixin, RegressorMixin, labels_at
from mercer.solvers.neighbors.distances import check_votes, distances, weights_of
from mercer.solvers.neighbors.radius import Within, within
from mercer.solvers.neighbors.search import Neighbors, nearest

#: What a search keeps per query and neighbor before it gives index and value: bytes, counted from
#: the arrays it makes (lists, exact distances, their order, what is taken from them).
SEARCH_BYTES = 72


class KernelNeighbors(KernelLearner):
    """The base of both: the training examples kept, and how they are ranked."""

    _needs_psd = False
    _parameters: ClassVar[dict[str, Check]] = {
        "kernel": Anything(),
        "n_neighbors": Count(),
        "weights": OneOf("uniform", "kernel"),
        "radius": Maybe(NonNegative()),
    }

    def __init__(
        self,
        kernel: Any = "gaussian()",
        n_neighbors: int = 5,
        *,
        weights: str = "uniform",
        radius: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.radius = radius

    def _keep(self, X: Any, values: np.ndarray) -> None:
        n = count(X)
        if self.radius is None and self.n_neighbors > n:
            raise ValueError(
                f"{self.n_neighbors} neighbors cannot be had from n_samples = {n}: "
                "n_neighbors is too large"
            )
        self.X_fit_ = self.kernel_.points(X)
        self.y_fit_ = values
        # k(x, x) of the training examples: all that ranking needs beyond the examples.
        self.diagonal_ = np.asarray(host(self.kernel_.diag(X)), dtype=np.float64)

    @property
    def ranking(self) -> Ranking:
        """What tells near from far, and how distances follow from it."""
        return ranking(self.kernel_.lower(ROOT), self.diagonal_)

    # --- who is near -----------------------------------------------------------------------

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Feature-space distances to the nearest training examples, and their indices.

        Without X, the neighbors of every training example, itself not counted.
        """
        check_is_fitted(self, "X_fit_")
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        queries, own = self._queries(X)
        most = count(self.X_fit_) - (own is not None)
        if not 1 <= k <= most:
            raise ValueError(f"n_neighbors must lie between 1 and {most} here, got {k}")
        n, each = count(queries), int(k) * (16 if return_distance else 8)
        search = min(n, _at_a_time(int(k))) * SEARCH_BYTES * int(k)
        fitting = max(1, 3 * get_config().memory_bytes // (4 * each))
        instead = f"Ask for {fitting} rows at a time, or for fewer neighbors."
        check_memory(n, int(k), n * each + search, instead, "neighbors")
        index = np.empty((n, int(k)), dtype=np.intp)
        apart = np.empty(index.shape if return_distance else (0, 0))
        for rows, part, found in self._near(queries, int(k), own):
            index[rows] = found.index
            if return_distance:
                apart[rows] = distances(self.ranking, part, self.X_fit_, found)
        if not return_distance:
            return like(index, queries)
        return like(apart, queries), like(index, queries)

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
        self, X: Any = None, radius: float | None = None, return_distance: bool = True
    ) -> Any:
        """All examples within a feature-space distance, an array per row, nearest first."""
        check_is_fitted(self, "X_fit_")
        radius = self.radius if radius is None else radius
        if radius is None:
            raise ValueError("radius_neighbors needs a radius, here or in the constructor")
        radius = checked("radius_neighbors", "radius", radius, NonNegative())
        queries, own = self._queries(X)
        found = within(self.ranking, queries, self.X_fit_, radius, own)
        index = _ragged(found.index, found.start)
        return (_ragged(found.distance, found.start), index) if return_distance else index

    def _queries(self, X: Any) -> tuple[Any, np.ndarray | None]:
        if X is not None:
            return self._examples(X, reset=False), None
        if self.kernel_.takes_matrix:
            raise ValueError("give the training matrix again: a precomputed one is not kept")
        return self.X_fit_, np.arange(count(self.X_fit_))

    # --- votes -----------------------------------------------------------------------------

    def _mean(self, X: Any) -> np.ndarray:
        """The mean of the targets over the neighbors of each row."""
        check_is_fitted(self, "X_fit_")
        queries = self._examples(X, reset=False)
        if self.radius is not None:
            return self._mean_within(queries)
        result = np.empty((count(queries), self.y_fit_.shape[1]))
        for rows, part, found in self._near(queries, int(self.n_neighbors)):
            w: np.ndarray = np.ones(found.index.shape)
            if self.weights == "kernel":
                w = weights_of(self.ranking, part, self.X_fit_, found)
            start = np.arange(0, w.size + 1, found.index.shape[1])
            result[rows] = self._weighted(w.ravel(), found.index.ravel(), start)
        return result

    def _weighted(self, w: np.ndarray, index: np.ndarray, start: np.ndarray) -> np.ndarray:
        """The weighted mean of the targets of each row's neighbors, as a sparse product."""
        import scipy.sparse as sp

        n = len(start) - 1
        votes = sp.csr_array((w, index, start), shape=(n, len(self.y_fit_)))
        total = np.asarray(votes.sum(axis=1)).reshape(n, 1)
        return np.asarray((votes @ self.y_fit_) / np.where(total > 0, total, 1.0))

    def _mean_within(self, queries: Any) -> np.ndarray:
        assert self.radius is not None
        found = within(self.ranking, queries, self.X_fit_, float(self.radius))
        n = len(found.start) - 1
        result = self._weighted(self._weights_within(found), found.index, found.start)
        alone = np.flatnonzero(np.diff(found.start) == 0)
        if len(alone):
            near = nearest(self.ranking, take(queries, alone), self.X_fit_, 1)
            result[alone] = self.y_fit_[near.index[:, 0]]
            warnings.warn(
                f"{len(alone)} of {n} examples have no training example within the radius; their "
                "nearest neighbor alone answers",
                UserWarning,
                stacklevel=4,
            )
        return result

    def _weights_within(self, found: Within) -> np.ndarray:
        if self.weights == "uniform":
            return np.ones(len(found.index))
        w = check_votes(found.similarity)
        # Neighbors with no weight at all vote alike.
        rows = np.repeat(np.arange(len(found.start) - 1), np.diff(found.start))
        total = np.bincount(rows, weights=w, minlength=len(found.start) - 1)
        return np.where(total[rows] > 0, w, 1.0)


class KernelNeighborsClassifier(ClassifierMixin, KernelNeighbors):
    """The majority among the k training examples nearest in feature space.

    Nearest by ‖φ(x) − φ(z)‖² = k(x, x) − 2k(x, z) + k(z, z), but ranked by the statistic k is made
    of (for a Gaussian ‖x − z‖², whatever σ), so that neighbors are told apart where k is 0.

    Parameters
    ----------
    kernel : Kernel, expression, callable or "precomputed"
        Any similarity; it need not be positive semi-definite.
    n_neighbors : int
    weights : "uniform" or "kernel"
        Whether a neighbor's vote counts 1 or k(x, z).
    radius : float or None
        If given, all examples within this feature-space distance vote instead; where there are
        none, the nearest one does, with a warning.

    >>> import numpy as np
    >>> from mercer import KernelNeighborsClassifier
    >>> X, y = np.array([[0.0], [1.0], [9.0]]), np.array(["a", "a", "b"])
    >>> KernelNeighborsClassifier("gaussian(0.01)", n_neighbors=1).fit(X, y).predict([[6.0]])
    array(['b'], dtype='<U1')
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the examples."""
        X, y = self._start(X, y, labels=True)
        self.classes_ = classes_of(y, type(self).__name__)
        self._keep(X, np.eye(len(self.classes_))[encode(y, self.classes_)])
        return self

    def predict_proba(self, X: Any) -> Any:
        """The share of each class in the votes."""
        return like(self._mean(X), X)

    def predict(self, X: Any) -> Any:
        """The class with the most votes; of equal ones the first."""
        return labels_at(self.predict_proba(X).argmax(axis=1), self.classes_)


class KernelNeighborsRegressor(RegressorMixin, KernelNeighbors):
    """The mean target of the k training examples nearest in feature space.

    Parameters as in `KernelNeighborsClassifier`; y may have several columns.

    >>> import numpy as np
    >>> from mercer import KernelNeighborsRegressor
    >>> X, y = np.array([[0.0], [1.0], [9.0]]), np.array([0.0, 1.0, 9.0])
    >>> KernelNeighborsRegressor(n_neighbors=2).fit(X, y).predict([[3.0]])
    array([0.5])
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the examples."""
        X, y = self._start(X, y, multi_output=True)
        self._one_output = y.ndim == 1
        self._keep(X, np.asarray(y if y.ndim == 2 else y[:, None], dtype=np.float64))
        return self

    def predict(self, X: Any) -> Any:
        """The mean over the neighbors."""
        values = self._mean(X)
        return like(values[:, 0] if self._one_output else values, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _at_a_time(k: int) -> int:
    """Queries whose search for k neighbors takes a quarter of the memory limit."""
    return max(1, get_config().memory_bytes // (4 * SEARCH_BYTES * k))


def _ragged(values: np.ndarray, start: np.ndarray) -> np.ndarray:
    """One array per row, as an array of objects."""
    rows = np.empty(len(start) - 1, dtype=object)
    rows[:] = [values[a:b] for a, b in pairwise(start)]
    return rows
