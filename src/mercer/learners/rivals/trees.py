"""Many binary trees: grown by scikit-learn, kept in plain arrays and evaluated here.

A row x goes from node i to ``left[i]`` if ``x[feature[i]] <= threshold[i]``, else to ``right[i]``;
a missing value goes left where ``missing[i]`` says so. A leaf leads to itself. A file holds these
arrays and nothing of scikit-learn, so that no version of it has to understand the private state of
another.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax

from mercer._arrays import is_sparse
from mercer._bases import BaseEstimator, ClassifierMixin, RegressorMixin
from mercer._config import get_config
from mercer._lazy import record
from mercer._progress import progress
from mercer.kernels.estimators import estimator
from mercer.tuning import SCRATCH_BYTES

#: Trees (or iterations of boosting) that are grown between two looks at the clock.
TREES_AT_A_TIME = 25
#: Rows for which trees are compared with the model that they were read from.
FEW_TREE_ROWS = 100
#: Training values from which a forest is grown by several threads.
THREADED_VALUES = 200_000


@record
class Trees:
    """Nodes of all trees, one after the other; `value` has a row per node.

    Sums over trees are divided by `divisor`. Files of earlier versions have neither that nor
    `missing`: their values are divided already, and a missing value goes right.
    """

    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    depth: int
    outputs: int
    missing: np.ndarray | None = None
    divisor: int = 1

    @classmethod
    def joined(
        cls, parts: Iterable[tuple[np.ndarray, ...]], outputs: int, divisor: int = 1
    ) -> Trees:
        """From (feature, threshold, left, right, value, missing) per tree, each on its own."""
        parts = list(parts)
        sizes = [len(feature) for feature, *_ in parts]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        feature, threshold, left, right, value, missing = (
            np.concatenate(p) for p in zip(*parts, strict=True)
        )
        shift = np.repeat(roots, sizes)
        left, right = (left + shift).astype(np.int32), (right + shift).astype(np.int32)
        depth = _depth(roots, left, right)
        return cls(roots, feature.astype(np.int32), threshold, left, right, value, depth, outputs,
                   missing.astype(bool), divisor)  # fmt: skip

    def check_saved(self) -> None:
        """Raise ValueError where arrays of a file make no trees: every index and value counts."""
        count, width = self.value.shape
        links = self.feature, self.left, self.right, self.roots
        missing = self.left if self.missing is None else self.missing
        of_nodes = self.feature, self.left, self.right, self.threshold, missing
        if not (
            all(a.dtype.kind in "iu" and a.size and a.min() >= 0 for a in links)
            and all(a.shape == (count,) for a in of_nodes)
            and np.isfinite(self.value).all() > np.isnan(self.threshold).any()
            and min(self.outputs, self.divisor) >= 1
            and len(self.roots) * width % self.outputs == 0
            and max(a.max() for a in links[1:]) < count
        ):
            raise ValueError("its trees have nodes that are none")
        own = np.arange(count)
        leaf = (self.left == own) & (self.right == own)
        # The children of a node stand behind it, so that no path comes back.
        if not (leaf | (np.minimum(self.left, self.right) > own)).all():
            raise ValueError("its trees have paths without an end")
        if self.depth != _depth(self.roots, self.left, self.right):
            raise ValueError(f"its trees are not {self.depth!r:.20} levels deep")

    def sums(self, X: np.ndarray) -> np.ndarray:
        """Per row and output, the sum over trees of the value of the leaf that the row reaches.

        Trees have a value per output, or stand in turn for one output after the other.
        """
        made = np.empty((len(X), self.outputs))
        step = max(1, SCRATCH_BYTES // (8 * max(1, len(self.roots) * self.value.shape[1])))
        for begin in range(0, len(X), step):
            rows = X[begin : begin + step]
            leaves = self.value[self._leaves(rows)]
            shape = len(rows), -1, self.outputs
            made[begin : begin + step] = leaves.reshape(shape).sum(axis=1, dtype=np.float64)
        return made / self.divisor

    def _leaves(self, X: np.ndarray) -> np.ndarray:
        at = np.tile(self.roots, (len(X), 1))
        row = np.arange(len(X))[:, None]
        for _ in range(self.depth):
            value = X[row, self.feature[at]]
            goes_left = value <= self.threshold[at]
            if self.missing is not None:
                goes_left |= np.isnan(value) & self.missing[at]
            at = np.where(goes_left, self.left[at], self.right[at])
        return at


def _depth(roots: np.ndarray, left: np.ndarray, right: np.ndarray) -> int:
    """The number of levels below the roots, leaves included."""
    depth, level = 0, roots
    while len(level := np.unique(np.concatenate([left[level], right[level]]))):
        level = level[left[level] != level]
        depth += 1
    return depth


def read(model: Any, X: np.ndarray) -> tuple[Trees | None, Any]:
    """The trees of a fitted model, and what their sums are added to.

    scikit-learn has no public name for the trees of histogram gradient boosting. Where they are not
    found, or give other answers than the model does for rows of X, the trees are None, and what
    comes with them is the model itself.
    """
    if hasattr(model, "estimators_"):
        return averaged(model)
    rows = X[:FEW_TREE_ROWS]
    try:
        trees, start = boosted(model)
        same = np.allclose(start + trees.sums(rows), raw(model, rows), 1e-6, 1e-9)
    except (AttributeError, LookupError, TypeError, ValueError):
        same = False
    return (trees, start) if same else (None, model)


def raw(model: Any, X: np.ndarray) -> np.ndarray:
    """A column of sums of trees per output, as a model of scikit-learn gives them."""
    answer = getattr(model, "decision_function", model.predict)
    return np.asarray(answer(X), dtype=np.float64).reshape(len(X), -1)


def boosted(model: Any) -> tuple[Trees, np.ndarray]:
    """The trees of histogram gradient boosting, and what their sums are added to."""
    parts = []
    for tree in (t for iteration in model._predictors for t in iteration):
        nodes = tree.nodes
        own, leaf = np.arange(len(nodes)), nodes["is_leaf"].astype(bool)
        left, right = (np.where(leaf, own, nodes[side]) for side in ("left", "right"))
        feature = np.where(leaf, 0, nodes["feature_idx"])
        parts.append((feature, nodes["num_threshold"].copy(), left, right,
                      nodes["value"][:, None], nodes["missing_go_to_left"]))  # fmt: skip
    start = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)
    return Trees.joined(parts, len(start)), start


def averaged(model: Any) -> tuple[Trees, np.ndarray]:
    """The trees of a random forest, whose leaves hold shares of classes or means."""
    parts = []
    for tree in (one.tree_ for one in model.estimators_):
        own, leaf = np.arange(tree.node_count), tree.children_left < 0
        left = np.where(leaf, own, tree.children_left)
        right = np.where(leaf, own, tree.children_right)
        value = tree.value[:, 0, :]
        if hasattr(model, "classes_"):
            value = value / value.sum(axis=1, keepdims=True)
        parts.append((np.where(leaf, 0, tree.feature), tree.threshold, left, right, value,
                      tree.missing_go_to_left))  # fmt: skip
    outputs = value.shape[1]
    return Trees.joined(parts, outputs, len(parts)), np.zeros(outputs)


@estimator
class _TreeLearner(BaseEstimator):
    """Boosting or a forest; `method` is "boosting" or "forest". `leaves` of a tree at most and rows
    in the `smallest` of them, the penalty `l2` of their values, and the share of the columns that a
    split looks at are of boosting."""

    method: str = "boosting"
    n_trees: int = 100
    learning_rate: float = 0.1
    random_state: int = 0
    leaves: int = 31
    smallest: int = 20
    l2: float = 0.0
    columns: float = 1.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees, and keep their nodes."""
        from threadpoolctl import threadpool_limits

        X = self._rows(X)
        # Threads that wait for each other at every node of a small tree made a fit a hundred times
        # as slow on a machine that had other work to do.
        with threadpool_limits(1, user_api="openmp"):
            model = self._grown(X, y, sample_weight)
        if hasattr(model, "classes_"):
            self.classes_ = model.classes_
        self.n_features_in_ = X.shape[1]
        self.trees_, self.start_ = read(model, X)
        return self

    def _grown(self, X: np.ndarray, y: Any, sample_weight: Any) -> Any:
        """A few trees at a time, so that it can end when a time budget does."""
        count = "max_iter" if self.method == "boosting" else "n_estimators"
        model = self._grower(X).set_params(warm_start=True)
        with progress(self.method, self.n_trees) as bar:
            for done in range(0, self.n_trees, TREES_AT_A_TIME):
                some = min(TREES_AT_A_TIME, self.n_trees - done)
                model.set_params(**{count: done + some}).fit(X, y, sample_weight=sample_weight)
                bar.advance(some)
        return model

    def _grower(self, X: np.ndarray) -> Any:
        from sklearn import ensemble

        kind = "Classifier" if isinstance(self, ClassifierMixin) else "Regressor"
        if self.method == "boosting":
            return getattr(ensemble, f"HistGradientBoosting{kind}")(
                max_iter=self.n_trees, learning_rate=self.learning_rate, early_stopping=False,
                random_state=self.random_state, max_leaf_nodes=self.leaves,
                max_features=self.columns, min_samples_leaf=self.smallest,
                l2_regularization=self.l2,
            )  # fmt: skip
        threads = get_config().n_threads if X.size >= THREADED_VALUES else 1
        return getattr(ensemble, f"RandomForest{kind}")(
            self.n_trees, n_jobs=threads, random_state=self.random_state
        )

    def _rows(self, X: Any) -> np.ndarray:
        X = X.toarray() if is_sparse(X) else np.asarray(X)
        # A forest of scikit-learn compares single-precision numbers with its thresholds.
        return np.ascontiguousarray(X, dtype=np.float32 if self.method == "forest" else np.float64)

    def check_saved(self) -> None:
        """Raise ValueError where the fields of a file do not belong together."""
        if not hasattr(self, "trees_"):
            return  # not fitted
        trees, classes = self.trees_, len(getattr(self, "classes_", ()))
        wanted = classes if classes > 2 or self.method == "forest" else 1
        if not isinstance(trees, Trees) or trees.feature.max() >= self.n_features_in_:
            raise ValueError(f"its trees look at more than {self.n_features_in_!r:.20} columns")
        if self.start_.shape != (trees.outputs,) or trees.outputs != max(wanted, 1):
            raise ValueError(f"its trees have {trees.outputs} outputs")
        if not np.isfinite(self.start_).all():
            raise ValueError("its first value is not a number")

    def _sums(self, X: Any) -> np.ndarray:
        X = self._rows(X)
        return raw(self.start_, X) if self.trees_ is None else self.start_ + self.trees_.sums(X)


