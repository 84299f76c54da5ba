"""Pictures of linear separators: many of them, all of them, the widest, and how they are found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer import theory
from mercer._figures import (
    INK,
    arrow,
    axes,
    color_of,
    frame,
    legend,
    legend_below,
    note,
    plane,
    rings,
    scatter,
    short,
    tidy,
)
from mercer.plot.lifting import straight_line
from mercer.plot.models import linear_weights


def separators(models: Iterable[Any], X: Any, y: Any, ax: Any = None) -> Any:
    """w·x + b = 0 for several linear models: which separator you get, there is no telling.

    `models` are fitted linear models or pairs (w, b). Use it for perceptrons that saw the examples
    in different orders; the last model is drawn boldly.

    Parameters
    ----------
    models : list of linear models, or of pairs (w, b)
        Fitted; the last one is drawn boldly.
    X : array of shape (n, 2)
        Examples in the plane.
    y : array of shape (n,)
        Their classes.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import Perceptron, data, plot
    >>> X, y = data.blobs(40)
    >>> fits = [Perceptron(fit_intercept=True, random_state=s).fit(X, y) for s in range(5)]
    >>> len(plot.separators(fits, X, y).lines)
    5
    """
    X = plane(X, "separators")
    ax = axes(ax)
    low, high = frame(X)
    pairs = [m if isinstance(m, tuple) else linear_weights(m) for m in models]
    for i, (w, b) in enumerate(pairs):
        w, b = np.ravel(np.asarray(w, dtype=float)), float(np.ravel(b)[0])
        bold = i == len(pairs) - 1
        look = {"color": INK, "linewidth": 1.8} if bold else {"color": color_of(6), "linewidth": 1}
        straight_line(ax, w, b, low, high, **look)
    scatter(ax, X, y)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return tidy(ax, f"{len(pairs)} separator" + "s" * (len(pairs) != 1), "x₁", "x₂")


def version_space(X: Any, y: Any, ax: Any = None, n_angles: int = 721) -> Any:
    """{(w, b) : yᵢ(w·xᵢ + b) > 0 for all i}: every separator as a point (angle of w, −b/‖w‖).

    The wider the region at an angle, the wider the gap between the classes in that direction; the
    widest place is the separator with the largest margin. Empty where the classes overlap.

    Parameters
    ----------
    X : array of shape (n, 2)
        Examples in the plane.
    y : array of shape (n,)
        Two classes.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    n_angles : int, default 721
        Directions of w that are looked at.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import data, plot
    >>> ax = plot.version_space(*data.blobs(40))
    """
    space = theory.version_space(X, y, n_angles)
    ax = axes(ax)
    low, high = np.where(space.open, space.lower, np.nan), np.where(space.open, space.upper, np.nan)
    ax.fill_between(space.angles, low, high, color=color_of(0), alpha=0.3, linewidth=0,
                    label="version space")  # fmt: skip
    if space.open.any():
        best = int(np.argmax(np.where(space.open, space.upper - space.lower, -np.inf)))
        ends = space.lower[best], space.upper[best]
        ax.plot([space.angles[best]] * 2, ends, color=INK, linewidth=1)
        ax.plot(space.angles[best], sum(ends) / 2, "D", color=color_of(1), markersize=7,
                label=f"widest: δ = {ends[1] - ends[0]:.3g}")  # fmt: skip
        around = np.flatnonzero(space.open)
        pad = 0.15 * max(np.ptp(space.angles[around]), 1e-3)
        ax.set_xlim(space.angles[around].min() - pad, space.angles[around].max() + pad)
        legend(ax)
    else:
        ax.text(0.5, 0.5, "empty: no line separates", transform=ax.transAxes, ha="center")
    return tidy(ax, "all separators", "angle of w (degrees)", "distance from the origin, −b/‖w‖")


def margin(X: Any, y: Any, ax: Any = None, example: int | None = None) -> Any:
    """δ, the gap of the widest separator, its support vectors, and r, one example's distance.

    Parameters
    ----------
    X : array of shape (n, 2)
        Examples in the plane.
    y : array of shape (n,)
        Two classes that a line separates.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    example : int, optional
        Whose distance r is drawn; by default that of the example farthest from the line.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import data, plot
    >>> ax = plot.margin(*data.blobs(40))
    """
    X = plane(X, "margin")
    found = theory.separability("linear()", X, y, fit_intercept=True)
    if found.separator is None:
        raise ValueError("no line separates these classes, so there is no margin to draw")
    w, b = np.asarray(found.separator.primal()), float(found.separator.intercept)
    unit, norm = w / np.linalg.norm(w), float(np.linalg.norm(w))
    distance = (X @ w + b) / norm
    ax = axes(ax)
    low, high = frame(X)
    _gap(ax, w, b, found.margin, low, high)
    scatter(ax, X, y)
    near = np.abs(distance) <= found.margin * (1 + 1e-6)
    rings(ax, X[near], "support vectors")
    chosen = int(np.abs(distance).argmax()) if example is None else example
    arrow(ax, X[chosen] - distance[chosen] * unit, X[chosen], color_of(2))
    note(ax, "r", X[chosen] - 0.5 * distance[chosen] * unit, color=color_of(2), fontsize="large")
    middle = X[near].mean(axis=0)
    middle = middle - (middle @ w + b) / norm * unit
    ends = middle - found.margin * unit, middle + found.margin * unit
    ax.annotate("", *ends, arrowprops={"arrowstyle": "<->", "color": color_of(3), "lw": 2,
                                       "shrinkA": 0, "shrinkB": 0})  # fmt: skip
    note(ax, "δ", middle, color=color_of(3), fontsize="large")
    legend_below(ax)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_aspect("equal")
    return tidy(ax, f"margin δ = {found.width:.3g}", "x₁", "x₂")


def _gap(ax: Any, w: Any, b: float, margin: float, low: Any, high: Any, label: str = "") -> None:
    """A separator, and where the classes begin on both sides of it."""
    straight_line(ax, w, b, low, high, label=label or None)
    for shift in (-margin, margin):
        border = b + shift * float(np.linalg.norm(w))
        straight_line(ax, w, border, low, high, linestyle="--", linewidth=1)


def hardness(X: Any, y: Any, ax: Any = None) -> Any:
    """(R/ρ)²: the size R of the data against the half width ρ of the gap: hard or easy.

    The picture "margin vs. size" of G. Gordon and A. Smola; draw two data sets side by side.

    Parameters
    ----------
    X : array of shape (n, 2)
        Examples in the plane.
    y : array of shape (n,)
        Two classes.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import data, plot
    >>> ax = plot.hardness(*data.blobs(40))
    """
    X = plane(X, "hardness")
    found = theory.separability("linear()", X, y, fit_intercept=True)
    ax = axes(ax, (4.2, 4.0))
    R = theory.radius("linear()", X)
    turn = np.linspace(0, 2 * np.pi, 200)
    ax.plot(R * np.cos(turn), R * np.sin(turn), color=color_of(6), linewidth=1, linestyle=":",
            label=f"R = {R:.3g}")  # fmt: skip
    if found.separator is not None:
        w, b = np.asarray(found.separator.primal()), float(found.separator.intercept)
        _gap(ax, w, b, found.margin, (-R, -R), (R, R), label=f"ρ = {found.margin:.3g}")
        word = f"(R/ρ)² = {short((R / found.margin) ** 2)}"
    else:
        word = "not separable"
    scatter(ax, X, y, labels=False)
    legend_below(ax)
    ax.set(xlim=(-1.1 * R, 1.1 * R), ylim=(-1.1 * R, 1.1 * R))
    ax.set_aspect("equal")
    return tidy(ax, word, "x₁", "x₂")


def hebb_and_perceptron(X: Any, y: Any, ax: Any = None) -> Any:
    """w = Σ yᵢxᵢ over all examples (Hebb) beside w = Σ yᵢxᵢ over mistakes only (perceptron).

    Both rules add y·x; Hebb's never looks whether it was right. Neither has a bias here.

    Parameters
    ----------
    X : array of shape (n, 2)
        Examples in the plane.
    y : array of shape (n,)
        Two classes.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import data, plot
    >>> ax = plot.hebb_and_perceptron(*data.blobs(40))
    """
    from mercer.learners import Perceptron

    X = plane(X, "hebb_and_perceptron")
    signs = theory.signs(y)
    rules = {
        "Hebb": theory.hebb(X, signs),
        "perceptron": Perceptron(shuffle=False, epochs=50).fit(X, signs).coef_[0],
    }
    ax = axes(ax)
    low, high = frame(X)
    scatter(ax, X, y, labels=False)
    reach = 0.3 * float((high - low).max())
    for i, (name, w) in enumerate(rules.items(), start=2):
        wrong = int((signs * (X @ w) <= 0).sum())
        straight_line(ax, w, 0.0, low, high, color=color_of(i), label=f"{name}: {wrong} wrong")
        arrow(ax, (0.0, 0.0), reach * w / np.linalg.norm(w), color_of(i), "w")
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_aspect("equal")
    legend_below(ax, 2)
    return tidy(ax, "every example, or mistakes only", "x₁", "x₂")
