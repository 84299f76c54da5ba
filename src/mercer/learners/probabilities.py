"""A classifier with probabilities: the scores of another one, calibrated by logistic regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import clone

from mercer._bases import BaseEstimator, ClassifierMixin
from mercer.kernels.estimators import estimator


def scores_of(model: Any, examples: Any) -> tuple[np.ndarray | None, bool]:
    """Probabilities or else decision values of a fitted classifier, and which of the two."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(examples)), True
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(examples)), False
    return None, False


def by_class(raw: np.ndarray, known: np.ndarray, count: int) -> np.ndarray:
    """A column per class from those of the classes that a model has met, by their index.

    Classes that it has not met are the least likely.
    """
    columns = np.column_stack([-raw, raw]) if raw.ndim == 1 else raw
    made = np.full((len(raw), count), columns.min())
    made[:, known] = columns
    return made


def evidence(scores: np.ndarray, probable: bool) -> np.ndarray:
    """What probabilities are made of: decision values, or logarithms of other probabilities."""
    return np.log(np.clip(scores, 1e-9, 1.0)) if probable else scores


@estimator
class CalibratedScores(ClassifierMixin, BaseEstimator):
    """P(class k | x) ∝ exp(Σ coef[k, l] s(x)[l] + intercept[k]), s the scores of `estimator`.

    `coef` and `intercept` come from scores of rows that the estimator had not seen (`fitted`). For
    two classes this is Platt's sigmoid. Answers are those of the estimator.

    >>> from sklearn.linear_model import RidgeClassifier
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> made = CalibratedScores(RidgeClassifier(), [[0, 0], [0, 4.0]], [0.0, 0.0])
    >>> made.fit(X, ["u", "u", "v", "v"]).predict_proba([[0.0], [3.0]]).round(2)
    array([[0.5, 0.5],
           [0. , 1. ]])
    """

    estimator: Any
    coef: Any
    intercept: Any

    @classmethod
    def fitted(cls, estimator: Any, scores: np.ndarray, truth: np.ndarray) -> CalibratedScores:
        """Coefficients from a column of scores per class 0, 1, …, and the true classes."""
        from sklearn.linear_model import LogisticRegression

        count, spread = scores.shape[1], float(scores.std()) or 1.0
        coef, intercept = np.zeros((count, count)), np.full(count, -np.log(1e6))
        known = np.unique(truth)
        if len(known) == 1:
            intercept[known] = 0.0
            return cls(estimator, coef, intercept)
        found = LogisticRegression(max_iter=300).fit(scores / spread, truth)
        two = len(known) == 2  # the first class has no row: its evidence is 0
        coef[known] = np.vstack([0 * found.coef_, found.coef_]) if two else found.coef_
        intercept[known] = np.append([0.0], found.intercept_) if two else found.intercept_
        return cls(estimator, coef / spread, intercept)

    def fit(self, X: Any, y: Any) -> Self:
        self.estimator_ = clone(self.estimator).fit(X, y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.estimator_.predict(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        raw, probable = scores_of(self.estimator_, X)
        if raw is None:
            raw = (self.predict(X)[:, None] == self.classes_).astype(float)
        count = len(self.classes_)
        return self.probabilities(evidence(by_class(raw, np.arange(count), count), probable))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """From the evidence for each class."""
        made = scores @ np.asarray(self.coef, dtype=float).T + np.asarray(self.intercept)
        return np.asarray(softmax(made, axis=1))
