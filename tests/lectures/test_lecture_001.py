"""Lecture 001: feature mappings, kernels, how to build them, the kernel trick, the dual."""

from __future__ import annotations

import itertools
from math import comb, factorial, inf

import numpy as np
import pytest

import mercer
from mercer import theory
from mercer.kernels import (
    Bilinear,
    Constant,
    FromFeatures,
    Gaussian,
    Linear,
    Polynomial,
    Similarity,
    SquaredDistance,
)
from mercer.maps import NystromMap, PolynomialMap, TaylorGaussianMap


def _square_norm(X):
    return (X**2).sum(axis=1)


# --- Feature mapping, lines 39-105 ------------------------------------------------------------


def test_no_mapping_is_the_linear_kernel(rng, features):
    """001, line 46: φ(x) = x."""
    X = rng.normal(size=(5, 3))
    np.testing.assert_array_equal(features(Linear(), X), X)


def test_powers_up_to_five_fit_what_a_line_through_the_origin_cannot(features):
    """001, lines 52-55: φ(x) = (x, x², …, x^p), p = 5."""
    kernel = Linear().polynomial([0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    X = np.linspace(-1.5, 1.5, 25)[:, None]
    phi = features(kernel, X)
    np.testing.assert_allclose(phi, np.hstack([X**j for j in range(1, 6)]), rtol=1e-13)
    assert kernel.n_dims(1) == 5
    x = X[:, 0]
    target = 2 * x - 3 * x**3 + x**5 + 0.5 * x**2
    straight = np.linalg.lstsq(features(Linear(), X), target, rcond=None)[0]
    bent = np.linalg.lstsq(phi, target, rcond=None)[0]
    assert np.abs(X @ straight - target).max() > 1.0
    np.testing.assert_allclose(phi @ bent, target, atol=1e-12)
    np.testing.assert_allclose(bent, [2, 0.5, -3, 0, 1], atol=1e-10)


def test_the_circles_are_not_linearly_separable(circles, separable):
    """001, lines 69-76: no straight line, through the origin or not."""
    X, y = circles
    assert not separable(X, y, bias=False)
    assert not separable(X, y, bias=True)
    assert not separable(Linear()(X), y)


def test_solution_1_squared_distance_to_the_origin_as_third_feature(circles, separable):
    """001, lines 80 and 85: φ(x) = (x₁, x₂, x₁² + x₂²)."""
    X, y = circles

    def phi(X):
        return np.column_stack([X, _square_norm(X)])

    assert separable(phi(X), y)
    kernel = FromFeatures(phi)
    assert separable(kernel(X), y)
    # the same kernel from the building blocks: x·z + ‖x‖²·1·‖z‖²
    blocks = Linear() + Constant(1.0).reweight(_square_norm)
    np.testing.assert_allclose(blocks(X), kernel(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(Linear().warp(phi)(X), kernel(X), rtol=1e-12, atol=1e-12)
    assert isinstance(mercer.prove(kernel), mercer.proof.Proof)
    assert isinstance(mercer.prove(blocks), mercer.proof.Proof)


def test_solution_2_the_squares(circles, features, separable):
    """001, lines 81 and 85: φ(x) = (x₁², x₂²)."""
    X, y = circles
    kernel = Polynomial(2).on([0]) + Polynomial(2).on([1])
    np.testing.assert_allclose(features(kernel, X), X**2, rtol=1e-12, atol=1e-15)
    assert separable(X**2, y)
    assert separable(kernel(X), y)
    np.testing.assert_allclose(kernel(X), FromFeatures(np.square)(X), rtol=1e-12)


# --- Kernel functions, lines 111-147 ----------------------------------------------------------


def test_inner_product_measures_similarity(integers):
    """001, line 115: ⟨x₁, x₂⟩ = x₂ᵀx₁."""
    K = Linear()(integers)
    for i, j in ((0, 0), (0, 1), (5, 3)):
        assert K[i, j] == integers[j] @ integers[i]


def test_the_four_examples_of_a_similarity(integers):
    """001, line 123: xᵀx', (xᵀx')^p, ‖x − x'‖², exp(−‖x − x'‖²/2σ²)."""
    X, Z = integers[:7], integers[7:]
    dot, squared = X @ Z.T, ((X[:, None] - Z) ** 2).sum(-1)
    np.testing.assert_array_equal(Linear()(X, Z), dot)
    np.testing.assert_array_equal(Polynomial(4)(X, Z), dot**4)
    np.testing.assert_array_equal(SquaredDistance()(X, Z), squared)
    np.testing.assert_allclose(Gaussian(2.5)(X, Z), np.exp(-squared / 12.5), rtol=1e-12)


def test_valid_means_positive_semidefinite_for_every_set(rng, smallest_eigenvalue):
    """001, lines 123-128: three of the four are valid, the squared distance is not."""
    for kernel in (Linear(), Polynomial(3), Gaussian(0.8)):
        assert isinstance(mercer.prove(kernel), mercer.proof.Proof)
        for n in (1, 2, 5, 20):
            assert smallest_eigenvalue(kernel(rng.normal(size=(n, 3)))) > -1e-12
    refuted = mercer.prove(SquaredDistance())
    assert isinstance(refuted, mercer.proof.Counterexample)
    assert refuted.kind == "indefinite"
    # two distinct points are enough: [[0, d], [d, 0]] has the eigenvalue −d
    pair = SquaredDistance()(np.array([[0.0], [2.0]]))
    np.testing.assert_array_equal(pair, [[0.0, 4.0], [4.0, 0.0]])
    np.testing.assert_allclose(np.linalg.eigvalsh(pair), [-4.0, 4.0])


def test_every_valid_kernel_has_a_feature_mapping(rng):
    """001, lines 132-146: κ(x, x') = φ(x)ᵀφ(x') on any set of points, also without a formula."""
    X = rng.normal(size=(30, 2))
    for kernel in (Gaussian(1.0), Polynomial(2, offset=1.0), Linear().exp()):
        phi = NystromMap(kernel, n_components=30).fit_transform(X)
        np.testing.assert_allclose(phi @ phi.T, kernel(X), atol=1e-11 * kernel(X).max())


def test_every_feature_mapping_gives_a_valid_kernel(rng, smallest_eigenvalue):
    """001, lines 138-144: the converse."""

    def phi(X):
        return np.column_stack([np.sin(X[:, 0]), np.abs(X[:, 1]) ** 0.5, X[:, 0] > 0])

    kernel = FromFeatures(phi)
    X = rng.normal(size=(25, 2))
    np.testing.assert_allclose(kernel(X), phi(X).astype(float) @ phi(X).T.astype(float), rtol=1e-12)
    assert smallest_eigenvalue(kernel(X)) > -1e-12
    assert isinstance(mercer.prove(kernel), mercer.proof.Proof)


# --- Polynomial kernels written out, lines 149-203 ---------------------------------------------


def test_the_quadratic_kernel_expanded(integers):
    """001, lines 151-153: (x₁x'₁ + x₂x'₂)² = x₁²x'₁² + 2x₁x₂x'₁x'₂ + x₂²x'₂²."""
    x1, x2 = integers.T
    by_hand = np.outer(x1**2, x1**2) + 2 * np.outer(x1 * x2, x1 * x2) + np.outer(x2**2, x2**2)
    np.testing.assert_array_equal(Polynomial(2)(integers), by_hand)


def test_the_quadratic_map_is_not_unique(integers, features, same_columns):
    """001, lines 155-160: (x₁², √2x₁x₂, x₂²) or (x₁², x₁x₂, x₁x₂, x₂²): the same kernel."""
    x1, x2 = integers.T
    three = np.column_stack([x1**2, np.sqrt(2) * x1 * x2, x2**2])
    four = np.column_stack([x1**2, x1 * x2, x1 * x2, x2**2])
    K = Polynomial(2)(integers)
    np.testing.assert_allclose(three @ three.T, K, rtol=1e-13, atol=1e-12)
    np.testing.assert_array_equal(four @ four.T, K)
    mapped = features(Polynomial(2), integers)
    assert same_columns(mapped, three)
    assert not same_columns(mapped, four)
    # the four-column version is the product rule's tensor φ ⊗ φ
    np.testing.assert_array_equal((Linear() * Linear())(integers), K)
    duplicated = FromFeatures(
        lambda X: np.column_stack(
            [X[:, 0] ** 2, X[:, 0] * X[:, 1], X[:, 0] * X[:, 1], X[:, 1] ** 2]
        )
    )
    np.testing.assert_array_equal(duplicated(integers), K)


@pytest.mark.parametrize(
    ("p", "written"),
    [
        (2, lambda a, b: [a**2, b**2, np.sqrt(2) * a * b]),
        (3, lambda a, b: [a**3, b**3, np.sqrt(3) * a**2 * b, np.sqrt(3) * a * b**2]),
    ],
)
def test_all_monomials_of_degree_p(p, written, integers, features, same_columns):
    """001, lines 167-181: the maps for p = 2 and p = 3, verified as the lecture asks."""
    phi = np.column_stack(written(*integers.T))
    kernel = Polynomial(p)
    np.testing.assert_array_equal(kernel(integers), (integers @ integers.T) ** p)
    np.testing.assert_allclose(phi @ phi.T, kernel(integers), rtol=1e-12, atol=1e-9)
    assert same_columns(features(kernel, integers), phi)
    assert kernel.n_dims(2) == phi.shape[1]


def _quadratic_with_offset(a, b, c):
    s = np.sqrt(c)
    ones = np.ones_like(a)
    r2 = np.sqrt(2)
    return [a**2, b**2, r2 * a * b, r2 * s * a, r2 * s * b, c * ones]


def _cubic_with_offset(a, b, c):
    s = np.sqrt(c)
    ones = np.ones_like(a)
    r3, r6 = np.sqrt(3), np.sqrt(6)
    return [
        a**3,
        b**3,
        s**3 * ones,
        r3 * a**2 * b,
        r3 * a**2 * s,
        r3 * b**2 * a,
        r3 * b**2 * s,
        r3 * c * a,
        r3 * c * b,
        r6 * a * b * s,
    ]


@pytest.mark.parametrize("c", [0.25, 1.0, 2.0, 7.0])
@pytest.mark.parametrize(("p", "written"), [(2, _quadratic_with_offset), (3, _cubic_with_offset)])
def test_all_monomials_up_to_degree_p(p, written, c, integers, features, same_columns):
    """001, lines 187-199: the maps of (xᵀx' + c)^p for p = 2 and p = 3."""
    phi = np.column_stack(written(*integers.T, c))
    kernel = Polynomial(p, offset=c)
    np.testing.assert_allclose(kernel(integers), (integers @ integers.T + c) ** p, rtol=1e-13)
    np.testing.assert_allclose(phi @ phi.T, kernel(integers), rtol=1e-11, atol=1e-9)
    assert same_columns(features(kernel, integers), phi)
    assert kernel.n_dims(2) == phi.shape[1]


@pytest.mark.parametrize("c", [0.25, 1.0, 2.0, 9.0])
@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_offset_is_one_more_input_root_c(c, p, rng, features, same_columns):
    """001, lines 201-203: (xᵀx' + c)^p = (x̃ᵀx̃')^p with x̃ = (x, √c)."""

    def tilde(X):
        return np.column_stack([X, np.full(len(X), np.sqrt(c))])

    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(5, 3))
    kernel = Polynomial(p, offset=c)
    np.testing.assert_allclose(Polynomial(p)(tilde(X), tilde(Z)), kernel(X, Z), rtol=1e-11)
    np.testing.assert_allclose(Polynomial(p).warp(tilde)(X, Z), kernel(X, Z), rtol=1e-11)
    assert kernel.n_dims(3) == Polynomial(p).n_dims(4)
    assert same_columns(features(kernel, X), features(Polynomial(p), tilde(X)))


# --- The Gaussian, lines 205-242 --------------------------------------------------------------


def test_the_gaussian_kernel_has_no_finite_feature_map():
    """001, line 211: infinite dimension; the error names the maps that approximate it."""
    assert Gaussian(1.3).n_dims(4) == inf
    with pytest.raises((ValueError, TypeError), match=r"Taylor|Fourier|Nystr"):
        Gaussian(1.3).feature_map(4)


def test_the_gaussian_kernel_is_no_density():
    """001, line 212: κ(x, x) = 1 for every σ, and the integral is σ√(2π), not 1."""
    grid = np.linspace(-30, 30, 6001)[:, None]
    for sigma in (0.5, 1.0, 2.0):
        values = Gaussian(sigma)(np.zeros((1, 1)), grid)[0]
        assert values.max() == 1.0
        area = values.sum() * 0.01
        assert area == pytest.approx(sigma * np.sqrt(2 * np.pi), rel=1e-10)
        assert abs(area - 1) > 0.2


def test_the_gaussian_kernel_depends_on_the_distance_only(rng):
    """001, line 213: unchanged by a translation, and (what the bracket says) by a rotation."""
    X, Z = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    k = Gaussian(0.9)
    np.testing.assert_allclose(k(X + [3.0, -7.0], Z + [3.0, -7.0]), k(X, Z), rtol=1e-12)
    np.testing.assert_allclose(k(X @ turn.T, Z @ turn.T), k(X, Z), rtol=1e-12)
    # invariance to translation alone is weaker: one σ per column is not a function of distance
    skew = Gaussian(sigma=(0.5, 2.0))
    np.testing.assert_allclose(skew(X + 4.0, Z + 4.0), skew(X, Z), rtol=1e-12)
    assert not np.allclose(skew(X @ turn.T, Z @ turn.T), skew(X, Z))


@pytest.mark.parametrize("sigma", [0.8, 1.0, 2.0])
def test_the_gaussian_as_three_factors(sigma, rng, smallest_eigenvalue):
    """001, line 222: exp(−‖x‖²/2σ²) exp(xᵀx'/σ²) exp(−‖x'‖²/2σ²), by the building blocks."""
    X = rng.normal(size=(12, 3))
    blocks = (
        (sigma**-2 * Linear()).exp().reweight(lambda X: np.exp(-_square_norm(X) / (2 * sigma**2)))
    )
    np.testing.assert_allclose(blocks(X), Gaussian(sigma)(X), rtol=1e-10)
    assert smallest_eigenvalue(blocks(X)) > -1e-12
    assert isinstance(
        mercer.prove(blocks), mercer.proof.Proof
    )  # so the Gaussian is one, by rules alone


@pytest.mark.parametrize("sigma", [0.8, 1.5])
def test_the_exponential_series_of_kernels(sigma, rng):
    """001, line 226: exp(xᵀx'/σ²) = Σ (xᵀx')ⁿ/(n! σ²ⁿ), term by term a polynomial in a kernel."""
    X = rng.uniform(-1, 1, size=(8, 2))
    exact = (sigma**-2 * Linear()).exp()(X)
    errors = []
    for order in (1, 3, 6, 12, 30):
        series = Linear().polynomial(
            [1 / (factorial(n) * sigma ** (2 * n)) for n in range(order + 1)]
        )
        assert isinstance(mercer.prove(series), mercer.proof.Proof)
        errors.append(np.abs(series(X) - exact).max())
    assert all(later < earlier for earlier, later in itertools.pairwise(errors))
    assert errors[-1] < 1e-13


@pytest.mark.parametrize("sigma", [0.9, 1.0, 2.0])
@pytest.mark.parametrize("order", [0, 1, 2, 5])
def test_the_taylor_map_is_the_truncated_series(sigma, order, rng):
    """001, lines 228-242: φ = e^(−‖x‖²/2σ²) (√(1/0!)ψ₀, √(1/(1!σ²))ψ₁, …, √(1/(n!σ²ⁿ))ψₙ)."""
    X, Z = rng.uniform(-1, 1, size=(7, 2)), rng.uniform(-1, 1, size=(5, 2))
    phi = TaylorGaussianMap(sigma=sigma, degree=order).fit(X)
    t = X @ Z.T / sigma**2
    damp = np.exp(-_square_norm(X) / (2 * sigma**2)), np.exp(-_square_norm(Z) / (2 * sigma**2))
    series = sum(t**n / factorial(n) for n in range(order + 1))
    expected = damp[0][:, None] * series * damp[1]
    np.testing.assert_allclose(phi.transform(X) @ phi.transform(Z).T, expected, rtol=1e-12)
    # its length: the monomials of degree 0 … n
    assert phi.transform(X).shape[1] == comb(order + 2, 2)


def test_the_taylor_map_is_made_of_the_psi_n(rng, features, same_columns):
    """001, lines 228-240: each ψₙ is the feature map of (xᵀx')ⁿ."""
    sigma, order = 1.4, 4
    X = rng.uniform(-1, 1, size=(9, 2))
    damp = np.exp(-_square_norm(X) / (2 * sigma**2))[:, None]
    psi = [np.ones((9, 1))] + [features(Polynomial(n), X) for n in range(1, order + 1)]
    eta = [np.sqrt(1 / (factorial(n) * sigma ** (2 * n))) * psi[n] for n in range(order + 1)]
    mapped = TaylorGaussianMap(sigma=sigma, degree=order).fit_transform(X)
    assert same_columns(mapped, damp * np.hstack(eta))


def test_the_taylor_map_converges_to_the_gaussian(rng):
    """001, lines 234-242, corrected: the list goes on for ever; any finite one is approximate."""
    sigma = 1.0
    X = rng.uniform(-1.5, 1.5, size=(10, 2))
    exact = Gaussian(sigma)(X)
    reach = _square_norm(X).max() / sigma**2
    errors = []
    for order in (0, 1, 2, 4, 8, 16, 24):
        phi = TaylorGaussianMap(sigma=sigma, degree=order).fit_transform(X)
        errors.append(np.abs(phi @ phi.T - exact).max())
        # the remainder of exp, damped by at most e^(−t)·…: Lagrange's bound
        assert errors[-1] <= reach ** (order + 1) / factorial(order + 1) * 1.0001 + 1e-14
    assert all(later < earlier for earlier, later in itertools.pairwise(errors))
    assert errors[0] > 0.1
    assert errors[-1] < 1e-11


# --- Counting for the handwritten digit, lines 244-272 -----------------------------------------


def test_784_pixels_at_p_4_have_1_59e10_features():
    """001, lines 250-252 and 272: exactly 15 943 435 565."""
    dims = Polynomial(4, offset=1.0).n_dims(28 * 28)
    assert dims == 15_943_435_565
    assert f"{dims:.2e}" == "1.59e+10"
    assert f"{dims:.1e}" == "1.6e+10"


def test_the_image_with_a_one_appended(rng):
    """001, lines 261-263: κ = (x̃ᵀx̃')⁴ = (y₁ + … + y₇₈₅)⁴, x̃ = (x, 1) ∈ ℝ⁷⁸⁵."""
    images = rng.random((4, 784))
    tilde = np.hstack([images, np.ones((4, 1))])
    assert tilde.shape[1] == 785
    y = tilde[0] * tilde[1]
    K = Polynomial(4, offset=1.0)(images)
    assert K[0, 1] == pytest.approx(y.sum() ** 4, rel=1e-11)
    np.testing.assert_allclose(K, Polynomial(4)(tilde), rtol=1e-11)
    assert Polynomial(4).n_dims(785) == Polynomial(4, offset=1.0).n_dims(784)


def test_the_counting_table_adds_up():
    """001, lines 265-272, corrected: y_m³y_n needs C(785, 2)·2, where C(785, 2)·C(3, 1) stands."""
    corrected = theory.monomial_table(785, 4)
    assert list(corrected.values()) == [785, 615_440, 307_720, 240_944_760, 15_701_566_860]
    assert sum(corrected.values()) == 15_943_435_565 == Polynomial(4).n_dims(785)
    printed = {**corrected, (3, 1): comb(785, 2) * comb(3, 1)}
    assert sum(printed.values()) == 15_943_743_285 != Polynomial(4).n_dims(785)
    assert f"{sum(printed.values()):.2e}" == "1.59e+10"  # why nobody noticed


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_each_entry_of_the_counting_table_by_counting(n):
    """001, lines 265-270: the same table for n variables, counted from the columns of the map."""
    powers = PolynomialMap(degree=4).fit(np.ones((1, n))).powers_  # row: one monomial
    shapes = [tuple(sorted((int(e) for e in row if e), reverse=True)) for row in powers]
    counted = [shapes.count(s) for s in ((4,), (3, 1), (2, 2), (2, 1, 1), (1, 1, 1, 1))]
    assert counted == list(theory.monomial_table(n, 4).values())
    assert len(shapes) == Polynomial(4).n_dims(n)


# --- Constructing kernels, lines 274-309 ------------------------------------------------------


def test_method_1_define_the_features(rng):
    """001, lines 276-278: κ(x, x') = Σᵢ φᵢ(x)φᵢ(x')."""

    def phi(X):
        return np.column_stack([np.cos(X[:, 0]), X[:, 0] * X[:, 1], np.ones(len(X))])

    X, Z = rng.normal(size=(6, 2)), rng.normal(size=(4, 2))
    summed = sum(np.outer(phi(X)[:, i], phi(Z)[:, i]) for i in range(3))
    np.testing.assert_allclose(FromFeatures(phi)(X, Z), summed, rtol=1e-12, atol=1e-14)
    assert isinstance(mercer.prove(FromFeatures(phi)), mercer.proof.Proof)


def test_method_2_define_the_kernel_and_identify_the_map(rng, features, same_columns):
    """001, lines 280-282: (xᵀx')² ⟹ φ(x) = (x₁², √2x₁x₂, x₂²)."""
    X = rng.normal(size=(9, 2))
    identified = np.column_stack([X[:, 0] ** 2, np.sqrt(2) * X[:, 0] * X[:, 1], X[:, 1] ** 2])
    assert same_columns(features(Polynomial(2), X), identified)


def test_method_3_mercers_condition(rng):
    """001, lines 286-292: aᵀKa ≥ 0 for all a ∈ ℝᴺ (printed ℝⁿ) and all data sets."""
    kernel = Gaussian(1.0) * (Linear() + 1.0)
    for n in (2, 7, 15):
        K = kernel(rng.normal(size=(n, 2)))
        for a in rng.normal(size=(20, n)):
            double_sum = sum(a[i] * K[i, j] * a[j] for i in range(n) for j in range(n))
            assert a @ K @ a == pytest.approx(double_sum, rel=1e-9, abs=1e-9)
            assert double_sum >= -1e-10
    # a similarity that fails the condition is found out from the function alone
    failing = Similarity(lambda x, z: 1.0 - float(((x - z) ** 2).sum()))
    refuted = mercer.prove(failing)
    assert isinstance(refuted, mercer.proof.Counterexample)
    c = np.asarray(refuted.vector, dtype=float)
    assert c @ failing(refuted.points) @ c < 0


_A = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, 0.5], [0.0, 0.5, 0.25]])


