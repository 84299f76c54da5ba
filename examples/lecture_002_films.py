"""Gordon and Smola, "Perceptron and Kernels": the perceptron as it turns, and their film of a
machine with a polynomial kernel; with them SMO, Newton's method and Abernethy's sliding window.

`steps()` gives what a film shows as numbers, for a loop of one's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gallery import panels, save

from mercer import (
    KernelLogisticRegression,
    KernelPerceptron,
    KernelSVC,
    LocalLinearRegressor,
    data,
    plot,
)

FRAMES = 12


def pictures() -> Iterator[tuple[str, Any]]:
    X, y = data.blobs(30)
    near = X + [1.0, 0.5]
    perceptron = KernelPerceptron("linear()", fit_intercept=True, shuffle=False, epochs=50)
    yield "perceptron", plot.film(perceptron, near, y, FRAMES)
    moons = data.moons(50, noise=0.15)
    logistic = KernelLogisticRegression("gaussian(0.5)", 0.1, solver="newton")
    yield "newton", plot.film(logistic, *moons, FRAMES)
    machine = KernelSVC("gaussian(0.5)", C=2.0)
    yield "pairs", plot.film(machine, *moons, FRAMES)
    smoother = LocalLinearRegressor(bandwidth=0.6)
    yield "window", plot.film(smoother, *data.sine_linear_noise(), FRAMES)
    quadratic = KernelSVC("polynomial(2)", C=10.0)
    yield "in_space", plot.film(quadratic, *data.circles(60), FRAMES, space=True)

    # A loop of one's own: how far SMO and Newton's method are, step by step.
    (ax,) = panels(1, 5.0)
    gaps = [step.gap for step in machine.steps(*moons)]
    ax.semilogy(range(1, len(gaps) + 1), gaps, label="SMO: gap")
    values = [step.objective for step in logistic.steps(*moons)]
    ax.semilogy(
        range(1, len(values)), [v - values[-1] for v in values[:-1]], label="Newton: objective"
    )
    ax.set(xlabel="steps", title="what is left")
    ax.legend(frameon=False)
    yield "steps", ax
    print(f"SMO took {len(gaps)} steps, Newton's method {len(values)}")


if __name__ == "__main__":
    save(pictures())
