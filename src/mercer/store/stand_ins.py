"""Stand-ins for private classes of scikit-learn that fitted models consist of.

A file names such a class, and is read by every version of scikit-learn, also by one that has moved
or renamed the class: what is in the file becomes the class here, which answers as the other did.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit


class Sigmoid:
    """1 / (1 + exp(a s + b)): the probability that belongs to a score s."""

    a_: float
    b_: float

    def predict(self, scores: np.ndarray) -> np.ndarray:
        return np.asarray(expit(-(self.a_ * scores + self.b_)))


class CalibratedClassifier:
    """A fitted classifier, and a map from scores to probabilities for each class of it.

    Of two classes only the second has such a map.
    """

    estimator: Any
    calibrators: list[Any]
    classes: np.ndarray

    def predict_proba(self, X: Any) -> np.ndarray:
        """One row per example; where every map gives 0, all classes are equally likely."""
        scores, n_classes = self._scores(X), len(self.classes)
        mapped = [one.predict(s) for one, s in zip(self.calibrators, scores.T, strict=True)]
        if n_classes == 2:
            return _at_most_one(np.column_stack([1.0 - mapped[0], mapped[0]]))
        made = np.zeros((len(scores), n_classes))
        made[:, np.searchsorted(self.classes, self.estimator.classes_)] = np.column_stack(mapped)
        sums = made.sum(axis=1, keepdims=True)
        equal = np.full_like(made, 1.0 / n_classes)
        return _at_most_one(np.divide(made, sums, out=equal, where=sums != 0))

    def _scores(self, X: Any) -> np.ndarray:
        if hasattr(self.estimator, "decision_function"):
            scores = self.estimator.decision_function(X)
            return np.asarray(scores).reshape(len(scores), -1)
        shares = np.asarray(self.estimator.predict_proba(X))
        return shares[:, 1:] if len(self.classes) == 2 else shares


def _at_most_one(made: np.ndarray) -> np.ndarray:
    """Probabilities that rounding has put above 1 put back."""
    made[(made > 1.0) & (made <= 1.0 + 1e-5)] = 1.0
    return made
