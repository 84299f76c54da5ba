"""Pictures of answers: the examples, the words or the columns that they are made of."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from mercer._figures import INK, QUIET, axes, bare, color_of, require_fitted, tidy


def contributions(expansion: Any, x: Any, most: int = 15, output: int = 0, ax: Any = None) -> Any:
    """αᵢ k(xᵢ, x): the points that one prediction is made of, the strongest first.

    Parameters
    ----------
    expansion : KernelExpansion
        A fitted model, or its ``model.expansion_``.
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
    expansion = getattr(expansion, "expansion_", expansion)
    parts = np.asarray(expansion.contributions(one_row(expansion, x)), dtype=float)
    parts = parts if parts.ndim == 1 else parts[:, output]
    names = [f"point {i}" for i in range(len(parts))]
    return bars(parts, names, most, r"$\alpha_i\,k(x_i, x)$", "contributions", ax)


def one_row(expansion: Any, x: Any) -> Any:
    """One example as a set of one: a row of numbers may come without its second brackets."""
    vectors = getattr(expansion.points, "ndim", 0) == 2 and isinstance(x, (list, np.ndarray))
    return np.atleast_2d(np.asarray(x, dtype=float)) if vectors else x


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
        A fitted model, or its ``model.expansion_``.
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
    expansion = getattr(expansion, "expansion_", expansion)
    coef = np.asarray(expansion.coef, dtype=float)
    coef = coef if coef.ndim == 1 else coef[:, output]
    order = np.sort(np.argsort(-np.abs(coef), kind="stable")[:most])
    ax = bare(axes(ax, (5.4, 3.4)))
    ax.set(xlim=(-0.25, 2.45), ylim=(-0.2, 1.2))
    middle = np.linspace(1, 0, len(order)) if len(order) > 1 else np.array([0.5])
    x = None if x is None else one_row(expansion, x)
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
    return tidy(ax, "score(c, x)" + (f": {len(order)} of {len(coef)} points" if left else ""))


def _node(ax: Any, x: float, y: float, text: str) -> None:
    box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": INK}
    ax.text(x, y, text, ha="center", va="center", fontsize="small", bbox=box, zorder=3)


def waterfall(
    reasons: Any, row: int = 0, output: int | None = None, most: int = 10, ax: Any = None
) -> Any:
    """f(x) = base + Σⱼ φⱼ, column by column: how one answer came about, the largest steps on top.

    Parameters
    ----------
    reasons : Reasons
        What `mercer.explain_rows` found.
    row : int, default 0
        Which of its rows.
    output : int or None
        Which of several outputs; None takes the last one.
    most : int, default 10
        Columns to show; the others are one step.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import KernelSVC, data, explain_rows, plot
    >>> X, y = data.moons(60)
    >>> ax = plot.waterfall(explain_rows(KernelSVC("gaussian(0.5)").fit(X, y), X))
    """
    values, base = reasons.of(output)
    parts, start = values[row], float(base[row])
    order = np.argsort(-np.abs(parts), kind="stable")
    shown, rest = order[:most], order[most:]
    steps = [*((_named(reasons, row, j), parts[j]) for j in shown)]
    steps += [(f"{len(rest)} other columns", parts[rest].sum())] if len(rest) else []
    ends = start + np.cumsum([step for _, step in steps][::-1])
    begins = np.concatenate([[start], ends[:-1]])
    ax = axes(ax, (5.6, 1.3 + 0.3 * len(steps)))
    span = np.ptp(np.concatenate([[start], ends])) or 1.0
    for height, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        rises = end >= begin
        ax.barh(height, end - begin, left=begin, height=0.62, color=color_of(int(rises)), zorder=2)
        if height + 1 < len(ends):
            ax.plot([end, end], [height, height + 1], color=QUIET, linewidth=0.8, zorder=1)
        shift, side = (0.015 * span, "left") if rises else (-0.015 * span, "right")
        ax.text(end + shift, height, f"{end - begin:+.3g}", ha=side, va="center", fontsize="small")
    ax.axvline(start, color=QUIET, linewidth=0.8, linestyle=":", zorder=0)
    ax.set_yticks(np.arange(len(steps)), [name for name, _ in steps][::-1], fontsize="small")
    reached = np.concatenate([[start], ends])
    ax.set_xlim(reached.min() - 0.2 * span, reached.max() + 0.2 * span)
    name = _short(reasons.output_names[-1 if output is None else output])
    name = "" if name.startswith("output ") else f" for {name}"
    return tidy(ax, f"f{name}: {start:.3g} → {ends[-1]:.3g}")


def _named(reasons: Any, row: int, part: int) -> str:
    """A column with its value."""
    name, value = reasons.feature_names[part], reasons.data[row, part]
    word = f"{value:.3g}".replace("nan", "missing") if isinstance(value, Real) else str(value)
    return f"{_short(name)} = {_short(word, 16)}"


def _short(name: str, most: int = 24) -> str:
    """A name as it is, cut: what looks like mathematics is none."""
    return (name if len(name) <= most else name[: most - 1] + "…").replace("$", r"\$")


def _numbers(reasons: Any, part: int) -> np.ndarray | None:
    """The numbers of a column; None for words, and for groups of columns."""
    column = reasons.data[:, part]
    return column.astype(float) if all(isinstance(v, Real) for v in column.tolist()) else None


