"""How good predictions are: every metric here is better when it is higher."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

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


def r2(truth: np.ndarray, predicted: np.ndarray) -> float:
    """1 − Σ(t − p)² / Σ(t − t̄)²; where the targets do not vary, 1 for no error and 0 otherwise."""
    error = float(np.sum((truth - predicted) ** 2))
    total = float(np.sum((truth - truth.mean()) ** 2))
    return 1.0 - error / total if total > 0 else float(error == 0)


def neg_mean_absolute_error(truth: np.ndarray, predicted: np.ndarray) -> float:
    return -float(np.mean(np.abs(truth - predicted)))


def neg_root_mean_squared_error(truth: np.ndarray, predicted: np.ndarray) -> float:
    return -float(np.sqrt(np.mean((truth - predicted) ** 2)))


METRICS: dict[str, dict[str, Metric]] = {
    "classification": {
        "accuracy": accuracy,
        "balanced_accuracy": balanced_accuracy,
        "f1_macro": f1_macro,
    },
    "regression": {
        "r2": r2,
        "neg_mean_absolute_error": neg_mean_absolute_error,
        "neg_root_mean_squared_error": neg_root_mean_squared_error,
    },
}


def metric_of(task: str, name: str | None) -> tuple[str, Metric]:
    """The name and the function of a metric; without a name, of the default of the task."""
    known = METRICS[task]
    name = next(iter(known)) if name is None else name
    if name not in known:
        raise ValueError(f"a metric for {task} is one of {', '.join(known)}; got {name!r}")
    return name, known[name]
