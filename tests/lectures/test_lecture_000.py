"""Lecture 000: kernels and the kernelized perceptron (everything but the learning loop)."""

from __future__ import annotations

from itertools import product
from math import comb, factorial, inf

import numpy as np
import pytest
from scipy.special import expit

import mercer
from mercer.kernels import FromFeatures, Gaussian, Linear, Polynomial, Sigmoid

XOR = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
XOR_LABELS = np.array([1.0, -1.0, 1.0, -1.0])


def _features_of_features(X):
    """(x₁ … xₙ, x₁x₂, x₁x₃, …, e^x₁, …)."""
    n = X.shape[1]
    pairs = [X[:, i] * X[:, j] for i in range(n) for j in range(i + 1, n)]
    return np.column_stack([X, *pairs, np.exp(X)])


def test_features_of_features_make_a_kernel(rng, smallest_eigenvalue):
    """000, lines 11-17: φ(x) = (x₁ … xₙ, x₁x₂, x₁x₃, …, e^x₁, …), corrected from e_x₁."""
    kernel = FromFeatures(_features_of_features)
    X = rng.normal(size=(14, 3))
    phi = _features_of_features(X)
    assert phi.shape[1] == 3 + 3 + 3
    np.testing.assert_allclose(kernel(X), phi @ phi.T, rtol=1e-12)
    assert smallest_eigenvalue(kernel(X)) > -1e-12
    assert isinstance(mercer.prove(kernel), mercer.proof.Proof)


def test_a_hard_line_becomes_separable_in_the_plane(features, separable):
    """000, lines 19-31: an easy line, a hard line, and the hard one mapped to (x, x²)."""
    x = np.arange(-4.0, 5.0)[:, None]
    easy = np.where(x[:, 0] > 0.5, 1.0, -1.0)
    hard = np.where(np.abs(x[:, 0]) > 2.5, 1.0, -1.0)
    parabola = Linear().polynomial([0.0, 1.0, 1.0])
    assert separable(x, easy)
    assert not separable(x, hard)
    np.testing.assert_array_equal(features(parabola, x), np.hstack([x, x**2]))
    assert separable(features(parabola, x), hard)
    assert separable(parabola(x), hard)  # the same through the kernel alone
    assert not separable(Linear()(x), hard)


