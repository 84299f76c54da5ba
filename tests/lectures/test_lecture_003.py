"""Lecture 003: similarities, the dual perceptron's scores, non-linear separators, margins.

The learning loop stands in `test_lecture_003_perceptron.py`.
"""

from __future__ import annotations

import timeit
from itertools import product
from math import inf

import numpy as np
import pytest

import mercer
from mercer.kernels import Cosine, FromFeatures, Gaussian, Linear, Polynomial, Similarity


def _images(rng, n=12, pixels=16):
    """Intensities in [0, 1] as in the lecture, most of the paper white."""
    return np.where(rng.random((n, pixels)) < 0.6, 0.0, rng.random((n, pixels)))


# --- Similarity of images, lines 41-88 ---------------------------------------------------------


def test_an_image_is_a_vector_of_intensities():
    """003, lines 50-57: 1 = ⟨0.0 0.0 0.3 0.8 0.7 0.1 … 0.0⟩, sim(x, y) = Σ xᵢyᵢ."""
    one = np.array([[0.0, 0.0, 0.3, 0.8, 0.7, 0.1, 0.0]])
    other = np.array([[0.0, 0.2, 0.5, 0.5, 0.0, 0.0, 0.9]])
    assert Linear()(one, other).item() == pytest.approx(0.3 * 0.5 + 0.8 * 0.5, rel=1e-14)
    assert Linear()(one).item() == pytest.approx(0.09 + 0.64 + 0.49 + 0.01, rel=1e-14)


def test_similarity_is_zero_without_common_ink_and_one_for_the_same_picture(rng):
    """003, line 59, completed: min = 0 without common ink; max = 1 needs unit length."""
    images = _images(rng)
    left, right = images.copy(), images.copy()
    left[:, 8:], right[:, :8] = 0.0, 0.0
    np.testing.assert_array_equal(Linear()(left, right), np.zeros((12, 12)))
    assert Linear()(images).min() >= 0.0
    assert Linear()(images).max() > 1.0  # as printed, the maximum is not 1
    for unit in (Linear().normalized(), Cosine()):
        K = unit(images)
        assert K.min() >= 0.0
        assert K.max() <= 1.0 + 1e-12
        np.testing.assert_allclose(np.diag(K), 1.0, rtol=1e-12)
        assert np.max(K - np.eye(12)) < 1.0 - 1e-3  # only the same picture reaches 1 …
        # … or the same picture with another exposure
        np.testing.assert_allclose(unit(images[:1], 0.3 * images[:1]), 1.0, rtol=1e-12)


def test_similarity_of_features_and_of_pixels(rng):
    """003, lines 67-73: sim(x, y) = f(x)·f(y) = Σ fᵢ(x)fᵢ(y); with the pixels as f it is x·y."""
    images = _images(rng)

    def rows_and_columns(X):
        pictures = X.reshape(-1, 4, 4)
        return np.hstack([pictures.sum(axis=1), pictures.sum(axis=2)])

    f = rows_and_columns(images)
    by_hand = sum(np.outer(f[:, i], f[:, i]) for i in range(8))
    np.testing.assert_allclose(FromFeatures(rows_and_columns)(images), by_hand, rtol=1e-12)
    np.testing.assert_allclose(
        FromFeatures(lambda X: X)(images), Linear()(images), rtol=1e-12, atol=1e-15
    )


def test_a_shifted_stroke_has_small_similarity_in_r256():
    """003, lines 86-87: 16 × 16 = 256 pixels; moved by its own width a stroke shares no pixel."""
    image = np.zeros((16, 16))
    image[3:13, 7] = 1.0
    moved = np.roll(image, 1, axis=1)
    x, z = image.reshape(1, -1), moved.reshape(1, -1)
    assert x.shape[1] == 256
    assert Linear()(x).item() == 10.0
    assert Linear()(x, z).item() == 0.0
    assert Cosine()(x, z).item() == 0.0
    # as far apart as two pictures of this ink can be
    assert Linear().distance(x, z).item() == pytest.approx(np.sqrt(20), rel=1e-12)


# --- Primal and dual, lines 162-223 ------------------------------------------------------------


def test_weights_are_rebuilt_from_update_counts(rng, features):
    """003, lines 164-174: w_c = Σᵢ α_{i,c} f(xᵢ): the primal from the dual representation."""
    kernel = Polynomial(2, offset=1.0)
    X = rng.integers(-2, 3, size=(8, 2)).astype(float)
    alpha = rng.integers(-2, 3, size=(8, 3)).astype(float)
    f = features(kernel, X)
    w = np.array([sum(alpha[i, c] * f[i] for i in range(8)) for c in range(3)])
    expansion = mercer.KernelExpansion(kernel, X, alpha)
    np.testing.assert_allclose(expansion.primal().T, w, rtol=1e-12, atol=1e-12)


def test_w_c_is_zero_plus_f_x1_minus_f_x5():
    """003, line 168: w_c = 0 + f(x₁) − f(x₅) + …"""
    X = np.arange(12.0).reshape(6, 2)
    counts = np.array([1.0, 0.0, 0.0, 0.0, -1.0, 0.0])
    w = mercer.KernelExpansion(Linear(), X, counts).primal()
    np.testing.assert_array_equal(w, X[0] - X[4])


