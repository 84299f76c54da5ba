"""Lecture 003: the dual perceptron with several classes, black boxes, and its mistake bound.

The convention is `tie="first"`: the arg max, lowest class first.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mercer
from mercer import KernelNeighborsClassifier, KernelPerceptron, Perceptron
from mercer.data import blobs, strokes
from mercer.kernels import Gaussian, Linear, Polynomial, Sigmoid, Similarity, Spectrum

OPTIONS = {"tie": "first", "shuffle": False}


def _three_classes(rng, n=36, integers=True):
    X = rng.integers(-4, 5, size=(n, 2)).astype(float) if integers else 3 * rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] > 1, 2, np.where(X[:, 1] > 0, 1, 0))


def _textbook(K, y, classes, epochs):
    """Lines 192-203: arg max, then α_{n,c} − 1 for the wrong and α_{n,c*} + 1 for the right."""
    alpha, mistakes = np.zeros((len(y), classes)), []
    for _ in range(epochs):
        before = len(mistakes)
        for n in range(len(y)):
            c = int(np.argmax(alpha.T @ K[:, n]))
            if c != y[n]:
                alpha[n, c] -= 1
                alpha[n, y[n]] += 1
                mistakes.append(n)
        if len(mistakes) == before:
            break
    return alpha, mistakes


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, offset=1.0)], ids=repr)
def test_the_dual_perceptron_raises_the_right_and_lowers_the_wrong_class(kernel, rng, signed_alpha):
    """003, lines 190-203."""
    X, y = _three_classes(rng)
    alpha, mistakes = _textbook(kernel(X), y, 3, epochs=8)
    model = KernelPerceptron(kernel, epochs=8, **OPTIONS).fit(X, y)
    np.testing.assert_array_equal(signed_alpha(model, len(y)), alpha)
    assert model.n_mistakes_ == len(mistakes) > 5
    np.testing.assert_array_equal(alpha.sum(axis=1), 0)  # each update takes what it gives
    scores = kernel(X) @ alpha
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), scores.argmax(axis=1))


def test_primal_and_dual_make_the_same_mistakes(rng, features, signed_alpha):
    """003, lines 143-174: w_c − f(x), w_c* + f(x), and w_c = Σ α_{i,c} f(xᵢ)."""
    kernel = Polynomial(2, offset=1.0)
    X, y = _three_classes(rng, integers=False)  # no exact ties: the features carry √2
    primal = Perceptron(
        feature_map=kernel.feature_map(2), epochs=8, fit_intercept=False, **OPTIONS
    ).fit(X, y)
    dual = KernelPerceptron(kernel, epochs=8, **OPTIONS).fit(X, y)
    assert primal.n_mistakes_ == dual.n_mistakes_
    w = signed_alpha(dual, len(y)).T @ features(kernel, X)
    np.testing.assert_allclose(primal.coef_, w, rtol=1e-9, atol=1e-9)


def test_a_black_box_similarity_is_enough(rng):
    """003, lines 205-216: the vectors stay hidden; the same scores as with them."""
    X, y = _three_classes(rng)
    box = Similarity(lambda x, z: float(x @ z))
    seen = KernelPerceptron(Linear(), epochs=5, **OPTIONS).fit(X, y)
    hidden = KernelPerceptron(box, epochs=5, **OPTIONS).fit(X, y)
    np.testing.assert_allclose(hidden.decision_function(X), seen.decision_function(X), rtol=1e-12)


def test_an_illegal_kernel_warns_and_runs(rng):
    """003, lines 228-232: in practice illegal kernels sometimes work; the reader is told."""
    X, y = rng.normal(size=(20, 2)), np.repeat([0, 1], 10)
    with pytest.warns(UserWarning, match="kernel"):
        model = KernelPerceptron(-1.0 * Gaussian(1.0), epochs=2, **OPTIONS).fit(X, y)
    assert model.predict(X).shape == (20,)


def test_illegal_kernels_sometimes_work_but_not_always():
    """003, line 231: a sigmoid that is no kernel separates; −x·z walks away from every answer."""
    X, y = blobs(60)
    scores = []
    for kernel in (Sigmoid(0.5, 0.5), -1.0 * Linear()):
        assert isinstance(mercer.prove(kernel, n_features=2), mercer.proof.Counterexample)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores.append(KernelPerceptron(kernel, epochs=20, **OPTIONS).fit(X, y).score(X, y))
    assert scores[0] > 0.95
    assert scores[1] < 0.5


def test_a_tale_of_two_approaches():
    """003, lines 135-141: neighbors learn nothing; a perceptron does, and takes the same kernel."""
    words, y = strokes(60, noise=0.5)
    kernel = Spectrum(1) + Spectrum(2)
    lazy = KernelNeighborsClassifier(kernel, n_neighbors=15).fit(list(words), y)
    taught = KernelPerceptron(kernel, epochs=50, **OPTIONS)
    first = taught.set_params(max_updates=5).fit(list(words), y).score(list(words), y)
    last = taught.set_params(max_updates=None).fit(list(words), y).score(list(words), y)
    assert last > first  # explicit training reduces the empirical error
    assert last > lazy.score(list(words), y)


@pytest.mark.parametrize("seed", range(5))
def test_mistakes_are_at_most_one_over_delta_squared(seed):
    """003, lines 238-241, corrected: ≤ 1/δ², unit-norm data, δ the *half* width."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, 200)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    w = np.array([0.28, 0.96])
    X = X[np.abs(X @ w) > 0.15]
    y = np.where(X @ w > 0, 1, -1)
    half = np.abs(X @ w).min()
    model = KernelPerceptron(Linear(), epochs=1000, tie="mistake", shuffle=False).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.n_mistakes_ <= 1 / half**2


def test_the_bound_is_reached_and_the_full_width_is_not_a_bound():
    """003, lines 241 and 309: orthonormal examples: n mistakes, half width 1/√n, full 2/√n."""
    n = 9
    X, y = np.eye(n), np.tile([1, -1], n)[:n]
    model = KernelPerceptron(Linear(), epochs=50, tie="mistake", shuffle=False).fit(X, y)
    half = 1 / np.sqrt(n)  # w* = y/√n
    assert model.n_mistakes_ == n == pytest.approx(1 / half**2)  # equality: "<" must read "≤"
    assert model.n_mistakes_ > 1 / (2 * half) ** 2  # with δ the full width it would be false


def test_theory_reports_half_and_full_width():
    """003, lines 238-241 and 309: (R/ρ)² without a bias; δ = 2ρ between the support vectors."""
    X, y = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]]), np.array([1, 1, -1])
    separator = mercer.KernelExpansion(Linear(), np.array([[2.0, 0.0]]), np.ones(1))
    assert mercer.theory.radius(Linear(), X) == pytest.approx(1.0, rel=1e-12)
    assert mercer.theory.margin(separator, X, y) == pytest.approx(0.6, rel=1e-12)
    assert mercer.theory.mistake_bound(separator, X, y) == pytest.approx(1 / 0.36, rel=1e-12)
