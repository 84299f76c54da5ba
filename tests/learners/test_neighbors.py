"""Neighbors and class means as estimators."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    Gaussian,
    KernelCentroidClassifier,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    Linear,
    Polynomial,
)
from mercer.kernels import Similarity


@parametrize_with_checks(
    [KernelNeighborsClassifier(), KernelNeighborsRegressor(), KernelCentroidClassifier()]
)
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, ...]:
    X, y = load_digits(return_X_y=True)
    return X[:1200], y[:1200], X[1200:], y[1200:]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sigma", [0.01, 5.0, 1e4])
def test_a_gaussian_of_any_width_is_euclidean(
    dtype: type, sigma: float, digits: tuple[np.ndarray, ...]
) -> None:
    X, y, Q = digits[0], digits[1], digits[2][:120]
    model = KernelNeighborsClassifier(Gaussian(sigma), n_neighbors=3).fit(X.astype(dtype), y)
    d, index = model.kneighbors(Q.astype(dtype))
    exact = np.linalg.norm(Q[:, None, :] - X[None, :, :], axis=2)
    np.testing.assert_array_equal(index, np.argsort(exact, axis=1, kind="stable")[:, :3])
    near = np.sort(exact, axis=1)[:, :3]
    np.testing.assert_allclose(
        d, np.sqrt(-2 * np.expm1(-(near**2) / (2 * sigma**2))), rtol=1e-6, atol=1e-12
    )
    peer = KNeighborsClassifier(3, algorithm="brute").fit(X, y)
    assert (model.predict(Q.astype(dtype)) == peer.predict(Q)).mean() > 0.99  # ties differ


def test_any_kernel_by_feature_space_distance(rng: np.random.Generator) -> None:
    X, Q = rng.normal(size=(70, 3)), rng.normal(size=(9, 3))
    y = rng.normal(size=(70, 2))
    for kernel in (Polynomial(3, 1.0), Linear(), Polynomial(2).normalized(), mercer.Cosine()):
        d = kernel.distance(Q, X)
        index = np.argsort(d, axis=1, kind="stable")[:, :4]
        model = KernelNeighborsRegressor(kernel, n_neighbors=4).fit(X, y)
        np.testing.assert_array_equal(model.kneighbors(Q, return_distance=False), index)
        np.testing.assert_allclose(
            model.kneighbors(Q)[0], np.take_along_axis(d, index, axis=1), atol=1e-7
        )
        np.testing.assert_allclose(model.predict(Q), y[index].mean(axis=1))


def test_votes_weighted_by_the_kernel(rng: np.random.Generator) -> None:
    X, Q, y = rng.random((60, 2)), rng.random((9, 2)), rng.normal(size=60)
    model = KernelNeighborsRegressor(Gaussian(0.2), 7, weights="kernel").fit(X, y)
    index = model.kneighbors(Q, return_distance=False)
    w = np.take_along_axis(Gaussian(0.2)(Q, X), index, axis=1)
    np.testing.assert_allclose(model.predict(Q), (w * y[index]).sum(axis=1) / w.sum(axis=1))
    # All n neighbors with kernel weights are Nadaraya and Watson's mean.
    everyone = KernelNeighborsRegressor(Gaussian(0.2), 60, weights="kernel").fit(X, y)
    mean = mercer.NadarayaWatsonRegressor(Gaussian(0.2), 1.0).fit(X, y)
    np.testing.assert_allclose(everyone.predict(Q), mean.predict(Q), rtol=1e-9)


def test_weights_do_not_underflow() -> None:
    model = KernelNeighborsRegressor("gaussian(0.01)", 2, weights="kernel")
    model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    np.testing.assert_allclose(model.predict([[90.0]]), [2.0])


def test_training_examples_do_not_find_themselves(rng: np.random.Generator) -> None:
    X = rng.random((50, 2))
    model = KernelNeighborsRegressor(n_neighbors=3).fit(X, X[:, 0])
    d, index = model.kneighbors()
    assert not (index == np.arange(50)[:, None]).any()
    assert (d > 0).all()
    with pytest.raises(ValueError, match="between 1 and 49"):
        model.kneighbors(n_neighbors=50)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Polynomial(2, 1.0), Linear()], ids=repr)
@pytest.mark.parametrize("weights", ["uniform", "kernel"])
def test_radius(kernel: mercer.Kernel, weights: str, rng: np.random.Generator) -> None:
    X, Q, y = rng.random((80, 2)), rng.random((9, 2)), rng.normal(size=80)
    d, k = kernel.distance(Q, X), kernel(Q, X)
    model = KernelNeighborsRegressor(kernel, radius=0.6, weights=weights).fit(X, y)
    lengths, index = model.radius_neighbors(Q)
    w = (d <= 0.6) * (k if weights == "kernel" else 1.0)
    for i in range(9):
        assert set(index[i]) == set(np.flatnonzero(d[i] <= 0.6))
        assert (np.diff(lengths[i]) >= 0).all()
    np.testing.assert_allclose(model.predict(Q), w @ y / w.sum(axis=1), rtol=1e-9)


def test_nothing_within_the_radius(rng: np.random.Generator) -> None:
    X = rng.random((30, 2))
    y = np.arange(30) % 3
    model = KernelNeighborsClassifier(radius=0.01).fit(X, y)
    Q = X[:3] + [[0.0], [50.0], [0.0]]
    with pytest.warns(UserWarning, match="1 of 3 examples have no training example within"):
        found = model.predict(Q)
    near = model.kneighbors(Q, 1, return_distance=False)[:, 0]
    np.testing.assert_array_equal(found, y[near])
    assert [len(i) for i in model.radius_neighbors(Q, return_distance=False)][1] == 0


def test_precomputed(rng: np.random.Generator) -> None:
    X, Q, y = rng.random((40, 3)), rng.random((6, 3)), rng.normal(size=40)
    for kernel in (Gaussian(0.4), Polynomial(2, 1.0)):
        for weights in ("uniform", "kernel"):
            given = KernelNeighborsRegressor("precomputed", 4, weights=weights)
            model = KernelNeighborsRegressor(kernel, 4, weights=weights).fit(X, y)
            given.fit(kernel(X), y)
            np.testing.assert_allclose(given.predict(kernel(Q, X)), model.predict(Q), rtol=1e-9)
    with pytest.raises(ValueError, match="return_distance=False"):
        given.kneighbors(kernel(Q, X))
    assert given.kneighbors(kernel(Q, X), return_distance=False).shape == (6, 4)
    with pytest.raises(ValueError, match="not kept"):
        given.kneighbors()


def test_strings_sparse_rows_and_frames(rng: np.random.Generator) -> None:
    shared = Similarity(lambda a, b: float(len(set(a) & set(b))))
    words = ["cat", "care", "dog", "dig"]
    model = KernelNeighborsClassifier(shared, 1).fit(words, ["c", "c", "d", "d"])
    assert model.predict(["carer", "dogs"]).tolist() == ["c", "d"]
    d, index = model.kneighbors(["carer"], 2)
    assert index[0, 0] == 1
    np.testing.assert_allclose(d[0], shared.distance(["carer"], words)[0][index[0]])
    X = rng.random((50, 3))
    y = (X[:, 0] > 0.5).astype(int)
    dense = KernelNeighborsClassifier(n_neighbors=3).fit(X, y)
    sparse = KernelNeighborsClassifier(n_neighbors=3).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(X)), dense.predict(X))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = KernelNeighborsClassifier("gaussian().on('a')", 1).fit(frame, y)
    assert named.score(frame, y) == 1.0
    again = pickle.loads(pickle.dumps(named))
    np.testing.assert_array_equal(again.predict(frame), named.predict(frame))


def test_saved_and_loaded(rng: np.random.Generator, tmp_path: Any) -> None:
    X, y = rng.random((40, 2)), np.arange(40) % 3
    for model in (
        KernelNeighborsClassifier("polynomial(2)", 3).fit(X, y),
        KernelNeighborsRegressor(radius=0.3).fit(X, y),
        KernelCentroidClassifier(prototype="medoid").fit(X, y),
    ):
        mercer.store.save(model, tmp_path / "model")
        again = mercer.store.load(tmp_path / "model")
        np.testing.assert_allclose(again.predict(X), model.predict(X))


def test_more_neighbors_than_examples() -> None:
    X, y = np.arange(5.0)[:, None], [0, 1, 0, 1, 0]
    with pytest.raises(ValueError, match="6 neighbors cannot be had from n_samples = 5"):
        KernelNeighborsClassifier(n_neighbors=6).fit(X, y)


def test_negative_votes_say_why(rng: np.random.Generator) -> None:
    X = rng.normal(size=(20, 2))
    model = KernelNeighborsRegressor("linear()", 20, weights="kernel").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="negative values"):
        model.predict(X)


# --- class means -------------------------------------------------------------------------------


def test_linear_means_are_the_nearest_centroid(digits: tuple[np.ndarray, ...]) -> None:
    X, y, Q, _ = digits
    ours, peer = KernelCentroidClassifier("linear()").fit(X, y), NearestCentroid().fit(X, y)
    np.testing.assert_array_equal(ours.predict(Q), peer.predict(Q))
    exact = np.linalg.norm(Q[:, None] - peer.centroids_[None], axis=2)
    np.testing.assert_allclose(ours.distances(Q), exact, rtol=1e-6)


def test_distances_to_means_by_the_kernel_only(rng: np.random.Generator) -> None:
    X, Q, y = rng.normal(size=(60, 2)), rng.normal(size=(7, 2)), rng.integers(0, 3, 60)
    model = KernelCentroidClassifier(Gaussian(0.7)).fit(X, y)
    for c in range(3):
        d = mercer.distance_to_mean(Gaussian(0.7), Q, X[y == c])
        np.testing.assert_allclose(model.distances(Q)[:, c], d, atol=1e-7)
    np.testing.assert_array_equal(model.predict(Q), model.distances(Q).argmin(axis=1))
    f = model.decision_function(Q)
    np.testing.assert_allclose(f, 0.5 * (1 - model.distances(Q) ** 2), atol=1e-9)
    assert len(model.expansion_) == 60


def test_shrinkage_moves_means_together(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    half = KernelCentroidClassifier("linear()", shrinkage=0.5).fit(X, y)
    means = np.array([0.5 * X[y == c].mean(axis=0) + 0.5 * X.mean(axis=0) for c in (0, 1)])
    np.testing.assert_allclose(
        half.distances(X), np.linalg.norm(X[:, None] - means, axis=2), atol=1e-9
    )
    none = KernelCentroidClassifier("linear()", shrinkage=1.0).fit(X, y)
    np.testing.assert_allclose(none.decision_function(X), 0.0, atol=1e-12)


def test_medoids_are_examples(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    model = KernelCentroidClassifier(prototype="medoid").fit(X, y)
    assert (y[model.medoids_] == [0, 1, 2]).all()
    np.testing.assert_array_equal(
        model.predict(X), Gaussian().distance(X, X[model.medoids_]).argmin(axis=1)
    )
    assert len(model.expansion_) == 3


def test_weights_precomputed_and_strings(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(40, 2)), np.repeat(["b", "a"], 20)
    weight = rng.integers(0, 3, 40)
    weighted = KernelCentroidClassifier().fit(X, y, sample_weight=weight)
    repeated = KernelCentroidClassifier().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.distances(X), repeated.distances(X), atol=1e-9)
    given = KernelCentroidClassifier("precomputed").fit(Gaussian()(X), y)
    model = KernelCentroidClassifier().fit(X, y)
    np.testing.assert_array_equal(given.predict(Gaussian()(X)), model.predict(X))
    with pytest.raises(ValueError, match="does not hold"):
        given.distances(Gaussian()(X))
    shared = Similarity(lambda a, b: float(len(set(a) & set(b))))
    words = KernelCentroidClassifier(shared).fit(["cat", "car", "dog"], [0, 0, 1])
    assert words.predict(["cab", "god"]).tolist() == [0, 1]


def test_means_of_nothing() -> None:
    with pytest.raises(ValueError, match="at least one non-zero"):
        KernelCentroidClassifier().fit(np.eye(2), [0, 1], sample_weight=[0, 0])


@pytest.mark.parametrize("columns", [3, 12])
def test_many_neighbors_are_those_of_a_full_sort_with_ties(columns: int) -> None:
    """Long lists are merged, not inserted into; of equal distances the first index comes first."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (700, columns)).astype(float)
    apart = ((X[:60, None] - X[None]) ** 2).sum(-1)
    order = np.argsort(apart, axis=1, kind="stable")[:, :500]
    model = KernelNeighborsRegressor("gaussian(2)").fit(X, X[:, 0])
    distance, index = model.kneighbors(X[:60], 500)
    found = np.take_along_axis(apart, index, axis=1)
    np.testing.assert_array_equal(found, np.take_along_axis(apart, order, axis=1))
    assert (np.diff(distance) >= 0).all()
    assert (np.diff(index)[np.diff(found) == 0] > 0).all()
    assert all(len(set(row)) == 500 for row in index.tolist())


