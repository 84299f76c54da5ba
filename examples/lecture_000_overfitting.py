"""Ritter, "Kernels and Kernelized Perceptron": everything overfits sometimes. Widths, updates and
C hold it back; logistic regression in terms of the examples is no exception.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from gallery import panels, save

from mercer import Gaussian, KernelLogisticRegression, KernelPerceptron, KernelSVC, data, plot


def pictures() -> Iterator[tuple[str, Any]]:
    X, y = data.moons(60, noise=0.35)
    more = data.moons(500, noise=0.35, random_state=1)
    row = panels(3)
    for ax, sigma in zip(row, (0.1, 0.6, 3.0), strict=True):
        plot.decision_regions(KernelSVC(Gaussian(sigma), C=10).fit(X, y), X, y, ax=ax)
        ax.set_title(f"σ = {sigma}")
    yield "widths", row
    widths = np.geomspace(0.05, 5, 7)
    machine = KernelSVC("gaussian(1)", C=10)
    errors = plot.errors_over(machine, X, y, "kernel__sigma", widths, more, cv=5)
    yield "error_over_width", plot.error_curves(widths, errors, "σ")
    updates = [2, 5, 10, 20, 40, 80]
    perceptron = KernelPerceptron("gaussian(0.25)", epochs=30, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stopping early is the point
        errors = plot.errors_over(perceptron, X, y, "max_updates", updates, more, cv=5)
    yield "error_over_updates", plot.error_curves(updates, errors, "updates")
    prices = np.geomspace(0.01, 1000, 6)
    errors = plot.errors_over(KernelSVC("gaussian(0.4)"), X, y, "C", prices, more, cv=5)
    yield "error_over_C", plot.error_curves(prices, errors, "C")
    logistic = KernelLogisticRegression("gaussian(0.6)", alpha=0.1).fit(X, y)
    yield "logistic", plot.decision_regions(logistic, X, y)


if __name__ == "__main__":
    save(pictures())
