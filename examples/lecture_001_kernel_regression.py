"""Abernethy, "Lecture 09: Kernel Methods": a weighted mean and a local line on three data sets,
the weights of a query, several bandwidths, and what many dimensions do to both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gallery import panels, save

from mercer import (
    KernelNeighborsRegressor,
    KernelRidge,
    LocalLinearRegressor,
    NadarayaWatsonRegressor,
    data,
    plot,
)

DATA: dict[str, tuple[Any, Any]] = {
    "linear + noise": (data.linear_noise, lambda x: x),
    "sine + linear + noise": (data.sine_linear_noise, lambda x: x / 2 + 2 * np.sin(x)),
    "completely random": (data.pure_noise, lambda x: 0 * x),
}
#: Each chooses its own smoothness by leave-one-out.
MODELS = {
    "weighted mean": NadarayaWatsonRegressor(),
    "local line": LocalLinearRegressor(),
    "kernel ridge": KernelRidge("gaussian(1.5)", alphas=np.logspace(-4, 3, 30)),
}


def pictures() -> Iterator[tuple[str, Any]]:
    grid = panels(9, 3.0, 2.6, columns=3)
    for i, (name, (make, truth)) in enumerate(DATA.items()):
        X, t = make(n=120, random_state=2)
        for ax, (method, model) in zip(grid[3 * i :], MODELS.items(), strict=False):
            plot.regression_curve(model.fit(X, t), X, t, truth, ax=ax, label=method)
            ax.set_title(name, fontsize="medium")
    yield "three_demonstrations", grid
    X, t = data.sine_linear_noise()
    truth = DATA["sine + linear + noise"][1]
    fits = {f"h = {h}": NadarayaWatsonRegressor(bandwidth=h).fit(X, t) for h in (0.1, 0.5, 2.0)}
    yield "bandwidths", plot.regression_curves(fits, X, t, truth)
    widths = np.geomspace(0.05, 5, 10)
    more = data.sine_linear_noise(400, random_state=1)
    errors = plot.errors_over(NadarayaWatsonRegressor(), X, t, "bandwidth", widths, more, cv=10)
    yield "error_over_bandwidth", plot.error_curves(widths, errors, "h")
    row = panels(2)
    for ax, cls in zip(row, (NadarayaWatsonRegressor, LocalLinearRegressor), strict=True):
        plot.query_weights(cls(bandwidth=0.7).fit(X, t), 9.8, ax=ax)
        ax.set_title("weighted mean" if ax is row[0] else "local line")
    yield "weights_at_the_edge", row
    yield "many_dimensions", many_dimensions()


def many_dimensions(columns: tuple[int, ...] = (1, 2, 4, 8, 16), n: int = 250) -> Any:
    """Only the first input matters; the others move the neighbors away."""
    names = ("weighted mean", "local line", "nearest distance / typical one")
    found: dict[str, list[float]] = {name: [] for name in names}
    for width in columns:
        rng = np.random.default_rng(0)
        X, Q = rng.random((n, width)), rng.random((300, width))
        t, goal = np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=n), np.sin(6 * Q[:, 0])
        for name, model in zip(
            names, (NadarayaWatsonRegressor(), LocalLinearRegressor()), strict=False
        ):
            error = model.fit(X, t).predict(Q) - goal
            found[name].append(float(np.sqrt(np.mean(error**2))))
        search = KernelNeighborsRegressor("linear()", n_neighbors=1).fit(X, t)
        typical = np.linalg.norm(Q - X[rng.integers(0, n, 300)], axis=1).mean()
        found[names[2]].append(float(search.kneighbors(Q)[0].mean() / typical))
    ax = panels(1, 5.0, 4.0)[0]
    for name, color in zip(names, ("#0072B2", "#D55E00", "#009E73"), strict=True):
        ax.plot(columns, found[name], "o-", color=color, label=name)
    ax.set(
        title="both suffer when the dimension is high", xlabel="inputs", ylabel="error, or share"
    )
    ax.legend(fontsize="small")
    return ax


if __name__ == "__main__":
    save(pictures())
