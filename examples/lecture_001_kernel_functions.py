"""Abernethy, "Lecture 09: Kernel Methods": kernels and their maps, the series in the Gaussian, how
many features an image has, building blocks, and the dual of ridge regression line by line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gallery import panels, save

from mercer import Gaussian, KernelRidge, Linear, Polynomial, data, plot, prove, theory
from mercer.maps import PolynomialMap


def pictures() -> Iterator[tuple[str, Any]]:
    for degree in (2, 3):
        print(f"(x·z)^{degree}: φ(x) = {PolynomialMap(degree).fit(np.ones((1, 2))).formula()}")
    print(theory.binomial_expansion(3, 1.0, [1.0, 2.0], [0.5, -1.0]), end="\n\n")
    print(theory.gaussian_series([0.5, 1.0], [1.0, 0.0]), end="\n\n")
    yield "taylor", plot.taylor_truncations()
    digits = data.digits()
    names = [str(label) for label in np.asarray(digits.y)[:20]]
    yield "digits", plot.images(digits.X[:20], titles=names, columns=10)
    for shape, count in theory.monomial_table(785, 4).items():
        print(f"monomials with exponents {shape}: {count:,}")
    kernel = Gaussian(2.0) * Polynomial(2, offset=1.0) + 3 * Linear()
    print(prove(kernel))
    row = panels(3)
    for ax, one in zip(row, (Gaussian(0.5), Polynomial(2), Gaussian(0.5) * Linear()), strict=True):
        plot.kernel_shape(one, ax=ax)
    yield "building_blocks", row
    X, t = data.sine_linear_noise(6)
    phi = Polynomial(7, offset=1.0).features(X / 10)
    print(theory.ridge_dual(phi, t, 0.1))
    X, t = data.sine_linear_noise(60)
    fits = {f"λ = {a:g}": KernelRidge("gaussian(1)", alpha=a).fit(X, t) for a in (1e-4, 0.1, 100)}
    yield "dual_ridge", plot.regression_curves(fits, X, t)


if __name__ == "__main__":
    save(pictures())
