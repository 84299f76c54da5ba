"""Learners and tensors: what comes in on a GPU is checked, learned from and answered there."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import host, is_tensor, on_gpu
from mercer._bases import ClassifierMixin as SklearnClassifier
from mercer._bases import RegressorMixin as SklearnRegressor


def checked_rows(learner: Any, X: Any, *, reset: bool) -> Any:
    """Rows of an engine, with as many columns as `fit` saw; with `reset`, those become the norm.

    scikit-learn's own checks would copy them to the host.
    """
    width = int(X.shape[1])
    if reset:
        learner.__dict__.pop("feature_names_in_", None)
        learner.n_features_in_ = width
        if names := getattr(X, "names", ()):  # columns of a data frame in pieces
            learner.feature_names_in_ = np.asarray(names, dtype=object)
    elif width != learner.n_features_in_:
        raise ValueError(
            f"X has {width} features, but {type(learner).__name__} is expecting "
            f"{learner.n_features_in_} features as input"
        )
    return X


def as_scores(values: Any) -> Any:
    """Scores as they leave an estimator: a tensor as it is, anything else in float64."""
    return values if is_tensor(values) else np.asarray(values, dtype=np.float64)


def labels_at(index: Any, classes: np.ndarray) -> Any:
    """The labels at these indices; on the device where they are numbers and the indices are."""
    if not is_tensor(index):
        return np.asarray(classes[index])
    if classes.dtype.kind not in "biuf":
        return classes[host(index)]
    import torch

    return torch.as_tensor(classes, device=index.device)[index]


class ClassifierMixin(SklearnClassifier):
    """scikit-learn's, whose `score` takes tensors, too."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right answers."""
        if not (is_tensor(X) or on_gpu(X)):
            return float(super().score(X, host(y), sample_weight))
        from sklearn.metrics import accuracy_score

        predicted = host(self.predict(X))  # type: ignore[attr-defined]
        return float(accuracy_score(host(y), predicted, sample_weight=host(sample_weight)))


class RegressorMixin(SklearnRegressor):
    """scikit-learn's, whose `score` takes tensors, too."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R²: one minus the squared error relative to that of the mean."""
        if not (is_tensor(X) or on_gpu(X)):
            return float(super().score(X, host(y), sample_weight))
        from sklearn.metrics import r2_score

        predicted = host(self.predict(X))  # type: ignore[attr-defined]
        return float(r2_score(host(y), predicted, sample_weight=host(sample_weight)))
