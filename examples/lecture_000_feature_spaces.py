"""Ritter, "Kernels and Kernelized Perceptron": data too hard for a line, mapped to a space where
it is not, and how large such spaces get.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gallery import save

from mercer import KernelSVC, Polynomial, data, plot
from mercer.maps import PolynomialMap, PowersMap


def pictures() -> Iterator[tuple[str, Any]]:
    X, y = data.easy_line(noise=0.1)
    yield "easy_line", plot.thresholds(KernelSVC("linear()", C=10).fit(X, y), X, y)
    yield "hard_line", plot.points(*data.hard_line())
    yield "parabola", plot.before_and_after(*data.hard_line(), PowersMap(2))
    yield "curve_from_a_plane", plot.before_and_after(*data.circles(80), PolynomialMap(2))
    yield "number_of_terms", plot.monomial_growth()
    print(f"d = 6, m = 100: {Polynomial(6).n_dims(100):,} terms")
    phi = PolynomialMap(2, offset=1).fit(np.zeros((1, 2)))
    print(f"(1 + u·v)² = φ(u)·φ(v), φ(x) = {phi.formula()}")


if __name__ == "__main__":
    save(pictures())
