"""Curves of the error: over a parameter, and over the number of examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer._deprecated import warn_of
from mercer._figures import axes, color_of, legend, short, tidy


def errors_over(
    model: Any,
    X: Any,
    y: Any,
    parameter: Any,
    values: Any,
    held_out: tuple[Any, Any] | None = None,
    cv: Any = None,
) -> dict[str, np.ndarray]:
    """Measure a model's errors per value of one parameter: training, cross-validated, held out.

    Parameters
    ----------
    model : estimator
        Fitted anew for every value.
    X : array or list
        Training examples.
    y : array of shape (n,)
        Their targets.
    parameter : str
        As `set_params` takes it: "kernel__sigma", "C", "bandwidth", "max_updates", …
    values : array of shape (m,)
        To try.
    held_out : (X, y), optional
        More examples, for the third curve.
    cv : int or splitter, optional
        By default each example is left out once, of more than 100 a fifth at a time.

    Returns
    -------
    dict of name to errors
        Shares of wrong labels, or root mean squared errors for regressors.

    Examples
    --------
    >>> from mercer import KernelSVC, data, plot
    >>> errors = plot.errors_over(KernelSVC("gaussian(1)"), *data.moons(30), "C", [0.1, 10.0], cv=3)
    >>> {name: len(curve) for name, curve in errors.items()}
    {'training': 2, 'cross-validation': 2}
    """
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import LeaveOneOut, cross_val_predict

    if isinstance(X, str):
        names = "parameter, values"
        warn_of(f"errors_over(model, {names}, X, y)", f"errors_over(model, X, y, {names})")
        X, y, parameter, values = parameter, values, X, y
    labels = is_classifier(model)
    alone = cv is None and len(y) <= 100
    name = "leave one out" if alone else "cross-validation"

    def error(truth: Any, said: Any) -> float:
        miss = np.not_equal(said, truth) if labels else np.subtract(said, truth) ** 2
        return float(np.mean(miss) if labels else np.sqrt(np.mean(miss)))

    found: dict[str, list[float]] = {"training": [], name: []}
    for value in values:
        made = clone(model).set_params(**{parameter: value})
        found[name].append(
            error(y, cross_val_predict(made, X, y, cv=LeaveOneOut() if alone else cv))
        )
        fitted = made.fit(X, y)
        found["training"].append(error(y, fitted.predict(X)))
        if held_out is not None:
            found.setdefault("held out", []).append(error(held_out[1], fitted.predict(held_out[0])))
    return {key: np.array(errors) for key, errors in found.items()}


def error_curves(
    values: Any,
    errors: Mapping[str, Any],
    parameter: str = "σ",
    ax: Any = None,
    log: bool | None = None,
) -> Any:
    """Draw errors over a parameter, one curve each; the smallest not seen in training is marked.

    Where the training error falls and the others rise the model overfits. Use `errors_over` for
    the numbers: over σ, the degree, C, the bandwidth or the number of updates.

    Parameters
    ----------
    values : array of shape (m,)
        Of the parameter.
    errors : dict of str to array of shape (m,)
        Name of a curve to its errors.
    parameter : str, default "σ"
        Name for the axis.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    log : bool or None
        Whether the axis is logarithmic; None decides by the values.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import KernelSVC, data, plot
    >>> X, y = data.moons(30, noise=0.3)
    >>> model, widths = KernelSVC("gaussian(1)"), [0.1, 0.5, 2.0]
    >>> errors = plot.errors_over(model, X, y, "kernel__sigma", widths, data.moons(200, noise=0.3))
    >>> ax = plot.error_curves(widths, errors, "σ")
    """
    ax = axes(ax)
    at = np.asarray(values, dtype=float)
    judged = [name for name in errors if name != "training"][-1:]
    for i, (name, curve) in enumerate(errors.items()):
        best = int(np.argmin(curve))
        label = f"{name}, best {parameter} = {at[best]:.3g}" if name in judged else name
        ax.plot(at, curve, "o-", color=color_of(i), markersize=4, label=label)
        if name in judged:
            ax.plot(at[best], curve[best], "o", markersize=13, markerfacecolor="none",
                    color=color_of(i))  # fmt: skip
    if at[0] > 0 and at[-1] / at[0] > 20 if log is None else log:
        ax.set_xscale("log")
        ax.tick_params(axis="x", which="minor", labelbottom=False)
        if len(at) <= 8:
            ax.set_xticks(at, [f"{v:.2g}" if v < 100 else short(v) for v in at])
    high = max(float(np.max(curve)) for curve in errors.values())
    ax.set_ylim(-0.05 * high, 1.35 * high or 1.0)
    legend(ax, frameon=False)
    return tidy(ax, f"error over {parameter}", parameter, "error")


def learning_curve(
    model: Any, X: Any, y: Any, sizes: Any = None, cv: int = 5, ax: Any = None
) -> Any:
    """The score on training and held-out folds as the number of examples grows.

    Parameters
    ----------
    model : estimator
        Fitted anew for every size.
    X : array or list
        The examples.
    y : array of shape (n,)
        Their targets.
    sizes : list of float or int, or None
        Shares or numbers of examples to learn from.
    cv : int, default 5
        Folds.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import KernelSVC, data, plot
    >>> ax = plot.learning_curve(KernelSVC("gaussian(0.5)"), *data.moons(60), sizes=[0.3, 1.0])
    """
    from sklearn.model_selection import learning_curve as measure

    ax = axes(ax)
    sizes = np.linspace(0.1, 1.0, 6) if sizes is None else sizes
    # Shuffled, because a prefix of ordered data may hold a single class.
    n, *scores = measure(model, X, y, train_sizes=sizes, cv=cv, shuffle=True, random_state=0)[:3]
    for i, (name, part) in enumerate(zip(("training", "held out"), scores, strict=True)):
        mean, spread = part.mean(axis=1), part.std(axis=1)
        ax.plot(n, mean, "o-", color=color_of(i), label=name, markersize=4)
        ax.fill_between(n, mean - spread, mean + spread, color=color_of(i), alpha=0.15, linewidth=0)
    legend(ax, frameon=False)
    return tidy(ax, "learning curve", "examples", "score")
