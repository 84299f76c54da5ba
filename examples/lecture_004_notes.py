"""The notes "Higher Order Feature vectors": θ₁x + θ₂x² + θ₀ on the line, x·x' + (x·x')², and the
same linear method turned into a kernel method.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gallery import panels, save

from mercer import KernelPerceptron, KernelRidge, Linear, Perceptron, data, plot
from mercer.maps import PowersMap


def pictures() -> Iterator[tuple[str, Any]]:
    X, y = data.hard_line()
    model = Perceptron(PowersMap(2), fit_intercept=True, epochs=500, shuffle=False).fit(X, y)
    (a, b), c = model.coef_[0], model.intercept_[0]
    print(f"h(x) = sign({a:.3g} x {b:+.3g} x² {c:+.3g})")
    yield "two_thresholds", plot.thresholds(model, X, y)
    yield "parabola_lifted", plot.feature_space(X, y, PowersMap(2))
    kernel = Linear() + Linear() ** 2
    circles = data.circles(60)
    row = panels(2)
    for ax, one in zip(row, (Linear(), kernel), strict=True):
        fitted = KernelPerceptron(one, fit_intercept=True, epochs=50, averaging="average")
        plot.decision_regions(fitted.fit(*circles), *circles, ax=ax)
        ax.set_title("x·x'" if ax is row[0] else "x·x' + (x·x')²")
    yield "linear_becomes_kernel", row
    Z, t = data.sine_linear_noise(60)
    fits = {
        "θ·x": KernelRidge(Linear()).fit(Z, t),
        "θ·φ(x), radial basis": KernelRidge("gaussian(1)", alpha=0.1).fit(Z, t),
    }
    yield "nonlinear_regression", plot.regression_curves(fits, Z, t)
    assert np.allclose(kernel([[1.0, 2.0]], [[3.0, 1.0]]), 5 + 25)


if __name__ == "__main__":
    save(pictures())
