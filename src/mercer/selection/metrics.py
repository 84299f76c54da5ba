"""How good predictions are: every metric here is better when it is higher.

Most judge answers. Areas under curves judge scores, a column per class; the logarithmic loss judges
probabilities. `needs` says which; for these two, true classes are given by their index.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mercer._suggest import suggest

Metric = Callable[[np.ndarray, np.ndarray], float]


def accuracy(truth: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.mean(truth == predicted))


def balanced_accuracy(truth: np.ndarray, predicted: np.ndarray) -> float:
    """The mean over classes of the share found."""
    right = truth == predicted
    return float(np.mean([right[truth == c].mean() for c in np.unique(truth)]))


def f1_macro(truth: np.ndarray, predicted: np.ndarray) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(truth, predicted, average="macro", zero_division=0.0))


def ranks(values: np.ndarray) -> np.ndarray:
    """The place of each value in their order, from 1 on; equal values share the mean of theirs.

    These are the ranks of `scipy.stats.rankdata`; importing that costs a short budget too much.

    >>> ranks(np.array([30, 10, 30]))
    array([2.5, 1. , 2.5])
    """
    index, count = np.unique(values, return_inverse=True, return_counts=True)[1:]
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[index])


def _per_class(one: Callable[[np.ndarray, np.ndarray], float]) -> Metric:
    """The second class against the first; of more classes the mean, each against the others."""

    def mean(truth: np.ndarray, scores: np.ndarray) -> float:
        chosen = [1] if scores.shape[1] == 2 else range(scores.shape[1])
        mine = [(truth == k, scores[:, k]) for k in chosen]
        found = [one(is_class, score) for is_class, score in mine if 0 < is_class.mean() < 1]
        return float(np.mean(found)) if found else 0.5

    return mean


def _area(is_class: np.ndarray, scores: np.ndarray) -> float:
    """The share of pairs in which the row of the class has the higher score; ties count half."""
    count = int(is_class.sum())
    total = float(ranks(scores)[is_class].sum())
    return (total - count * (count + 1) / 2) / (count * (len(scores) - count))


def _average_precision(is_class: np.ndarray, scores: np.ndarray) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(is_class, scores))


roc_auc, average_precision = _per_class(_area), _per_class(_average_precision)


def neg_log_loss(truth: np.ndarray, probabilities: np.ndarray) -> float:
    picked = probabilities[np.arange(len(truth)), truth]
    return float(np.mean(np.log(np.clip(picked, 1e-15, 1.0))))


def r2(truth: np.ndarray, predicted: np.ndarray) -> float:
    """1 − Σ(t − p)² / Σ(t − t̄)²; where the targets do not vary, 1 for no error and 0 otherwise."""
    error = float(np.sum((truth - predicted) ** 2))
    total = float(np.sum((truth - truth.mean()) ** 2))
    return 1.0 - error / total if total > 0 else float(error == 0)


def neg_mean_absolute_error(truth: np.ndarray, predicted: np.ndarray) -> float:
    return -float(np.mean(np.abs(truth - predicted)))


def neg_root_mean_squared_error(truth: np.ndarray, predicted: np.ndarray) -> float:
    return -float(np.sqrt(np.mean((truth - predicted) ** 2)))


def neg_mean_pinball_loss(truth: np.ndarray, predicted: np.ndarray, quantile: float = 0.5) -> float:
    """An error upwards costs `quantile`, one downwards 1 − quantile, per unit."""
    above = truth - predicted
    return -float(np.mean(np.where(above > 0, quantile * above, (quantile - 1) * above)))


METRICS: dict[str, dict[str, Metric]] = {
    "classification": {
        "accuracy": accuracy,
        "balanced_accuracy": balanced_accuracy,
        "f1_macro": f1_macro,
        "roc_auc": roc_auc,
        "average_precision": average_precision,
        "neg_log_loss": neg_log_loss,
    },
    "regression": {
        "r2": r2,
        "neg_mean_absolute_error": neg_mean_absolute_error,
        "neg_root_mean_squared_error": neg_root_mean_squared_error,
        "neg_mean_pinball_loss": neg_mean_pinball_loss,
    },
}
#: Shorter names.
ALIASES = {
    "auc": "roc_auc",
    "ap": "average_precision",
    "log_loss": "neg_log_loss",
    "mae": "neg_mean_absolute_error",
    "rmse": "neg_root_mean_squared_error",
    "pinball": "neg_mean_pinball_loss",
}
#: Of the others "answers".
_NEEDS = {roc_auc: "scores", average_precision: "scores", neg_log_loss: "probabilities"}


def needs(metric: Metric) -> str:
    """What a metric judges: "answers", "scores" or "probabilities"."""
    return _NEEDS.get(metric, "answers")


def answers_metric(task: str, name: str) -> tuple[str, Metric]:
    """The metric of that name if it judges answers, or else the default of the task."""
    known = METRICS[task]
    name = name if name in known and needs(known[name]) == "answers" else next(iter(known))
    return name, known[name]


def metric_of(task: str, name: Any) -> tuple[str, Metric]:
    """The name and the function of a metric; without a name, of the default of the task.

    A function of (truth, predicted) is taken as it is; "pinball(0.9)" is the loss of a quantile.

    >>> metric_of("regression", "pinball(0.9)")[1](np.array([1.0]), np.array([0.0]))
    -0.9
    """
    known = METRICS[task]
    if callable(name):
        return getattr(name, "__name__", type(name).__name__), name
    name = next(iter(known)) if name is None else str(name)
    quantile = re.fullmatch(r"pinball\((0?\.\d+)\)", name)
    if quantile and task == "regression":
        return name, partial(neg_mean_pinball_loss, quantile=float(quantile[1]))
    name = ALIASES.get(name, name)
    if name not in known:
        raise ValueError(
            f"a metric for {task} is one of {', '.join(known)}; got {name!r}.{suggest(name, known)}"
        )
    return name, known[name]
