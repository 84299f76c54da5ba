"""Lecture 004: from feature maps to kernels and their composition rules."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.kernels import Bilinear, Constant, FromFeatures, Gaussian, Linear, Polynomial

PARABOLA = Linear().polynomial([0.0, 1.0, 1.0])  # on one column: φ(x) = (x, x²)


def test_one_goes_to_1_1_and_minus_one_to_minus_1_1(features):
    """004, lines 15-27: φ(x) = [x, x²], 1 → [1, 1], −1 → [−1, 1]."""
    np.testing.assert_array_equal(features(PARABOLA, np.array([[1.0]])), [[1.0, 1.0]])
    np.testing.assert_array_equal(features(PARABOLA, np.array([[-1.0]])), [[-1.0, 1.0]])
    X = np.linspace(-3, 3, 7)[:, None]
    np.testing.assert_array_equal(features(PARABOLA, X), np.hstack([X, X**2]))
    assert PARABOLA.n_dims(1) == 2


def test_no_threshold_on_the_line_separates_what_the_parabola_separates(features, separable):
    """004, lines 11-13: the inner points of the line against the outer ones."""
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = np.array([1.0, -1.0, -1.0, 1.0])
    assert not separable(X, y)
    assert separable(features(PARABOLA, X), y)


def test_linear_classifier_on_phi_is_a_quadratic_in_x(features):
    """004, lines 17-33: θ·φ(x) + θ₀ = θ₁x + θ₂x² + θ₀, and its sign."""
    support = np.array([[1.0], [-1.0]])  # φ = [1, 1] and [−1, 1]: a basis of the plane
    alpha, theta_0 = np.array([-0.5, 1.5]), -3.0
    f = mercer.KernelExpansion(PARABOLA, support, alpha, intercept=theta_0)
    theta = alpha @ features(PARABOLA, support)
    np.testing.assert_array_equal(theta, [-2.0, 1.0])
    X = np.linspace(-4.0, 4.0, 33)[:, None]
    x = X[:, 0]
    np.testing.assert_allclose(f(X), theta[0] * x + theta[1] * x**2 + theta_0, atol=1e-12)
    # x² − 2x − 3 = (x + 1)(x − 3): positive on two rays, so no threshold on x alone
    inside = (x > -1) & (x < 3)
    np.testing.assert_array_equal(np.sign(f(np.array([[-1.0], [3.0]]))), [0.0, 0.0])
    np.testing.assert_array_equal(f(X) < 0, inside)


def test_the_five_features_have_the_kernel_xz_plus_xz_squared(integers, features, same_columns):
    """004, lines 43-68: φ = [x₁, x₂, x₁², √2x₁x₂, x₂²] has φ(x)·φ(x') = x·x' + (x·x')²."""
    kernel = Linear() + Polynomial(2)
    x1, x2 = integers.T
    phi = np.column_stack([x1, x2, x1**2, np.sqrt(2) * x1 * x2, x2**2])
    dot = integers @ integers.T
    np.testing.assert_array_equal(kernel(integers), dot + dot**2)
    written_out = (
        np.outer(x1, x1)
        + np.outer(x2, x2)
        + np.outer(x1**2, x1**2)
        + 2 * np.outer(x1 * x2, x1 * x2)
        + np.outer(x2**2, x2**2)
    )
    np.testing.assert_array_equal(kernel(integers), written_out)
    np.testing.assert_allclose(kernel(integers), phi @ phi.T, rtol=1e-13, atol=1e-12)
    assert same_columns(features(kernel, integers), phi)
    assert kernel.n_dims(2) == 5
    assert isinstance(mercer.prove(kernel), mercer.proof.Proof)
    # the same kernel by the power rule: √2x₁x₂ is there as x₁x₂ and x₂x₁, six features in all
    power = Linear() + Linear() ** 2
    np.testing.assert_array_equal(power(integers), kernel(integers))
    six = np.column_stack([x1, x2, x1**2, x1 * x2, x2 * x1, x2**2])
    np.testing.assert_array_equal(six @ six.T, kernel(integers))
    assert same_columns(features(power, integers), six)


def test_cross_term_kernel_comes_from_x1_and_x2_plus_x3(rng, smallest_eigenvalue):
    """004, line 70, corrected: φ(x) = [x₁, x₂ + x₃], not [x₁, x₂, x₃]."""
    A = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    kernel = Bilinear(A)
    X = rng.integers(-5, 6, size=(9, 3)).astype(float)
    x1, x2, x3 = X.T
    as_printed = (
        np.outer(x1, x1) + np.outer(x2, x2) + np.outer(x3, x3) + np.outer(x2, x3) + np.outer(x3, x2)
    )
    np.testing.assert_allclose(kernel(X), as_printed, rtol=1e-12, atol=1e-12)
    corrected = FromFeatures(lambda X: np.column_stack([X[:, 0], X[:, 1] + X[:, 2]]))
    np.testing.assert_array_equal(corrected(X), as_printed)
    rules = Linear().on([0]) + Linear().warp(lambda X: X[:, 1:].sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(rules(X), as_printed)
    assert kernel.n_dims(3) == rules.n_dims(3) == 2
    assert not np.allclose(kernel(X), FromFeatures(lambda X: X)(X))  # the misprint
    assert np.linalg.matrix_rank(kernel(X)) == 2  # two features, as the correction says
    assert smallest_eigenvalue(kernel(X)) > -1e-12
    assert isinstance(mercer.prove(kernel), mercer.proof.Proof)


def test_cross_term_kernel_has_an_explicit_map(rng, features):
    """004, line 70: `feature_map` of the same kernel gives features with these inner products."""
    kernel = Bilinear([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(
        features(kernel, X) @ features(kernel, Z).T, kernel(X, Z), atol=1e-12
    )


def test_radial_basis_kernel_is_the_gaussian_with_sigma_one(rng):
    """004, line 88: exp(−½‖x − x'‖²), σ = 1, which is γ = ½."""
    X, Z = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    squared = ((X[:, None] - Z) ** 2).sum(-1)
    np.testing.assert_allclose(Gaussian(sigma=1.0)(X, Z), np.exp(-0.5 * squared), rtol=1e-12)
    np.testing.assert_allclose(Gaussian.from_gamma(0.5)(X, Z), Gaussian()(X, Z), rtol=1e-12)


def test_theta_is_a_combination_of_examples_and_the_mistake_condition_follows(rng, features):
    """004, lines 90-104: θ = Σ αⱼyⱼφ(xⱼ); yᵢθ·φ(xᵢ) ≤ 0 ⇔ yᵢΣⱼ αⱼyⱼk(xᵢ, xⱼ) ≤ 0."""
    kernel = Linear() + Linear() ** 2
    X = rng.integers(-3, 4, size=(10, 2)).astype(float)
    y = np.where(rng.random(10) < 0.5, 1.0, -1.0)
    alpha = rng.integers(0, 4, size=10).astype(float)  # counts, not signs
    phi = features(kernel, X)
    theta = (alpha * y) @ phi
    f = mercer.KernelExpansion(kernel, X, alpha * y)
    np.testing.assert_allclose(f(X), phi @ theta, atol=1e-10)
    np.testing.assert_allclose(f.primal(), theta, atol=1e-10)
    mistakes = y * f(X) <= 0
    assert 0 < mistakes.sum() < len(y)
    np.testing.assert_array_equal(mistakes, y * (phi @ theta) <= 1e-9)
    # the update α_i += 1 is θ += y_i φ(x_i)
    i = int(np.flatnonzero(mistakes)[0])
    after = mercer.KernelExpansion(kernel, X, (alpha + np.eye(10)[i]) * y)
    np.testing.assert_allclose(after.primal(), theta + y[i] * phi[i], atol=1e-10)


def test_theta_zero_does_not_need_every_alpha_zero():
    """004, line 96, corrected: α = 0 gives θ = 0, but θ = 0 also for other counts α ≥ 0."""
    X, y = np.array([[1.0, 2.0], [-1.0, -2.0]]), np.array([1.0, 1.0])
    f = mercer.KernelExpansion(Linear(), X, np.array([1.0, 1.0]) * y)
    np.testing.assert_array_equal(f.primal(), [0.0, 0.0])
    zero = mercer.KernelExpansion(Linear(), X, np.zeros(2))
    np.testing.assert_array_equal(zero.primal(), [0.0, 0.0])


def test_rule_the_constant_one_is_a_kernel_with_phi_one(rng, features):
    """004, line 108: k(x, x') = 1, φ(x) = 1."""
    X = rng.normal(size=(5, 3))
    np.testing.assert_array_equal(Constant(1.0)(X), np.ones((5, 5)))
    np.testing.assert_array_equal(features(Constant(1.0), X), np.ones((5, 1)))
    assert Constant(1.0).n_dims(3) == 1
    assert isinstance(mercer.prove(Constant(1.0)), mercer.proof.Proof)


def _f(X):
    """An f that changes sign and jumps: the rule allows any."""
    return np.where(X[:, 0] > 0, -2.0, 3.0) * X[:, 1]


def test_rule_f_k_f_has_the_features_f_phi(integers, features, same_columns, smallest_eigenvalue):
    """004, lines 110 and 116-124: φ̂(x) = f(x)φ(x) (the last line forgets the hat)."""
    kernel = Polynomial(2)
    hat = kernel.reweight(_f)
    f = _f(integers)
    np.testing.assert_array_equal(hat(integers), f[:, None] * kernel(integers) * f)
    phi_hat = f[:, None] * features(kernel, integers)
    np.testing.assert_allclose(hat(integers), phi_hat @ phi_hat.T, atol=1e-9)
    assert same_columns(features(hat, integers), phi_hat)
    assert smallest_eigenvalue(hat(integers)) > -1e-12
    assert isinstance(mercer.prove(hat), mercer.proof.Proof)
    # without the hat the equation would say φ = fφ, which fails wherever f ≠ 1
    assert not np.allclose(hat(integers), kernel(integers))


def test_rule_sum_has_both_feature_lists(integers, features, same_columns, smallest_eigenvalue):
    """004, line 112: k₁ + k₂, features side by side."""
    left, right = Polynomial(2), Linear()
    kernel = left + right
    np.testing.assert_array_equal(kernel(integers), left(integers) + right(integers))
    both = np.hstack([features(left, integers), features(right, integers)])
    assert same_columns(features(kernel, integers), both)
    assert smallest_eigenvalue(kernel(integers)) > -1e-12
    assert isinstance(mercer.prove(kernel), mercer.proof.Proof)


def test_rule_product_has_all_products_of_features(integers, features, smallest_eigenvalue):
    """004, line 114: k₁k₂, features φ¹ᵢφ²ⱼ."""
    left, right = Polynomial(2), Linear() + 1.0
    kernel = left * right
    np.testing.assert_array_equal(kernel(integers), left(integers) * right(integers))
    one, two = features(left, integers), features(right, integers)
    tensor = (one[:, :, None] * two[:, None, :]).reshape(len(integers), -1)
    np.testing.assert_allclose(tensor @ tensor.T, kernel(integers), rtol=1e-12, atol=1e-9)
    mapped = features(kernel, integers)
    np.testing.assert_allclose(mapped @ mapped.T, kernel(integers), rtol=1e-12, atol=1e-9)
    assert smallest_eigenvalue(kernel(integers)) > -1e-12
    assert isinstance(mercer.prove(kernel), mercer.proof.Proof)


def test_high_dimensional_features_cost_one_inner_product(rng):
    """004, lines 37-41 and 52: the same kernel at 1000 inputs has 501 500 features, never built."""
    kernel = Linear() + Polynomial(2)
    assert kernel.n_dims(1000) == 1000 + 1000 * 1001 // 2
    x, z = rng.normal(size=(1, 1000)), rng.normal(size=(1, 1000))
    dot = (x @ z.T).item()
    assert kernel(x, z).item() == pytest.approx(dot + dot**2, rel=1e-12)
