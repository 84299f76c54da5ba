"""What the films of classifiers share: a stage, the plane of inputs, and bars of coefficients."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._figures import (
    QUIET,
    as_circles,
    color_of,
    frame,
    legend,
    level,
    mesh,
    plane,
    scatter,
    shaded,
    tidy,
)


def stage(rows: int, size: tuple[float, float] = (10.6, 6.0)) -> tuple[Any, Any, list[Any]]:
    """A figure with one large panel at the left and small ones at the right, at fixed places."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size)
    heights = (1, 2.2, 1) if rows == 3 else (1,) * rows  # the proof in the middle needs room
    grid = figure.add_gridspec(
        rows, 2, width_ratios=(1.1, 1), left=0.07, right=0.98, top=0.88, bottom=0.12, wspace=0.2,
        hspace=0.75 if rows > 2 else 0.45, height_ratios=heights,
    )  # fmt: skip
    return (
        figure,
        figure.add_subplot(grid[:, 0]),
        [figure.add_subplot(grid[row, 1]) for row in range(rows)],
    )


def fitted(model: Any, X: Any, y: Any) -> Any:
    """A fitted copy, whether it converged or not: a film shows how far it came."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(X, y)


def chosen(important: Sequence[int], total: int, frames: int) -> list[int]:
    """At most `frames` of `total` steps: the first, the last, and of the important ones, evenly."""
    wanted = sorted({0, total - 1, *important})
    if len(wanted) > frames:
        return [wanted[i] for i in np.linspace(0, len(wanted) - 1, max(frames, 2)).astype(int)]
    others = sorted(set(range(total)) - set(wanted))
    room = min(frames - len(wanted), len(others))
    return sorted(wanted + [others[int((i + 0.5) * len(others) / room)] for i in range(room)])


class Field:
    """f = Σ αᵢ k(xᵢ, ·) + b over the plane, for any α and b: K to the grid is computed once."""

    def __init__(self, model: Any, X: Any, y: Any, points: int = 120) -> None:
        self.y: np.ndarray = np.asarray(y)
        self.X = plane(X, "film")
        self.classes: np.ndarray = np.unique(self.y)
        if len(self.classes) != 2:
            raise ValueError(f"a film shows two classes, not {len(self.classes)}")
        self.signs: np.ndarray = np.where(self.y == self.classes[1], 1.0, -1.0)
        self.a, self.b, grid = mesh(self.X, points)
        self.low, self.high = frame(self.X)
        if hasattr(model, "kernel_"):
            self.K = np.asarray(model.kernel_(grid, self.X))
        else:
            phi = (lambda Z: Z) if model.feature_map_ is None else _mapping(model.feature_map_)
            self.K = np.asarray(phi(grid) @ phi(self.X).T)

    def scores(self, alpha: Any, b: float) -> np.ndarray:
        return np.asarray(self.K @ alpha + b).reshape(self.a.shape)

    def show(self, ax: Any, f: np.ndarray, title: str, levels: Sequence[float] = (0.0,)) -> None:
        """f in shades of the two classes, its level lines (dashed but for 0), and the points."""
        ax.clear()
        shaded(ax, self.a, self.b, f)
        for value in levels:
            if value:
                level(ax, self.a, self.b, f, value)
        self.mark(ax, title)

    def mark(self, ax: Any, title: str) -> None:
        """The points, and a frame that does not move."""
        scatter(ax, self.X, self.y)
        # Below the frame: inside it there is always a frame in which something is covered.
        legend(ax, loc="upper left", bbox_to_anchor=(-0.03, -0.07), ncols=2, frameon=False)
        ax.set(xlim=(self.low[0], self.high[0]), ylim=(self.low[1], self.high[1]))
        as_circles(ax, self.X)
        tidy(ax, title, "x₁", "x₂")

    def bars(self, ax: Any, alpha: np.ndarray, limit: float, name: str) -> None:
        """A coefficient per example, in the color of its class; `limit` is the largest of all."""
        ax.clear()
        colors = [color_of(int(sign > 0)) for sign in self.signs]
        ax.bar(np.arange(len(alpha)), alpha, color=colors, width=0.85)
        ax.axhline(0, color=QUIET, linewidth=0.8)
        ax.set(ylim=(-1.08 * limit, 1.08 * limit), xlim=(-1, len(alpha)))
        tidy(ax, name, "example")


def _mapping(feature_map: Any) -> Any:
    return feature_map.transform if hasattr(feature_map, "transform") else feature_map
