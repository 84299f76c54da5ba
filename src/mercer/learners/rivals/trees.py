"""Many binary trees: grown by scikit-learn, kept in plain arrays and evaluated here.

A row x goes from node i to ``left[i]`` if ``x[feature[i]] <= threshold[i]``, else to ``right[i]``;
a leaf leads to itself. A file holds these arrays and nothing of scikit-learn, so that no version of
it has to understand the private state of another.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer._lazy import record
from mercer._progress import progress

#: Values that are looked up at once: rows × trees × outputs.
AT_ONCE = 2_000_000
#: Trees (or iterations of boosting) that are grown between two looks at the clock.
AT_A_TIME = 25
#: Training values from which a forest is grown by several threads.
WORTH_THREADS = 200_000


@record
class Trees:
    """Nodes of all trees, one after the other; `value` has a row per node."""

    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    depth: int
    outputs: int

    @classmethod
    def joined(cls, parts: Iterable[tuple[np.ndarray, ...]], outputs: int) -> Trees:
        """From (feature, threshold, left, right, value) per tree; leaves lead to themselves."""
        parts = list(parts)
        sizes = [len(feature) for feature, *_ in parts]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        feature, threshold, left, right, value = (
            np.concatenate(p) for p in zip(*parts, strict=True)
        )
        shift = np.repeat(roots, sizes)
        left, right = (left + shift).astype(np.int32), (right + shift).astype(np.int32)
        depth, level = 0, roots
        while len(level := np.unique(np.concatenate([left[level], right[level]]))):
            level = level[left[level] != level]
            depth += 1
        return cls(roots, feature.astype(np.int32), threshold, left, right, value, depth, outputs)

    def sums(self, X: np.ndarray) -> np.ndarray:
        """Per row and output, the sum over trees of the value of the leaf that the row reaches.

        Trees have a value per output, or stand in turn for one output after the other.
        """
        made = np.empty((len(X), self.outputs))
        step = max(1, AT_ONCE // max(1, len(self.roots) * self.value.shape[1]))
        for begin in range(0, len(X), step):
            rows = X[begin : begin + step]
            leaves = self.value[self._leaves(rows)]
            shape = len(rows), -1, self.outputs
            made[begin : begin + step] = leaves.reshape(shape).sum(axis=1, dtype=np.float64)
        return made

    def _leaves(self, X: np.ndarray) -> np.ndarray:
        at = np.tile(self.roots, (len(X), 1))
        row = np.arange(len(X))[:, None]
        # A damaged file may promise any depth; no path is longer than all nodes.
        for _ in range(min(self.depth, len(self.feature))):
            at = np.where(
                X[row, self.feature[at]] <= self.threshold[at], self.left[at], self.right[at]
            )
        return at


def boosted(model: Any) -> tuple[Trees, np.ndarray]:
    """The trees of histogram gradient boosting, and what their sums are added to."""
    parts = []
    for tree in (t for iteration in model._predictors for t in iteration):
        nodes = tree.nodes
        own, leaf = np.arange(len(nodes)), nodes["is_leaf"].astype(bool)
        left, right = (np.where(leaf, own, nodes[side]) for side in ("left", "right"))
        feature = np.where(leaf, 0, nodes["feature_idx"])
        parts.append((feature, nodes["num_threshold"].copy(), left, right, nodes["value"][:, None]))
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
        value = (value / len(model.estimators_)).astype(np.float32)
        parts.append((np.where(leaf, 0, tree.feature), tree.threshold, left, right, value))
    outputs = parts[0][-1].shape[1]
    return Trees.joined(parts, outputs), np.zeros(outputs)


class _TreeLearner(BaseEstimator):
    """Boosting or a forest; `method` is "boosting" or "forest"."""

    def __init__(
        self,
        method: str = "boosting",
        n_trees: int = 100,
        learning_rate: float = 0.1,
        random_state: int = 0,
    ) -> None:
        self.method = method
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.random_state = random_state

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
        self.trees_, self.start_ = (boosted if self.method == "boosting" else averaged)(model)
        return self

    def _grown(self, X: np.ndarray, y: Any, sample_weight: Any) -> Any:
        """A few trees at a time, so that it can end when a time budget does."""
        count = "max_iter" if self.method == "boosting" else "n_estimators"
        model = self._grower(X).set_params(warm_start=True)
        with progress(self.method, self.n_trees) as bar:
            for done in range(0, self.n_trees, AT_A_TIME):
                some = min(AT_A_TIME, self.n_trees - done)
                model.set_params(**{count: done + some}).fit(X, y, sample_weight=sample_weight)
                bar.advance(some)
        return model

    def _grower(self, X: np.ndarray) -> Any:
        from sklearn import ensemble

        kind = "Classifier" if isinstance(self, ClassifierMixin) else "Regressor"
        if self.method == "boosting":
            return getattr(ensemble, f"HistGradientBoosting{kind}")(
                max_iter=self.n_trees, learning_rate=self.learning_rate, early_stopping=False,
                random_state=self.random_state,
            )  # fmt: skip
        threads = get_config().n_threads if X.size >= WORTH_THREADS else 1
        return getattr(ensemble, f"RandomForest{kind}")(
            self.n_trees, n_jobs=threads, random_state=self.random_state
        )

    def _rows(self, X: Any) -> np.ndarray:
        X = X.toarray() if is_sparse(X) else np.asarray(X)
        # A forest of scikit-learn compares single-precision numbers with its thresholds.
        return np.ascontiguousarray(X, dtype=np.float32 if self.method == "forest" else np.float64)

    def _sums(self, X: Any) -> np.ndarray:
        return self.start_ + self.trees_.sums(self._rows(X))


class TreesRegressor(RegressorMixin, _TreeLearner):
    """Σ of trees, for numbers.

    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> TreesRegressor().fit(X, X[:, 0] > 0.5).predict([[0.2], [0.8]]).round()
    array([0., 1.])
    """

    def predict(self, X: Any) -> np.ndarray:
        return self._sums(X)[:, 0]


class TreesClassifier(ClassifierMixin, _TreeLearner):
    """Σ of trees, for classes.

    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> TreesClassifier("forest").fit(X, X[:, 0] > 0.5).predict([[0.2], [0.8]])
    array([False,  True])
    """

    def __init__(
        self,
        method: str = "boosting",
        n_trees: int = 100,
        learning_rate: float = 0.1,
        random_state: int = 0,
        class_weight: Any = None,
    ) -> None:
        super().__init__(method, n_trees, learning_rate, random_state)
        self.class_weight = class_weight

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