def test_linear_in_the_feature_space_is_not_linear_in_the_input(rng, features):
    """000, lines 35-43: φ takes ℝⁿ to ℝᵐ, m > n; y = sign(w·φ(x)) bends."""
    kernel = Polynomial(2, offset=1.0)
    assert kernel.n_dims(2) == 6 > 2
    points, alpha = rng.normal(size=(8, 2)), rng.normal(size=8)
    f = mercer.KernelExpansion(kernel, points, alpha)
    w = alpha @ features(kernel, points)
    X, Z = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    np.testing.assert_allclose(f(X), features(kernel, X) @ w, rtol=1e-10, atol=1e-10)
    straight = (f(X) + f(Z)) / 2 - f((X + Z) / 2)
    assert np.abs(straight).max() > 0.1
    # in feature space the midpoint rule holds exactly: there f is linear
    middle = (features(kernel, X) + features(kernel, Z)) / 2
    np.testing.assert_allclose(middle @ w, (f(X) + f(Z)) / 2, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("inputs", [1, 2, 3, 5])
def test_number_of_terms_is_d_plus_m_minus_one_choose_d(degree, inputs, rng, features):
    """000, lines 47-54: C(d+m−1, d) = (d+m−1)! / (d! (m−1)!)."""
    terms = factorial(degree + inputs - 1) // (factorial(degree) * factorial(inputs - 1))
    assert Polynomial(degree).n_dims(inputs) == terms == comb(degree + inputs - 1, degree)
    X = rng.normal(size=(3, inputs))
    assert features(Polynomial(degree), X).shape == (3, terms)


def test_six_degrees_of_a_hundred_inputs_are_1_6_billion_terms():
    """000, lines 56-58: d = 6, m = 100: exactly 1 609 344 100, about 1.6 billion."""
    terms = Polynomial(6).n_dims(100)
    assert terms == 1_609_344_100
    assert isinstance(terms, int)
    assert f"{terms / 1e9:.1f}" == "1.6"


def test_the_number_of_terms_grows_fast():
    """000, the curves beside line 51: more inputs and a higher degree give ever more terms."""
    inputs = range(2, 41)
    curves = {d: [Polynomial(d).n_dims(m) for m in inputs] for d in (2, 3, 4)}
    for curve in curves.values():
        steps = np.diff(curve)
        assert np.all(steps > 0)
        assert np.all(np.diff(steps) > 0)
    # the curves start in order and part for good
    assert all(a < b < c for a, b, c in zip(curves[2], curves[3], curves[4], strict=True))
    assert curves[2][-1] == 820
    assert curves[3][-1] == 11_480
    assert curves[4][-1] == 123_410


def test_degree_one_is_the_dot_product(integers):
    """000, lines 64-66: φ(u)·φ(v) = u₁v₁ + u₂v₂ = u·v."""
    u1, u2 = integers.T
    by_hand = np.outer(u1, u1) + np.outer(u2, u2)
    np.testing.assert_array_equal(Polynomial(1)(integers), by_hand)
    np.testing.assert_array_equal(Linear()(integers), by_hand)


def test_degree_two_has_four_ordered_monomials(integers):
    """000, lines 68-70: (u₁², u₁u₂, u₂u₁, u₂²)·(v₁², …) = u₁²v₁² + 2u₁v₁u₂v₂ + u₂²v₂²."""
    u1, u2 = integers.T
    phi = np.column_stack([u1**2, u1 * u2, u2 * u1, u2**2])
    three = (
        np.outer(u1**2, u1**2) + 2 * np.outer(u1, u1) * np.outer(u2, u2) + np.outer(u2**2, u2**2)
    )
    kernel = Polynomial(2)(integers)
    np.testing.assert_array_equal(kernel, phi @ phi.T)
    np.testing.assert_array_equal(kernel, three)
    np.testing.assert_array_equal(kernel, (np.outer(u1, u1) + np.outer(u2, u2)) ** 2)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 6])
def test_degree_d_is_the_dot_product_to_the_power_d(degree, rng, features):
    """000, line 74: (u·v)^d is the dot product over all ordered products of d coordinates."""
    X = rng.integers(-2, 3, size=(7, 3)).astype(float)
    ordered = [np.prod(X[:, list(index)], axis=1) for index in product(range(3), repeat=degree)]
    phi = np.column_stack(ordered)
    kernel = Polynomial(degree)
    np.testing.assert_array_equal(kernel(X), phi @ phi.T)
    mapped = features(kernel, X)
    np.testing.assert_allclose(mapped @ mapped.T, phi @ phi.T, rtol=1e-12, atol=1e-9)


def test_a_power_and_not_an_exponential(integers):
    """000, line 76, corrected: the trick is a dot product and a *power*; exp is another kernel."""
    X = integers / 4
    np.testing.assert_allclose((Linear() ** 3)(X), Polynomial(3)(X), rtol=1e-13, atol=1e-15)
    assert not np.allclose(Linear().exp()(X), Polynomial(3)(X))
    assert Polynomial(3).n_dims(2) == 4
    assert Linear().exp().n_dims(2) == inf


def test_one_plus_dot_squared_written_out(integers, features, same_columns):
    """000, lines 84-90: (1 + u·v)² and [1, x₁², √2x₁x₂, x₂², √2x₁, √2x₂]."""
    kernel = Polynomial(2, offset=1.0)
    u1, u2 = integers.T
    one, two = np.outer(u1, u1), np.outer(u2, u2)
    np.testing.assert_array_equal(
        kernel(integers), 1 + one**2 + 2 * one * two + two**2 + 2 * one + 2 * two
    )
    root = np.sqrt(2)
    phi = np.column_stack([np.ones(12), u1**2, root * u1 * u2, u2**2, root * u1, root * u2])
    np.testing.assert_allclose(phi @ phi.T, kernel(integers), rtol=1e-13, atol=1e-12)
    assert same_columns(features(kernel, integers), phi)
    assert kernel.n_dims(2) == 6


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(2), Polynomial(4), Polynomial(3, offset=1.0), Polynomial(2, offset=0.5)],
    ids=repr,
)
def test_kernel_is_a_dot_product_in_some_feature_space(kernel, rng, features):
    """000, lines 80-82, 92 and 115: K(u, v) = φ(u)·φ(v), and K never builds φ."""
    U, V = rng.normal(size=(6, 3)), rng.normal(size=(5, 3))
    np.testing.assert_allclose(
        kernel(U, V), features(kernel, U) @ features(kernel, V).T, rtol=1e-10, atol=1e-12
    )