def _signs(X):
    """A function with no virtue at all: it jumps and changes sign."""
    return np.where(X[:, 0] > 0, 1.0, -2.0) * (1 + np.floor(X[:, 1]))


def _warp(X):
    return np.column_stack([np.sin(3 * X[:, 0]), X[:, 1] * X[:, 2]])


_K1, _K2 = Gaussian(1.2), Polynomial(2, offset=0.5)

BUILDING_BLOCKS = {
    "c k1, c > 0": (3.5 * _K1, lambda k1, k2, X: 3.5 * k1),
    "f(x) k1 f(x')": (_K1.reweight(_signs), lambda k1, k2, X: _signs(X)[:, None] * k1 * _signs(X)),
    "q(k1)": (
        _K1.polynomial([0.5, 0.0, 2.0, 1.0]),
        lambda k1, k2, X: 0.5 + 2.0 * k1**2 + k1**3,
    ),
    "exp(k1)": (_K1.exp(), lambda k1, k2, X: np.exp(k1)),
    "k1 + k2": (_K1 + _K2, lambda k1, k2, X: k1 + k2),
    "k1 k2": (_K1 * _K2, lambda k1, k2, X: k1 * k2),
    "k1(phi(x), phi(x'))": (
        _K1.warp(_warp),
        lambda k1, k2, X: np.exp(-((_warp(X)[:, None] - _warp(X)) ** 2).sum(-1) / (2 * 1.2**2)),
    ),
    "x' A x": (Bilinear(_A), lambda k1, k2, X: X @ _A @ X.T),
}