def beeswarm(reasons: Any, output: int | None = None, most: int = 12, ax: Any = None) -> Any:
    """φⱼ of all rows, a line of dots per column; darker dots have larger values of the column.

    Parameters
    ----------
    reasons : Reasons
        What `mercer.explain_rows` found.
    output : int or None
        Which of several outputs; None takes the last one.
    most : int, default 12
        Columns to show, those with the largest mean of |φⱼ| first.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import KernelSVC, data, explain_rows, plot
    >>> X, y = data.moons(60)
    >>> ax = plot.beeswarm(explain_rows(KernelSVC("gaussian(0.5)").fit(X, y), X))
    """
    values, _ = reasons.of(output)
    order = np.argsort(-np.abs(values).mean(axis=0), kind="stable")[:most][::-1]
    ax = axes(ax, (5.6, 1.2 + 0.36 * len(order)))
    ax.axvline(0, color=QUIET, linewidth=0.8, zorder=0)
    drawn = None
    for height, part in enumerate(order):
        own, numbers = values[:, part], _numbers(reasons, int(part))
        place = height + _apart(own, np.ptp(values) or 1.0)
        look = {"s": 14, "linewidths": 0.3, "edgecolors": "white", "zorder": 3}
        if numbers is None:
            ax.scatter(own, place, color=QUIET, **look)
            continue
        ranks = np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
        share = ranks / max(len(ranks) - 1, 1) if np.ptp(numbers) else np.full(len(ranks), 0.5)
        drawn = ax.scatter(own, place, c=share, cmap="cividis_r", vmin=0, vmax=1, **look)
    if drawn is not None:
        bar = ax.figure.colorbar(drawn, ax=ax, ticks=[0, 1], aspect=30, pad=0.02)
        bar.ax.set_yticklabels(["low\nvalue", "high\nvalue"], fontsize="small")
        bar.outline.set_visible(False)
    names = [_short(reasons.feature_names[j]) for j in order]
    ax.set_yticks(np.arange(len(order)), names, fontsize="small")
    return tidy(ax, "", r"$\varphi_j$: what the column adds")


def _apart(values: np.ndarray, span: float, bins: int = 60) -> np.ndarray:
    """Heights that keep dots of like values apart, in the same way every time."""
    cell = np.floor(values / span * bins).astype(int)
    place = np.zeros(len(values))
    for one in np.unique(cell):
        inside = np.flatnonzero(cell == one)
        steps = (np.arange(len(inside)) + 1) // 2 * (-1.0) ** np.arange(len(inside))
        place[inside] = steps * min(0.07, 0.8 / max(len(inside), 1))
    return place


def dependence(
    reasons: Any, column: Any, partner: Any = None, output: int | None = None, ax: Any = None
) -> Any:
    """φⱼ against the value of column j, colored by the column that shifts it most.

    Parameters
    ----------
    reasons : Reasons
        What `mercer.explain_rows` found.
    column : int or str
        The column j.
    partner : int, str or None
        The column of the color; None takes the one whose values go best with what φⱼ has beside a
        smooth function of column j.
    output : int or None
        Which of several outputs; None takes the last one.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import KernelSVC, data, explain_rows, plot
    >>> X, y = data.moons(60)
    >>> ax = plot.dependence(explain_rows(KernelSVC("gaussian(0.5)").fit(X, y), X), 0)
    """
    part = _index(reasons, column)
    x, own = _numbers(reasons, part), reasons.of(output)[0][:, part]
    if x is None:
        raise ValueError(f"{reasons.feature_names[part]!r} has no numbers to draw along")
    other = _partner(reasons, part, x, own) if partner is None else _index(reasons, partner)
    color = None if other is None else _numbers(reasons, other)
    ax = axes(ax, (5.2, 3.6))
    ax.axhline(0, color=QUIET, linewidth=0.8, zorder=0)
    look = {"s": 18, "linewidths": 0.3, "edgecolors": "white", "zorder": 3}
    if color is None:
        ax.scatter(x, own, color=color_of(0), **look)
    else:
        low, high = np.quantile(color, [0.02, 0.98])
        dots = ax.scatter(x, own, c=color, cmap="cividis_r", vmin=low, vmax=high, **look)
        bar = ax.figure.colorbar(
            dots, ax=ax, aspect=30, pad=0.02, label=_short(reasons.feature_names[other])
        )
        bar.outline.set_visible(False)
    name = _short(reasons.feature_names[part])
    return tidy(ax, "", name, rf"$\varphi$ of {name}")


def _index(reasons: Any, column: Any) -> int:
    names = reasons.feature_names
    known = names if isinstance(column, str) else range(len(names))
    if column not in known:
        raise ValueError(f"there is no column {column!r}; the columns are {names[:20]}")
    return int(known.index(column))


def _partner(reasons: Any, part: int, x: np.ndarray, own: np.ndarray) -> int | None:
    """The column that goes best with what φⱼ has beside a cubic in column j."""
    unit = (x - x.mean()) / (x.std() or 1.0)
    left = own - np.polynomial.Polynomial.fit(unit, own, min(3, len(np.unique(x)) - 1))(unit)
    best: tuple[float, int] = (-1.0, -1)
    for other in range(len(reasons.feature_names)):
        numbers = None if other == part else _numbers(reasons, other)
        if numbers is not None and np.ptp(numbers):
            share = abs(left @ (numbers - numbers.mean())) / numbers.std()
            best = max(best, (float(share), other))
    return None if best[1] < 0 else best[1]
