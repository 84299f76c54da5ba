"""Deformable templates: what a warp may do, what it costs, and scikit-learn's own checks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestCentroid
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import DeformableTemplateClassifier
from mercer.solvers.warping import Warps, fit_warps, splat, warped


def blob(y, x, size=16, wide=2.5):
    rows, columns = np.mgrid[:size, :size]
    return np.exp(-((rows - y) ** 2 + (columns - x) ** 2) / (2 * wide**2)).ravel()


def test_check_estimator():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(DeformableTemplateClassifier(), on_fail=None)
    assert len(results) > 30
    assert not [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]


def test_a_shift_is_found():
    warps = Warps.cosines((16, 16), 0, 1e-6)
    steps, price = fit_warps(warps, blob(8.5, 6)[None], blob(7, 7), 1.0, 20)
    np.testing.assert_allclose(steps, [[-1.5, 1.0]], atol=0.1)
    assert price[0] < 1e-2 * np.square(blob(8.5, 6) - blob(7, 7)).sum()


def test_the_price_is_residual_plus_bending():
    warps = Warps.cosines((16, 16), 2, 0.3)
    X, template = blob(9, 6)[None], blob(7, 7)
    steps, price = fit_warps(warps, X, template, 0.5, 20)
    by_hand = np.square(X - warped(warps, template, steps)).sum() / 0.5
    by_hand += np.sum(warps.price * steps**2)
    np.testing.assert_allclose(price, by_hand)
    assert price[0] < np.square(X - template).sum() / 0.5


@pytest.mark.parametrize("stiffness", [0.03, 0.1, 0.3])
def test_a_stiff_shift_stops_half_way(stiffness):
    x = np.arange(40.0)
    template, image = np.exp(-((x - 18) ** 2) / 50), np.exp(-((x - 21) ** 2) / 50)
    warps = Warps.cosines((1, 40), 0, stiffness)
    steps, price = fit_warps(warps, image[None], template, 1.0, 50)
    tried = np.linspace(-4, 1, 2001)[:, None]
    prices = np.square(image - warped(warps, template, tried)).sum(axis=1)
    prices += stiffness * tried[:, 0] ** 2
    assert abs(steps[0, 0] - tried[prices.argmin(), 0]) < 0.05
    assert -2.9 < steps[0, 0] < -0.1
    np.testing.assert_allclose(price, prices.min(), rtol=2e-3)


def test_no_small_change_of_the_warp_is_better():
    warps = Warps.cosines((16, 16), 1, 0.05)
    X, template = blob(8.3, 6.6, wide=2.8)[None], blob(7, 7)
    steps, price = fit_warps(warps, X, template, 0.01, 100)
    rng = np.random.default_rng(0)
    for _ in range(30):
        other = steps + 0.05 * rng.standard_normal(steps.shape)
        value = np.square(X - warped(warps, template, other)).sum() / 0.01
        assert value + np.sum(warps.price * other**2) > price[0] * (1 - 1e-2)


def test_each_image_is_fitted_on_its_own():
    warps = Warps.cosines((16, 16), 2, 0.1)
    X = np.array([blob(7 + a, 7 - a) for a in np.linspace(-3, 3, 7)])
    together = fit_warps(warps, X, blob(7, 7), 0.1, 8)[1]
    alone = [fit_warps(warps, x[None], blob(7, 7), 0.1, 8)[1][0] for x in X]
    np.testing.assert_allclose(together, alone, rtol=1e-9)


def test_splat_takes_images_back():
    warps = Warps.cosines((16, 16), 0, 1.0)
    back = splat(warps, blob(9, 7)[None], np.array([[-2.0, 0.0]]), np.zeros(256))
    seen = slice(16, 13 * 16)  # rows that the image looks at, without its edge
    np.testing.assert_allclose(back[seen], blob(7, 7)[seen], atol=2e-3)


def test_stiffness_ranges_from_nearest_mean_to_anything():
    X = np.array([blob(7, 7, wide=w) for w in (2.0, 2.2, 4.0, 4.2)])
    y = np.array([0, 0, 1, 1])
    moved = np.array([blob(10, 9, wide=2.1), blob(5, 5, wide=4.1)])
    soft = DeformableTemplateClassifier((16, 16), stiffness=0.01, max_frequency=0).fit(X, y)
    assert np.array_equal(soft.predict(moved), [0, 1])
    hard = DeformableTemplateClassifier((16, 16), stiffness=1e12, rounds=0).fit(X, y)
    assert np.array_equal(hard.predict(moved), NearestCentroid().fit(X, y).predict(moved))


def test_digits_better_than_nearest_mean():
    X, y = load_digits(return_X_y=True)
    train, test = slice(0, 500), slice(500, 800)
    model = DeformableTemplateClassifier((8, 8)).fit(X[train], y[train])
    plain = NearestCentroid().fit(X[train], y[train]).score(X[test], y[test])
    assert model.score(X[test], y[test]) > plain
    assert model.templates_.shape == (10, 8, 8)
    bent = model.deform(X[test][:3], 3)
    assert bent.shape == (3, 8, 8)
    assert model.decision_function(X[test][:3]).shape == (3, 10)


def test_a_saved_model_predicts_the_same(tmp_path):
    X, y = load_digits(return_X_y=True)
    model = DeformableTemplateClassifier((8, 8), rounds=1).fit(X[:100], y[:100])
    model.save(tmp_path / "templates.mercer")
    again = mercer.load(tmp_path / "templates.mercer")
    assert np.array_equal(again.energies(X[100:110]), model.energies(X[100:110]))


def test_images_of_another_shape():
    with pytest.raises(ValueError, match="16 features, which are no images of 3 × 3"):
        DeformableTemplateClassifier((3, 3)).fit(np.eye(4, 16), [0, 0, 1, 1])


def test_weights_of_classes_are_priors():
    rng = np.random.default_rng(0)
    X, y = rng.random((12, 16)), np.arange(12) % 3
    plain = DeformableTemplateClassifier((4, 4), rounds=1).fit(X, y)
    each = {0: 1.0, 1: 1e30, 2: 1.0}
    heavy = DeformableTemplateClassifier((4, 4), rounds=1, class_weight=each).fit(X, y)
    np.testing.assert_array_equal(heavy.energies(X), plain.energies(X))
    difference = heavy.decision_function(X) - plain.decision_function(X)
    np.testing.assert_allclose(difference, np.tile([0, 60 * np.log(10), 0], (12, 1)))
    assert (heavy.predict(X) == 1).all()
