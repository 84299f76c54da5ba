"""Pictures of regressors over one input: curves, and the weights behind one answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import numpy as np

from mercer._figures import INK, QUIET, axes, color_of, legend, require_fitted, tidy


def regression_curve(
    model: Any,
    X: Any,
    y: Any,
    truth: Callable[..., Any] | None = None,
    ax: Any = None,
    points: int = 400,
    label: str | None = None,
    band: bool = True,
) -> Any:
    """y(x) of a fitted regressor over one input, ± two standard deviations where it has them.

    `label` names the curve in the legend, and ``band=False`` leaves out the deviations.
    Calls with the same `ax` add curves, each with the next color; the points are drawn once.

    Parameters
    ----------
    model : regressor
        Fitted, over one input.
    X : array of shape (n, 1)
        Examples to show.
    y : array of shape (n,)
        Their targets.
    truth : callable or None
        The function behind the data, drawn dashed.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    points : int, default 400
        Where the curve is evaluated.
    label : str or None
        Name of the curve in the legend.
    band : bool, default True
        Whether two standard deviations are shaded, where the model has them.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import NadarayaWatsonRegressor, data, plot
    >>> X, t = data.sine_linear_noise()
    >>> ax = plot.regression_curve(NadarayaWatsonRegressor(bandwidth=0.5).fit(X, t), X, t)
    """
    require_fitted(model)
    x = np.asarray(X, dtype=float)
    if x.ndim != 2 or x.shape[1] != 1:
        raise ValueError(f"regression_curve draws over one input: X has shape {x.shape}")
    ax = axes(ax)
    before = [line for line in ax.lines if line.get_gid() == "curve"]
    line = np.linspace(x.min(), x.max(), points)
    color = color_of(len(before))
    mean = model.predict(line[:, None])
    if band and "return_std" in signature(model.predict).parameters:
        std = model.predict(line[:, None], return_std=True)[1]
        ax.fill_between(line, mean - 2 * std, mean + 2 * std, color=color, alpha=0.15, linewidth=0)
    if not before:
        ax.scatter(x[:, 0], y, s=12, color="0.45", zorder=2)
        if truth is not None:
            ax.plot(line, truth(line), color=INK, linestyle=":", label="truth")
    ax.plot(line, mean, color=color, label=label or type(model).__name__, zorder=3, gid="curve")
    legend(ax)
    return tidy(ax, "", "x", "y")


def regression_curves(
    models: Mapping[str, Any], X: Any, y: Any, truth: Any = None, ax: Any = None
) -> Any:
    """Several fitted regressors over one input, by name: bandwidths, widths or methods compared.

    Parameters
    ----------
    models : dict of str to regressor
        Fitted, over one input.
    X : array of shape (n, 1)
        Examples to show.
    y : array of shape (n,)
        Their targets.
    truth : callable or None
        The function behind the data, drawn dashed.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import NadarayaWatsonRegressor, data, plot
    >>> X, t = data.sine_linear_noise()
    >>> widths = {f"h = {h}": NadarayaWatsonRegressor(bandwidth=h).fit(X, t) for h in (0.1, 2)}
    >>> ax = plot.regression_curves(widths, X, t)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['h = 0.1', 'h = 2']
    """
    ax = axes(ax)
    for name, model in models.items():
        regression_curve(model, X, y, truth, ax, label=name, band=len(models) == 1)
    return ax


def weights_of_query(model: Any, query: float) -> np.ndarray:
    """rₙ = k(x/h, xₙ/h) / Σ: how much each training example counts for one query."""
    require_fitted(model)
    h = np.asarray(model.bandwidth_)
    near = model.kernel_(np.atleast_2d(query) / h, model.X_fit_ / h)[0]
    return np.asarray(near / near.sum(), dtype=float)


def query_weights(model: Any, query: float, ax: Any = None) -> Any:
    """rₙ = k(x, xₙ): the examples in the size of their weight for one query, and the answer.

    For a fitted smoother (weighted mean or local line) over one input. A local model also shows
    the weighted line it fits for this query.

    Parameters
    ----------
    model : smoother
        Fitted, over one input.
    query : float
        Where an answer is asked for.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import LocalLinearRegressor, data, plot
    >>> model = LocalLinearRegressor(bandwidth=0.6).fit(*data.sine_linear_noise())
    >>> ax = plot.query_weights(model, 4.0)
    """
    weights = weights_of_query(model, query)
    x, t = np.asarray(model.X_fit_)[:, 0], np.asarray(model.y_fit_).reshape(len(weights))
    ax = axes(ax)
    size = 6 + 150 * weights / weights.max()
    ax.scatter(x, t, s=size, color=color_of(0), alpha=0.55, linewidths=0, label="size: weight rₙ")
    low, high = t.min() - 0.25 * np.ptp(t), t.max()
    order = np.argsort(x)
    bump = low + 0.22 * np.ptp(t) * weights[order] / weights.max()
    ax.fill_between(x[order], low, bump, color=color_of(4), alpha=0.45, linewidth=0, label="rₙ")
    ax.axvline(query, color=QUIET, linewidth=1, linestyle=":")
    if getattr(model, "local_degree", 0) == 1:
        line = np.polynomial.Polynomial.fit(x, t, 1, w=np.sqrt(weights))
        half = np.sqrt(weights @ (x - query) ** 2)
        part = np.array([query - 1.5 * half, query + 1.5 * half])
        ax.plot(part, line(part), color=color_of(1), linewidth=2, label="local line")
    answer = float(np.ravel(model.predict([[query]]))[0])
    ax.plot(
        query, answer, "D", color=color_of(1), markersize=8, label=f"y({query:g}) = {answer:.3g}"
    )
    ax.set_ylim(low, high + 0.3 * np.ptp(t))
    legend(ax, loc="upper left", ncols=2)
    return tidy(ax, f"weights of the query x = {query:g}", "x", "y")
