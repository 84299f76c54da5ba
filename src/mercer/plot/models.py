"""Pictures of classifiers: the data, where a model says what, and its weight vectors."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from mercer._figures import (
    INK,
    QUIET,
    arrow,
    as_circles,
    axes,
    color_of,
    frame,
    level,
    mesh,
    plane,
    require_fitted,
    rings,
    scatter,
    shaded,
    tidy,
)


def points(X: Any, y: Any, ax: Any = None) -> Any:
    """The data alone: one mark and color per class, on a line (one column) or in the plane (two).

    Use it before any model: XOR, the circles, the spirals of the lectures.

    Parameters
    ----------
    X : array of shape (n, 1) or (n, 2)
        Examples on a line or in the plane.
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
    >>> from mercer import data, plot
    >>> ax = plot.points(*data.xor())
    >>> len(ax.collections)  # one per class
    2
    """
    X = plane(X, "points", (1, 2))
    ax = axes(ax, (5.6, 1.9) if X.shape[1] == 1 else (5.0, 4.0))
    if X.shape[1] == 1:
        ax.axhline(0, color=QUIET, linewidth=1, zorder=1)
        scatter(ax, np.column_stack([X, np.zeros(len(X))]), y, size=46)
        ax.set_ylim(-1, 1)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        return tidy(ax, x="x")
    scatter(ax, X, y)
    ax.margins(0.12)
    as_circles(ax, X)
    return tidy(ax, x="x₁", y="x₂")


def decision_regions(
    model: Any,
    X: Any,
    y: Any = None,
    ax: Any = None,
    points: int = 200,
    margins: bool | None = None,
    support: Any = None,
    extent: tuple[float, float, float, float] | None = None,
) -> Any:
    """argmax_c f_c(x): which class a fitted model gives where, with the points (X, y).

    For rows of two numbers; rows of one number are drawn on a line by `thresholds`. With a score f,
    colors are stronger where |f| is large. Rows of X that are support vectors of the model are
    ringed, whether X is the training set or not. A `KernelOneClass` has the classes −1 (novel) and
    1 (typical), a `KernelKMeans` its clusters.

    Parameters
    ----------
    model : classifier, KernelOneClass or KernelKMeans
        Fitted.
    X : array of shape (n, 2) or (n, 1)
        Points to show, of the training set or others.
    y : array of shape (n,), optional
        Their classes; by default what the model says.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    points : int, default 200
        Of the grid in each direction; more is finer and slower.
    margins : bool, optional
        Dash f = ±1. By default for machines with a `C`, which alone give ±1 a meaning.
    support : array of int, optional
        Rows of X to ring instead of those found.
    extent : (left, right, bottom, top), optional
        The part of the plane to draw, as for a film; by default around the points.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import KernelSVC, data, plot
    >>> X, y = data.moons(60)
    >>> ax = plot.decision_regions(KernelSVC("gaussian(0.5)").fit(X[:40], y[:40]), X[40:], y[40:])
    """
    require_fitted(model)
    X = plane(X, "decision_regions", (1, 2))
    y = model.predict(X) if y is None else np.asarray(y)
    if X.shape[1] == 1:
        return thresholds(model, X, y, ax)
    ax = axes(ax)
    corners = X if extent is None else np.reshape(extent, (2, 2)).T.astype(float)
    a, b, grid = mesh(corners, points, 0.08 if extent is None else 0.0)
    classes = _classes_of(model)
    if len(classes) == 2 and hasattr(model, "decision_function"):
        score = np.asarray(model.decision_function(grid)).reshape(a.shape)
        shaded(ax, a, b, score)
        if _has_margins(model) if margins is None else margins:
            for value in (-1.0, 1.0):
                level(ax, a, b, score, value)
    else:
        region = np.searchsorted(classes, model.predict(grid)).reshape(a.shape)
        colors = [color_of(i) for i in range(len(classes))]
        ax.contourf(a, b, region, np.arange(len(colors) + 1) - 0.5, colors=colors, alpha=0.16)
    scatter(ax, X, y, classes=classes)
    rings(ax, X[support_rows(model, X) if support is None else np.asarray(support, dtype=int)])
    as_circles(ax, corners)
    return tidy(ax, type(model).__name__, "x₁", "x₂")


def _classes_of(model: Any) -> np.ndarray:
    """The answers that a model can give: classes, clusters, or −1 and 1 for novel and typical."""
    if hasattr(model, "classes_"):
        return np.asarray(model.classes_)
    if hasattr(model, "labels_"):
        return np.unique(model.labels_)
    return np.array([-1, 1])


def _has_margins(model: Any) -> bool:
    last = model[-1] if hasattr(model, "named_steps") else model
    return hasattr(last, "C")


def support_rows(model: Any, X: Any) -> np.ndarray:
    """Which rows of X are support vectors of a model (none, where most of its points are)."""
    last = model
    if hasattr(model, "named_steps"):
        last, X = model[-1], model[:-1].transform(X)
    found = getattr(last, "support_vectors_", None)
    if found is None and hasattr(last, "support_"):
        found = getattr(getattr(last, "expansion_", None), "points", None)
    if found is None or getattr(found, "ndim", 0) != 2:
        return np.empty(0, dtype=int)
    known = {row.tobytes() for row in np.asarray(found, dtype=float)}
    index = [i for i, row in enumerate(np.asarray(X, dtype=float)) if row.tobytes() in known]
    return np.array(index if len(index) < len(X) else [], dtype=int)


def thresholds(model: Any, X: Any, y: Any, ax: Any = None, points: int = 801) -> Any:
    """h(x) = sign(f(x)) on a line of points: f as a curve, its zeros as thresholds.

    The first picture of "Kernels and Kernelized Perceptron" (A. Ritter): one threshold where a line
    is enough, two where x ↦ (x, x²) is needed.

    Parameters
    ----------
    model : classifier
        Fitted, over one input.
    X : array of shape (n, 1)
        Points to show.
    y : array of shape (n,)
        Their classes.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    points : int, default 801
        Where f is evaluated.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Perceptron, plot
    >>> X, y = np.array([[-2.0], [0.0], [2.0]]), [1, -1, 1]
    >>> model = Perceptron(lambda Z: np.c_[Z, Z**2], fit_intercept=True, epochs=100).fit(X, y)
    >>> ax = plot.thresholds(model, X, y)
    """
    require_fitted(model)
    x = plane(X, "thresholds", (1,))
    ax = axes(ax, (5.6, 2.6))
    low, high = frame(x)
    line = np.linspace(low[0], high[0], points)
    classes = _classes_of(model)
    said = np.searchsorted(classes, model.predict(line[:, None]))
    edges = np.flatnonzero(np.diff(said))
    cuts = [line[0], *(line[edges] + line[edges + 1]) / 2, line[-1]]
    for left, right in pairwise(cuts):
        inside = int(said[np.searchsorted(line, (left + right) / 2)])
        ax.axvspan(left, right, color=color_of(inside), alpha=0.16, linewidth=0)
    ax.axhline(0, color=QUIET, linewidth=1, zorder=1)
    if len(classes) == 2 and hasattr(model, "decision_function"):
        f = np.asarray(model.decision_function(line[:, None]))
        ax.plot(line, f, color=INK, linewidth=1.2, label="f(x)")
        ax.set_ylabel("f(x)")
    for cut in cuts[1:-1]:
        ax.axvline(cut, color=INK, linestyle="--", linewidth=1)
        ax.annotate(
            f"{cut:.3g}", (cut, 1), (3, -3), textcoords="offset points", va="top",
            xycoords=("data", "axes fraction"), fontsize="small",
        )  # fmt: skip
    scatter(ax, np.column_stack([x, np.zeros(len(x))]), y, size=46)
    ax.set_xlim(line[0], line[-1])
    return tidy(ax, type(model).__name__, "x")


def weight_vectors(model: Any, X: Any, y: Any, ax: Any = None) -> Any:
    """w (two classes) or w_c (more) as arrows over the regions: a linear model in the plane.

    With two classes w stands on the boundary w·x + b = 0 and points to the second class; with more
    each w_c starts at the origin, and x goes to the class whose w_c·x + b_c is largest. Arrows are
    drawn in one common scale.

    Parameters
    ----------
    model : linear classifier
        Fitted, with `coef_` and `intercept_`.
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
    >>> X, y = data.blobs(60, classes=3)
    >>> ax = plot.weight_vectors(Perceptron(fit_intercept=True).fit(X, y), X, y)
    """
    ax = decision_regions(model, X, y, ax, margins=False)
    W, b = linear_weights(model)
    low, high = frame(np.asarray(X, dtype=float))
    length = 0.3 * float((high - low).max()) / max(float(np.linalg.norm(W, axis=1).max()), 1e-300)
    if len(W) == 1:
        foot = -b[0] * W[0] / max(float(W[0] @ W[0]), 1e-300)
        arrow(ax, foot, foot + length * W[0], INK, "w")
    else:
        for c, w in enumerate(W):
            name = f"w$_{{{model.classes_[c]}}}$"
            arrow(ax, (0.0, 0.0), length * w, color_of(c), name)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_aspect("equal")
    return ax


def linear_weights(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """(W, b) of a model that is linear in its input: one row and one number per output."""
    require_fitted(model)
    coef = getattr(model, "coef_", None)
    if coef is None:
        coef = np.asarray(model.expansion_.primal()).T
    W = np.atleast_2d(np.asarray(coef, dtype=float))
    return W, np.broadcast_to(np.ravel(getattr(model, "intercept_", 0.0)), len(W)).astype(float)
