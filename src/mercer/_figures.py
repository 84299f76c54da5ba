"""One look for all pictures: colours that survive printing in grey, and few lines."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Told apart by most people with a colour deficiency, and by their lightness.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#F0E442")


def axes(ax: Any = None, size: tuple[float, float] = (5.0, 4.0)) -> Any:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'mercer[plot]'") from None
    _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def tidy(ax: Any, title: str = "", x: str = "", y: str = "") -> Any:
    """Title and labels where they are given; no frame where nothing is."""
    if title:
        ax.set_title(title)
    if x:
        ax.set_xlabel(x)
    if y:
        ax.set_ylabel(y)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def color_of(index: int) -> str:
    return COLORS[index % len(COLORS)]


def plane(X: Any, what: str) -> np.ndarray:
    """Rows as points of the plane, or an error that says so."""
    points = np.asarray(X, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"{what} draws in the plane: X must have 2 columns, got {points.shape}")
    return points


def scatter(ax: Any, X: np.ndarray, y: Any, size: float = 18.0) -> None:
    """Points by class, with a legend where the classes are few."""
    classes = np.unique(y)
    for i, label in enumerate(classes):
        part = X[np.asarray(y) == label]
        ax.scatter(
            part[:, 0], part[:, 1], s=size, c=color_of(i), edgecolors="white", linewidths=0.5,
            label=str(label), zorder=3,
        )  # fmt: skip
    if len(classes) <= 10:
        ax.legend(loc="best", fontsize="small", framealpha=0.75, edgecolor="none")
