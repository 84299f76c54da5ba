"""Lecture 000: the kernelized perceptron, and its walk through XOR, visit by visit.

The convention is `tie="first"`: sign(0) = −1, the first class.
"""

from __future__ import annotations

import numpy as np

from mercer import KernelPerceptron, Perceptron
from mercer.data import blobs
from mercer.kernels import Gaussian, Polynomial

XOR = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
LABELS = np.array([1, -1, 1, -1])


def _perceptron(kernel, **options):
    return KernelPerceptron(kernel, **{"epochs": 10, "tie": "first", "shuffle": False} | options)


def test_the_xor_walk_through_visit_by_visit():
    """000, lines 170-200: two epochs, one update, a = [1, 0, 0, 0]."""
    visits = list(_perceptron(Polynomial(2)).steps(XOR, LABELS))
    assert len(visits) == 8  # the second epoch makes no mistake: converged
    assert [v.epoch - visits[0].epoch for v in visits] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [v.index for v in visits] == [0, 1, 2, 3, 0, 1, 2, 3]
    assert [v.score for v in visits] == [0, 0, 4, 0, 4, 0, 4, 0]
    assert [v.predicted for v in visits] == [-1, -1, 1, -1, 1, -1, 1, -1]
    assert [v.target for v in visits] == [1, -1, 1, -1, 1, -1, 1, -1]
    for visit in visits:  # α after the visit
        np.testing.assert_array_equal(np.ravel(visit.alpha), [1, 0, 0, 0])
        assert visit.squared_norm == 4.0


def test_converged_to_one_example(signed_alpha):
    """000, lines 200-206: f(x) = K([1, 1], x) = (x₁ + x₂)²."""
    model = _perceptron(Polynomial(2)).fit(XOR, LABELS)
    np.testing.assert_array_equal(signed_alpha(model, 4), [1, 0, 0, 0])
    assert model.n_mistakes_ == 1
    grid = np.array([[a, b] for a in range(-3, 4) for b in range(-3, 4)], dtype=float)
    np.testing.assert_array_equal(model.decision_function(grid), grid.sum(axis=1) ** 2)
    np.testing.assert_array_equal(model.predict(XOR), LABELS)


def test_counting_a_tie_as_a_mistake_ends_elsewhere(signed_alpha):
    """000, line 176: the convention matters: with "mistake" XOR gives a = [1, −1, 0, 0]."""
    model = _perceptron(Polynomial(2), tie="mistake").fit(XOR, LABELS)
    np.testing.assert_array_equal(signed_alpha(model, 4), [1, -1, 0, 0])
    grid = np.array([[a, b] for a in range(-3, 4) for b in range(-3, 4)], dtype=float)
    np.testing.assert_array_equal(model.decision_function(grid), 4 * grid[:, 0] * grid[:, 1])


def _textbook(K, y, epochs):
    """Lines 132-137, word for word: the list of mistakes and a."""
    a, mistakes = np.zeros(len(y)), []
    for _ in range(epochs):
        before = len(mistakes)
        for i in range(len(y)):
            predicted = 1 if sum(a[k] * K[k, i] for k in range(len(y))) > 0 else -1
            if predicted != y[i]:
                a[i] += y[i]
                mistakes.append(i)
        if len(mistakes) == before:
            break
    return a, mistakes


def test_standard_and_kernelized_are_the_same_computations(rng, features, signed_alpha):
    """000, lines 117-142: the same mistakes in the same order, w = Σ aᵏφ(xᵏ) at all times."""
    X = rng.normal(size=(25, 2))
    y = np.where(rng.random(25) < 0.5, 1, -1)
    kernel = Polynomial(2)
    phi = features(kernel, X)
    expected, mistakes = _textbook(kernel(X), y, epochs=4)
    dual = _perceptron(kernel, epochs=4)
    made, w = [], np.zeros(3)
    for visit in dual.steps(X, y):
        if visit.predicted != visit.target:
            made.append(visit.index)
            w = w + visit.target * phi[visit.index]
        np.testing.assert_allclose(np.ravel(visit.alpha) @ phi, w, atol=1e-9)
    assert made == mistakes
    dual.fit(X, y)
    np.testing.assert_array_equal(signed_alpha(dual, 25), expected)
    primal = Perceptron(
        feature_map=kernel.feature_map(2), epochs=4, tie="first", fit_intercept=False, shuffle=False
    ).fit(X, y)
    assert primal.n_mistakes_ == dual.n_mistakes_ == len(mistakes)
    np.testing.assert_allclose(np.ravel(primal.coef_), w, atol=1e-9)
    np.testing.assert_allclose(np.ravel(dual.expansion_.primal()), w, atol=1e-9)
    # At ties, too: on XOR the features carry √2, whose rounding must decide nothing.
    for tie in ("first", "mistake"):
        options = {"epochs": 4, "tie": tie, "shuffle": False}
        primal = Perceptron(kernel.feature_map(2), **options).fit(XOR, LABELS)
        dual = KernelPerceptron(kernel, **options).fit(XOR, LABELS)
        assert primal.mistakes_.tolist() == dual.mistakes_.tolist()
        np.testing.assert_allclose(
            np.ravel(primal.coef_), np.ravel(dual.expansion_.primal()), atol=1e-12
        )


def test_few_updates_overfit_less(rng):
    """000, line 231: one label in four is wrong; with too many updates the noise is learned.

    The averaged perceptron, because one more update can turn the last one around, and the mean over
    ten data sets, because one of them may say anything.
    """
    seen, unseen = [], []
    for seed in range(10):
        X, truth = blobs(100, noise=0.5, random_state=seed)
        y = np.where(rng.random(100) < 0.25, -truth, truth)
        held_out, truth = blobs(500, noise=0.5, random_state=100 + seed)
        few, many = (
            _perceptron(Gaussian(1.0), epochs=100, max_updates=most, averaging="average").fit(X, y)
            for most in (60, 1000)
        )
        assert (few.n_mistakes_, many.n_mistakes_) == (60, 1000)
        seen.append(many.score(X, y) - few.score(X, y))
        unseen.append(many.score(held_out, truth) - few.score(held_out, truth))
    assert np.mean(seen) > 0.02  # better on what it saw,
    assert np.mean(unseen) < -2 * np.std(unseen) / np.sqrt(10)  # worse on what it did not
