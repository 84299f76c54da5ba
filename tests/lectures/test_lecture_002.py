"""Lecture 002: perceptron, features and preprocessing, kernels and Mercer's theorem.

The learning loops and their convergence stand in `test_lecture_002_perceptron.py`.
"""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.interpolate import BSpline as SciPySpline
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

import mercer
from mercer.kernels import (
    BSpline,
    FromFeatures,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    Polynomial,
    Similarity,
    Uniform,
)
from mercer.maps import NystromMap, PolarMap, PolynomialMap

XOR = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
XOR_LABELS = np.array([1.0, -1.0, 1.0, -1.0])


# --- The perceptron's function, lines 105-146 --------------------------------------------------


def test_a_neuron_is_a_weighted_sum(rng):
    """002, lines 109-119: f(x) = Σ wᵢxᵢ = ⟨w, x⟩, then σ(⟨w, x⟩ + b)."""
    w, b = np.array([0.5, -2.0, 1.0]), 0.25
    neuron = mercer.KernelExpansion(Linear(), w[None, :], np.ones(1), intercept=b)
    X = rng.normal(size=(6, 3))
    np.testing.assert_allclose(neuron(X), [sum(w * x) + b for x in X], rtol=1e-12)
    np.testing.assert_array_equal(np.sign(neuron(X)), np.sign(X @ w + b))


def test_weights_sum_the_mistakes_and_a_mistake_may_count_twice(rng):
    """002, lines 145-146, corrected: w = Σ yᵢxᵢ over the *list* of errors, repeats included."""
    X, y, b = rng.integers(-3, 4, size=(5, 3)).astype(float), np.array([1.0, -1, 1, -1, 1]), 2.0
    errors = [0, 3, 0, 1, 0]  # example 0 erred three times
    w = sum(y[i] * X[i] for i in errors)
    counts = np.bincount(errors, minlength=5)
    f = mercer.KernelExpansion(Linear(), X, counts * y, intercept=b)
    np.testing.assert_array_equal(f.primal(), w)
    Z = rng.integers(-3, 4, size=(7, 3)).astype(float)
    np.testing.assert_array_equal(f(Z), sum(y[i] * (Z @ X[i]) for i in errors) + b)
    as_a_set = mercer.KernelExpansion(Linear(), X, (counts > 0) * y, intercept=b)
    assert not np.allclose(as_a_set(Z), f(Z))


# --- XOR and quadratic features, lines 229-273 and 424-443 -------------------------------------


def test_xor_is_not_linearly_separable_and_three_dimensions_solve_it(features, separable):
    """002, lines 233-234 and 428-429."""
    assert not separable(XOR, XOR_LABELS)
    mapped = features(Polynomial(2), XOR)
    assert mapped.shape == (4, 3)
    assert separable(mapped, XOR_LABELS)
    # trivially: the one column √2 x₁x₂ is the answer
    np.testing.assert_allclose(mapped[:, 1], np.sqrt(2) * XOR_LABELS)


def test_code_in_inner_products_runs_on_features_by_query_replace(rng, features):
    """002, lines 262-266: ⟨x, x'⟩ → ⟨φ(x), φ(x')⟩, and the solution lies in the span of φ(xᵢ)."""
    X, alpha = rng.normal(size=(5, 2)), rng.normal(size=5)
    kernel = Polynomial(2, offset=1.0)
    np.testing.assert_allclose(Linear()(features(kernel, X)), kernel(X), rtol=1e-11, atol=1e-12)
    w = mercer.KernelExpansion(kernel, X, alpha).primal()
    found = np.linalg.lstsq(features(kernel, X).T, w, rcond=None)[0]
    np.testing.assert_allclose(features(kernel, X).T @ found, w, atol=1e-10)


CONICS = {
    "circle": lambda x, y: x**2 + y**2 - 2.0,
    "hyperbola": lambda x, y: x * y - 0.5,
    "another hyperbola": lambda x, y: x**2 - 2 * y**2 - 1.0,
    "parabola": lambda x, y: y - x**2 + 0.25,
    "line": lambda x, y: 2 * x - y + 0.5,
}