@pytest.mark.parametrize("rule", BUILDING_BLOCKS)
def test_building_block(rule, rng, smallest_eigenvalue):
    """001, lines 296-305: each rule computes what it says, is proved, and its Gram is PSD."""
    kernel, by_hand = BUILDING_BLOCKS[rule]
    X = rng.normal(size=(25, 3))
    k1 = np.exp(-((X[:, None] - X) ** 2).sum(-1) / (2 * 1.2**2))
    k2 = (X @ X.T + 0.5) ** 2
    np.testing.assert_allclose(kernel(X), by_hand(k1, k2, X), rtol=1e-10, atol=1e-12)
    assert smallest_eigenvalue(kernel(X)) > -1e-12
    assert isinstance(mercer.prove(kernel, n_features=3), mercer.proof.Proof)


def test_building_blocks_need_their_conditions():
    """001, lines 298, 300 and 305: a negative c, a negative coefficient, an indefinite A fail."""
    broken = {
        "c < 0": -1.0 * _K1,
        "q with a negative coefficient": _K1.polynomial([0.0, 1.0, -3.0]),
        "A indefinite": Bilinear([[1.0, 2.0], [2.0, 1.0]]),
    }
    for name, kernel in broken.items():
        refuted = mercer.prove(kernel, n_features=2)
        assert isinstance(refuted, mercer.proof.Counterexample), name
        c = np.asarray(refuted.vector, dtype=float)
        assert c @ kernel(refuted.points) @ c < 0, name