def test_weights_are_a_sum_over_examples(rng, features):
    """000, lines 128 and 134-135: w = Σ aᵏφ(xᵏ), so w·φ(x) = Σ aᵏK(xᵏ, x)."""
    kernel = Polynomial(3, offset=1.0)
    X, a = rng.integers(-2, 3, size=(9, 2)).astype(float), rng.integers(-2, 3, size=9).astype(float)
    w = a @ features(kernel, X)
    f = mercer.KernelExpansion(kernel, X, a)
    Z = rng.normal(size=(11, 2))
    np.testing.assert_allclose(f.primal(), w, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(f(Z), features(kernel, Z) @ w, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(f(Z), a @ kernel(X, Z), rtol=1e-12, atol=1e-10)


def test_the_xor_gram_table():
    """000, lines 150-168: K(u, v) = (u·v)² on the four points, K(x¹, x²) = 0."""
    kernel = Polynomial(2)
    assert kernel(XOR[:1], XOR[1:2]).item() == (1 * -1 + 1 * 1) ** 2 == 0
    table = [[4, 0, 4, 0], [0, 4, 0, 4], [4, 0, 4, 0], [0, 4, 0, 4]]
    np.testing.assert_array_equal(kernel(XOR), table)
    np.testing.assert_array_equal(kernel.gram(XOR).dense(), table)
    np.testing.assert_array_equal(kernel.diag(XOR), [4, 4, 4, 4])


def test_the_scores_of_the_walk_through():
    """000, lines 170-194: Σ aᵏK(xᵏ, xⁱ) at a = 0 and at a = [1, 0, 0, 0]."""
    before = mercer.KernelExpansion(Polynomial(2), XOR, np.zeros(4))
    after = mercer.KernelExpansion(Polynomial(2), XOR, np.array([1.0, 0.0, 0.0, 0.0]))
    np.testing.assert_array_equal(before(XOR), [0, 0, 0, 0])
    np.testing.assert_array_equal(after(XOR), [4, 0, 4, 0])
    sign = np.where(after(XOR) > 0, 1, -1)  # sign(0) = −1
    np.testing.assert_array_equal(sign, XOR_LABELS)


def test_converged_to_x1_plus_x2_squared():
    """000, lines 200-206: f(x) = K([1, 1], x) = (x₁ + x₂)²; the class is its sign."""
    f = mercer.KernelExpansion(Polynomial(2), XOR, np.array([1.0, 0.0, 0.0, 0.0]))
    grid = np.array(list(product(np.arange(-3.0, 4.0), repeat=2)))
    np.testing.assert_array_equal(f(grid), (grid[:, 0] + grid[:, 1]) ** 2)
    # line 203: 1×K(x¹, x) + 0×K(x², x) + 0×K(x³, x) + 0×K(x⁴, x)
    np.testing.assert_array_equal(f.contributions(np.array([[2.0, 3.0]])), [25.0, 0.0, 0.0, 0.0])
    pruned = f.pruned()
    np.testing.assert_array_equal(pruned.points, [[1.0, 1.0]])
    np.testing.assert_array_equal(pruned(grid), f(grid))
    # line 202 prints y for f: the values are 4 and 0, the labels come only with the sign
    assert set(f(XOR)) == {0.0, 4.0} != set(XOR_LABELS)


def test_xor_is_separable_by_the_quadratic_kernel_only(separable):
    """000, lines 150-200: no line separates the four points, (u·v)² does."""
    assert not separable(XOR, XOR_LABELS)
    assert not separable(Linear()(XOR), XOR_LABELS)
    assert separable(Polynomial(2)(XOR), XOR_LABELS)


def test_common_kernels_by_their_formulas(rng):
    """000, lines 208-224: (u·v)^d, (u·v + 1)^d, exp(−‖u−v‖²/2σ²), tanh(ηu·v + ν)."""
    U, V = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    dot = U @ V.T
    squared = ((U[:, None] - V) ** 2).sum(-1)
    for d in (1, 2, 3, 7):
        np.testing.assert_allclose(Polynomial(d)(U, V), dot**d, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(
            Polynomial(d, offset=1.0)(U, V), (dot + 1) ** d, rtol=1e-11, atol=1e-12
        )
    for sigma in (0.5, 1.0, 3.0):
        expected = np.exp(-squared / (2 * sigma**2))
        np.testing.assert_allclose(Gaussian(sigma)(U, V), expected, rtol=1e-11, atol=1e-14)
    for eta, nu in ((1.0, 0.0), (0.3, -1.0), (2.0, 0.5)):
        expected = np.tanh(eta * dot + nu)
        np.testing.assert_allclose(Sigmoid(eta, nu)(U, V), expected, rtol=1e-11, atol=1e-13)


def test_the_common_kernels_are_kernels_except_the_sigmoid():
    """000, lines 208-224: the first three are proved; tanh stands in the list and is refuted."""
    for kernel in (Polynomial(3), Polynomial(3, offset=1.0), Gaussian(0.7)):
        assert isinstance(mercer.prove(kernel), mercer.proof.Proof)
    refuted = mercer.prove(Sigmoid(eta=1.0, nu=-1.0))
    assert isinstance(refuted, mercer.proof.Counterexample)
    K = np.tanh(refuted.points @ refuted.points.T - 1.0)
    c = np.asarray(refuted.vector, dtype=float)
    assert c @ K @ c < 0
    # by hand: k(0, 0) = tanh(−1) < 0 already
    assert Sigmoid(1.0, -1.0)(np.zeros((1, 2))).item() == np.tanh(-1.0) < 0


def test_the_width_of_the_gaussian_controls_the_fit(rng):
    """000, lines 228-236: a narrow kernel memorizes each example, a wide one sees no difference."""
    X = rng.normal(size=(15, 2))
    kernel = Gaussian(sigma=1.0)
    narrow, wide = kernel.set_params(sigma=1e-3), kernel.set_params(sigma=1e3)
    np.testing.assert_allclose(narrow(X), np.eye(15), atol=1e-12)
    np.testing.assert_allclose(wide(X), np.ones((15, 15)), atol=1e-4)
    # memorized: with α = labels every label comes back, whatever the labels are
    labels = rng.choice([-1.0, 1.0], size=15)
    f = mercer.KernelExpansion(narrow, X, labels)
    np.testing.assert_allclose(f(X), labels, atol=1e-10)
    assert kernel.sigma == 1.0  # set_params gave new kernels


def test_logistic_regression_in_terms_of_the_examples(rng, features):
    """000, lines 240-246: P(Y = 0|x) = 1/(1 + exp(w₀ + w·φ(x))) = 1/(1 + exp(w₀ + Σ αⱼK(xⱼ, x))).

    Line 240 writes w·x for w·φ(x); with φ(x) = x both lines agree.
    """
    X, alpha, w0 = rng.normal(size=(7, 2)), rng.normal(size=7), 0.3
    Z = rng.normal(size=(9, 2))
    for kernel in (Linear(), Polynomial(2, offset=1.0)):
        w = alpha @ features(kernel, X)
        primal = 1 / (1 + np.exp(w0 + features(kernel, Z) @ w))
        f = mercer.KernelExpansion(kernel, X, alpha, intercept=w0)
        np.testing.assert_allclose(1 / (1 + np.exp(f(Z))), primal, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(expit(-f(Z)), primal, rtol=1e-9, atol=1e-12)
    linear = mercer.KernelExpansion(Linear(), X, alpha, intercept=w0)
    np.testing.assert_allclose(linear(Z), w0 + Z @ (alpha @ X), rtol=1e-10, atol=1e-12)
