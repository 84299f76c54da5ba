"""Lecture 002: perceptron and kernel perceptron with bias, and the convergence theorem.

The convention is `tie="mistake"`: update when yᵢf(xᵢ) ≤ 0.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import KernelPerceptron, Perceptron
from mercer.data import spirals
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.maps import RandomFourierMap

BIAS = {"tie": "mistake", "fit_intercept": True, "shuffle": False}


def _separable_set(rng, n=40, gap=0.1):
    """Points with yᵢ(⟨w*, xᵢ⟩ + b*) ≥ ρ, ‖w*‖ = 1, and (w*, b*, ρ)."""
    w, b = np.array([0.6, -0.8]), 1.0
    X = rng.uniform(-2, 2, size=(6 * n, 2))
    score = X @ w + b
    keep = np.flatnonzero(np.abs(score) >= gap)[:n]
    X, y = X[keep], np.sign(score[keep]).astype(int)
    return X, y, w, b, float(np.min(y * (X @ w + b)))


def _textbook(K, y, epochs=10_000):
    """Lines 473-483: f ← f + yᵢk(xᵢ, ·) + yᵢ while yᵢf(xᵢ) ≤ 0."""
    alpha, b, mistakes = np.zeros(len(y)), 0.0, []
    for _ in range(epochs):
        before = len(mistakes)
        for i in range(len(y)):
            if y[i] * (alpha @ K[:, i] + b) <= 0:
                alpha[i] += y[i]
                b += y[i]
                mistakes.append(i)
        if len(mistakes) == before:
            break
    return alpha, b, mistakes


def test_the_perceptron_with_bias(rng):
    """002, lines 130-146: w = Σ yᵢxᵢ and b = Σ yᵢ over the errors, until all are correct."""
    X, y, *_ = _separable_set(rng)
    _, b, mistakes = _textbook(X @ X.T, y)
    assert len(mistakes) > 2
    model = Perceptron(epochs=10_000, **BIAS).fit(X, y)
    np.testing.assert_allclose(np.ravel(model.coef_), sum(y[i] * X[i] for i in mistakes), atol=1e-9)
    assert np.ravel(model.intercept_)[0] == b == sum(y[i] for i in mistakes)
    assert model.n_mistakes_ == len(mistakes)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Polynomial(3, offset=1.0)], ids=repr)
def test_the_kernel_perceptron_with_bias(kernel, rng, signed_alpha):
    """002, lines 471-489: f(x) = Σ yᵢk(xᵢ, x) + b."""
    X = rng.integers(-3, 4, size=(30, 2)).astype(float)
    y = np.where(X[:, 0] - X[:, 1] > 0.5, 1, -1)
    alpha, b, mistakes = _textbook(kernel(X), y, epochs=30)
    model = KernelPerceptron(kernel, epochs=30, **BIAS).fit(X, y)
    np.testing.assert_array_equal(signed_alpha(model, 30), alpha)
    assert np.ravel(model.intercept_)[0] == b
    assert model.n_mistakes_ == len(mistakes)
    np.testing.assert_allclose(model.decision_function(X), alpha @ kernel(X) + b, rtol=1e-10)


def test_the_perceptron_on_features_is_the_kernel_perceptron(rng):
    """002, lines 372-390: w ← w + yᵢΦ(xᵢ), b ← b + yᵢ."""
    kernel = Polynomial(2)
    X = rng.normal(size=(30, 2))  # no exact ties: the features carry √2, which rounds
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    primal = Perceptron(feature_map=kernel.feature_map(2), epochs=200, **BIAS).fit(X, y)
    dual = KernelPerceptron(kernel, epochs=200, **BIAS).fit(X, y)
    assert primal.n_mistakes_ == dual.n_mistakes_ > 2
    np.testing.assert_allclose(
        np.ravel(primal.coef_), np.ravel(dual.expansion_.primal()), atol=1e-9
    )
    np.testing.assert_array_equal(np.ravel(primal.intercept_), np.ravel(dual.intercept_))


def test_xor_is_solved_in_three_dimensions_and_never_in_two():
    """002, lines 233-237 and 428-429."""
    X = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    y = np.array([1, -1, 1, -1])
    assert KernelPerceptron(Polynomial(2), epochs=20, **BIAS).fit(X, y).score(X, y) == 1.0
    with pytest.warns(ConvergenceWarning):
        linear = KernelPerceptron(Linear(), epochs=20, **BIAS).fit(X, y)
    assert linear.score(X, y) < 1.0


@pytest.mark.parametrize("seed", range(5))
def test_the_convergence_theorem(seed):
    """002, lines 148-158, corrected: ‖w*‖ = 1 (not (w*, b*)): steps ≤ (b*² + 1)(r² + 1)/ρ²."""
    rng = np.random.default_rng(seed)
    X, y, w, b, rho = _separable_set(rng)
    assert np.linalg.norm(w) == pytest.approx(1.0)
    r2 = (X**2).sum(axis=1).max()
    bound = (b**2 + 1) * (r2 + 1) / rho**2
    for _ in range(4):  # order independent
        order = rng.permutation(len(y))
        model = KernelPerceptron(Linear(), epochs=5000, **BIAS).fit(X[order], y[order])
        assert model.score(X, y) == 1.0
        assert 0 < model.n_mistakes_ <= bound


def test_the_bound_does_not_see_the_dimension(rng):
    """002, line 156: the same points in 2 and, rotated, in 50 dimensions: the same mistakes."""
    X, y, *_ = _separable_set(rng)
    basis = np.linalg.qr(rng.normal(size=(50, 2)))[0]
    low = KernelPerceptron(Linear(), epochs=5000, **BIAS).fit(X, y)
    high = KernelPerceptron(Linear(), epochs=5000, **BIAS).fit(X @ basis.T, y)
    assert low.n_mistakes_ == high.n_mistakes_


def test_each_step_of_the_proof(rng):
    """002, lines 160-194: after j errors ⟨(w, b), (w*, b*)⟩ ≥ jρ and ‖(w, b)‖² ≤ j(R² + 1)."""
    X, y, w, b, rho = _separable_set(rng)
    R2 = (X**2).sum(axis=1).max()
    made, W, B = 0, np.zeros(2), 0.0
    for visit in KernelPerceptron(Linear(), epochs=5000, **BIAS).steps(X, y):
        if visit.target * visit.score <= 0:
            made += 1
            W, B = W + visit.target * X[visit.index], B + visit.target
        np.testing.assert_allclose(np.ravel(visit.alpha) @ X, W, atol=1e-9)
        assert W @ w + B * b >= made * rho - 1e-9
        assert made * (R2 + 1) + 1e-9 >= W @ W + B * B
        assert W @ w + B * b <= np.sqrt((1 + b * b) * (W @ W + B * B)) + 1e-9
    assert made**2 * rho**2 <= made * (R2 + 1) * (b * b + 1)


def test_the_alignment_is_reported_for_a_given_separator(rng):
    """002, lines 166-176: without a bias, ⟨w, w*⟩ and ‖w‖² are what `steps` reports."""
    X, y, w, *_ = _separable_set(rng)
    y = np.where(X @ w > 0, 1, -1)
    target = mercer.KernelExpansion(Linear(), w[None, :], np.ones(1))
    W = np.zeros(2)
    model = KernelPerceptron(Linear(), epochs=3, tie="mistake", shuffle=False)
    for visit in model.steps(X, y, separator=target):
        if visit.target * visit.score <= 0:
            W = W + visit.target * X[visit.index]
        assert visit.squared_norm == pytest.approx(W @ W, abs=1e-9)
        assert visit.alignment == pytest.approx(W @ w, abs=1e-9)


def test_only_the_errors_are_stored(rng):
    """002, lines 198-199: few examples make the classifier."""
    X, y, *_ = _separable_set(rng)
    model = KernelPerceptron(Gaussian(1.0), epochs=200, **BIAS).fit(X, y)
    assert len(model.support_) <= model.n_mistakes_ < len(y)
    assert len(model.expansion_.pruned().points) == len(model.support_)


def test_margin_one_is_stochastic_gradient_descent_on_the_hinge_loss(rng):
    """002, lines 200-202, corrected: max(0, 1 − yf) needs margin = 1; plain is max(0, −yf)."""
    X = rng.normal(size=(30, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=30) > 0, 1, -1)
    rate, w, b = 0.1, np.zeros(3), 0.0
    for _ in range(3):
        for x, t in zip(X, y, strict=True):
            if 1 - t * (w @ x + b) >= 0:  # the subgradient of the loss is −t(x, 1)
                w, b = w + rate * t * x, b + rate * t
    model = KernelPerceptron(Linear(), epochs=3, margin=1.0, learning_rate=rate, **BIAS).fit(X, y)
    np.testing.assert_allclose(np.ravel(model.expansion_.primal()), w, atol=1e-10)
    assert np.ravel(model.intercept_)[0] == pytest.approx(b, abs=1e-10)
    plain = KernelPerceptron(Linear(), epochs=3, learning_rate=rate, **BIAS).fit(X, y)
    assert not np.allclose(np.ravel(plain.expansion_.primal()), w)


def test_noisy_data_never_converge_and_it_says_so(rng):
    """002, line 204: fails with noisy data."""
    X, y, *_ = _separable_set(rng)
    y[:6] = -y[:6]
    with pytest.warns(ConvergenceWarning):
        model = Perceptron(epochs=50, **BIAS).fit(X, y)
    assert model.score(X, y) < 1.0
    assert model.n_iter_ == 50


def test_theory_prints_the_bound_next_to_the_fact(rng):
    """002, lines 148-154: radius, half width ρ and bound as `mercer.theory` reports them."""
    X, y, w, b, rho = _separable_set(rng)
    separator = mercer.KernelExpansion(Linear(), w[None, :], np.ones(1), intercept=b)
    radius = np.sqrt((X**2).sum(axis=1).max())
    assert mercer.theory.radius(Linear(), X) == pytest.approx(radius, rel=1e-12)
    assert mercer.theory.margin(separator, X, y) == pytest.approx(rho, rel=1e-12)
    with_bias = (b**2 + 1) * (radius**2 + 1) / rho**2
    assert mercer.theory.mistake_bound(separator, X, y) == pytest.approx(with_bias, rel=1e-12)


def test_the_shotgun_solution():
    """002, lines 392-402: many random features hold good ones, and no expert was asked."""
    X, y = spirals(160)
    scores = [
        mercer.Perceptron(RandomFourierMap("gaussian(0.25)", n, random_state=0), epochs=100)
        .fit(X, y)
        .score(X, y)
        for n in (10, 300)
    ]
    assert scores[0] < 0.8
    assert scores[1] == 1.0