def test_x_A_x_without_the_prime_is_no_kernel():
    """001, line 305, corrected: xᵀAx' and not xᵀAx, which is not even symmetric."""
    printed = Similarity(lambda x, z: float(x @ _A @ x))
    refuted = mercer.prove(printed, n_features=3)
    assert isinstance(refuted, mercer.proof.Counterexample)
    assert refuted.kind == "asymmetric"
    x, z = np.asarray(refuted.points)[:2]
    assert x @ _A @ x != z @ _A @ z


def test_popular_kernels(rng, smallest_eigenvalue):
    """001, line 309: (xᵀx')^p, (xᵀx' + c)^p with c > 0, the Gaussian."""
    X = rng.normal(size=(20, 3))
    dot, squared = X @ X.T, ((X[:, None] - X) ** 2).sum(-1)
    for kernel, expected in (
        (Polynomial(3), dot**3),
        (Polynomial(3, offset=0.7), (dot + 0.7) ** 3),
        (Gaussian(1.6), np.exp(-squared / (2 * 1.6**2))),
    ):
        np.testing.assert_allclose(kernel(X), expected, rtol=1e-10, atol=1e-12)
        assert smallest_eigenvalue(kernel(X)) > -1e-12
        assert isinstance(mercer.prove(kernel), mercer.proof.Proof)


