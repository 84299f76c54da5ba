"""Neighbors in feature space: ‖φ(x) − φ(z)‖² = k(x, x) − 2k(x, z) + k(z, z)."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mercer._arrays import host, like
from mercer._bases import MultiOutputMixin
from mercer._examples import count, take
from mercer._notices import DataWarning, warn
from mercer._parameters import Count, Either, Function, Maybe, Number, OneOf
from mercer.kernels import DEFAULT
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import ClassifierMixin, RegressorMixin, check_fitted, labels_at
from mercer.learners._options import class_factors, fetched, labeled, together, weights_or_none
from mercer.learners.nearest import NeighborSearch, ragged
from mercer.solvers.neighbors.distances import Within, check_votes, distances, weights_of
from mercer.solvers.neighbors.search import Neighbors, nearest


@estimator
class KernelNeighbors(MultiOutputMixin, NeighborSearch):
    """The base of both: neighbors are found, and vote."""

    _needs_psd = False
    _needs_width = False
    _learns_from_pieces = True

    y_fit_: np.ndarray = field(init=False)

    kernel: Any = DEFAULT
    n_neighbors: int = parameter(Count(), default=5)
    _: KW_ONLY
    weights: Any = parameter(
        Maybe(Either(OneOf("uniform", "distance", "kernel"), Function())), default="uniform"
    )
    radius: float | None = parameter(Maybe(Number(0.0, infinite=True)), default=None)

    def _keep(
        self, X: Any, targets: np.ndarray, copies: np.ndarray | None, factors: Any = None
    ) -> None:
        """Keep the examples that have weight, their targets (in columns), and what votes count."""
        if self.radius is not None:
            together(self, X, "radius=")
        kept = None if copies is None or copies.all() else np.flatnonzero(copies)
        if kept is not None:
            together(self, X, "weights of 0")
        which = slice(None) if kept is None else kept
        self.y_fit_ = targets[which]
        self.sample_weight_: np.ndarray | None = None if copies is None else copies[which]
        self._factors = None if factors is None else factors[which]
        self._keep_examples(X, kept)

    # --- votes -----------------------------------------------------------------------------

    def _mean(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The mean of the targets over the neighbors of each row, and which rows have none."""
        check_fitted(self, "X_fit_")
        queries, own = self._queries(X)
        if self.radius is not None:
            return self._mean_within(queries, own)
        k = self._neighbors_asked_for(None, own)
        result = np.empty((count(queries), self.y_fit_.shape[1]))
        for rows, part, found in self._near(queries, k, own):
            start = np.arange(0, found.index.size + 1, k)
            w = self._weights_near(part, found, start) * self._counts(found.index)
            result[rows] = self._weighted(w.ravel(), found.index.ravel(), start)
        return result, np.empty(0, dtype=np.intp)

    def _counts(self, index: np.ndarray) -> Any:
        """What the vote of each neighbor counts for: its weight, and the weight of its class.

        A row of the k nearest counts for k examples at most: one of weight 2 stands for two.
        """
        given, factors = getattr(self, "sample_weight_", None), getattr(self, "_factors", None)
        counts: Any = 1.0
        if given is not None:
            counts = given[index]
            if index.ndim == 2:
                so_far = np.minimum(np.cumsum(counts, axis=1), index.shape[1])
                counts = np.diff(so_far, axis=1, prepend=0.0)
        return counts if factors is None else counts * factors[index]

    def _weighted(self, w: np.ndarray, index: np.ndarray, start: np.ndarray) -> np.ndarray:
        """The weighted mean of the targets of each row's neighbors, as a sparse product."""
        n = len(start) - 1
        votes = sp.csr_array((w, index, start), shape=(n, len(self.y_fit_)))
        total = np.asarray(votes.sum(axis=1)).reshape(n, 1)
        return np.asarray((votes @ self.y_fit_) / np.where(total > 0, total, 1.0))

    def _weights_near(self, part: Any, found: Neighbors, start: np.ndarray) -> np.ndarray:
        if self.weights in (None, "uniform"):
            return np.ones(found.index.shape)
        if self.weights == "kernel":
            return weights_of(self.ranking, part, self.X_fit_, found)
        apart = distances(self.ranking, part, self.X_fit_, found)
        return self._weights_at(apart, start).reshape(apart.shape)

    def _weights_within(self, found: Within) -> np.ndarray:
        if self.weights in (None, "uniform"):
            return np.ones(len(found.index))
        if self.weights != "kernel":
            return self._weights_at(found.distance, found.start)
        w = check_votes(found.similarity)
        # Neighbors with no weight at all vote alike.
        total, rows = _sums(w, found.start)
        return np.where(total[rows] > 0, w, 1.0)

    def _weights_at(self, apart: np.ndarray, start: np.ndarray) -> np.ndarray:
        """1 / distance, or the function that was given; where that is infinite, only those vote."""
        if self.weights == "distance":
            with np.errstate(divide="ignore"):
                w = 1.0 / apart.ravel()
        else:
            given = self.weights(apart if apart.ndim == 2 else ragged(apart, start))
            flat = np.ravel(given) if apart.ndim == 2 else np.concatenate([*given])
            w = np.asarray(flat, dtype=np.float64)
            if w.shape != (apart.size,):
                raise ValueError(
                    "weights must give one number per distance: a function of an array of "
                    f"{apart.size} distances gave {w.size} numbers"
                )
        infinite = np.isinf(w)
        total, rows = _sums(infinite, start)
        w = np.where(total[rows] > 0, infinite, w)
        total, _ = _sums(w, start)
        if not (total[np.diff(start) > 0] > 0).all():
            raise ValueError(
                "weights must leave at least one neighbor of every example a positive weight: "
                "the function gave some example weights whose sum is not positive"
            )
        return w

    def _mean_within(self, queries: Any, own: Any) -> tuple[np.ndarray, np.ndarray]:
        assert self.radius is not None
        n = count(queries)
        result, counts = np.empty((n, self.y_fit_.shape[1])), np.empty(n, dtype=np.intp)
        for rows, found in self._within(queries, float(self.radius), own):
            w = self._weights_within(found) * self._counts(found.index)
            result[rows] = self._weighted(w, found.index, found.start)
            counts[rows] = np.diff(found.start)
        alone = np.flatnonzero(counts == 0)
        if len(alone):
            mine = None if own is None else own[alone]
            result[alone] = self._without_neighbors(take(queries, alone), mine, n)
        return result, alone

    def _without_neighbors(self, alone: Any, own: np.ndarray | None, n: int) -> np.ndarray:
        """The targets of rows that have no training example within the radius."""
        warn(
            f"{count(alone)} of {n} examples have no training example within the radius; their "
            "nearest neighbor alone answers",
            DataWarning,
        )
        near = nearest(self.ranking, alone, self.X_fit_, 1, own)
        return np.asarray(self.y_fit_[near.index[:, 0]])


