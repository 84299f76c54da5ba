"""Klein, "Lecture 14: Kernel Methods": the multi-class perceptron and its dual, the network it is,
and why the order of the examples matters.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from gallery import panels, save

from mercer import KernelNeighborsClassifier, KernelPerceptron, Perceptron, data, plot


def pictures() -> Iterator[tuple[str, Any]]:
    X, y = data.blobs(60, classes=3)
    model = Perceptron(fit_intercept=True, shuffle=False).fit(X, y)
    yield "three_weight_vectors", plot.weight_vectors(model, X, y)
    X, y = data.moons(60, noise=0.15)
    dual = KernelPerceptron("gaussian(0.4)", epochs=30, shuffle=False).fit(X, y)
    yield "network", plot.network(dual.expansion_, X[:1])
    row = panels(2)
    plot.decision_regions(KernelNeighborsClassifier(n_neighbors=1).fit(X, y), X, y, ax=row[0])
    plot.decision_regions(dual, X, y, ax=row[1])
    yield "two_approaches", row
    row = panels(2)
    plot.points(*data.blobs(40), ax=row[0]).set_title("separable")
    plot.points(*data.blobs(40, distance=0.8), ax=row[1]).set_title("not separable")
    yield "separable_or_not", row
    noisy = data.moons(40, noise=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it does not converge, and that is what is shown
        wavering = KernelPerceptron("gaussian(0.5)", shuffle=False, epochs=5).fit(*noisy)
    yield "thrashing", plot.accuracy_over_visits(wavering, *noisy)


if __name__ == "__main__":
    save(pictures())