# --- The kernel trick, lines 311-349 ----------------------------------------------------------


def test_any_algorithm_of_inner_products_takes_any_kernel(rng, features):
    """001, lines 317-323: replace xᵀx' by κ(x, x'): the answer is that of the mapped points."""
    kernel = Polynomial(3, offset=1.0)
    X, a = rng.normal(size=(8, 2)), rng.normal(size=8)
    plain = mercer.KernelExpansion(Linear(), features(kernel, X), a)
    substituted = mercer.KernelExpansion(kernel, X, a)
    Z = rng.normal(size=(6, 2))
    np.testing.assert_allclose(substituted(Z), plain(features(kernel, Z)), rtol=1e-9, atol=1e-10)


def test_distance_between_samples_by_inner_products():
    """001, line 329, corrected: ⟨x,x⟩ − 2⟨x,x'⟩ + ⟨x',x'⟩ (the last term is printed ⟨x,x'⟩)."""
    x, z = np.array([[1.0, 0.0]]), np.array([[0.0, 2.0]])
    assert Linear().distance(x, z).item() ** 2 == pytest.approx(5.0, rel=1e-14)
    xx, xz, zz = Linear()(x).item(), Linear()(x, z).item(), Linear()(z).item()
    assert xx - 2 * xz + zz == 5.0
    assert xx - 2 * xz + xz == 1.0  # as printed
    # the middle term carries a minus: points closer together have the larger inner product
    x, z = np.array([[3.0, 0.0]]), np.array([[4.0, 0.0]])
    assert Linear().distance(x, z).item() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(2), Polynomial(3, offset=1.0), Linear() + Linear() ** 2],
    ids=repr,
)
def test_distance_in_feature_space(kernel, rng, features):
    """001, lines 331-333: κ(x,x) − 2κ(x,x') + κ(x',x') = ‖φ(x) − φ(x')‖² (printed ‖x − x'‖²)."""
    X, Z = rng.normal(size=(7, 2)), rng.normal(size=(5, 2))
    explicit = ((features(kernel, X)[:, None] - features(kernel, Z)) ** 2).sum(-1)
    np.testing.assert_allclose(kernel.distance(X, Z) ** 2, explicit, rtol=1e-9, atol=1e-12)
    trick = kernel.diag(X)[:, None] - 2 * kernel(X, Z) + kernel.diag(Z)
    np.testing.assert_allclose(kernel.distance(X, Z) ** 2, trick, rtol=1e-9, atol=1e-12)


