"""Gordon and Smola, "Perceptron and Kernels": Hebb's rule, the perceptron, why it converges, what
makes it hard, all separators at once, and the fewest errors a line can make.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gallery import panels, save

from mercer import KernelPerceptron, Perceptron, data, plot, theory


def pictures() -> Iterator[tuple[str, Any]]:
    X, y = data.blobs(40)
    stretched, labels = np.vstack([X * [1, 2], [[1.5, -2.0]]]), np.append(y, 1)
    yield "hebb", plot.hebb_and_perceptron(stretched, labels)
    model = Perceptron(fit_intercept=True, shuffle=False).fit(X, y)
    yield "hyperplane", plot.weight_vectors(model, X, y)
    near = X + [1.0, 0.5]
    dual = KernelPerceptron("linear()", fit_intercept=True, shuffle=False, epochs=50).fit(near, y)
    visits = list(dual.steps(near, y))
    yield "mistakes", plot.mistakes_against_bound(dual, near, y, visits=visits)
    yield "proof", plot.convergence_proof(dual, near, y)
    print(theory.report(dual, near, y))
    row = panels(2)
    plot.hardness(*data.blobs(40, noise=0.4), ax=row[0])
    plot.hardness(*data.blobs(40, noise=0.2), ax=row[1])
    yield "hard_and_easy", row
    yield "version_space", plot.version_space(X, y)
    crossed = data.blobs(40, noise=0.6, distance=1.4)
    w, b, errors = theory.fewest_errors(*crossed)
    ax = plot.separators([(w, b)], *crossed)
    ax.set_title(f"fewest errors of any line: {errors}")
    yield "fewest_errors", ax
    print(f"XOR: every line errs at least {theory.fewest_errors(*data.xor())[2]} time")


if __name__ == "__main__":
    save(pictures())
