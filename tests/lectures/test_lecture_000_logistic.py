"""Lecture 000: kernels in logistic regression, and the gradient-descent rule on αʲ and w₀."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelLogisticRegression
from mercer.kernels import Gaussian, Linear, Polynomial

ALPHA = 0.2


@pytest.fixture
def examples(rng):
    X = rng.normal(size=(30, 2))
    return X, (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=30) > 0).astype(int)


def _steps(kernel, X, y, steps, rate):
    """The rule, line by line: p − y is what the gradient of the log-loss is made of."""
    K = kernel(X)
    a, w0 = np.zeros(len(X)), 0.0
    for _ in range(steps):
        p = expit(w0 + K @ a)  # P(Y = 1 | x)
        a, w0 = a - rate * (K @ (p - y) + ALPHA * K @ a), w0 - rate * np.sum(p - y)
    return a, w0


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, offset=1.0), Gaussian(0.8)], ids=repr)
def test_the_gradient_descent_rule(kernel, examples):
    """000, line 248: derive gradient descent rule on αʲ, w₀."""
    X, y = examples
    for steps in (1, 7):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = KernelLogisticRegression(
                kernel, ALPHA, solver="gradient", learning_rate=1e-3, max_iter=steps
            ).fit(X, y)
        a, w0 = _steps(kernel, X, y, steps, 1e-3)
        np.testing.assert_allclose(model.dual_coef_, a, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.intercept_, [w0], rtol=1e-9, atol=1e-12)


def test_the_rule_is_the_gradient_of_the_objective(examples):
    """000, line 248: K(p − y) + αKa and Σ(p − y), by differences."""
    X, y = examples
    K = Gaussian(0.8)(X)

    def objective(v):
        f = K @ v[:-1] + v[-1]
        return np.sum(np.logaddexp(0, f) - y * f) + ALPHA / 2 * v[:-1] @ K @ v[:-1]

    v = np.linspace(-1, 1, 31)
    p = expit(K @ v[:-1] + v[-1])
    rule = np.append(K @ (p - y) + ALPHA * K @ v[:-1], np.sum(p - y))
    h = 1e-6 * np.eye(31)
    slopes = [(objective(v + e) - objective(v - e)) / 2e-6 for e in h]
    np.testing.assert_allclose(rule, slopes, rtol=1e-5, atol=1e-6)


def test_probabilities_in_terms_of_the_examples(examples):
    """000, lines 240-246: P(Y = 0|x) = 1/(1 + exp(w₀ + Σ αʲ K(xʲ, x))), at the optimum."""
    X, y = examples
    kernel = Polynomial(2, offset=1.0)
    model = KernelLogisticRegression(kernel, ALPHA, tol=1e-12).fit(X, y)
    f = model.intercept_[0] + kernel(X) @ model.dual_coef_
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], 1 / (1 + np.exp(f)), rtol=1e-9)
    # the gradient vanishes there: w = Σ αʲ φ(xʲ) with α = (y − p)/alpha, and Σ(y − p) = 0
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(model.dual_coef_, (y - p) / ALPHA, atol=1e-5)
    assert abs(np.sum(y - p)) < 1e-5


def test_a_line_cannot_and_a_product_can(examples):
    """000, lines 238-249: the same linear model, in the space of the kernel."""
    X, y = examples
    assert KernelLogisticRegression(Linear(), 0.01).fit(X, y).score(X, y) < 0.7
    assert KernelLogisticRegression(Polynomial(2), 0.01).fit(X, y).score(X, y) >= 0.8


def test_gradient_descent_and_newton_meet(examples):
    """000, line 248: the same optimum, ten steps or a thousand."""
    X, y = examples
    fast = KernelLogisticRegression(Linear(), ALPHA, tol=1e-12).fit(X, y)
    slow = KernelLogisticRegression(
        Linear(), ALPHA, solver="gradient", tol=1e-8, max_iter=5000
    ).fit(X, y)
    np.testing.assert_allclose(slow.predict_proba(X), fast.predict_proba(X), atol=1e-6)
    assert fast.n_iter_ < 10 < slow.n_iter_
    assert (np.diff(slow.objectives_) <= 1e-12).all()
