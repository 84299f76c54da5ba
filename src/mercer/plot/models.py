"""Pictures of fitted models."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._figures import axes, color_of, plane, scatter, tidy


def decision_regions(model: Any, X: Any, y: Any, ax: Any = None, points: int = 200) -> Any:
    """Which class the model gives where; support vectors ringed, margins dashed (two classes)."""
    X = plane(X, "decision_regions")
    ax = axes(ax)
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.08 * np.maximum(high - low, 1e-9)
    a, b = np.meshgrid(*(np.linspace(low[i] - pad[i], high[i] + pad[i], points) for i in (0, 1)))
    grid = np.column_stack([a.ravel(), b.ravel()]).astype(X.dtype)
    classes = list(model.classes_)
    number = {label: i for i, label in enumerate(classes)}
    region = np.array([number[label] for label in model.predict(grid)]).reshape(a.shape)
    levels = np.arange(len(classes) + 1) - 0.5
    ax.contourf(a, b, region, levels, colors=[color_of(i) for i in range(len(classes))], alpha=0.18)
    if len(classes) == 2 and hasattr(model, "decision_function"):
        score = model.decision_function(grid).reshape(a.shape)
        ax.contour(a, b, score, levels=[0.0], colors="0.2", linewidths=1.2)
        if score.min() < -1 and score.max() > 1:
            ax.contour(
                a, b, score, levels=[-1.0, 1.0], colors="0.4", linewidths=0.8, linestyles="--"
            )
    scatter(ax, X, y)
    support = getattr(model, "support_", None)
    if support is not None and len(support) < len(X):
        ring = X[np.asarray(support, dtype=int)]
        ax.scatter(
            ring[:, 0], ring[:, 1], s=70, facecolors="none", edgecolors="0.15", linewidths=0.9,
            zorder=4,
        )  # fmt: skip
    return tidy(ax, type(model).__name__, "x₁", "x₂")


def regression_curve(
    model: Any, X: Any, y: Any, truth: Any = None, ax: Any = None, points: int = 400
) -> Any:
    """A fitted curve over one input, with a band of two standard deviations where it has one."""
    x = np.asarray(X, dtype=float)
    if x.ndim != 2 or x.shape[1] != 1:
        raise ValueError(f"regression_curve draws over one input: X has shape {x.shape}")
    ax = axes(ax)
    line = np.linspace(x.min(), x.max(), points)
    try:
        mean, std = model.predict(line[:, None], return_std=True)
        ax.fill_between(
            line, mean - 2 * std, mean + 2 * std, color=color_of(0), alpha=0.15, linewidth=0
        )
    except TypeError:
        mean = model.predict(line[:, None])
    ax.scatter(x[:, 0], y, s=12, color="0.45", zorder=2)
    if truth is not None:
        ax.plot(line, truth(line), color="0.3", linestyle=":", label="truth")
    ax.plot(line, mean, color=color_of(0), label=type(model).__name__, zorder=3)
    if ax.get_legend_handles_labels()[1]:
        ax.legend(frameon=False)
    return tidy(ax, "", "x", "y")


def mistakes_against_bound(model: Any, X: Any, y: Any, ax: Any = None) -> Any:
    """Mistakes of a perceptron as they add up, below the bound that theory gives (if finite)."""
    from mercer import theory

    ax = axes(ax)
    mistakes = [np.asarray(m) for m in np.atleast_1d(np.asarray(model.mistakes_, dtype=object))]
    total = np.arange(1, len(mistakes) + 1)
    ax.step(total, total, where="post", color=color_of(0), label="mistakes")
    y = np.asarray(y)
    signs = np.where(y == model.classes_[-1], 1, -1)
    kernel = model.expansion_.kernel
    bias = bool(getattr(model, "fit_intercept", False))
    found = theory.separability(kernel, X, signs, bias)
    if found.separator is not None:
        bound = theory.mistake_bound(found.separator, X, signs, bias)
        ax.axhline(bound, color=color_of(1), linestyle="--", label=f"bound {bound:.4g}")
        if bound > 20 * len(mistakes):  # far above: both are seen on a logarithmic axis only
            ax.set_yscale("log")
    ax.legend(frameon=False)
    return tidy(ax, "mistakes and their bound", "update", "mistakes so far")


def contributions(expansion: Any, x: Any, most: int = 15, output: int = 0, ax: Any = None) -> Any:
    """αᵢ k(xᵢ, x): the points that one prediction is made of, the strongest first."""
    ax = axes(ax)
    parts = np.asarray(expansion.contributions(x), dtype=float)
    parts = parts if parts.ndim == 1 else parts[:, output]
    order = np.argsort(-np.abs(parts))[:most][::-1]
    colors = [color_of(0) if parts[i] >= 0 else color_of(1) for i in order]
    ax.barh(np.arange(len(order)), parts[order], color=colors)
    ax.set_yticks(np.arange(len(order)), [f"point {i}" for i in order], fontsize="small")
    ax.axvline(0, color="0.3", linewidth=0.8)
    rest = float(parts.sum() - parts[order].sum())
    return tidy(ax, f"contributions (the rest: {rest:+.3g})", r"$\alpha_i\,k(x_i, x)$")


def learning_curve(
    model: Any, X: Any, y: Any, sizes: Any = None, cv: int = 5, ax: Any = None
) -> Any:
    """Score on training and held-out folds as the number of examples grows."""
    from sklearn.model_selection import learning_curve as measure

    ax = axes(ax)
    sizes = np.linspace(0.1, 1.0, 6) if sizes is None else sizes
    # Shuffled, because a prefix of ordered data may hold a single class.
    n, train, test = measure(model, X, y, train_sizes=sizes, cv=cv, shuffle=True, random_state=0)[
        :3
    ]
    for i, (name, scores) in enumerate((("training", train), ("held out", test))):
        mean, spread = scores.mean(axis=1), scores.std(axis=1)
        ax.plot(n, mean, "o-", color=color_of(i), label=name, markersize=4)
        ax.fill_between(n, mean - spread, mean + spread, color=color_of(i), alpha=0.15, linewidth=0)
    ax.legend(frameon=False)
    return tidy(ax, "learning curve", "examples", "score")
