"""Films of one number: how a fit changes while the width of its kernel goes from wide to narrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from mercer._figures import color_of, legend, tidy
from mercer.kernels.parameters import as_width, is_number
from mercer.plot.films.field import fitted
from mercer.plot.films.living import fit_page
from mercer.plot.films.reel import Film
from mercer.plot.models import decision_regions
from mercer.plot.regression import query_weights, regression_curve

# --- A film of kernel smoothing: the window slides, and the curve is what it leaves behind --------


def window_film(model: Any, X: Any, y: Any, frames: int) -> Film:
    """For each query the weights of all examples and the answer, with the curve so far."""
    from matplotlib.figure import Figure

    final = fitted(model, X, y)
    x = np.asarray(X, dtype=float)
    if x.ndim != 2 or x.shape[1] != 1:
        raise ValueError(f"this film is drawn over one input: X has shape {x.shape}")
    queries = np.linspace(x.min(), x.max(), frames)
    fine = np.linspace(x.min(), x.max(), 300)
    curve = np.ravel(final.predict(fine[:, None]))
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    ax = figure.add_subplot()

    def draw(index: int) -> str:
        ax.clear()
        query = float(queries[index])
        query_weights(final, float(f"{query:.3g}"), ax)
        past = fine <= query
        ax.plot(fine[past], curve[past], color=color_of(2), linewidth=2, label="curve so far")
        ax.set_xlim(x.min() - 0.02 * np.ptp(x), x.max() + 0.02 * np.ptp(x))
        legend(ax, loc="upper left", ncols=2)
        return f"x = {query:.3g}: y = {np.ravel(final.predict([[query]]))[0]:.3g}"

    return Film(figure, draw, frames, seconds=0.12, page=fit_page(model, final, X, y))


#: How many times wider than the model's own width the first frame is, and narrower the last.
SPAN = 8.0


def sweep_film(model: Any, X: Any, y: Any, frames: int) -> Film:
    """A fit for one width after the other; for one penalty λ where the kernel has no width."""
    from matplotlib.figure import Figure

    name, middle, change = _number(model, X, y)
    values = middle * np.geomspace(SPAN, 1 / SPAN, frames)
    figure = Figure(figsize=(6.4, 5.0), layout="constrained")
    ax = figure.add_subplot()

    def draw(index: int) -> str:
        ax.clear()
        made = fitted(change(float(values[index])), X, y)
        caption = f"{name} = {values[index]:.3g}"
        if is_regressor(made):
            regression_curve(made, X, y, ax=ax)
            caption += f": training error {np.mean((made.predict(X) - y) ** 2):.3g}"
        else:
            decision_regions(made, X, y, ax)
            if is_classifier(made):
                caption += f": training error {np.mean(made.predict(X) != y):.1%}"
        tidy(ax, caption)
        return caption

    live = fit_page(model, fitted(model, X, y), X, y)
    return Film(figure, draw, frames, seconds=0.15, page=live)


def _number(model: Any, X: Any, y: Any) -> tuple[str, float, Callable[[float], Any]]:
    """The number that moves, its value, and the model with another one."""
    kernel: Any = getattr(fitted(model, X, y), "kernel_", None)
    widths = [
        (f"{path}{name}", float(value))
        for path, part in (kernel.parts() if kernel is not None else ())
        for name, check in part.parameters.items()
        if as_width(check) and is_number(value := getattr(part, name))
    ]
    if widths:
        where, width = widths[0]

        def change(value: float) -> Any:
            return clone(model).set_params(kernel=kernel.set_params(**{where: value}))

        return where.rpartition("__")[2], width, change
    if is_number(getattr(model, "alpha", None)):
        return "alpha", float(model.alpha), lambda v: clone(model).set_params(alpha=v)
    raise TypeError(
        f"there is no film of {type(model).__name__}: its kernel has no width that could move, "
        "and it has no penalty alpha"
    )
