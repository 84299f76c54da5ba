"""Lecture 004: perceptron and kernel perceptron with counts α ≥ 0.

The convention is `tie="mistake"`, no bias: update when y⁽ⁱ⁾(θ·φ(x⁽ⁱ⁾)) ≤ 0.
"""

from __future__ import annotations

import numpy as np
import pytest

from mercer import KernelPerceptron, Perceptron
from mercer.kernels import Gaussian, Linear, Polynomial

PLAIN = {"tie": "mistake", "fit_intercept": False, "shuffle": False}


def _textbook(K, y, T, start=None):
    """Lines 94-104: αᵢ ← αᵢ + 1 when y⁽ⁱ⁾ Σⱼ αⱼ y⁽ʲ⁾ k(x⁽ⁱ⁾, x⁽ʲ⁾) ≤ 0."""
    alpha = np.zeros(len(y)) if start is None else np.array(start, dtype=float)
    for _ in range(T):
        mistakes = 0
        for i in range(len(y)):
            if y[i] * sum(alpha[j] * y[j] * K[i, j] for j in range(len(y))) <= 0:
                alpha[i] += 1
                mistakes += 1
        if not mistakes:
            break
    return alpha


def test_the_perceptron_of_the_lecture(rng):
    """004, lines 72-84: θ ← θ + y⁽ⁱ⁾x⁽ⁱ⁾ when y⁽ⁱ⁾(θ·x⁽ⁱ⁾) ≤ 0, T passes, no bias."""
    X = rng.integers(-4, 5, size=(20, 3)).astype(float)
    y = np.where(rng.random(20) < 0.5, 1, -1)
    theta, updates = np.zeros(3), 0
    for _ in range(4):
        for x, t in zip(X, y, strict=True):
            if t * (theta @ x) <= 0:
                theta, updates = theta + t * x, updates + 1
    model = Perceptron(epochs=4, **PLAIN).fit(X, y)
    np.testing.assert_array_equal(np.ravel(model.coef_), theta)
    assert model.n_mistakes_ == updates


@pytest.mark.parametrize(
    "kernel", [Linear() + Polynomial(2), Gaussian(1.0)], ids=["x.z + (x.z)^2", "radial basis"]
)
def test_the_kernel_perceptron_of_the_lecture(kernel, rng):
    """004, lines 86-104: counts α ≥ 0, θ = Σ αⱼy⁽ʲ⁾φ(x⁽ʲ⁾)."""
    X = rng.integers(-3, 4, size=(24, 2)).astype(float)
    y = np.where((X**2).sum(axis=1) > 8, 1, -1)
    counts = _textbook(kernel(X), y, T=6)
    model = KernelPerceptron(kernel, epochs=6, **PLAIN).fit(X, y)
    np.testing.assert_array_equal(model.counts_, counts)
    assert np.all(model.counts_ >= 0)
    np.testing.assert_allclose(model.decision_function(X), (counts * y) @ kernel(X), atol=1e-9)


def test_alpha_may_start_at_some_values(rng):
    """004, line 96: "initialize α to some values": a warm start from given counts."""
    kernel = Linear() + Polynomial(2)
    X = rng.integers(-3, 4, size=(15, 2)).astype(float)
    y = np.where(X[:, 0] > X[:, 1], 1, -1)
    start = rng.integers(0, 3, size=15).astype(float)
    counts = _textbook(kernel(X), y, T=3, start=start)
    model = KernelPerceptron(kernel, epochs=3, **PLAIN).fit(X, y, alpha_init=start * y)
    np.testing.assert_array_equal(model.counts_, counts)
    assert not np.array_equal(counts, _textbook(kernel(X), y, T=3))
