"""Kernels on images: tangent distance by least squares, the best and the mean over motions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage
from sklearn.datasets import load_digits

import mercer
from mercer import Gaussian, KernelNeighborsClassifier, Linear
from mercer.kernels import Jittered, RotationInvariant, Similarity, TangentDistance
from mercer.kernels.images.pixels import moved
from mercer.kernels.images.tangent import TRANSFORMS, tangents
from mercer.testing import check_kernel


def images(n, height=8, width=7, seed=0):
    """Smooth random images: their tangents mean something."""
    noise = np.random.default_rng(seed).standard_normal((n, height, width))
    return ndimage.gaussian_filter(noise, (0, 1, 1)).reshape(n, -1) * 3


def by_least_squares(x, z, A, B):
    basis = np.vstack([A, B]).T
    a = np.linalg.lstsq(basis, x - z, rcond=None)[0]
    return np.linalg.norm(x - z - basis @ a)


@pytest.mark.parametrize("names", [TRANSFORMS, ("shift",), ("rotate", "thickness")])
def test_two_sided_distance_is_a_least_squares_problem(names):
    X, Z = images(6), images(5, seed=1)
    A, B = (tangents(v, (8, 7), names).reshape(len(v), -1, 56) for v in (X, Z))
    expected = [
        [by_least_squares(x, z, a, b) for z, b in zip(Z, B, strict=True)]
        for x, a in zip(X, A, strict=True)
    ]
    k = TangentDistance(8, 7, transforms=names)
    np.testing.assert_allclose(k.tangent_distance(X, Z), expected, rtol=1e-3, atol=1e-3)
    single = k.tangent_distance(X.astype(np.float32), Z.astype(np.float32))
    np.testing.assert_allclose(single, expected, rtol=2e-3, atol=2e-3)


def test_one_sided_distance_moves_the_first_image_only():
    X, Z = images(4), images(3, seed=1)
    A = tangents(X, (8, 7)).reshape(4, -1, 56)
    k = TangentDistance(8, 7, sides=1)
    expected = [[by_least_squares(x, z, a, a[:0]) for z in Z] for x, a in zip(X, A, strict=True)]
    np.testing.assert_allclose(k.tangent_distance(X, Z), expected, rtol=1e-3, atol=1e-3)
    there, back = k.tangent_distance(X[:1], Z[:1]), k.tangent_distance(Z[:1], X[:1])
    assert abs(there - back) > 1e-3


def test_tangents_are_derivatives_of_the_motions():
    spot = ndimage.gaussian_filter(np.pad(np.ones((6, 3)), 10), 2.0)
    T = tangents(spot, spot.shape, blur=0.5)[0]
    step = 0.05
    right = ndimage.shift(spot, (0, step), order=3) - spot
    down = ndimage.shift(spot, (step, 0), order=3) - spot
    # Interpolation blurs both turns alike.
    turned = ((moved(spot.shape, 2.0) - moved(spot.shape, -2.0)) @ spot.ravel()).reshape(T[2].shape)
    for tangent, change in ((T[0], right), (T[1], down), (T[2], turned)):
        cosine = np.sum(tangent * change) / np.linalg.norm(tangent) / np.linalg.norm(change)
        assert cosine > 0.99


def test_small_motions_cost_little_and_large_ones_do_not():
    stroke = ndimage.gaussian_filter(np.pad(np.ones((10, 2)), ((5, 5), (9, 9))), 1.5)
    near = ndimage.shift(stroke, (0, 1), order=1)
    far = ndimage.shift(stroke, (0, 8), order=1)
    k = TangentDistance(20, 20)
    plain = np.linalg.norm(stroke - near)
    distances = k.tangent_distance(stroke[None], np.stack([near, far]))[0]
    assert distances[0] < 0.25 * plain
    assert distances[1] > 0.6 * np.linalg.norm(stroke - far)


def test_distance_is_symmetric_zero_on_the_diagonal_and_below_euclid():
    X = images(9)
    k = TangentDistance(8, 7)
    D = k.tangent_distance(X)
    np.testing.assert_allclose(D, D.T, atol=1e-6)
    assert not D.diagonal().any()
    assert (Linear().distance(X) + 1e-9 >= D).all()
    np.testing.assert_allclose(k.distance(X), D, atol=1e-6)
    assert not k.tangent_distance(X[:1], X[:1].copy()).any()


def test_blank_images_have_no_tangents():
    blank = np.zeros((2, 56))
    X = images(2)
    k = TangentDistance(8, 7)
    assert not k.tangent_distance(blank).any()
    assert np.isfinite(k.tangent_distance(X, blank)).all()


KERNELS = [
    TangentDistance(4, 4, sigma=2.0),
    TangentDistance(4, 4),
    RotationInvariant(Gaussian(0.5), [0, 90]),
    RotationInvariant(Linear()),
    Jittered(Gaussian(2.0), angles=[0, 20]),
    Jittered(Linear(), shifts=0, angles=[0, 90, 180, 270]),
]


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_contract(k):
    check_kernel(k, np.random.default_rng(0).random((8, 16)))


def test_what_is_proved_and_what_is_refuted():
    assert isinstance(Jittered(Gaussian(2.0)).prove(n_features=16), mercer.proof.Proof)
    assert Jittered(Similarity(np.dot)).claim().holds is None
    # That of the best over rotations is in the tests of lecture 003.
    assert isinstance(TangentDistance(4, 4).prove(n_features=16), mercer.proof.Counterexample)
    assert TangentDistance(4, 4, sigma=1.0).claim().holds is None


def test_one_side_is_no_kernel():
    with pytest.raises(ValueError, match="order of its arguments"):
        TangentDistance(4, 4, sides=1, sigma=1.0)
    with pytest.raises(ValueError, match="order of its arguments"):
        TangentDistance(4, 4, sides=1)(np.eye(16))
    assert TangentDistance(4, 4, sides=1).claim().holds is False


def test_gaussian_of_the_distance():
    X = images(5)
    D = TangentDistance(8, 7).tangent_distance(X)
    k = TangentDistance(8, 7, sigma=1.5)
    np.testing.assert_allclose(k(X), np.exp(-(D**2) / 4.5), atol=1e-7)
    assert k.get_params()["sigma"] == 1.5
    assert mercer.parse(repr(k)) == k


def test_neighbors_by_tangent_distance():
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    train, test = slice(0, 700), slice(700, 1000)
    k = TangentDistance(8, 8, transforms=("shift", "rotate", "scale", "shear"), blur=0.6)
    model = KernelNeighborsClassifier(k, n_neighbors=1).fit(X[train], y[train])
    nearest = k.tangent_distance(X[test], X[train]).argmin(axis=1)
    assert np.array_equal(model.predict(X[test]), y[train][nearest])
    # A narrow Gaussian of it ranks the same, though all its values are 0.
    narrow = KernelNeighborsClassifier(k.set_params(sigma=1e-3), n_neighbors=1)
    assert np.array_equal(
        narrow.fit(X[train], y[train]).predict(X[test][:50]), y[train][nearest][:50]
    )


def test_quarter_turns_are_exact():
    image = np.arange(9.0).reshape(3, 3)
    turned = (moved((3, 3), 90.0) @ image.ravel()).reshape(3, 3)
    assert np.array_equal(turned, np.rot90(image))
    assert np.array_equal((moved((3, 3), 0, 1, 0) @ image.ravel()).reshape(3, 3)[1:], image[:2])


def test_the_best_over_rotations_by_hand():
    X = np.random.default_rng(0).random((3, 4, 4))
    turns = [np.rot90(X, q, axes=(1, 2)).reshape(3, -1) for q in range(4)]
    expected = np.max([Gaussian()(a, b) for a in turns for b in turns], axis=0)
    np.testing.assert_allclose(RotationInvariant(Gaussian())(X), expected, atol=1e-12)


def test_the_mean_over_a_group_is_invariant():
    X = np.random.default_rng(0).random((3, 4, 4))
    k = Jittered(Gaussian(), shifts=0, angles=[0, 90, 180, 270])
    np.testing.assert_allclose(k(X, np.rot90(X, 1, axes=(1, 2))), k(X), atol=1e-12)


def test_a_linear_mean_is_the_product_of_mean_images():
    X = np.random.default_rng(0).random((4, 25))
    k = Jittered(Linear(), shifts=1)
    steps = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    mean = np.mean([X @ moved((5, 5), 0, dy, dx).T for dy, dx in steps], axis=0)
    np.testing.assert_allclose(k(X), mean @ mean.T, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: TangentDistance(4, 4)(np.ones((2, 15))), "rows of 15 numbers; an image of 4 × 4"),
        (
            lambda: TangentDistance(4, 4)(np.ones((2, 5, 4))),
            "5 × 4 pixels, the kernel is for 4 × 4",
        ),
        (lambda: TangentDistance(4, 4)([np.ones((4, 4)), np.ones((3, 4))]), "different sizes"),
        (lambda: TangentDistance(4, 4)(np.full((1, 16), np.nan)), "NaN"),
        (lambda: TangentDistance(4, 4, transforms=("zoom",)), "transforms are some of"),
        (lambda: TangentDistance(4, 4, transforms=()), "transforms are some of"),
        (lambda: TangentDistance(4, 4, sides=3), "sides"),
        (lambda: TangentDistance(0, 4), "height"),
        (lambda: TangentDistance(4, 4, sigma=0), "sigma must be a positive number"),
        (lambda: RotationInvariant(Linear())(np.ones((2, 15))), "no square images"),
        (lambda: RotationInvariant(Linear(), []), "angles must be finite numbers"),
        (lambda: RotationInvariant(Linear(), [np.inf]), "angles must be finite numbers"),
        (lambda: Jittered(Linear(), shape=(4,)), "shape must be"),
        (lambda: Jittered(Linear(), shape=(4, 0)), "shape must be"),
        (lambda: Jittered(Linear(), shifts=-1), "shifts"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_base_that_is_no_kernel():
    with pytest.raises(TypeError, match="base must be a Kernel"):
        Jittered("gaussian")