@pytest.mark.parametrize("name", CONICS)
def test_separating_surfaces_of_quadratic_features(name, rng):
    """002, lines 268-273: circles, hyperbolae, parabolae are zero sets of quadratic expansions."""
    points = rng.normal(size=(6, 2))  # six points in general position span the six features
    kernel = Polynomial(2, offset=1.0)
    alpha = np.linalg.solve(kernel(points), CONICS[name](*points.T))
    f = mercer.KernelExpansion(kernel, points, alpha)
    Z = rng.normal(size=(50, 2))
    np.testing.assert_allclose(f(Z), CONICS[name](*Z.T), rtol=1e-6, atol=1e-6)


def test_no_quadratic_surface_is_a_cubic(rng):
    """002, line 272: what the list leaves out is out of reach: y = x³ is no quadratic surface."""
    X = rng.normal(size=(40, 2))
    phi = PolynomialMap(degree=2, offset=1.0).fit_transform(X)
    target = X[:, 1] - X[:, 0] ** 3
    fitted = phi @ np.linalg.lstsq(phi, target, rcond=None)[0]
    assert np.abs(fitted - target).max() > 0.1


def test_quadratic_features_in_the_plane(integers, features):
    """002, lines 433-439: Φ(x) = (x₁², √2x₁x₂, x₂²), ⟨Φ(x), Φ(x')⟩ = ⟨x, x'⟩², in this order."""
    x1, x2 = integers.T
    phi = np.column_stack([x1**2, np.sqrt(2) * x1 * x2, x2**2])
    np.testing.assert_allclose(features(Polynomial(2), integers), phi, rtol=1e-13)
    np.testing.assert_allclose(PolynomialMap(degree=2).fit_transform(integers), phi, rtol=1e-13)
    np.testing.assert_allclose(phi @ phi.T, (integers @ integers.T) ** 2, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_the_trick_works_for_any_order(d, rng, features):
    """002, line 443: ⟨x, x'⟩^d."""
    X, Z = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    kernel = Polynomial(d)
    np.testing.assert_allclose(kernel(X, Z), (X @ Z.T) ** d, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(
        features(kernel, X) @ features(kernel, Z).T, kernel(X, Z), rtol=1e-9, atol=1e-12
    )


def test_second_order_features_of_1000_inputs_are_500_500_numbers():
    """002, line 457: 5·10⁵ numbers, exactly 500 500; higher orders are much worse."""
    assert Polynomial(2).n_dims(1000) == 500_500
    row = PolynomialMap(degree=2).fit_transform(np.ones((1, 1000)))
    assert row.shape == (1, 500_500)
    assert (row**2).sum() == pytest.approx(1000.0**2, rel=1e-12)
    assert Polynomial(3).n_dims(1000) == 167_167_000
    assert Polynomial(4).n_dims(1000) == 41_917_125_250


# --- Features by hand, lines 275-282 and 356-370 -----------------------------------------------

OCR = {  # loops, 3 joints, 4 joints, angles, ink
    "1": (0, 0, 0, 0, 1),
    "2": (0, 0, 0, 1, 2),
    "3": (0, 0, 0, 1, 2),
    "4": (1, 0, 1, 1, 2),
    "5": (0, 0, 0, 1, 2),
    "6": (1, 1, 0, 0, 2),
    "7": (0, 0, 0, 1, 1),
    "8": (2, 0, 1, 0, 3),
    "9": (1, 1, 0, 0, 2),
    "0": (1, 0, 0, 0, 2),
}


def test_the_naive_ocr_table_leaves_2_3_5_and_6_9_alike():
    """002, lines 275-282: five features per digit; very naive, since two groups coincide."""
    digits = list(OCR)
    distance = Linear().distance(np.array([OCR[d] for d in digits], dtype=float))
    alike = {
        frozenset((digits[i], digits[j]))
        for i in range(10)
        for j in range(i)
        if distance[i, j] < 1e-9
    }
    pairs = ("23", "25", "35", "69")
    assert alike == {frozenset(pair) for pair in pairs}


def _spirals(omega, n=60):
    """Two arms, half a turn apart: φ = ωr and φ = ωr + π, in the lecture's coordinates."""
    r = np.linspace(0.5, 6.0, n)
    arm = np.column_stack([r * np.sin(omega * r), r * np.cos(omega * r)])
    return np.vstack([arm, -arm]), np.repeat([1.0, -1.0], n), r


def test_polar_coordinates_as_the_lecture_writes_them(rng):
    """002, line 360: (x₁, x₂) = (r sin φ, r cos φ)."""
    r, phi = rng.uniform(0.1, 3, 40), rng.uniform(-np.pi, np.pi, 40)
    X = np.column_stack([r * np.sin(phi), r * np.cos(phi)])
    polar = PolarMap().fit_transform(X)
    np.testing.assert_allclose(polar, np.column_stack([r, phi]), rtol=1e-12, atol=1e-12)
    # φ = 0 points along x₂, a quarter turn along x₁
    np.testing.assert_allclose(
        PolarMap().fit_transform([[0.0, 1.0], [1.0, 0.0]]), [[1.0, 0.0], [1.0, np.pi / 2]]
    )


@pytest.mark.parametrize("omega", [1.0, 2.0, 3.5])
def test_two_interlocking_spirals_become_linear(omega, separable):
    """002, lines 358-360: after cos and sin of φ − ωr a line separates the arms."""
    X, y, _ = _spirals(omega)
    assert not separable(X, y)
    r, phi = PolarMap().fit_transform(X).T
    unwound = np.column_stack([np.cos(phi - omega * r), np.sin(phi - omega * r)])
    assert separable(unwound, y)
    np.testing.assert_allclose(unwound[:, 0], y, atol=1e-12)
    wound = PolarMap(winding=omega).fit_transform(X)
    np.testing.assert_allclose(wound, unwound, atol=1e-12)
    assert separable(Linear().warp(PolarMap(winding=omega).fit(X).transform)(X), y)


def test_radius_and_angle_alone_do_not_separate_the_spirals(separable):
    """002, lines 358-360: (r, φ) itself is not enough, the angle must be unwound."""
    X, y, _ = _spirals(2.0)
    assert not separable(PolarMap().fit_transform(X), y)


def test_zero_mean_unit_variance_fixes_the_scale(rng):
    """002, line 369: weight against income: in a pipeline the unit of a column is irrelevant."""
    people = np.column_stack([rng.normal(70, 12, 60), rng.normal(40_000, 9_000, 60)])
    grams = people * [1000.0, 1.0]
    kernel, raw = Gaussian(1.0), Gaussian(10_000.0)
    assert not np.allclose(raw(people), raw(grams), atol=0.1)  # kilograms or grams: it matters
    scaled = StandardScaler().fit_transform(people)
    np.testing.assert_allclose(scaled.mean(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(0), 1.0, rtol=1e-12)
    pipeline = make_pipeline(StandardScaler(), NystromMap(kernel, n_components=60))
    first, second = pipeline.fit_transform(people), pipeline.fit_transform(grams)
    np.testing.assert_allclose(first @ first.T, second @ second.T, atol=1e-9)
    np.testing.assert_allclose(first @ first.T, kernel(scaled), atol=1e-9)


def test_probability_integral_transform(rng):
    """002, line 370, corrected: the transform is the CDF, x → F(x), and not its inverse."""
    income = np.sort(np.exp(rng.normal(10, 1.0, 101)))[:, None]
    transform = QuantileTransformer(n_quantiles=101)
    uniform = transform.fit_transform(income)
    np.testing.assert_allclose(uniform[:, 0], np.linspace(0, 1, 101), atol=1e-9)  # F(x)
    # any increasing change of unit, the logarithm say, is undone
    pipeline = make_pipeline(QuantileTransformer(n_quantiles=101), NystromMap(Gaussian(0.3), None))
    first, second = pipeline.fit_transform(income), pipeline.fit_transform(np.log(income))
    np.testing.assert_allclose(first @ first.T, second @ second.T, atol=1e-9)
    # the inverse CDF leads back, and is no fixed scale
    np.testing.assert_allclose(transform.inverse_transform(uniform), income, rtol=1e-9)


# --- Definition and conditions, lines 463-543 --------------------------------------------------


def test_a_kernel_is_symmetric_and_a_dot_product(rng, features):
    """002, lines 465-467 and 521: k(x, x') = k(x', x) = ⟨Φ(x), Φ(x')⟩."""
    X, Z = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    for kernel in (Linear(), Polynomial(3, offset=1.0), Gaussian(0.7), Laplacian(0.5), BSpline(3)):
        np.testing.assert_allclose(kernel(X, Z), kernel(Z, X).T, rtol=1e-12, atol=1e-15)
    kernel = Polynomial(3, offset=1.0)
    np.testing.assert_allclose(
        features(kernel, X) @ features(kernel, Z).T, kernel(X, Z), rtol=1e-10
    )


def test_an_asymmetric_function_is_refuted():
    """002, lines 465 and 521: without symmetry no Φ exists."""
    refuted = mercer.prove(Similarity(lambda x, z: float(x[0] + 2 * z[0])), n_features=1)
    assert isinstance(refuted, mercer.proof.Counterexample)
    assert refuted.kind == "asymmetric"


@pytest.mark.parametrize("c", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_polynomial_kernel_as_a_binomial_sum(c, d, rng):
    """002, lines 495-507 and 602: (⟨x, x'⟩ + c)^d = Σᵢ C(d, i) ⟨x, x'⟩ⁱ c^(d−i), c > 0 or c ≥ 0."""
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(5, 3))
    kernel = Polynomial(d, offset=c)
    summed = Linear().polynomial([comb(d, i) * c ** (d - i) for i in range(d + 1)])
    np.testing.assert_allclose(kernel(X, Z), (X @ Z.T + c) ** d, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(summed(X, Z), kernel(X, Z), rtol=1e-9, atol=1e-11)
    assert isinstance(mercer.prove(kernel), mercer.proof.Proof)
    assert isinstance(mercer.prove(summed), mercer.proof.Proof)  # the proof strategy of the lecture


def test_a_negative_offset_breaks_the_polynomial_kernel():
    """002, lines 497 and 602: what the condition on c is for."""
    refuted = mercer.prove(Polynomial(2, offset=-1.0), n_features=2)
    assert isinstance(refuted, mercer.proof.Counterexample)
    c = np.asarray(refuted.vector, dtype=float)
    assert c @ (refuted.points @ np.transpose(refuted.points) - 1.0) ** 2 @ c < 0


def test_mercers_expansion_on_a_sample(rng):
    """002, line 537: k(x, x') = Σ λᵢφᵢ(x)φᵢ(x'): on all points of a sample, exactly."""
    X = rng.normal(size=(40, 2))
    for kernel in (Gaussian(1.0), Laplacian(0.7), Polynomial(2, offset=1.0)):
        K = kernel(X)
        values, vectors = np.linalg.eigh(K)
        assert values.min() > -1e-10 * values.max()  # λᵢ ≥ 0
        np.testing.assert_allclose((vectors * values) @ vectors.T, K, atol=1e-11 * values.max())
        phi = NystromMap(kernel, n_components=len(X)).fit_transform(X)
        np.testing.assert_allclose(phi @ phi.T, K, atol=1e-11 * K.max())


def test_mercers_expansion_of_the_minimum():
    """002, lines 531-537: min(x, x') on [0, 1]: λᵢ = ((i − ½)π)⁻², φᵢ = √2 sin((i − ½)πx)."""
    grid = (np.arange(300) + 0.5) / 300
    K = Intersection()(grid[:, None])
    np.testing.assert_array_equal(K, np.minimum.outer(grid, grid))
    frequency = (np.arange(1, 4001) - 0.5) * np.pi
    phi = np.sqrt(2) * np.sin(np.outer(grid, frequency))
    np.testing.assert_allclose((phi / frequency**2) @ phi.T, K, atol=1e-4)
    # the sample's eigenvalues over n are the theorem's
    sampled = NystromMap(Intersection(), n_components=None).fit(grid[:, None])
    np.testing.assert_allclose(sampled.eigenvalues_[:5] / 300, frequency[:5] ** -2, rtol=1e-3)


def test_the_double_integral_is_a_matrix_product_in_the_limit():
    """002, lines 533 and 541-543: ∫∫ k f f dx dx' ≥ 0, with min: ∫∫ min(x, x') = 1/3."""
    n = 400
    grid = ((np.arange(n) + 0.5) / n)[:, None]
    gram = Intersection().gram(grid)
    one = np.ones(n)
    assert one @ (gram @ one) / n**2 == pytest.approx(1 / 3, rel=1e-5)
    for f in (np.sin(7 * grid[:, 0]), np.sign(grid[:, 0] - 0.4), 1 - 3 * grid[:, 0]):
        assert f @ (gram @ f) / n**2 >= 0


def test_the_double_integral_of_the_indicator_is_negative():
    """002, lines 533 and 583: for f = cos(4.5x) the condition fails, sin(4.5)/4.5 < 0."""
    grid = np.arange(0.0, 40.0, 0.02)[:, None]
    box = Similarity(lambda X, Z: (np.abs(X - Z.T) <= 1).astype(float), blocks=True)
    f = np.cos(4.5 * grid[:, 0])
    integral = f @ (box.gram(grid) @ f) * 0.02**2
    # ½·40 · ∫ box(t) cos(4.5 t) dt = 20 · 2 sin(4.5)/4.5
    assert integral == pytest.approx(40 * np.sin(4.5) / 4.5, rel=0.05)
    assert integral < 0


# --- Properties, lines 545-577 ----------------------------------------------------------------

FINITE = [Linear(), Polynomial(2), Polynomial(3, offset=1.0), Linear() + Linear() ** 2]


@pytest.mark.parametrize("kernel", FINITE, ids=repr)
def test_distance_in_feature_space(kernel, rng, features):
    """002, lines 549-551: d(x, x')² = k(x, x) + k(x', x') − 2k(x, x')."""
    X, Z = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    explicit = np.linalg.norm(features(kernel, X)[:, None] - features(kernel, Z), axis=-1)
    np.testing.assert_allclose(kernel.distance(X, Z), explicit, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", FINITE, ids=repr)
def test_kernel_matrix(kernel, rng, features):
    """002, lines 555-563: Kᵢⱼ = ⟨Φ(xᵢ), Φ(xⱼ)⟩, the overlap of Φ(xᵢ) and Φ(xⱼ)."""
    X = rng.normal(size=(7, 2))
    phi = features(kernel, X)
    K = kernel(X)
    for i in range(7):
        for j in range(7):
            assert K[i, j] == pytest.approx(phi[i] @ phi[j], rel=1e-9, abs=1e-12)
    # the overlap, as an angle: normalized it lies in [−1, 1] and is 1 for a point with itself
    cosine = kernel.normalized()(X)
    assert np.abs(cosine).max() <= 1 + 1e-12
    np.testing.assert_allclose(np.diag(cosine), 1.0, rtol=1e-12)


@pytest.mark.parametrize("kernel", FINITE, ids=repr)
def test_the_kernel_matrix_is_positive_semidefinite(kernel, rng, features):
    """002, lines 569-571: Σ αᵢαⱼKᵢⱼ = ‖Σ αᵢΦ(xᵢ)‖² ≥ 0."""
    X = rng.normal(size=(9, 2))
    for alpha in rng.normal(size=(5, 9)):
        quadratic = alpha @ kernel(X) @ alpha
        w = alpha @ features(kernel, X)
        assert quadratic == pytest.approx(w @ w, rel=1e-9)
        expansion = mercer.KernelExpansion(kernel, X, alpha)
        assert expansion.squared_norm == pytest.approx(w @ w, rel=1e-9)


@pytest.mark.parametrize("kernel", FINITE, ids=repr)
def test_kernel_expansion(kernel, rng, features):
    """002, line 577: ⟨w, Φ(x)⟩ = ⟨Σ αᵢΦ(xᵢ), Φ(x)⟩ = Σ αᵢk(xᵢ, x)."""
    X, alpha, Z = rng.normal(size=(9, 2)), rng.normal(size=9), rng.normal(size=(6, 2))
    w = alpha @ features(kernel, X)
    f = mercer.KernelExpansion(kernel, X, alpha)
    np.testing.assert_allclose(f(Z), features(kernel, Z) @ w, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(f(Z), sum(alpha[i] * kernel(X[i : i + 1], Z)[0] for i in range(9)))


# --- A counterexample, lines 579-593 -----------------------------------------------------------


def _indicator(x, z):
    """1 if ‖x − z‖ ≤ 1, else 0."""
    return 1.0 if np.linalg.norm(np.atleast_1d(x) - np.atleast_1d(z)) <= 1 else 0.0


def test_the_indicator_matrix_and_its_eigenvalues():
    """002, lines 583-591: x = 1, 2, 3: eigenvalues (√2 − 1)⁻¹ = 1 + √2, 1 and 1 − √2."""
    K = Similarity(_indicator)(np.array([[1.0], [2.0], [3.0]]))
    np.testing.assert_array_equal(K, [[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    root = np.sqrt(2)
    np.testing.assert_allclose(np.linalg.eigvalsh(K), [1 - root, 1, 1 + root], rtol=1e-14)
    assert 1 / (root - 1) == pytest.approx(1 + root, rel=1e-15)


def test_prove_refutes_the_indicator_given_only_the_function():
    """002, lines 585 and 593: symmetric, yet not a kernel; found without being told the points."""
    for candidate in (Similarity(_indicator), _indicator):
        refuted = mercer.prove(candidate)
        assert isinstance(refuted, mercer.proof.Counterexample)
        assert refuted.kind == "indefinite"
        points = np.asarray(refuted.points, dtype=float)
        K = np.array([[_indicator(x, z) for z in points] for x in points])
        c = np.asarray(refuted.vector, dtype=float)
        assert c @ K @ c < 0
        assert c @ K @ c == pytest.approx(refuted.value, rel=1e-9)
        assert len(points) == 3  # as few as in the lecture: no two points will do


def test_prove_refutes_the_box_of_the_library():
    """002, lines 583-593: the same function as a leaf."""
    X = np.array([[1.0], [2.0], [3.0]])
    np.testing.assert_array_equal(Uniform()(X), [[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    assert isinstance(mercer.prove(Uniform(), n_features=1), mercer.proof.Counterexample)


def test_nice_and_useful_functions_are_smooth_ones(rng):
    """002, lines 515-517: ‖f‖² of the Gaussian is small for smooth values, large for noise."""
    X = np.linspace(0, 1, 15)[:, None]
    norms = []
    for t in (np.sin(2 * np.pi * X[:, 0]), rng.permutation(np.sin(2 * np.pi * X[:, 0]))):
        f = mercer.KernelRidge(Gaussian(0.1), alpha=1e-8, fit_intercept=False).fit(X, t).expansion_
        np.testing.assert_allclose(f(X), t, atol=1e-3)
        norms.append(float(f.squared_norm))
    assert norms[1] > 20 * norms[0]


# --- Examples and their Fourier transforms, lines 595-628 ---------------------------------------


def _spline(degree, t):
    """The centered cardinal B-spline from another library."""
    knots = np.arange(degree + 2) - (degree + 1) / 2
    return np.nan_to_num(SciPySpline.basis_element(knots, extrapolate=False)(t))


def test_the_table_of_kernels_by_formula(rng):
    """002, lines 599-603: linear, Laplacian, Gaussian (rate λ), polynomial, B-spline."""
    X, Z = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    dot, distance = X @ Z.T, np.linalg.norm(X[:, None] - Z, axis=-1)
    lam = 0.6
    np.testing.assert_allclose(Linear()(X, Z), dot, rtol=1e-12)
    np.testing.assert_allclose(Laplacian(rate=lam)(X, Z), np.exp(-lam * distance), rtol=1e-11)
    np.testing.assert_allclose(
        Gaussian.from_gamma(lam)(X, Z), np.exp(-lam * distance**2), rtol=1e-11
    )
    for c, d in ((0.0, 2), (1.0, 3)):
        np.testing.assert_allclose(
            Polynomial(d, offset=c)(X, Z), (dot + c) ** d, rtol=1e-10, atol=1e-12
        )
    t = np.linspace(-4, 4, 161)[:, None]
    for degree in (1, 3, 5):
        values = BSpline(degree)(t, np.zeros((1, 1)))[:, 0]
        np.testing.assert_allclose(values, _spline(degree, t[:, 0]), rtol=1e-10, atol=1e-13)
    # with several columns, the product over them
    columns = _spline(3, X[:, None, 0] - Z[:, 0]) * _spline(3, X[:, None, 1] - Z[:, 1])
    np.testing.assert_allclose(BSpline(3)(X, Z), columns, rtol=1e-9, atol=1e-13)


def test_b3_is_the_cubic_written_out():
    """002, lines 603 and 626: B₃(t) = ⅔ − t² + |t|³/2 up to 1, (2 − |t|)³/6 up to 2, then 0."""
    t = np.linspace(-3, 3, 121)
    a = np.abs(t)
    by_hand = np.where(a < 1, 2 / 3 - a**2 + a**3 / 2, np.maximum(2 - a, 0) ** 3 / 6)
    values = BSpline(3)(t[:, None], np.zeros((1, 1)))[:, 0]
    np.testing.assert_allclose(values, by_hand, atol=1e-13)


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Laplacian(0.6),
        Gaussian.from_gamma(0.6),
        Polynomial(3),
        Polynomial(3, offset=1.0),
        BSpline(1),
        BSpline(3),
        BSpline(5),
    ],
    ids=repr,
)
def test_the_table_of_kernels_is_proved_and_psd(kernel, rng, smallest_eigenvalue):
    """002, lines 597-603: all are kernels, at one, two and four inputs."""
    for n_features in (1, 2, 4):
        assert isinstance(mercer.prove(kernel, n_features=n_features), mercer.proof.Proof)
        assert smallest_eigenvalue(kernel(rng.normal(size=(30, n_features)))) > -1e-12


def test_conditional_expectation_is_a_kernel_of_features(rng, smallest_eigenvalue):
    """002, line 604: E_c[p(x|c) p(x'|c)] is the dot product of √P(c) p(x|c)."""
    weight, center, width = np.array([0.2, 0.5, 0.3]), np.array([-2.0, 0.0, 3.0]), 0.8

    def density(X):
        return np.exp(-((X - center) ** 2) / (2 * width**2)) / (width * np.sqrt(2 * np.pi))

    kernel = FromFeatures(lambda X: np.sqrt(weight) * density(X))
    X, Z = rng.normal(size=(8, 1)), rng.normal(size=(6, 1))
    expected = sum(p * np.outer(density(X)[:, c], density(Z)[:, c]) for c, p in enumerate(weight))
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12)
    assert smallest_eigenvalue(kernel(X)) > -1e-12
    assert isinstance(mercer.prove(kernel), mercer.proof.Proof)


@pytest.mark.parametrize(
    "kernel", [Laplacian(1.0), Gaussian(1.0), BSpline(1), BSpline(3), BSpline(5)], ids=repr
)
def test_fourier_transform_is_nonnegative(kernel):
    """002, lines 606-608, 614, 618, 626: Laplacian, Gaussian and B₃ pass the simple trick."""
    check = mercer.proof.fourier_check(kernel, 1)
    assert check.passes


@pytest.mark.parametrize("kernel", [Uniform(), BSpline(2), BSpline(4)], ids=repr)
def test_fourier_transform_of_the_box_and_even_splines_dips_below_zero(kernel):
    """002, lines 583, 603 and 608: the indicator fails, and so do the even B-splines."""
    assert not mercer.proof.fourier_check(kernel, 1).passes


CLOSED_FORMS = [
    (Laplacian(0.7), lambda w: 2 * 0.7 / (0.7**2 + w**2)),
    (Gaussian(1.5), lambda w: np.sqrt(2 * np.pi) * 1.5 * np.exp(-((1.5 * w) ** 2) / 2)),
    (BSpline(1), lambda w: np.sinc(w / (2 * np.pi)) ** 2),
    (BSpline(3), lambda w: np.sinc(w / (2 * np.pi)) ** 4),
    (BSpline(2), lambda w: np.sinc(w / (2 * np.pi)) ** 3),
    (Uniform(), lambda w: 2 * np.sinc(w / np.pi)),
]


@pytest.mark.parametrize(("kernel", "transform"), CLOSED_FORMS, ids=lambda v: repr(v)[:20])
def test_the_fourier_transforms_have_their_closed_forms(kernel, transform):
    """002, line 608: 2λ/(λ² + ω²), √(2π)σe^(−σ²ω²/2), sinc⁴(ω/2) for B₃, 2 sin ω/ω for the box."""
    check = mercer.proof.fourier_check(kernel, 1)
    np.testing.assert_allclose(check.spectrum, transform(check.frequencies), atol=1e-7)


def test_the_box_first_turns_negative_beyond_pi():
    """002, lines 583 and 608: 2 sin ω/ω < 0 for π < ω < 2π, lowest at ω = 4.4934."""
    check = mercer.proof.fourier_check(Uniform(), 1)
    assert np.pi < check.negative_at[0] < np.pi + 0.3
    assert check.minimum_at == pytest.approx(4.4934, abs=0.15)
    assert check.minimum == pytest.approx(2 * np.cos(4.493409457909064), rel=1e-2)


def test_the_fourier_trick_is_for_translation_invariant_kernels_only():
    """002, line 608, corrected: linear and polynomial kernels have no such transform."""
    for kernel in (Linear(), Polynomial(3)):
        with pytest.raises((ValueError, TypeError)):
            mercer.proof.fourier_check(kernel, 1)


def test_the_shapes_of_the_five_pictures():
    """002, lines 610-628: k(x, 1) along x: a line, a cusp, a bell, a cubic, a bump that ends."""
    x = np.linspace(-4.0, 6.0, 201)[:, None]
    at = np.ones((1, 1))
    step = 0.05
    linear, cubic = Linear()(x, at)[:, 0], Polynomial(3)(x, at)[:, 0]
    laplacian, gaussian = Laplacian(1.0)(x, at)[:, 0], Gaussian(1.0)(x, at)[:, 0]
    spline = BSpline(3)(x, at)[:, 0]
    np.testing.assert_allclose(np.diff(linear, 2), 0.0, atol=1e-12)  # straight
    np.testing.assert_allclose(np.diff(cubic, 4), 0.0, atol=1e-9)  # third degree …
    assert np.abs(np.diff(cubic, 3)).min() > 1e-4  # … and no less
    for bump in (laplacian, gaussian, spline):
        assert bump.argmax() == 100  # at x = 1
        np.testing.assert_allclose(bump, bump[::-1], atol=1e-12)
        assert np.all(np.diff(bump[:101]) >= 0)
    # the Laplacian has a corner at the top (slopes ±1), the others are smooth there
    slopes = {id(b): (b[101] - b[100]) / step for b in (laplacian, gaussian, spline)}
    assert slopes[id(laplacian)] == pytest.approx(-1.0, abs=0.03)
    assert abs(slopes[id(gaussian)]) < 0.03
    assert abs(slopes[id(spline)]) < 0.05
    # only the spline ends, two units away
    away = np.abs(x[:, 0] - 1) >= 2
    np.testing.assert_allclose(spline[away], 0.0, atol=1e-15)
    assert gaussian.min() > 0
    assert laplacian.min() > 0