@pytest.mark.parametrize("weights", ["uniform", "kernel"])
def test_neighbors_stay_within_the_memory_limit_or_are_refused(weights: str) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(900, 9)), rng.normal(size=900)
    model = KernelNeighborsRegressor("gaussian(2)", n_neighbors=300, weights=weights).fit(X, y)
    whole = *model.kneighbors(X[:400]), model.predict(X), model.kneighbors()[1]
    with mercer.config(memory="6MB"):
        np.testing.assert_array_equal(model.kneighbors(X[:400])[1], whole[1])
        np.testing.assert_allclose(model.kneighbors(X[:400])[0], whole[0], rtol=1e-12)
        np.testing.assert_allclose(model.predict(X), whole[2], rtol=1e-12)
        np.testing.assert_array_equal(model.kneighbors(return_distance=False), whole[3])
        with pytest.raises(ValueError, match="Ask for 312 rows at a time") as told:
            model.kneighbors(X, 900)
        assert "900 rows of 900 neighbors" in str(told.value)
        assert model.kneighbors(X[:312], 900)[0].shape == (312, 900)


@pytest.mark.parametrize("weights", ["uniform", "kernel"])
def test_neighbors_within_a_radius_stay_within_the_memory_limit_or_are_refused(
    weights: str,
) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(900, 9)), rng.normal(size=900)
    model = KernelNeighborsRegressor("gaussian(2)", radius=1.2, weights=weights).fit(X, y)
    lengths, index = model.radius_neighbors(X)
    mean = model.predict(X)
    many = sum(map(len, index))
    assert 100_000 < many < 500_000
    with mercer.config(memory="3MB"):
        np.testing.assert_allclose(model.predict(X), mean, rtol=1e-12, atol=1e-15)
        for some in (slice(0, 300), slice(300, 420)):
            again = model.radius_neighbors(X[some])
            for ours, whole in zip(again, (lengths, index), strict=True):
                np.testing.assert_allclose(np.concatenate(ours), np.concatenate(whole[some]))
        with pytest.raises(ValueError, match=r"Ask for \d+ rows at a time, or for a smaller rad"):
            model.radius_neighbors(X)


def test_weights_of_classes_are_priors_of_means(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1], [30, 10])
    plain = KernelCentroidClassifier("linear()").fit(X, y)
    heavy = KernelCentroidClassifier("linear()", class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    np.testing.assert_allclose(heavy.distances(X), plain.distances(X), atol=1e-9)
    f = plain.decision_function(X)
    np.testing.assert_allclose(heavy.decision_function(X), f + np.log(3.0), atol=1e-9)
    balanced = KernelCentroidClassifier("linear()", class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.decision_function(X), f + np.log(3.0), atol=1e-9)