def test_distance_is_no_longer_the_euclidean_one(rng):
    """001, lines 333-335: after substitution the distance is another one."""
    X, Z = rng.normal(size=(7, 2)), rng.normal(size=(5, 2))
    euclid = np.sqrt(((X[:, None] - Z) ** 2).sum(-1))
    np.testing.assert_allclose(Linear().distance(X, Z), euclid, rtol=1e-10)
    gaussian = Gaussian(0.7).distance(X, Z)
    np.testing.assert_allclose(
        gaussian, np.sqrt(-2 * np.expm1(-(euclid**2) / (2 * 0.7**2))), rtol=1e-7
    )
    assert gaussian.max() <= np.sqrt(2) < euclid.max()


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(2), Polynomial(3, offset=1.0), Linear() + Linear() ** 2],
    ids=repr,
)
def test_distance_to_the_mean(kernel, rng, features):
    """001, lines 340-343, corrected: the first term is ⟨x,x⟩ (printed ⟨x,x̄⟩), in feature space."""
    sample, X = rng.normal(size=(11, 2)), rng.normal(size=(6, 2))
    mean = features(kernel, sample).mean(axis=0)
    explicit = ((features(kernel, X) - mean) ** 2).sum(axis=1)
    found = mercer.distance_to_mean(kernel, X, sample)
    np.testing.assert_allclose(found**2, explicit, rtol=1e-8, atol=1e-12)
    n = len(sample)
    by_kernel = kernel.diag(X) - 2 / n * kernel(X, sample).sum(1) + kernel(sample).sum() / n**2
    np.testing.assert_allclose(found**2, by_kernel, rtol=1e-8, atol=1e-12)


