"""Pictures of what tests found: where two samples differ, where a series changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._figures import INK, axes, color_of, legend, tidy


def witness(result: Any, ax: Any = None, points: int = 200) -> Any:
    """mean k(x, z) − mean k(y, z) of a two-sample test: above 0 where X has more examples than Y.

    A curve over one column, a map over two, and for more the values at the examples of both
    samples, as histograms.

    Parameters
    ----------
    result : MMDResult
        What `mercer.stats.mmd_test` found.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    points : int, default 200
        Of the grid in each direction.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot, stats
    >>> random = np.random.default_rng(0)
    >>> result = stats.mmd_test(random.normal(size=50), random.laplace(size=50), random_state=0)
    >>> ax = plot.witness(result)
    """
    samples = [np.asarray(S, dtype=float) for S in (result.X, result.Y)]
    both = np.concatenate(samples)
    ax = axes(ax)
    title = f"p = {result.pvalue:.3g}"
    if both.shape[1] == 1:
        line = np.linspace(both.min(), both.max(), points)
        values = result.witness(line[:, None])
        ax.axhline(0.0, color=INK, linewidth=0.7)
        ax.plot(line, values, color=INK)
        for i, S in enumerate(samples):
            level = np.full(len(S), (1 if i == 0 else -1) * 1.15 * np.abs(values).max())
            ax.plot(S[:, 0], level, "|", color=color_of(i), alpha=0.5, label="XY"[i])
        legend(ax)
        return tidy(ax, title, "z", "witness")
    if both.shape[1] == 2:
        low, high = both.min(axis=0), both.max(axis=0)
        sides = [np.linspace(a, b, max(points // 3, 20)) for a, b in zip(low, high, strict=True)]
        grid = np.stack(np.meshgrid(*sides), axis=-1)
        values = result.witness(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        most = np.abs(values).max()
        ax.contourf(*sides, values, 15, cmap="RdBu", vmin=-most, vmax=most, alpha=0.6)
        ax.contour(*sides, values, [0.0], colors=INK, linewidths=0.7)
        for i, S in enumerate(samples):
            ax.scatter(*S.T, s=10, marker="os"[i], color=color_of(i), label="XY"[i])
        legend(ax)
        return tidy(ax, title)
    values = result.witness(both)
    bins = np.linspace(values.min(), values.max(), 31)
    for i, part in enumerate(np.split(values, [len(samples[0])])):
        ax.hist(part, bins, color=color_of(i), alpha=0.55, label="XY"[i])
    legend(ax)
    return tidy(ax, title, "witness", "examples")


def change_points(result: Any, ax: Any = None) -> Any:
    """A series with its changes: a line per column, a vertical line per change.

    Parameters
    ----------
    result : ChangePointsResult
        What `mercer.stats.change_points` found.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot, stats
    >>> series = np.repeat([0.0, 2.0], 30) + np.random.default_rng(0).normal(size=60)
    >>> ax = plot.change_points(stats.change_points(series, random_state=0))
    """
    series = np.asarray(result.series, dtype=float)
    ax = axes(ax, size=(6.5, 3.0))
    for i, column in enumerate(series.T):
        ax.plot(column, color=color_of(i), linewidth=0.9)
    for point in result.points:
        ax.axvline(point - 0.5, color=INK, linestyle="--")
    many = f"{len(result.points)} change{'s' * (len(result.points) != 1)}"
    return tidy(ax, f"{many}, p = {result.pvalue:.3g}", "row", "value")
