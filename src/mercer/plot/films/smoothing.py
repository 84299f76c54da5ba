"""A film of kernel smoothing: the window slides, and the curve is what it leaves behind."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._figures import color_of, legend
from mercer.plot.films.field import fitted
from mercer.plot.films.living import fit_page
from mercer.plot.films.reel import Film
from mercer.plot.regression import query_weights


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
