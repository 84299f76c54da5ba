"""Logistic regression of scikit-learn that can end when a time budget does."""

from __future__ import annotations

from typing import Any, Self

from sklearn.linear_model import LogisticRegression

from mercer._machine.deadline import check_time

#: Iterations between two looks at the clock: most fits need fewer, and are those of scikit-learn to
#: the last bit. Each start forgets what L-BFGS has learned of the curvature.
STEPS_AT_A_TIME = 50


class LinearClassifier(LogisticRegression):
    """Logistic regression, some iterations at a time.

    >>> LinearClassifier(C=10.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[0.2]])
    array([0])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit, beginning each time where the last iterations ended."""
        before = self.get_params()
        most, warm = before["max_iter"], before["warm_start"]
        try:
            for done in range(0, most, STEPS_AT_A_TIME):
                check_time()
                some = min(STEPS_AT_A_TIME, most - done)
                self.set_params(max_iter=some, warm_start=warm or done > 0)
                super().fit(X, y, sample_weight)
                if self.n_iter_.max() < some:
                    break
        finally:
            self.set_params(max_iter=most, warm_start=warm)
        return self


__all__ = ["LinearClassifier"]
