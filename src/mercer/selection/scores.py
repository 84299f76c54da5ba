"""Scores and probabilities of classifiers, and how a metric judges a fitted model by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.learners.probabilities import CalibratedScores, by_class, scores_of
from mercer.selection.metrics import Metric, accuracy, needs


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
        from_half = CalibratedScores.fitted(None, scores[fit], truth[fit])
        made[~fit] = from_half.probabilities(scores[~fit])
    return made


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
