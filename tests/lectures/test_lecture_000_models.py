"""Lecture 000: similar tricks for all linear models, and what keeps them from overfitting."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import KernelLogisticRegression, KernelPerceptron, KernelRidgeClassifier, KernelSVC
from mercer.kernels import Gaussian, Polynomial


@pytest.fixture
def noisy(rng):
    """The sign of x₁ + x₂, and one label in six is wrong."""
    X = rng.normal(size=(400, 2))
    true = np.where(X.sum(axis=1) > 0, 1, -1)
    seen = np.where(rng.uniform(size=400) < 1 / 6, -true, true)
    return X[:120], seen[:120], X[120:], true[120:]


@pytest.mark.parametrize(
    "model",
    [
        KernelPerceptron(averaging="average", random_state=0),
        KernelLogisticRegression(alpha=0.5),
        KernelSVC(C=2.0),
        KernelRidgeClassifier(alpha=0.5),
    ],
    ids=lambda m: type(m).__name__,
)
def test_similar_tricks_for_all_linear_models(model, noisy, features):
    """000, lines 242-249: w = Σ αʲφ(xʲ), so that w·φ(x) + w₀ = Σ αʲK(xʲ, x) + w₀, in each."""
    X, y, new, _ = noisy
    kernel = Polynomial(2, offset=1.0)
    model.set_params(kernel=kernel).fit(X, y)
    f = model.expansion_
    w = f.primal()
    phi = features(kernel, new)
    np.testing.assert_allclose(phi @ w + f.intercept, f(new), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(model.decision_function(new), f(new), rtol=1e-6, atol=1e-6)
    points = np.asarray(f.points)
    np.testing.assert_allclose(features(kernel, points).T @ f.coef, w, rtol=1e-9, atol=1e-9)


def test_svms_have_a_clearer_story_about_overfitting(noisy):
    """000, lines 228-232: in an infinite feature space, C says how much noise is to be believed."""
    X, y, new, true = noisy
    kernel = Gaussian(0.3)
    trusting = KernelSVC(kernel, C=1e4).fit(X, y)
    careful = KernelSVC(kernel, C=0.3).fit(X, y)
    assert trusting.score(X, y) > 0.97  # the wrong labels, too
    assert careful.score(X, y) < trusting.score(X, y)
    assert careful.score(new, true) > trusting.score(new, true) + 0.03
    assert careful.expansion_.squared_norm < trusting.expansion_.squared_norm


def test_choosing_a_better_kernel_controls_overfitting(noisy):
    """000, lines 233-236: the same C, a wider Gaussian."""
    X, y, new, true = noisy
    narrow, wide = (KernelSVC(Gaussian(s), C=1.0).fit(X, y) for s in (0.1, 2.0))
    assert narrow.score(X, y) > wide.score(X, y)
    assert wide.score(new, true) > narrow.score(new, true) + 0.05
