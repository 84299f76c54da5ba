"""Pictures of one answer: the examples, or the words, that it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._figures import INK, QUIET, axes, bare, color_of, require_fitted, tidy


def contributions(expansion: Any, x: Any, most: int = 15, output: int = 0, ax: Any = None) -> Any:
    """αᵢ k(xᵢ, x): the points that one prediction is made of, the strongest first.

    Parameters
    ----------
    expansion : KernelExpansion
        Of a fitted model: ``model.expansion_``.
    x : array of shape (1, n_features) or one example
        Whose score is explained.
    most : int, default 15
        Points to show.
    output : int, default 0
        Which of several outputs.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import KernelSVC, data, plot
    >>> X, y = data.moons(60)
    >>> ax = plot.contributions(KernelSVC("gaussian(0.5)").fit(X, y).expansion_, X[:1])
    """
    parts = np.asarray(expansion.contributions(x), dtype=float)
    parts = parts if parts.ndim == 1 else parts[:, output]
    names = [f"point {i}" for i in range(len(parts))]
    return bars(parts, names, most, r"$\alpha_i\,k(x_i, x)$", "contributions", ax)


def bars(parts: np.ndarray, names: Any, most: int, label: str, title: str, ax: Any = None) -> Any:
    """The largest parts of a sum as bars; the title says what is left.

    A part has the color of the class that it speaks for: positive for the second.
    """
    order = np.argsort(-np.abs(parts), kind="stable")[:most][::-1]
    order = order[np.abs(parts[order]) > 1e-2 * np.abs(parts).max(initial=0.0)]
    ax = axes(ax, (5.0, 1.2 + 0.24 * len(order)))
    colors = [color_of(int(parts[i] >= 0)) for i in order]
    ax.barh(np.arange(len(order)), parts[order], color=colors)
    ax.set_yticks(np.arange(len(order)), [str(names[i]) for i in order], fontsize="small")
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.locator_params(axis="x", nbins=5)
    rest = float(parts.sum() - parts[order].sum())
    return tidy(ax, f"{title} (the rest: {rest:+.3g})", label)


def deciding_words(model: Any, features: Any, message: Any, most: int = 12, ax: Any = None) -> Any:
    """w_j φ_j(x) per word (or other named feature): why a message was taken for what it was.

    Parameters
    ----------
    model : classifier
        Fitted, of two classes, with a linear kernel.
    features : transformer
        Fitted, with `get_feature_names_out`, such as `EmailFeatures`.
    message : str or bytes
        One message, as `features` takes it.
    most : int, default 12
        Words to show.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import KernelSVC, data, plot
    >>> from mercer.maps import EmailFeatures
    >>> messages, y = data.mail(40)
    >>> phi = EmailFeatures(("words",)).fit(messages)
    >>> model = KernelSVC("linear()").fit(phi.transform(messages), y)
    >>> ax = plot.deciding_words(model, phi, messages[0])
    """
    f = require_fitted(model).expansion_
    w = np.asarray(f.points.T @ f.coef).ravel()
    row = features.transform([message])
    row = np.asarray(row.todense() if hasattr(row, "todense") else row, dtype=float).ravel()
    parts = w * row
    found = np.flatnonzero(parts)
    names = [
        str(n).removeprefix("words=") for n in np.asarray(features.get_feature_names_out())[found]
    ]
    said = model.predict(features.transform([message]))[0]
    label = f"← {model.classes_[0]}      {model.classes_[1]} →"
    return bars(parts[found], names, most, label, f"taken for {said}", ax)


def network(expansion: Any, x: Any = None, most: int = 5, output: int = 0, ax: Any = None) -> Any:
    """x → K(xᵢ, x) → Σ αᵢ K(xᵢ, x): a kernel machine as a network of one hidden layer.

    The structure picture of "Kernel Methods" (D. Klein). The `most` points with the largest |α| are
    drawn; with a query `x` the nodes show the values K(xᵢ, x) and the score.

    Parameters
    ----------
    expansion : KernelExpansion
        Of a fitted model: ``model.expansion_``.
    x : array of shape (1, n_features) or None
        A query whose values are written.
    most : int, default 5
        Hidden nodes to draw.
    output : int, default 0
        Which of several outputs.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import KernelPerceptron, data, plot
    >>> X, y = data.xor()
    >>> model = KernelPerceptron("polynomial(2)", shuffle=False).fit(X, y)
    >>> ax = plot.network(model.expansion_, X[:1])
    """
    coef = np.asarray(expansion.coef, dtype=float)
    coef = coef if coef.ndim == 1 else coef[:, output]
    order = np.sort(np.argsort(-np.abs(coef), kind="stable")[:most])
    ax = bare(axes(ax, (5.4, 3.4)))
    ax.set(xlim=(-0.25, 2.45), ylim=(-0.2, 1.2))
    middle = np.linspace(1, 0, len(order)) if len(order) > 1 else np.array([0.5])
    values = None if x is None else expansion.kernel(np.asarray(x), expansion.points)[0]
    widest = max(float(np.abs(coef).max()), 1e-300)
    for height, i in zip(middle, order, strict=True):
        color = color_of(int(coef[i] >= 0))
        ax.plot([0, 1], [0.5, height], color=QUIET, linewidth=1, zorder=1)
        width = 0.8 + 3 * abs(coef[i]) / widest
        ax.plot([1, 2], [height, 0.5], color=color, linewidth=width, zorder=1)
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
        ax.text(1.5, (height + 0.5) / 2, f"{coef[i]:+.3g}", color=color, ha="center", va="center",
                fontsize="small", fontweight="bold", bbox=box)  # fmt: skip
        inside = f"K(x$_{{{i + 1}}}$, x)" + ("" if values is None else f"\n= {values[i]:.3g}")
        _node(ax, 1, height, inside)
    _node(ax, 0, 0.5, "x")
    score = "" if x is None else f"\n= {np.ravel(expansion(np.asarray(x)))[output]:.3g}"
    _node(ax, 2, 0.5, f"Σ αᵢK(xᵢ, x){score}")
    left = len(coef) - len(order)
    ax.set_title("score(c, x)" + (f": {len(order)} of {len(coef)} points" if left else ""))
    return ax


def _node(ax: Any, x: float, y: float, text: str) -> None:
    box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": INK}
    ax.text(x, y, text, ha="center", va="center", fontsize="small", bbox=box, zorder=3)