def test_distance_to_the_mean_of_an_infinite_map(rng):
    """001, line 343: the same by kernel values alone, where φ cannot be written down."""
    sample, X = rng.normal(size=(9, 2)), rng.normal(size=(4, 2))
    k = Gaussian(1.1)
    by_kernel = 1 - 2 / 9 * k(X, sample).sum(1) + k(sample).sum() / 81
    np.testing.assert_allclose(mercer.distance_to_mean(k, X, sample) ** 2, by_kernel, rtol=1e-10)
    # the first term printed as ⟨x, x̄⟩ would give a different (here negative) number
    printed = -1 / 9 * k(X, sample).sum(1) + k(sample).sum() / 81
    assert not np.allclose(printed, by_kernel)


def test_the_mean_itself_is_out_of_reach_its_length_is_not(rng, features):
    """001, lines 347-349: no point of feature space can be computed from kernel values alone."""
    sample = rng.normal(size=(9, 2))
    mean = mercer.KernelExpansion(Gaussian(1.1), sample, np.full(9, 1 / 9))
    with pytest.raises((ValueError, TypeError)):
        mean.primal()
    # what the mean is made of can be asked: inner products with it, and where φ is finite, itself
    finite = mercer.KernelExpansion(Polynomial(2), sample, np.full(9, 1 / 9))
    np.testing.assert_allclose(finite.primal(), features(Polynomial(2), sample).mean(0), rtol=1e-10)


# --- The dual of linear regression, lines 351-439 ---------------------------------------------


def _ridge_problem(rng, kernel, features, n=12):
    X, t = rng.normal(size=(n, 2)), rng.normal(size=n)
    return X, t, features(kernel, X)


