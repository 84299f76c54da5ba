"""Learners that keep their examples, which are in pieces: answers are sums over them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import (
    KernelCentroidClassifier,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    NadarayaWatsonClassifier,
    NadarayaWatsonRegressor,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
LABELS = np.array(list("abc"))[np.digitize(Y, [-0.5, 0.5])]
NEW = np.vstack([RNG.normal(size=(20, 3)), 60.0 * np.eye(3)])
WEIGHTS = RNG.uniform(0.5, 2, 300)


def _chunks(step=70):
    return mercer.chunks(X, rows=step)


def _both(model, targets, weights=None):
    options = {} if weights is None else {"sample_weight": weights}
    return [clone(model).fit(x, targets, **options) for x in (X, _chunks())]


@pytest.mark.parametrize("columns", [(), (2,)])
def test_products_with_all_of_k(columns):
    V, kernel = RNG.normal(size=(300, *columns)), mercer.Gaussian(2.0)
    whole = kernel(X) @ V
    np.testing.assert_allclose(kernel.gram(_chunks()) @ V, whole, rtol=1e-12, atol=1e-12)
    some = kernel.gram(NEW, _chunks()) @ V
    np.testing.assert_allclose(some, kernel(NEW, X) @ V, rtol=1e-12, atol=1e-12)
    both = kernel.gram(mercer.chunks(NEW, rows=7), _chunks()) @ V
    np.testing.assert_allclose(both, some, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*so far from all training")
@pytest.mark.parametrize(
    ("kernel", "weights"),
    [("gaussian()", None), ("epanechnikov()", WEIGHTS), ("laplacian()", None)],
    ids=["gaussian", "compact", "laplacian"],
)
def test_nadaraya_watson(kernel, weights):
    whole, ours = _both(NadarayaWatsonRegressor(kernel, bandwidth=0.7), Y, weights)
    for found, expected in zip(
        ours.predict(NEW, return_std=True), whole.predict(NEW, return_std=True), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    bands = [np.array(model.confidence_band(NEW)) for model in (ours, whole)]
    np.testing.assert_allclose(*bands, rtol=1e-7)
    np.testing.assert_allclose(ours.predict(mercer.chunks(NEW, rows=9)), ours.predict(NEW))
    whole, ours = _both(NadarayaWatsonClassifier(kernel, bandwidth=0.7), LABELS, weights)
    np.testing.assert_allclose(ours.predict_proba(NEW), whole.predict_proba(NEW), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(NEW), whole.predict(NEW))


@pytest.mark.parametrize("bandwidth", ["rule", "auto"])
def test_a_bandwidth_is_chosen_on_a_sample(bandwidth, monkeypatch):
    whole, ours = _both(NadarayaWatsonRegressor(bandwidth=bandwidth), Y)
    assert ours.bandwidth_ == pytest.approx(whole.bandwidth_)
    monkeypatch.setattr("mercer.learners.smoothers.BANDWIDTH_ROWS", 100)
    few = NadarayaWatsonRegressor(bandwidth=bandwidth).fit(_chunks(), Y)
    assert few.bandwidth_ == pytest.approx(whole.bandwidth_, rel=0.5)


@pytest.mark.parametrize(
    ("kernel", "weights"),
    [("gaussian(2)", "kernel"), ("linear()", "distance"), ("polynomial(2)", "kernel")],
)
def test_neighbors(kernel, weights):
    options = {"n_neighbors": 80, "weights": weights}  # more than a piece has
    whole, ours = _both(KernelNeighborsRegressor(kernel, **options), Y)
    np.testing.assert_allclose(ours.predict(NEW), whole.predict(NEW), rtol=1e-9)
    for found, expected in zip(ours.kneighbors(NEW), whole.kneighbors(NEW), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    whole, ours = _both(KernelNeighborsClassifier(kernel, **options), LABELS)
    np.testing.assert_array_equal(ours.predict(NEW), whole.predict(NEW))
    np.testing.assert_array_equal(ours.predict(mercer.chunks(NEW, rows=9)), whole.predict(NEW))


@pytest.mark.parametrize(
    ("shrinkage", "weights"), [(0.0, None), (0.3, WEIGHTS)], ids=["plain", "weighted"]
)
def test_centroids(shrinkage, weights):
    whole, ours = _both(KernelCentroidClassifier(shrinkage=shrinkage), LABELS, weights)
    np.testing.assert_allclose(ours.decision_function(NEW), whole.decision_function(NEW), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(NEW), whole.predict(NEW))
    np.testing.assert_allclose(ours.distances(NEW), whole.distances(NEW), atol=1e-7)


@pytest.mark.parametrize("size", [60, 1000], ids=["double", "single"])
def test_two_samples_in_pieces(size):
    random = np.random.default_rng(1)
    A, B = random.normal(size=(size, 2)), random.normal(size=(size + 9, 2)) * 1.1
    options = {"permutations": 50, "random_state": 0}
    whole = mercer.stats.mmd_test(A, B, **options)
    pieces = [mercer.chunks(S, rows=400 if size > 400 else 25) for S in (A, B)]
    ours = mercer.stats.mmd_test(*pieces, **options)
    assert ours.kernel == whole.kernel
    assert ours.pvalue == whole.pvalue
    assert ours.statistic == pytest.approx(whole.statistic, rel=1e-9)
    np.testing.assert_allclose(ours.witness(B[:5]), whole.witness(B[:5]), rtol=1e-9)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda: KernelCentroidClassifier(prototype="medoid").fit(_chunks(), LABELS), "medoid"),
        (lambda: KernelNeighborsRegressor(radius=1.0).fit(_chunks(), Y), "radius"),
        (lambda: KernelNeighborsRegressor().fit(_chunks(), Y).predict(None), "rows that are here"),
        (lambda: NadarayaWatsonRegressor().fit(_chunks(), Y, np.arange(300.0)), "weights of 0"),
        (lambda: NadarayaWatsonRegressor().fit(_chunks(), Y).leave_one_out(), "in pieces"),
        (
            lambda: NadarayaWatsonRegressor().fit(_chunks(), Y).save("none.mercer"),
            "file does no",
        ),
    ],
)
def test_what_needs_all_examples_is_told(act, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((TypeError, ValueError), match=told):
        act()
    assert not list(tmp_path.iterdir())