class TreesRegressor(RegressorMixin, _TreeLearner):
    """Σ of trees, for numbers.

    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> TreesRegressor().fit(X, X[:, 0] > 0.5).predict([[0.2], [0.8]]).round()
    array([0., 1.])
    """

    def predict(self, X: Any) -> np.ndarray:
        return self._sums(X)[:, 0]


@estimator
class TreesClassifier(ClassifierMixin, _TreeLearner):
    """Σ of trees, for classes.

    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> TreesClassifier("forest").fit(X, X[:, 0] > 0.5).predict([[0.2], [0.8]])
    array([False,  True])
    """

    class_weight: Any = None

    def _grower(self, X: np.ndarray) -> Any:
        return super()._grower(X).set_params(class_weight=self.class_weight)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores per class; for two classes one, above 0 for the second."""
        sums = self._sums(X)
        if sums.shape[1] == 1:
            return sums[:, 0]
        return sums[:, 1] - sums[:, 0] if sums.shape[1] == 2 else sums

    def predict_proba(self, X: Any) -> np.ndarray:
        sums = self._sums(X)
        if self.method == "forest":
            return sums
        if sums.shape[1] > 1:
            return np.asarray(softmax(sums, axis=1))
        second = expit(sums[:, 0])
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


__all__ = ["Trees", "TreesClassifier", "TreesRegressor", "averaged", "boosted"]
