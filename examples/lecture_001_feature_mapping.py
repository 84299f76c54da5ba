"""Abernethy, "Lecture 09: Kernel Methods": what a feature map does for regression (a line through
the origin, or five powers) and for classification (circles: two solutions).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gallery import panels, save

from mercer import KernelRidge, data, plot
from mercer.maps import PowersMap


def pictures() -> Iterator[tuple[str, Any]]:
    X, t = data.sine_linear_noise(60)
    X = X / 5 - 1  # powers of numbers up to one stay small
    row = panels(2)
    for ax, degree in zip(row, (1, 5), strict=True):
        # k(x, z) = φ(x)·φ(z) makes a ridge in the powers of x, without a constant.
        kernel = sum_of_powers(degree)
        plot.regression_curve(KernelRidge(kernel, alpha=1e-3).fit(X, t), X, t, ax=ax)
        ax.set_title("a line through the origin" if degree == 1 else f"φ(x) = (x, …, x{'⁵'})")
    yield "powers", row
    circles = data.circles(80)
    yield "circles", plot.points(*circles)
    yield "solution_1", plot.before_and_after(*circles, lambda Z: np.c_[Z, (Z**2).sum(axis=1)])
    yield "solution_2", plot.before_and_after(*circles, np.square)


def sum_of_powers(degree: int) -> Any:
    from mercer import FromFeatures

    return FromFeatures(PowersMap(degree).fit([[0.0]]).transform)


if __name__ == "__main__":
    save(pictures())
