"""Lecture 002: the film of a support vector machine with a polynomial kernel."""

from __future__ import annotations

import numpy as np

from mercer import KernelSVC
from mercer.kernels import Linear, Polynomial


def test_the_film_of_an_svm_with_a_polynomial_kernel(circles, features):
    """002, lines 447-450: not separable in the plane; lifted to (x₁², √2x₁x₂, x₂²) a plane cuts."""
    X, y = circles
    kernel = Polynomial(2)
    assert KernelSVC(Linear(), C=10.0).fit(X, y).score(X, y) < 0.8
    model = KernelSVC(kernel, C=np.inf, tol=1e-10).fit(X, y)
    assert model.score(X, y) == 1.0
    phi = features(kernel, X)
    assert phi.shape[1] == 3
    w, b = model.expansion_.primal(), float(model.intercept_[0])
    np.testing.assert_allclose(phi @ w + b, model.decision_function(X), atol=1e-8)
    # The circles are x₁² + x₂² = 1 and 4: the plane lies half-way, at 2.5, and cuts out a circle.
    np.testing.assert_allclose(w / w[0], [1.0, 0.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(-b / w[0], 2.5, atol=1e-6)
    angle = np.linspace(0, 2 * np.pi, 7)
    ring = np.sqrt(2.5) * np.column_stack([np.cos(angle), np.sin(angle)])
    np.testing.assert_allclose(model.decision_function(ring), 0.0, atol=1e-6)
