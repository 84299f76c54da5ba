"""Pictures of what a model gets wrong: labels, probabilities, numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._figures import QUIET, axes, color_of, legend, tidy


def confusion(truth: Any, predicted: Any, labels: Any = None, ax: Any = None) -> Any:
    """Show counts of truth (rows) against prediction (columns); mistakes leave the diagonal.

    Parameters
    ----------
    truth : array of shape (n,)
        The classes.
    predicted : array of shape (n,)
        The answers.
    labels : list or None
        Classes in the order of the rows; None sorts them.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.confusion(["a", "b", "b"], ["a", "a", "b"])
    """
    from sklearn.metrics import confusion_matrix

    truth, predicted = np.asarray(truth), np.asarray(predicted)
    labels = np.unique(np.concatenate([truth, predicted])) if labels is None else np.asarray(labels)
    counts = confusion_matrix(truth, predicted, labels=labels)
    ax = axes(ax)
    # Shares of each row, so that a rare class is seen; the diagonal is its own, quiet color.
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    right = np.eye(len(labels), dtype=bool)
    from matplotlib.colors import PowerNorm

    # The square root lifts the few mistakes of a good model out of the paper.
    ax.imshow(np.where(right, np.nan, share), cmap="Oranges", norm=PowerNorm(0.5, 0.0, 0.6))
    ax.imshow(np.where(right, share, np.nan), cmap="Blues", vmin=0, vmax=2.2)
    size = "medium" if len(labels) <= 6 else "small" if len(labels) <= 12 else "xx-small"
    for i, j in zip(*np.nonzero(counts), strict=True):
        ax.text(j, i, f"{counts[i, j]}", ha="center", va="center", fontsize=size, color="0.1")
    names = [_cut(label) for label in labels]
    tilt = {"rotation": 45, "ha": "right"} if max(map(len, names)) > 3 else {}
    ax.set_xticks(range(len(names)), names, **tilt)
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.set_xlabel("predicted")
    ax.set_ylabel("truth")
    return ax


def _cut(label: Any, most: int = 14) -> str:
    name = str(label)
    return name if len(name) <= most else name[: most - 1] + "…"


def predicted_against_truth(truth: Any, predicted: Any, ax: Any = None) -> Any:
    """One dot per example: on the diagonal, the prediction is the truth.

    Parameters
    ----------
    truth : array of shape (n,)
        The targets.
    predicted : array of shape (n,)
        The answers.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.predicted_against_truth([1.0, 2.0, 3.0], [1.1, 1.8, 3.0])
    """
    truth, predicted = np.asarray(truth, dtype=float), np.asarray(predicted, dtype=float)
    ax = axes(ax)
    low, high = min(truth.min(), predicted.min()), max(truth.max(), predicted.max())
    ax.plot([low, high], [low, high], color=QUIET, linewidth=1, linestyle="--")
    ax.scatter(truth, predicted, s=12, color=color_of(0), alpha=_alpha(len(truth)), linewidths=0)
    ax.set_aspect("equal", adjustable="datalim")
    return tidy(ax, "", "truth", "predicted")


def residuals(truth: Any, predicted: Any, ax: Any = None) -> Any:
    """truth − prediction against the prediction, with its root mean square as a band.

    Parameters
    ----------
    truth : array of shape (n,)
        The targets.
    predicted : array of shape (n,)
        The answers.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.residuals([1.0, 2.0, 3.0], [1.1, 1.8, 3.0])
    """
    truth, predicted = np.asarray(truth, dtype=float), np.asarray(predicted, dtype=float)
    rest = truth - predicted
    rms = float(np.sqrt(np.mean(rest**2)))
    ax = axes(ax)
    ax.axhspan(-rms, rms, color=color_of(0), alpha=0.12, linewidth=0, label=f"± {rms:.3g} (rms)")
    ax.axhline(0, color=QUIET, linewidth=1)
    ax.scatter(predicted, rest, s=12, color=color_of(0), alpha=_alpha(len(truth)), linewidths=0)
    legend(ax, frameon=False)
    return tidy(ax, "", "predicted", "truth − predicted")


def _alpha(count: int) -> float:
    """Many dots need to be thin to be told apart."""
    return float(np.clip(30 / np.sqrt(max(count, 1)), 0.12, 0.85))


def calibration(y: Any, probabilities: Any, bins: int = 10, ax: Any = None) -> Any:
    """How often it came true against how likely it was said to be; the diagonal is honest.

    Parameters
    ----------
    y : array of shape (n,)
        What came true: 0 or 1.
    probabilities : array of shape (n,)
        How likely 1 was said to be.
    bins : int, default 10
        Groups of examples with like probabilities.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.calibration([0, 1, 0, 1], [0.1, 0.9, 0.4, 0.6], bins=2)
    """
    from sklearn.calibration import calibration_curve

    ax = axes(ax)
    share, said = calibration_curve(y, probabilities, n_bins=bins, strategy="quantile")
    ax.plot([0, 1], [0, 1], color=QUIET, linestyle=":")
    ax.plot(said, share, "o-", color=color_of(0), markersize=4)
    ax.set_aspect("equal")
    return tidy(ax, "calibration", "said", "came true")


def roc(y: Any, scores: Any, ax: Any = None) -> Any:
    """True against false alarms over all thresholds, and the area under the curve.

    Parameters
    ----------
    y : array of shape (n,)
        Two classes.
    scores : array of shape (n,)
        Larger speaks for the second class.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.roc([0, 1, 0, 1], [0.1, 0.9, 0.4, 0.6])
    """
    from sklearn.metrics import auc, roc_curve

    ax = axes(ax)
    wrong, right, _ = roc_curve(y, scores)
    ax.plot([0, 1], [0, 1], color=QUIET, linestyle=":")
    ax.plot(wrong, right, color=color_of(0), label=f"area {auc(wrong, right):.4f}")
    legend(ax, frameon=False, loc="lower right")
    ax.set_aspect("equal")
    return tidy(ax, "ROC", "false positive rate", "true positive rate")
