"""Lecture 003: metrics that know about images."""

from __future__ import annotations

import timeit

import numpy as np
import pytest
from scipy import ndimage

import mercer
from mercer import Cosine, DeformableTemplateClassifier, Linear
from mercer.kernels import RotationInvariant, TangentDistance

SIDE = 16


def stroke(degrees=0.0, offset=(0, 0)):
    """A bar with a hook, in 16 × 16 = 256 pixels: turned, shifted."""
    image = np.zeros((SIDE, SIDE))
    image[3:13, 7:9] = 1
    image[3:5, 7:12] = 1
    image = ndimage.rotate(image, degrees, reshape=False, order=1)
    return ndimage.gaussian_filter(ndimage.shift(image, offset, order=1), 0.7)


def test_small_similarity_of_the_same_thing_moved():
    """003, 75-88: a shifted, turned or thicker digit is the same and its pixels say otherwise."""
    same = np.stack(
        [stroke(), stroke(25), stroke(0, (0, 3)), ndimage.grey_dilation(stroke(), (3, 3))]
    )
    similarity = Cosine()(same.reshape(4, -1))
    assert (similarity[0, 1:3] < 0.75).all()
    assert similarity[0, 3] < 0.95


def test_rotation_invariant_similarity_is_the_best_over_both_curves():
    """003, 92-100: s' = max over rotations of both; each example is a curve in R²⁵⁶."""
    angles = list(range(-40, 41, 10))
    k = RotationInvariant(Cosine(), angles)
    upright, turned = stroke()[None], stroke(30)[None]
    flat = upright.reshape(1, -1), turned.reshape(1, -1)
    assert Cosine()(*flat)[0, 0] < 0.7 < 0.9 < k(upright, turned)[0, 0]


def test_rotation_invariance_allows_large_transformations():
    """003, 104-107: with all rotations allowed a 6 is a 9."""
    six = stroke()
    six[8:13, 7:12] = np.pad(np.zeros((3, 3)), 1, constant_values=1)
    nine = np.rot90(six, 2)
    k = RotationInvariant(Cosine(), [0, 90, 180, 270])
    assert np.isclose(k(six[None], nine[None])[0, 0], 1.0)
    small = TangentDistance(SIDE, SIDE)
    assert small.tangent_distance(six[None], nine[None])[0, 0] > 2.0


def test_the_best_over_rotations_is_no_kernel():
    """003, 96-100 and 225-232: s' is a similarity that `prove` refutes."""
    assert isinstance(
        RotationInvariant(Linear(), [0, 90]).prove(n_features=16), mercer.proof.Counterexample
    )


def test_tangent_distance_models_small_rotations():
    """003, 109-112: a first-order approximation at the points themselves."""
    k = TangentDistance(SIDE, SIDE)
    upright = stroke()[None]
    angles = [2, 5, 10]
    near = [k.tangent_distance(upright, stroke(a)[None])[0, 0] for a in angles]
    plain = [np.linalg.norm(stroke() - stroke(a)) for a in angles]
    assert all(t < 0.5 * p for t, p in zip(near, plain, strict=True))
    assert near[0] < near[1] < near[2]


def test_deformable_templates_pay_for_distortion():
    """003, 114-131: an ideal version, the best fit, a cost for distortion and one for distance."""
    X = np.array([stroke(a).ravel() for a in (-6, -3, 0, 3, 6)])
    bars = np.array([ndimage.gaussian_filter(np.eye(SIDE, k=c), 0.9).ravel() for c in range(-2, 3)])
    model = DeformableTemplateClassifier((SIDE, SIDE), stiffness=0.5).fit(
        np.vstack([X, bars]), ["hook"] * 5 + ["bar"] * 5
    )
    new = stroke(10, (1, 1)).ravel()[None]
    assert model.predict(new)[0] == "hook"
    far = np.linalg.norm(new - model.templates_[1].ravel())
    near = np.linalg.norm(new - model.deform(new, "hook").reshape(1, -1))
    assert near < 0.7 * far
    price = model.energies(new)[0]
    stiff = DeformableTemplateClassifier((SIDE, SIDE), stiffness=50.0, rounds=0)
    soft = DeformableTemplateClassifier((SIDE, SIDE), stiffness=0.5, rounds=0)
    data = np.vstack([X, bars]), ["hook"] * 5 + ["bar"] * 5
    assert stiff.fit(*data).energies(new)[0, 1] > soft.fit(*data).energies(new)[0, 1]
    assert price[1] < price[0]


@pytest.mark.slow
def test_hard_and_easy_to_compute():
    """003, lines 106-110: the best over all pairs of rotations takes longer than tangents."""
    images = np.stack([stroke(a).ravel() for a in range(0, 80, 2)])
    angles = range(0, 360, 15)
    turned = RotationInvariant(Linear(), angles, shape=(SIDE, SIDE))
    tangent = TangentDistance(SIDE, SIDE, transforms=("rotate",))
    hard, easy = (
        min(timeit.repeat(lambda k=k: k(images, images), number=1, repeat=3))
        for k in (turned, tangent)
    )
    assert hard > 2 * easy


def test_templates_fit_with_least_variance():
    """003, line 119: images vary less about templates bent to fit them than about their means."""
    X = np.stack([stroke(a).ravel() for a in np.linspace(-25, 25, 12)])
    y = np.repeat([0, 1], 6)
    bent, stiff = (
        DeformableTemplateClassifier((SIDE, SIDE), stiffness=0.1, rounds=rounds).fit(X, y).scale_
        for rounds in (2, 0)
    )
    assert bent < 0.5 * stiff