def test_score_of_a_class_in_four_lines(rng, features):
    """003, lines 180-186 and 211-213: score(c, x) = w_c·f(x) = … = Σᵢ α_{i,c} K(xᵢ, x)."""
    kernel = Polynomial(3, offset=1.0)
    X, Z = rng.normal(size=(8, 2)), rng.normal(size=(5, 2))
    alpha = rng.integers(-3, 4, size=(8, 4)).astype(float)
    f, fz = features(kernel, X), features(kernel, Z)
    w = alpha.T @ f
    lines = [
        fz @ w.T,
        np.array([[(alpha[:, c] @ f) @ z for c in range(4)] for z in fz]),
        np.array([[sum(alpha[i, c] * (f[i] @ z) for i in range(8)) for c in range(4)] for z in fz]),
        kernel(Z, X) @ alpha,
    ]
    score = mercer.KernelExpansion(kernel, X, alpha)(Z)
    assert score.shape == (5, 4)
    for line in lines:
        np.testing.assert_allclose(score, line, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(score.argmax(1), lines[0].argmax(1))


def test_a_black_box_that_tells_the_dot_product_is_enough(rng):
    """003, lines 188 and 207-215: only K is asked for, never the vectors."""
    hidden = {name: rng.normal(size=4) for name in "abcdef"}  # examples are mere names
    box = Similarity(lambda x, z: float(hidden[str(x)] @ hidden[str(z)]))
    names = list("abcdef")
    alpha = rng.integers(-2, 3, size=(6, 3)).astype(float)
    vectors = np.array([hidden[name] for name in names])
    plain = mercer.KernelExpansion(Linear(), vectors, alpha)
    black = mercer.KernelExpansion(box, names, alpha)
    np.testing.assert_allclose(black(names), plain(vectors), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(black(names), vectors @ (vectors.T @ alpha), rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_only_nonzero_alphas_cost_time(rng):
    """003, lines 216 and 222-223: the sum runs over the examples with α ≠ 0."""
    X, Z = rng.normal(size=(50, 3)), rng.normal(size=(7, 3))
    alpha = np.zeros((50, 2))
    alpha[[3, 17, 31]] = [[1.0, -1.0], [0.0, 2.0], [-1.0, 0.0]]
    full = mercer.KernelExpansion(Gaussian(1.0), X, alpha)
    pruned = full.pruned()
    np.testing.assert_array_equal(pruned.points, X[[3, 17, 31]])
    np.testing.assert_allclose(pruned(Z), full(Z), rtol=1e-12, atol=1e-14)
    X, Z = rng.normal(size=(20_000, 3)), rng.normal(size=(500, 3))
    many = mercer.KernelExpansion(Gaussian(1.0), X, np.ones(len(X)))
    few = mercer.KernelExpansion(Gaussian(1.0), X[:200], np.ones(200))
    slow, fast = (min(timeit.repeat(lambda f=f: f(Z), number=1, repeat=5)) for f in (many, few))
    assert slow > 3 * fast


def test_illegal_similarities_are_told_apart():
    """003, lines 228-232: any* similarity may stand in; the fine print is checked by `prove`."""
    legal = mercer.prove(Polynomial(2, offset=1.0))
    illegal = mercer.prove(Similarity(lambda x, z: -float(np.abs(x - z).sum())))
    assert isinstance(legal, mercer.proof.Proof)
    assert isinstance(illegal, mercer.proof.Counterexample)


# --- Non-linear separators and kernels, lines 249-280 -------------------------------------------


def test_a_hard_line_becomes_easy_in_the_plane(separable):
    """003, lines 249-261: mapped to a higher-dimensional space."""
    x = np.array([[-3.0], [-2.0], [-1.0], [0.0], [1.0], [2.0], [3.0]])
    easy, hard = np.sign(x[:, 0] - 0.5), np.where(np.abs(x[:, 0]) > 1.5, 1.0, -1.0)
    assert separable(x, easy)
    assert not separable(x, hard)
    assert separable(Polynomial(2, offset=1.0)(x), hard)


def test_any_distinct_points_become_separable_under_a_narrow_gaussian(rng, separable):
    """003, line 267, completed: always, if no example stands there with both labels."""
    X = rng.normal(size=(30, 2))
    nearest = np.sort(np.linalg.norm(X[:, None] - X, axis=-1), axis=1)[:, 1].min()
    K = Gaussian(sigma=nearest / 4)(X)
    assert np.linalg.matrix_rank(K) == 30
    # nearest neighbors weigh at most e⁻⁸: K is diagonally dominant, so never singular
    assert np.linalg.eigvalsh(K).min() > 1 - 30 * np.exp(-8)
    for _ in range(10):
        y = rng.permutation(np.repeat([1.0, -1.0], 15))
        assert not separable(X, y)
        assert separable(K, y, bias=False)
        alpha = np.linalg.solve(K, y)
        f = mercer.KernelExpansion(Gaussian(sigma=nearest / 4), X, alpha)
        np.testing.assert_allclose(f(X), y, atol=1e-10)


def test_every_labeling_of_five_points_at_any_width(separable):
    """003, line 267: all 30 labelings of five points; the Gaussian is full rank at any width."""
    X = np.array([[0.0], [0.3], [1.0], [1.1], [2.0]])
    K = Gaussian(sigma=0.7)(X)
    assert np.linalg.matrix_rank(K) == 5
    for signs in product([-1.0, 1.0], repeat=5):
        if len(set(signs)) == 2:
            assert separable(K, np.array(signs), bias=False)


def test_the_same_example_with_both_labels_is_never_separable(separable):
    """003, line 267, completed: the exception to "always"."""
    X = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]])
    assert not separable(Gaussian(0.01)(X), np.array([1.0, 1.0, -1.0]))