def test_the_matrix_inversion_lemma(rng, features):
    """001, lines 375, 381 and 391: (A + UCV)⁻¹, with A = λI, U = Φᵀ, C = I, V = Φ of a kernel."""
    lam, kernel = 0.3, Polynomial(2, offset=1.0)
    X, _, phi = _ridge_problem(rng, kernel, features, 4)
    A, U, C, V = lam * np.eye(6), phi.T, np.eye(4), phi
    inv = np.linalg.inv
    inner = inv(C) + V @ inv(A) @ U
    right = inv(A) - inv(A) @ U @ inv(inner) @ V @ inv(A)
    np.testing.assert_allclose(inv(A + U @ C @ V), right, rtol=1e-8, atol=1e-9)
    # the inner matrix is where the kernel enters: C⁻¹ + VA⁻¹U = I + K/λ
    np.testing.assert_allclose(inner, np.eye(4) + kernel(X) / lam, rtol=1e-10)


def test_every_line_of_the_derivation_of_the_dual(rng, features):
    """001, lines 385-397: from (λI + ΦᵀΦ)⁻¹Φᵀt to Φᵀ(λI + ΦΦᵀ)⁻¹t.

    The fourth line on needs (ΦΦᵀ)⁻¹, which the lecture does not say: here N < M, and it exists.
    """
    kernel, lam, n = Polynomial(3, offset=1.0), 0.5, 6
    X, t, phi = _ridge_problem(rng, kernel, features, n)
    assert phi.shape[1] == 10 > n
    np.testing.assert_allclose(kernel(X), phi @ phi.T, rtol=1e-10, atol=1e-12)
    derivation = theory.ridge_dual(phi, t, lam)
    assert len(derivation.lines) == 7
    assert derivation.residual < 1e-7
    a = np.linalg.solve(kernel(X) + lam * np.eye(n), t)
    np.testing.assert_allclose(derivation.lines[-1].value, phi.T @ a, rtol=1e-8)


@pytest.mark.parametrize("n", [4, 40])
def test_primal_and_dual_predict_the_same(n, rng, features):
    """001, lines 405-437: a = (K + λI)⁻¹t, y(x) = aᵀk(x), equal to wᵀφ(x); N < M and N ≫ M."""
    kernel, lam = Polynomial(2, offset=1.0), 0.7
    X, t, phi = _ridge_problem(rng, kernel, features, n)
    w = np.linalg.solve(phi.T @ phi + lam * np.eye(6), phi.T @ t)
    a = np.linalg.solve(lam * np.eye(n) + kernel(X), t)
    y = mercer.KernelExpansion(kernel, X, a)
    Z = rng.normal(size=(8, 2))
    np.testing.assert_allclose(y.primal(), w, rtol=1e-8, atol=1e-10)  # w = Φᵀa
    np.testing.assert_allclose(y(Z), features(kernel, Z) @ w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(y(Z), a @ kernel(X, Z), rtol=1e-10, atol=1e-12)  # k(x) = Φφ(x)


def test_the_matrix_to_invert_is_m_by_m_or_n_by_n(rng, features):
    """001, lines 95-101 and 427-437: ΦᵀΦ ∈ ℝᴹˣᴹ, K = ΦΦᵀ ∈ ℝᴺˣᴺ, Φ ∈ ℝᴺˣᴹ."""
    kernel = Polynomial(2, offset=1.0)
    X, _, phi = _ridge_problem(rng, kernel, features, 40)
    assert phi.shape == (40, kernel.n_dims(2)) == (40, 6)
    assert (phi.T @ phi).shape == (6, 6)
    assert kernel.gram(X).shape == (40, 40)
    np.testing.assert_allclose(kernel.gram(X).dense(), phi @ phi.T, rtol=1e-10, atol=1e-12)


def test_one_kernel_is_easily_replaced_by_another(rng):
    """001, line 439: the dual takes any kernel in the same two lines (here an infinite one)."""
    X, t, lam = rng.normal(size=(15, 2)), rng.normal(size=15), 1e-3
    kernel = Gaussian(0.8)
    a = np.linalg.solve(kernel(X) + lam * np.eye(15), t)
    y = mercer.KernelExpansion(kernel, X, a)
    np.testing.assert_allclose(y(X), t - lam * a, rtol=1e-8, atol=1e-9)


def test_gamma_is_one_over_two_sigma_squared(rng):
    """001, line 455: exp(−‖x − x'‖²/2σ²) = exp(−γ‖x − x'‖²)."""
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    squared = ((X[:, None] - Z) ** 2).sum(-1)
    for sigma in (0.4, 1.0, 2.5):
        gamma = 1 / (2 * sigma**2)
        np.testing.assert_allclose(
            Gaussian.from_gamma(gamma)(X, Z), np.exp(-gamma * squared), rtol=1e-12
        )
        np.testing.assert_allclose(
            Gaussian.from_gamma(gamma)(X, Z), Gaussian(sigma)(X, Z), rtol=1e-12
        )
