"""Scores as everyone shows them: shares in per cent, all else with four decimals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: What metrics are called in sentences, and above a narrow column.
_NAMES = {
    "balanced_accuracy": ("balanced accuracy", "balanced"),
    "f1_macro": ("mean F1", "mean F1"),
    "roc_auc": ("AUC", "AUC"),
    "average_precision": ("average precision", "precision"),
    "neg_log_loss": ("−(log loss)", "−log loss"),
    "r2": ("R²", "R²"),
    "neg_mean_pinball_loss": ("−(pinball loss)", "−pinball"),
    "neg_mean_absolute_error": ("−(mean absolute error)", "−MAE"),
    "neg_root_mean_squared_error": ("−(root mean squared error)", "−RMSE"),
}


def metric_name(metric: str, short: bool = False) -> str:
    """
    >>> metric_name("roc_auc"), metric_name("neg_mean_absolute_error", short=True)
    ('AUC', '−MAE')
    >>> metric_name("pinball(0.9)")
    '−pinball(0.9)'
    """
    if metric.startswith("pinball("):  # of a quantile
        return f"−{metric}"
    return _NAMES.get(metric, (metric.replace("_", " "), metric))[short]


def as_percent(metric: str) -> bool:
    """Whether a metric is a share, and reads best in per cent."""
    return metric in ("accuracy", "balanced_accuracy", "f1_macro", "roc_auc", "average_precision")


def show_score(value: float, metric: str) -> str:
    return f"{100 * value:.2f}" if as_percent(metric) else f"{value:.4f}"


def show_spread(value: float, metric: str) -> str:
    return f"{100 * value:.2f}" if as_percent(metric) else f"{value:.2g}"


def show_mean(scores: Sequence[float], metric: str) -> str:
    """The mean of scores with their spread, where there is more than one.

    >>> show_mean([0.8, 0.9], "accuracy"), show_mean([0.8], "accuracy")
    ('85.00 ± 5.00', '80.00')
    """
    mean = show_score(float(np.mean(scores)), metric)
    return mean if len(scores) < 2 else f"{mean} ± {show_spread(float(np.std(scores)), metric)}"


def with_unit(value: float, metric: str) -> str:
    """
    >>> with_unit(0.9035, "roc_auc"), with_unit(0.5, "r2")
    ('90.35 %', '0.5000')
    """
    return f"{show_score(value, metric)}{' %' if as_percent(metric) else ''}"
