"""Gordon and Smola, "Perceptron and Kernels": XOR in three dimensions, an SVM with a polynomial
kernel, Mercer's theorem, a counterexample, five kernels, and the Fourier trick.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gallery import panels, save

from mercer import BSpline, Gaussian, KernelSVC, Laplacian, Polynomial, Uniform, data, plot, prove
from mercer.maps import PolynomialMap


def pictures() -> Iterator[tuple[str, Any]]:
    yield "xor_in_space", plot.before_and_after(*data.xor(40, noise=0.2), PolynomialMap(2))
    X, y = data.circles(60)
    machine = KernelSVC(Polynomial(2), C=1e3).fit(X, y)
    print(f"the SVM in the plane: f(x) = {machine.expansion_.formula()}")
    yield "svm_polynomial", plot.decision_regions(machine, X, y)
    yield "svm_lifted", plot.feature_space(X, y, PolynomialMap(2))
    row = panels(2)
    plot.eigenfunctions(Gaussian(0.2), ax=row[0])
    plot.eigenfunctions(Laplacian(1.0), ax=row[1])
    yield "mercer", row
    three = np.array([[1.0], [2.0], [3.0]])
    print(prove(Uniform(1.0), data=three))
    yield "counterexample", plot.gram(Uniform(1.0), three)
    yield "kernel_matrix", plot.gram(Gaussian(0.5), X, y)
    yield "five_kernels", plot.kernel_gallery()
    row = panels(3)
    for ax, kernel in zip(row, (Gaussian(1.0), BSpline(3), Uniform(1.0)), strict=True):
        plot.fourier(kernel, ax=ax)
    yield "fourier", row


if __name__ == "__main__":
    save(pictures())
