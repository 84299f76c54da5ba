"""Ritter, "Kernels and Kernelized Perceptron": XOR by K(u, v) = (u·v)², visit by visit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gallery import save

from mercer import KernelPerceptron, KernelSVC, Polynomial, data, plot


def pictures() -> Iterator[tuple[str, Any]]:
    X, y = data.xor()
    kernel = Polynomial(2)
    yield "xor", plot.points(X, y)
    yield "xor_table", plot.gram(kernel, X)
    model = KernelPerceptron(kernel, tie="first", shuffle=False).fit(X, y)
    for visit in model.steps(X, y):
        word = "update" if visit.updated else "right"
        where = f"t={visit.epoch}, i={visit.index + 1}"
        print(f"{where}: score {visit.score:g}, {word}, a = {visit.alpha}")
    print(f"f(x) = {model.expansion_.formula()}")
    # f is K(x¹, ·), so its surface is the kernel's around x¹; on the other diagonal it is 0.
    yield "xor_surface", plot.kernel_shape(kernel, center=X[0], extent=1.5)
    yield "xor_regions", plot.decision_regions(KernelSVC(kernel, C=10).fit(X, y), X, y)
    yield "xor_network", plot.network(model.expansion_, X[:1])


if __name__ == "__main__":
    save(pictures())