def _sums(w: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum of each row's entries, and the row of every entry."""
    rows = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return np.bincount(rows, weights=w, minlength=len(start) - 1), rows


@estimator
class KernelNeighborsClassifier(ClassifierMixin, KernelNeighbors):
    """The majority among the k training examples nearest in feature space.

    Nearest by ‖φ(x) − φ(z)‖² = k(x, x) − 2k(x, z) + k(z, z), but ranked by the statistic k is made
    of (for a Gaussian ‖x − z‖², whatever σ), so that neighbors are told apart where k is 0.

    Parameters
    ----------
    kernel : Kernel, expression, callable or "precomputed"
        Any similarity; it need not be positive semi-definite.
    n_neighbors : int, default 5
        How many vote; more is smoother.
    weights : "uniform", "distance", "kernel" or function
        What a neighbor's vote counts: 1, one over its distance in feature space, k(x, z), or what
        a function makes of an array of distances (one row per example; with `radius`, an array of
        arrays). Neighbors at distance 0 vote alone.
    radius : float or None
        If given, all examples within this feature-space distance vote instead.
    outlier_label : label, "most_frequent", list of such or None
        With `radius`: the answer where nobody is near (one per output, if there are several).
        None lets the nearest training example answer, with a warning.
    class_weight : dict, "balanced", list of such or None
        Multiplies the votes of the examples of each class.

    Attributes
    ----------
    classes_ : the labels; for a y with several columns, a list with those of each column

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelNeighborsClassifier
    >>> X, y = np.array([[0.0], [1.0], [9.0]]), np.array(["a", "a", "b"])
    >>> KernelNeighborsClassifier("gaussian(0.01)", n_neighbors=1).fit(X, y).predict([[6.0]])
    array(['b'], dtype='<U1')
    """

    _: KW_ONLY
    outlier_label: Any = None
    class_weight: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the examples; y may have several columns.

        An example of weight 2 counts as two; those of weight 0 are left out, and indices of
        neighbors count the others.
        """
        X, y = self._start(X, y, sample_weight=sample_weight, labels=True, multi_output=True)
        y, copies = fetched(y), weights_or_none(sample_weight, X)
        columns = y.T if y.ndim == 2 else y[None]
        classes, indicators, factors = [], [], None
        for column, weight in zip(columns, _each(self.class_weight, len(columns)), strict=True):
            found, codes, _ = labeled(type(self).__name__, column, copies, None)
            classes.append(found)
            indicators.append(np.eye(len(found)).take(codes, axis=0))
            own = class_factors(found, codes, copies, weight)
            if own is not None:
                factors = own[codes] if factors is None else factors * own[codes]
        self.classes_ = classes if y.ndim == 2 else classes[0]
        targets = indicators[0] if len(indicators) == 1 else np.hstack(indicators)
        self._keep(X, targets, copies, factors)
        self._codes = None
        if y.ndim == 1:
            self._codes = codes if copies is None else codes[copies > 0]
        self.outlier_label_: list[Any] | None = self._outlier_labels()
        return self

    def _weighted(self, w: np.ndarray, index: np.ndarray, start: np.ndarray) -> np.ndarray:
        """As for any targets; those of one output are counted by class."""
        codes = getattr(self, "_codes", None)
        if codes is None:
            return super()._weighted(w, index, start)
        n, classes = len(start) - 1, self.y_fit_.shape[1]
        places = np.repeat(np.arange(0, n * classes, classes), np.diff(start)) + codes[index]
        votes = np.bincount(places, w, n * classes).reshape(n, classes)
        total = votes.sum(axis=1, keepdims=True)
        return np.asarray(votes / np.where(total > 0, total, 1.0))

    def _outlier_labels(self) -> list[Any] | None:
        """The answer for outliers of each output; None where the nearest example answers."""
        if self.outlier_label is None:
            return None
        weight = np.ones(len(self.y_fit_))
        for factor in (self.sample_weight_, self._factors):
            weight = weight if factor is None else weight * factor
        labels, outputs = [], self._outputs((weight @ self.y_fit_)[None])
        given = _each(self.outlier_label, len(outputs))
        for label, (classes, sums) in zip(given, outputs, strict=True):
            if isinstance(label, str) and label == "most_frequent":
                label = classes[sums[0].argmax()]
            elif np.ndim(label) != 0:
                raise TypeError(f"outlier_label must be one label per output, got {label!r}")
            elif np.asarray(label).dtype.kind != classes.dtype.kind:
                raise TypeError(
                    f"outlier_label {label!r} is no label like those of y, such as {classes[0]!r}"
                )
            labels.append(label)
        return labels

    def _outputs(self, values: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The classes of each output, and the columns of `values` that belong to them."""
        classes = self.classes_ if isinstance(self.classes_, list) else [self.classes_]
        ends = np.cumsum([len(c) for c in classes])[:-1]
        return [*zip(classes, np.split(values, ends, axis=1), strict=True)]

    def _without_neighbors(self, alone: Any, own: np.ndarray | None, n: int) -> np.ndarray:
        labels = getattr(self, "outlier_label_", None)
        if labels is None:
            return super()._without_neighbors(alone, own, n)
        outputs = self._outputs(np.zeros((count(alone), self.y_fit_.shape[1])))
        for label, (classes, shares) in zip(labels, outputs, strict=True):
            shares[:, classes == label] = 1.0
            if label not in classes:
                warn(
                    f"Outlier label {label!r} is not in training classes: the probabilities of "
                    "all classes are 0 where nobody is within the radius",
                    DataWarning,
                )
        return np.hstack([shares for _, shares in outputs])

    def predict_proba(self, X: Any) -> Any:
        """The share of each class in the votes; for several outputs, a list of such.

        Without X (None), those of the training examples, each by its neighbors without itself.
        """
        values, _ = self._mean(X)
        where = self.X_fit_ if X is None else X
        shares = [like(part, where) for _, part in self._outputs(values)]
        return shares if isinstance(self.classes_, list) else shares[0]

    def predict(self, X: Any) -> Any:
        """The class with the most votes; of equal ones the first. X may be None, as above."""
        values, alone = self._mean(X)
        where = self.X_fit_ if X is None else X
        answers = []
        given = getattr(self, "outlier_label_", None)
        for output, (classes, shares) in enumerate(self._outputs(values)):
            found = labels_at(like(shares.argmax(axis=1), where), classes)
            if given is not None and len(alone):
                nobody = np.isin(np.arange(len(values)), alone)
                found = np.where(nobody, np.asarray(given[output]), host(found))
                found = like(found, where) if found.dtype.kind in "biuf" else found
            answers.append(found)
        return np.column_stack([*map(host, answers)]) if len(answers) > 1 else answers[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _each(given: Any, outputs: int) -> list[Any]:
    """One value per output, from one for all or from a list."""
    if not isinstance(given, (list, tuple)):
        return [given] * outputs
    if outputs > 1 and len(given) != outputs:
        raise ValueError(f"{len(given)} values are given for {outputs} outputs: one per output")
    return [given] if outputs == 1 else [*given]


class KernelNeighborsRegressor(RegressorMixin, KernelNeighbors):
    """The mean target of the k training examples nearest in feature space.

    Parameters as in `KernelNeighborsClassifier`, without those of classes; y may have several
    columns.

    Parameters
    ----------
    kernel : Kernel, expression, callable or "precomputed"
        Any similarity; it need not be positive semi-definite.
    n_neighbors : int, default 5
        How many are averaged; more is smoother.
    weights : "uniform", "distance", "kernel" or function
        What a neighbor counts, as in `KernelNeighborsClassifier`.
    radius : float or None
        If given, all examples within this feature-space distance are averaged instead.

    Attributes
    ----------
    kernel_ : Kernel
        As used, with the widths that the data chose.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelNeighborsRegressor
    >>> X, y = np.array([[0.0], [1.0], [9.0]]), np.array([0.0, 1.0, 9.0])
    >>> KernelNeighborsRegressor(n_neighbors=2).fit(X, y).predict([[3.0]])
    array([0.5])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the examples; weights as in `KernelNeighborsClassifier.fit`."""
        X, y = self._start(X, y, sample_weight=sample_weight, multi_output=True)
        y = fetched(y)
        self._one_output = y.ndim == 1
        columns = np.asarray(y if y.ndim == 2 else y[:, None], dtype=np.float64)
        self._keep(X, columns, weights_or_none(sample_weight, X))
        return self

    def predict(self, X: Any) -> Any:
        """The mean over the neighbors.

        Without X (None), for each training example over its neighbors without itself.
        """
        values, _ = self._mean(X)
        where = self.X_fit_ if X is None else X
        return like(values[:, 0] if self._one_output else values, where)