def test_linear_kernel(integers):
    """003, line 274, corrected: x·x' = Σ xᵢx'ᵢ (printed x'·x')."""
    X, Z = integers[:5], integers[5:]
    by_hand = [[sum(x[i] * z[i] for i in range(2)) for z in Z] for x in X]
    np.testing.assert_array_equal(Linear()(X, Z), by_hand)
    printed = np.broadcast_to((Z * Z).sum(1), (5, 7))
    assert not np.array_equal(Linear()(X, Z), printed)


def test_quadratic_kernel_as_a_double_sum(rng):
    """003, line 275: (x·x' + 1)² = Σᵢⱼ xᵢxⱼx'ᵢx'ⱼ + 2Σᵢ xᵢx'ᵢ + 1."""
    X, Z = rng.integers(-3, 4, (6, 4)).astype(float), rng.integers(-3, 4, (5, 4)).astype(float)
    double = np.einsum("ai,aj,bi,bj->ab", X, X, Z, Z)
    single = np.einsum("ai,bi->ab", X, Z)
    np.testing.assert_array_equal(Polynomial(2, offset=1.0)(X, Z), double + 2 * single + 1)


def test_rbf_has_sigma_one_over_root_two_and_infinite_dimension(rng):
    """003, lines 276-278: exp(−‖x − x'‖²): σ = 1/√2, γ = 1."""
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    squared = ((X[:, None] - Z) ** 2).sum(-1)
    np.testing.assert_allclose(Gaussian(1 / np.sqrt(2))(X, Z), np.exp(-squared), rtol=1e-12)
    np.testing.assert_allclose(Gaussian.from_gamma(1.0)(X, Z), np.exp(-squared), rtol=1e-12)
    assert Gaussian.from_gamma(1.0).sigma == pytest.approx(1 / np.sqrt(2), rel=1e-15)
    assert Gaussian(1 / np.sqrt(2)).n_dims(3) == inf


def test_kernels_map_take_the_dot_product_and_hand_it_back(rng, features):
    """003, line 273: implicitly map, take the dot product there."""
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    for kernel in (Linear(), Polynomial(2, offset=1.0)):
        np.testing.assert_allclose(
            kernel(X, Z), features(kernel, X) @ features(kernel, Z).T, rtol=1e-10, atol=1e-12
        )


# --- Margins, lines 293-316 --------------------------------------------------------------------


def test_distance_to_the_separator_and_the_margin():
    """003, lines 307-309: r = |f(x)|/‖w‖; the margin δ is the full width between the classes."""
    X = np.array([[1.0, 1.0], [3.0, 2.0], [1.0, -2.0], [-1.0, 0.0], [-1.0, 5.0], [-4.0, 0.0]])
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    # x₁ = 0 separates; w = (1, 0) as half the difference of two points at the same height
    f = mercer.KernelExpansion(Linear(), np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([0.5, -0.5]))
    np.testing.assert_array_equal(f.primal(), [1.0, 0.0])
    r = f.margins(X, y)
    np.testing.assert_allclose(r, [1.0, 3.0, 1.0, 1.0, 1.0, 4.0], rtol=1e-12)
    support = np.flatnonzero(np.isclose(r, r.min()))
    np.testing.assert_array_equal(support, [0, 2, 3, 4])
    delta = r[y > 0].min() + r[y < 0].min()
    assert delta == pytest.approx(2.0)
    # not the distance between two support vectors as points, unless they face each other
    assert Linear().distance(X[[0]], X[[3]]).item() == pytest.approx(np.sqrt(5), rel=1e-12)


def test_margins_in_feature_space_are_distances_there(rng, features):
    """003, lines 295 and 307: the same with a kernel: y f(x)/‖w‖, w = Σ αᵢφ(xᵢ)."""
    kernel = Polynomial(2, offset=1.0)
    points, alpha = rng.normal(size=(5, 2)), rng.normal(size=5)
    X, y = rng.normal(size=(9, 2)), rng.choice([-1.0, 1.0], 9)
    f = mercer.KernelExpansion(kernel, points, alpha, intercept=0.4)
    w = alpha @ features(kernel, points)
    expected = y * (features(kernel, X) @ w + 0.4) / np.linalg.norm(w)
    np.testing.assert_allclose(f.margins(X, y), expected, rtol=1e-9, atol=1e-10)
