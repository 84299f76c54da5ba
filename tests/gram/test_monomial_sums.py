"""Sums of monomials: the same f as the sum over all points gives."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
import mercer.tuning as tuning
from mercer import Gaussian, KernelExpansion, KernelSVC, KernelSVR, Linear, Polynomial
from mercer.formula.monomials import HIGHEST, powers_of_dot
from mercer.formula.nodes import ROOT, const, dot
from mercer.gram import monomial_sums
from mercer.gram.dispatch import make_gram
from mercer.learners.svms.many_classes import PairExpansion

KERNELS = [
    Linear(),
    Polynomial(2),
    Polynomial(3, 1.0),
    0.5 * Polynomial(4, 2.0) + Polynomial(2),
    (0.3 * Linear() + 1.0) ** 3,
]
rng = np.random.default_rng(0)


def drawn(columns, points=600, rows=500):
    return rng.normal(size=(points, columns)), rng.normal(size=(rows, columns))


def test_coefficients_of_a_polynomial_in_one_product():
    product = dot(ROOT)
    rows, found = powers_of_dot((2.0 * product + 1.0) ** 3 + product * product)
    assert rows is ROOT
    assert found == (1.0, 6.0, 13.0, 8.0)
    assert powers_of_dot(product.exp()) is None
    assert powers_of_dot(const(2.0)) is None
    assert powers_of_dot(product ** (HIGHEST + 1)) is None
    assert powers_of_dot(1e300 * product * 1e300) is None


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("outputs", [(), (3,)])
def test_the_sum_is_that_over_all_points(kernel, columns, outputs):
    Z, X = drawn(columns)
    f = KernelExpansion(kernel, Z, rng.normal(size=(len(Z), *outputs)), 0.5 + np.zeros(outputs))
    assert f.has_monomials(X)
    K = make_gram(kernel, X, Z).dense()
    expected, size = K @ f.coef + f.intercept, np.abs(K) @ np.abs(f.coef)
    assert f(X).shape == expected.shape
    assert (np.abs(f(X) - expected) <= 1e-13 * size.max()).all()
    sparse = KernelExpansion(kernel, sp.csr_array(Z), f.coef, f.intercept)
    assert np.array_equal(sparse(sp.csr_array(X)), f(X))
    assert np.array_equal(pickle.loads(pickle.dumps(f))(X), f(X))


@pytest.mark.parametrize("kernel", KERNELS[1:], ids=repr)
@pytest.mark.parametrize("outputs", [(), (2,), (9,)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_highest_degree_need_not_be_made(kernel, outputs, dtype, monkeypatch):
    monkeypatch.setattr("mercer.tuning.CACHE_ELEMENTS", 100)
    Z, X = (rows.astype(dtype) for rows in drawn(4))
    coef = rng.normal(size=(len(Z), *outputs))
    f, many = KernelExpansion(kernel, Z, coef), int(np.prod(outputs)) > tuning.FEW_OUTPUTS
    K = make_gram(kernel, X.astype(float), Z.astype(float)).dense()
    error = 1e-13 if dtype == np.float64 else 1e-6
    assert np.abs(f(X) - K @ coef).max() <= error * (np.abs(K) @ np.abs(coef)).max()
    assert (f._monomials._by_column is None) == many


def test_threads_change_nothing_but_the_rounding(monkeypatch):
    Z, X = drawn(4, 4000, 3000)
    coef = rng.normal(size=len(Z))
    with mercer.config(threads=1):
        expected = KernelExpansion(Polynomial(3, 1.0), Z, coef)(X)
    monkeypatch.setattr(monomial_sums, "threads_for", lambda flops: 3)
    found = KernelExpansion(Polynomial(3, 1.0), Z, coef)(X)
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()


def test_all_pairs_of_many_classes():
    Z, X = drawn(3, 400)
    n_support = np.array([100, 150, 0, 150])
    dual, b = rng.normal(size=(3, 400)), rng.normal(size=6)
    f = PairExpansion(Polynomial(3, 1.0), Z, dual, n_support, b)
    assert f.has_monomials(X)
    expected = make_gram(f.kernel, X, Z).dense() @ f.coef + b
    assert np.abs(f(X) - expected).max() <= 1e-12 * np.abs(expected).max()
    votes = f(X, lambda scores: (scores > 0).sum(axis=1))
    assert np.array_equal(votes, (expected > 0).sum(axis=1))


def test_single_precision_stays_single():
    Z, X = (rows.astype(np.float32) for rows in drawn(3))
    f = KernelExpansion(Polynomial(3, 1.0), Z, rng.normal(size=len(Z)))
    assert f.has_monomials(X)
    assert f(X).dtype == np.float32


def test_other_kernels_sizes_and_places_are_left_to_a_gram():
    Z, X = drawn(3)
    coef = rng.normal(size=len(Z))
    assert not KernelExpansion(Gaussian(), Z, coef).has_monomials(X)
    assert not KernelExpansion(Polynomial(2).on([0]), Z, coef).has_monomials(X)
    assert not KernelExpansion(Polynomial(2), Z, coef).has_monomials(X[:1])
    wide, other = drawn(60)
    assert not KernelExpansion(Polynomial(3), wide, coef).has_monomials(other)
    with mercer.config(memory="1 GB"):
        assert not KernelExpansion(Polynomial(2), Z, coef).has_monomials(X)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_powers_beyond_the_range_are_left_to_a_gram(scale):
    Z, X = drawn(3)
    kernel, plain = (scale**-2 * Linear() + 1.0) ** 3, (Linear() + 1.0) ** 3
    coef = rng.normal(size=len(Z))
    found = KernelExpansion(kernel, scale * Z, coef)(scale * X)
    expected = KernelExpansion(plain, Z, coef)(X)
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()


def test_a_row_that_overflows_is_refused_as_before():
    Z, X = drawn(3)
    f = KernelExpansion(Polynomial(3, 1.0), Z, rng.normal(size=len(Z)))
    X[7] = 1e200
    with pytest.raises(ValueError, match="overflows"):
        f(X)


@pytest.mark.parametrize("classes", [2, 5, 21])
def test_labels_are_those_of_the_sums_over_support_vectors(classes, monkeypatch):
    X = rng.normal(size=(900, 3))
    y = rng.integers(0, classes, 900) + 0
    model = KernelSVC(Polynomial(3, 1.0), C=1.0).fit(X[:600], y[:600])
    assert model.expansion_.has_monomials(X[600:])
    found, scores = model.predict(X[600:]), model.decision_function(X[600:])
    monkeypatch.setattr(KernelExpansion, "has_monomials", lambda self, X: False)
    assert np.array_equal(found, model.predict(X[600:]))
    expected = model.decision_function(X[600:])
    assert np.abs(scores - expected).max() <= 1e-6 * np.abs(expected).max()


def test_regressions_and_their_peers_agree():
    X = rng.normal(size=(900, 2))
    y = X[:, 0] ** 3 - X[:, 1]
    model = KernelSVR(Polynomial(3, 1.0), epsilon=0.01).fit(X[:600], y[:600])
    assert model.expansion_.has_monomials(X[600:])
    expected = make_gram(model.kernel_, X[600:], model.support_vectors_).dense()
    expected = expected @ model.dual_coef_[0] + model.intercept_
    assert np.abs(model.predict(X[600:]) - expected).max() <= 1e-9 * np.abs(expected).max()


def test_sums_of_whole_numbers_are_exact():
    """A perceptron may have a score of 0, which is a tie and no sign."""
    rng = np.random.default_rng(0)
    points, X = (rng.integers(-3, 4, size=(n, 3)).astype(float) for n in (400, 300))
    coef = rng.integers(-2, 3, size=(400, 2)).astype(float)
    f = KernelExpansion(Polynomial(3, 1.0), points, coef)
    assert f.has_monomials(X)
    np.testing.assert_array_equal(f(X), (X @ points.T + 1.0) ** 3 @ coef)
