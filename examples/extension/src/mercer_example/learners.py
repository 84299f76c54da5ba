"""A classifier: the class whose examples are most similar on average."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from mercer.extend import KernelExpansion, KernelLearner, Learner, register_learner


class KernelMean(ClassifierMixin, KernelLearner):
    """argmaxₖ of the mean of k(x, xᵢ) over the examples xᵢ of class k.

    Parameters
    ----------
    kernel : Kernel, str or callable, default "gaussian(1)"
        The similarity of two examples.
    """

    _needs_psd = False

    def __init__(self, kernel: Any = "gaussian(1)") -> None:
        self.kernel = kernel

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the examples, in the order of their classes."""
        X, y = self._start(X, y, labels=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        shares = np.eye(len(self.classes_))[codes]
        points, coef = self.kernel_.points(X), shares / shares.sum(axis=0)
        self.expansion_ = KernelExpansion(self.kernel_, points, coef)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The mean similarity to each class, one row per example."""
        return np.asarray(self.expansion_(self._examples(X, reset=False)))

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest mean."""
        return np.asarray(self.classes_[self.decision_function(X).argmax(axis=1)])


register_learner(Learner("kernel-mean", classifier=KernelMean, raced=False))
