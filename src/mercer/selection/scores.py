"""Scores and probabilities of classifiers, and how a metric judges a fitted model by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.selection.metrics import Metric, accuracy, needs


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


def class_scores(model: Any, examples: Any, count: int) -> tuple[np.ndarray, bool]:
    """A column per class 0, 1, … of a classifier fitted on these numbers; whether probabilities."""
    raw, probable = scores_of(model, examples)
    if raw is None:
        answers = np.asarray(model.predict(examples)).astype(int)
        return (answers[:, None] == np.arange(count)).astype(float), False
    return by_class(raw, np.asarray(model.classes_).astype(int), count), probable


def cross_calibrated(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Probabilities of each half of the rows, from scores and classes of the other half."""
    half = np.random.default_rng(0).permutation(len(truth)) % 2 == 0
    made = np.empty(scores.shape)
    for fit in (half, ~half):
        made[~fit] = Calibration(scores[fit], truth[fit]).predict_proba(scores[~fit])
    return made


class Calibration:
    """Logistic regression of classes 0, 1, … on scores: for two classes, Platt's sigmoid."""

    def __init__(self, scores: np.ndarray, truth: np.ndarray) -> None:
        from sklearn.linear_model import LogisticRegression

        self.count, self.spread = scores.shape[1], float(scores.std()) or 1.0
        self.shares = (np.bincount(truth, minlength=self.count) + 1) / (len(truth) + self.count)
        self.model = None
        if len(np.unique(truth)) > 1:
            self.model = LogisticRegression(max_iter=200).fit(scores / self.spread, truth)

    def predict_proba(self, scores: np.ndarray) -> np.ndarray:
        if self.model is None:
            return np.tile(self.shares, (len(scores), 1))
        made = np.full((len(scores), self.count), 1e-6)
        made[:, self.model.classes_] = self.model.predict_proba(scores / self.spread)
        return made / made.sum(axis=1, keepdims=True)


def judged(
    metric: Metric, truth: np.ndarray, answers: np.ndarray, scores: np.ndarray | None, sure: bool
) -> float:
    """The metric, by answers, scores or probabilities, whichever it needs."""
    need = needs(metric)
    if need == "answers" or scores is None:
        return metric(truth, answers)
    if need == "probabilities" and not sure:
        scores = cross_calibrated(scores, truth)
    return metric(truth, scores)


def judged_inside(metric: Metric, model: Any, rows: Any, y: np.ndarray, classes: int) -> float:
    """The same for rows held out once more, where the loss of probabilities that a model does not
    have is replaced by the share of right answers."""
    need = needs(metric)
    if need == "answers":
        return metric(y, model.predict(rows))
    scores, probable = class_scores(model, rows, classes)
    if need == "scores" or probable:
        return metric(y, scores)
    return accuracy(y, np.asarray(model.predict(rows)))
