"""Smoothers as estimators: Nadaraya–Watson and local polynomials."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import Gaussian, LocalLinearRegressor, NadarayaWatsonClassifier, NadarayaWatsonRegressor
from mercer.kernels import Epanechnikov, Similarity

REGRESSORS = [NadarayaWatsonRegressor, LocalLinearRegressor]


@parametrize_with_checks(
    [NadarayaWatsonRegressor(), NadarayaWatsonClassifier(), LocalLinearRegressor()]
)
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture
def wave(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = 6 * rng.random((150, 1))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=150)


# --- the formula -------------------------------------------------------------------------------


def test_the_weighted_average(wave: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = wave
    Q = np.linspace(0, 6, 40)[:, None]
    for kernel in (Gaussian(), Gaussian(0.5), Epanechnikov(3.0), mercer.Matern(1.5)):
        K = kernel(Q / 0.4, X / 0.4)
        model = NadarayaWatsonRegressor(kernel, bandwidth=0.4).fit(X, y)
        np.testing.assert_allclose(model.predict(Q), K @ y / K.sum(axis=1), rtol=1e-10)


def test_bandwidth_and_width_of_the_kernel_are_one_thing(
    wave: tuple[np.ndarray, np.ndarray],
) -> None:
    X, y = wave
    one = NadarayaWatsonRegressor(Gaussian(0.3), bandwidth=1.0).fit(X, y).predict(X)
    other = NadarayaWatsonRegressor(Gaussian(), bandwidth=0.3).fit(X, y).predict(X)
    np.testing.assert_allclose(one, other, rtol=1e-10)


def test_weighted_majority(rng: np.random.Generator) -> None:
    X, Q = rng.normal(size=(80, 2)), rng.normal(size=(30, 2))
    y = np.sign(X[:, 0] * X[:, 1])
    model = NadarayaWatsonClassifier(bandwidth=0.4).fit(X, y)
    K = Gaussian(0.4)(Q, X)
    np.testing.assert_array_equal(model.predict(Q), np.sign(K @ y))
    share = np.column_stack([K @ (y == c) for c in (-1, 1)]) / K.sum(axis=1)[:, None]
    np.testing.assert_allclose(model.predict_proba(Q), share, atol=1e-12)


def test_a_tie_goes_to_the_first_class() -> None:
    model = NadarayaWatsonClassifier(bandwidth=1.0).fit([[-1.0], [1.0]], ["b", "a"])
    assert model.predict([[0.0]]).tolist() == ["a"]


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_local_polynomials_reproduce_their_degree(degree: int, rng: np.random.Generator) -> None:
    X, Q = rng.random((90, 1)), rng.random((20, 1))
    model = LocalLinearRegressor(bandwidth=0.2, local_degree=degree).fit(X, X[:, 0] ** degree)
    np.testing.assert_allclose(model.predict(Q), Q[:, 0] ** degree, atol=1e-9)


def test_degree_zero_is_nadaraya_watson(wave: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = wave
    one = LocalLinearRegressor(bandwidth=0.3, local_degree=0).fit(X, y)
    other = NadarayaWatsonRegressor(bandwidth=0.3).fit(X, y)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-10)
    a, b = one.confidence_band(X), other.confidence_band(X)
    np.testing.assert_allclose(a, b, rtol=1e-8)


def test_gradient(rng: np.random.Generator) -> None:
    X = rng.random((400, 2))
    y = np.column_stack([np.sin(3 * X[:, 0]) + X[:, 1], X[:, 0] * X[:, 1]])
    Q = 0.2 + 0.6 * rng.random((10, 2))
    for h in (0.05, [0.05, 0.06]):
        model = LocalLinearRegressor(bandwidth=h, local_degree=2).fit(X, y)
        found = model.gradient(Q)
        assert found.shape == (10, 2, 2)
        np.testing.assert_allclose(found[:, 0, 0], 3 * np.cos(3 * Q[:, 0]), atol=0.05)
        np.testing.assert_allclose(found[:, 1], Q[:, ::-1], atol=1e-8)
    single = LocalLinearRegressor(bandwidth=0.05).fit(X, y[:, 0])
    assert single.gradient(Q).shape == (10, 2)


def test_feature_map(wave: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = wave
    Q = np.linspace(1, 5, 9)[:, None]

    def phi(x: np.ndarray) -> np.ndarray:
        return np.hstack([np.ones_like(x), x])

    line = LocalLinearRegressor(bandwidth=0.5).fit(X, y)
    given = LocalLinearRegressor(bandwidth=0.5, feature_map=phi).fit(X, y)
    np.testing.assert_allclose(given.predict(Q), line.predict(Q), rtol=1e-8)
    for a, b in zip(given.confidence_band(Q), line.confidence_band(Q), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    transformer = mercer.maps.PolynomialMap(degree=1, offset=1.0)
    again = LocalLinearRegressor(bandwidth=0.5, feature_map=transformer).fit(X, y)
    np.testing.assert_allclose(again.predict(Q), line.predict(Q), rtol=1e-8)
    assert given.fit(X, y).leave_one_out().shape == (150,)
    with pytest.raises(ValueError, match="monomials"):
        given.gradient(Q)


# --- bandwidths --------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", REGRESSORS)
def test_leave_one_out_is_exact_and_minimal(
    estimator: Any, wave: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = wave
    model = estimator().fit(X, y)
    by_hand = []
    for i in range(0, 150, 15):
        rest = np.delete(np.arange(150), i)
        part = estimator(bandwidth=model.bandwidth_).fit(X[rest], y[rest])
        by_hand.append(part.predict(X[[i]])[0])
    np.testing.assert_allclose(model.leave_one_out()[::15], by_hand, rtol=1e-8)
    error = np.mean((model.leave_one_out() - y) ** 2)
    assert model.loo_error_ == pytest.approx(error)
    for factor in (0.5, 0.9, 1.1, 2.0):
        other = estimator(bandwidth=factor * model.bandwidth_).fit(X, y)
        assert np.mean((other.leave_one_out() - y) ** 2) >= error * (1 - 1e-9)


def test_noise_asks_for_a_flat_line() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.random((200, 1)), rng.normal(size=200)
    model = NadarayaWatsonRegressor().fit(X, y)
    assert np.ptp(model.predict(X)) < 0.5 * y.std()
    assert model.bandwidth_ > 0.1


def test_one_bandwidth_a_column(rng: np.random.Generator) -> None:
    X = rng.random((200, 2))
    y = np.sin(8 * X[:, 0]) + 0.05 * rng.normal(size=200)
    both = NadarayaWatsonRegressor().fit(X, y)
    each = NadarayaWatsonRegressor(per_column=True).fit(X, y)
    assert each.bandwidth_[1] > 5 * each.bandwidth_[0]
    assert each.loo_error_ < 0.6 * both.loo_error_
    rule = NadarayaWatsonRegressor(bandwidth="rule", per_column=True).fit(X * [1, 10], y)
    assert rule.bandwidth_[1] / rule.bandwidth_[0] == pytest.approx(
        10 * X[:, 1].std() / X[:, 0].std()
    )


def test_a_classifier_chooses_its_bandwidth(rng: np.random.Generator) -> None:
    X = rng.random((300, 2))
    y = (np.floor(4 * X[:, 0]) + np.floor(4 * X[:, 1])) % 2
    model = NadarayaWatsonClassifier().fit(X, y)
    assert 0.01 < model.bandwidth_ < 0.15
    assert (model.leave_one_out().argmax(axis=1) == y).mean() > 0.75


@pytest.mark.parametrize("estimator", REGRESSORS)
def test_copies_do_not_make_the_bandwidth_collapse(
    estimator: Any, wave: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = wave
    once = estimator().fit(X, y)
    twice = estimator().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert twice.bandwidth_ == pytest.approx(once.bandwidth_, rel=1e-6)
    np.testing.assert_allclose(twice.leave_one_out()[::2], once.leave_one_out(), rtol=1e-5)


def test_repeated_measurements_are_left_out_alone(rng: np.random.Generator) -> None:
    """The same x with different y: the other measurements there may answer."""
    X = np.repeat(np.arange(10.0), 20)[:, None]
    level = rng.normal(size=10)[X[:, 0].astype(int)]
    model = NadarayaWatsonRegressor().fit(X, level + 0.1 * rng.normal(size=200))
    assert model.bandwidth_ < 0.4
    assert model.loo_error_ < 0.02


# --- weights, outputs, spread ------------------------------------------------------------------


@pytest.mark.parametrize("estimator", REGRESSORS)
def test_sample_weights_count_examples(
    estimator: Any, wave: tuple[np.ndarray, np.ndarray], rng: np.random.Generator
) -> None:
    X, y = wave
    count = rng.integers(0, 4, 150)
    weighted = estimator(bandwidth=0.4).fit(X, y, sample_weight=count)
    repeated = estimator(bandwidth=0.4).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    for a, b in zip(
        weighted.predict(X, return_std=True), repeated.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-7)
    with pytest.raises(ValueError, match="at least one non-zero"):
        estimator().fit(X, y, sample_weight=np.zeros(150))


@pytest.mark.parametrize("estimator", REGRESSORS)
def test_outputs_are_independent_at_one_bandwidth(
    estimator: Any, wave: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = wave
    both = estimator(bandwidth=0.5).fit(X, np.column_stack([y, 3 - y]))
    one = estimator(bandwidth=0.5).fit(X, y)
    mean, spread = both.predict(X, return_std=True)
    alone, alone_spread = one.predict(X, return_std=True)
    np.testing.assert_allclose(mean, np.column_stack([alone, 3 - alone]), rtol=1e-9)
    np.testing.assert_allclose(spread, np.column_stack([alone_spread] * 2), rtol=1e-6, atol=1e-9)


def test_local_spread_follows_the_noise(rng: np.random.Generator) -> None:
    X = rng.random((3000, 1))
    noise = np.where(X[:, 0] < 0.5, 0.1, 1.0)
    y = 5 * X[:, 0] + noise * rng.normal(size=3000)
    model = LocalLinearRegressor(bandwidth=0.05).fit(X, y)
    _, spread = model.predict([[0.2], [0.8]], return_std=True)
    np.testing.assert_allclose(spread, [0.1, 1.0], rtol=0.1)


@pytest.mark.parametrize("estimator", REGRESSORS)
def test_bands_hold_the_mean_as_often_as_they_say(estimator: Any, rng: np.random.Generator) -> None:
    X = np.linspace(0, 1, 200)[:, None]
    Q = np.linspace(0.2, 0.8, 7)[:, None]
    held = []
    for _ in range(150):
        model = estimator(bandwidth=0.06).fit(X, 2 + rng.normal(size=200))
        _, low, high = model.confidence_band(Q, level=0.9)
        held.append((low <= 2) & (high >= 2))
    assert 0.84 < np.mean(held) < 0.95


def test_wider_levels_give_wider_bands(wave: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = wave
    model = NadarayaWatsonRegressor(bandwidth=0.3).fit(X, y)
    mean, low, high = model.confidence_band(X[:5])
    _, lower, higher = model.confidence_band(X[:5], level=0.99)
    assert (lower < low).all()
    assert (low < mean).all()
    assert (high < higher).all()
    np.testing.assert_allclose(mean, model.predict(X[:5]))
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.confidence_band(X, level=1.0)


# --- far away ----------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", REGRESSORS)
@pytest.mark.parametrize("kernel", ["gaussian()", "epanechnikov()", "wendland(2)"])
def test_far_away_is_the_nearest_value_and_a_warning(
    estimator: Any, kernel: str, wave: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = wave
    model = estimator(kernel, bandwidth=0.3).fit(X, y)
    Q = np.array([[1e6], [-1e6], [3.0]])
    with pytest.warns(UserWarning, match="2 of 3 examples are so far") as seen:
        found = model.predict(Q)
    assert len(seen) == 1
    np.testing.assert_allclose(found[:2], [y[X.argmax()], y[X.argmin()]], rtol=1e-6)
    with pytest.warns(UserWarning, match="so far"):
        mean, low, high = model.confidence_band(Q)
    assert np.isfinite(mean).all()
    assert not np.isnan(low).any()
    assert high[0] == np.inf


def test_far_away_the_formula_still_holds() -> None:
    """e^(−r) falls by the same factor everywhere: both examples keep their share."""
    model = NadarayaWatsonRegressor("laplacian()", bandwidth=1.0).fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.warns(UserWarning, match="so far"):
        np.testing.assert_allclose(model.predict([[1e4]]), [1 / (1 + np.exp(-1))])


def test_a_classifier_far_away_is_sure_of_its_nearest_neighbor() -> None:
    model = NadarayaWatsonClassifier(bandwidth=1.0).fit([[0.0], [1.0], [5.0]], [0, 0, 1])
    with pytest.warns(UserWarning, match="so far"):
        np.testing.assert_allclose(model.predict_proba([[1e5]]), [[0.0, 1.0]])


def test_near_queries_do_not_warn(wave: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = wave
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NadarayaWatsonRegressor().fit(X, y).predict(X + 0.5)
        LocalLinearRegressor("epanechnikov()").fit(X, y).predict(X)
        NadarayaWatsonRegressor("sigmoid(0.1, 3.0)", 1.0).fit(X, y)  # refuted, but not needed


# --- what X may be -----------------------------------------------------------------------------


def test_precomputed(wave: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = wave
    K, Q = Gaussian(0.4)(X), Gaussian(0.4)(X[:7] + 0.1, X)
    given = NadarayaWatsonRegressor("precomputed").fit(K, y)
    model = NadarayaWatsonRegressor(Gaussian(0.4), 1.0).fit(X, y)
    np.testing.assert_allclose(given.predict(Q), model.predict(X[:7] + 0.1), rtol=1e-10)
    weight = np.r_[np.zeros(75), np.ones(75)]
    given.fit(K, y, sample_weight=weight)
    model.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(
        given.predict(Q, return_std=True), model.predict(X[:7] + 0.1, return_std=True), rtol=1e-8
    )
    with pytest.raises(ValueError, match="inputs themselves"):
        LocalLinearRegressor("precomputed").fit(K, y)
    with pytest.raises(TypeError, match="not kept"):
        given.leave_one_out()


def test_strings() -> None:
    shared = Similarity(lambda a, b: float(len(set(a) & set(b))))
    words = ["cat", "car", "dog", "dig"]
    model = NadarayaWatsonRegressor(shared).fit(words, [1.0, 2.0, 3.0, 4.0])
    assert model.bandwidth_ == 1.0
    np.testing.assert_allclose(model.predict(["cab"]), [1.5])
    with pytest.warns(UserWarning, match="nearest neighbors"):
        assert np.isfinite(model.predict(["xyz"])).all()
    classes = NadarayaWatsonClassifier(shared).fit(words, ["c", "c", "d", "d"])
    assert classes.predict(["cab", "gods"]).tolist() == ["c", "d"]
    with pytest.raises(ValueError, match="no meaning"):
        NadarayaWatsonRegressor(shared, bandwidth=2.0).fit(words, [1.0, 2.0, 3.0, 4.0])


def test_sparse_rows_and_single_precision(rng: np.random.Generator) -> None:
    X, y = rng.random((60, 4)), rng.random(60)
    dense = NadarayaWatsonRegressor(bandwidth=0.5).fit(X, y)
    sparse = NadarayaWatsonRegressor(bandwidth=0.5).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X), rtol=1e-10)
    for estimator in REGRESSORS:
        double = estimator(bandwidth=0.5).fit(X, y).predict(X)
        single = estimator(bandwidth=0.5).fit(X.astype(np.float32), y).predict(X.astype(np.float32))
        np.testing.assert_allclose(single, double, atol=1e-5)


def test_frames_with_names(rng: np.random.Generator) -> None:
    X = rng.random((60, 3))
    frame = pd.DataFrame({"age": X[:, 0], "size": X[:, 1], "town": ["a", "b"] * 30})
    y = X[:, 0] + (frame["town"] == "a")
    kernel = "gaussian().on(['age']) * hamming().on(['town'])"
    model = NadarayaWatsonRegressor(kernel).fit(frame, y)
    assert model.score(frame, y) > 0.95
    numbers = frame[["age", "size"]]
    local = LocalLinearRegressor("gaussian().on('age')").fit(numbers, X[:, 0] - X[:, 1])
    np.testing.assert_allclose(local.predict(numbers), X[:, 0] - X[:, 1], atol=1e-8)
    np.testing.assert_allclose(local.gradient(numbers), [[1.0, -1.0]] * 60, atol=1e-6)


def test_search_pipeline_pickle(wave: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = wave
    search = GridSearchCV(
        make_pipeline(StandardScaler(), NadarayaWatsonRegressor(Gaussian(), bandwidth=1.0)),
        {"nadarayawatsonregressor__kernel__sigma": [0.02, 0.1, 3.0]},
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores)) == 3
    assert search.best_params_ == {"nadarayawatsonregressor__kernel__sigma": 0.1}
    model = LocalLinearRegressor().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("columns", [1, 3])
def test_the_same_numbers_as_statsmodels(columns: int, rng: np.random.Generator) -> None:
    regression = pytest.importorskip("statsmodels.nonparametric.kernel_regression")
    X, Q = rng.random((80, columns)), rng.random((15, columns))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.normal(size=80)
    h = [0.1, 0.3, 0.4][:columns]
    for kind, estimator in zip(("lc", "ll"), REGRESSORS, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer = regression.KernelReg(y, X, "c" * columns, reg_type=kind, bw=h)
        value, slope = peer.fit(Q)
        ours = estimator(bandwidth=h).fit(X, y)
        np.testing.assert_allclose(ours.predict(Q), value, atol=1e-8)
        if kind == "ll":
            np.testing.assert_allclose(ours.gradient(Q), slope, atol=1e-8)


def test_saved_and_loaded(wave: tuple[np.ndarray, np.ndarray], tmp_path: Any) -> None:
    X, y = wave
    for model in (
        NadarayaWatsonRegressor().fit(X, y),
        LocalLinearRegressor(local_degree=2).fit(X, y),
        NadarayaWatsonClassifier("tricube()").fit(X, y > 0),
    ):
        mercer.store.save(model, tmp_path / "model")
        again = mercer.store.load(tmp_path / "model")
        np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)


# --- bad input ---------------------------------------------------------------------------------


def test_as_many_bandwidths_as_columns() -> None:
    for estimator in REGRESSORS:
        with pytest.raises(ValueError, match="one bandwidth per column"):
            estimator(bandwidth=[0.1, 0.2, 0.3]).fit(np.eye(2), [0.0, 1.0])


@pytest.mark.parametrize("estimator", REGRESSORS)
def test_negative_kernels_say_why(estimator: Any, rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    for kernel in ("linear()", "polynomial(3)", "gaussian() - laplacian()"):
        with pytest.raises(ValueError, match=r"negative values here.*can leave the range"):
            estimator(kernel, bandwidth=1.0).fit(X, y).predict(X)
    estimator("polynomial(2)", bandwidth=1.0).fit(X, y).predict(X)


@pytest.mark.parametrize("estimator", REGRESSORS)
def test_odd_data(estimator: Any) -> None:
    one = estimator().fit([[1.0, 2.0]], [7])
    np.testing.assert_allclose(one.predict([[1.0, 2.0], [1.5, 2.0]]), 7.0)
    same = estimator().fit(np.ones((5, 2)), [1, 2, 3, 4, 5])
    np.testing.assert_allclose(same.predict(np.ones((1, 2))), 3.0)
    X = np.column_stack([np.linspace(0, 1, 40), np.full(40, 1e6)])
    flat = estimator().fit(X, np.arange(40))  # a constant column, integer targets
    assert flat.score(X, np.arange(40)) > 0.99
    two = estimator().fit([[0.0], [1.0]], [0, 1])
    assert np.isfinite(two.predict([[0.3]])).all()


def test_feature_maps_that_are_none() -> None:
    with pytest.raises(TypeError, match="function of rows or a transformer"):
        LocalLinearRegressor(feature_map=3).fit(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="gave back"):
        LocalLinearRegressor(bandwidth=1.0, feature_map=lambda X: X[:1]).fit(
            np.eye(2), [0, 1]
        ).predict(np.eye(2))
    with pytest.raises(ValueError, match="degree ≥ 1"):
        LocalLinearRegressor(bandwidth=1.0, local_degree=0).fit(np.eye(2), [0, 1]).gradient(
            np.eye(2)
        )


def test_local_polynomials_of_many_columns_are_bounded_or_refused() -> None:
    """A matrix per query: blocks of queries give the same, and what never fits is refused early."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 30)), rng.normal(size=80)
    whole = LocalLinearRegressor(bandwidth=9.0).fit(X, y).predict(X)
    with mercer.config(memory="1MB"):
        np.testing.assert_allclose(
            LocalLinearRegressor(bandwidth=9.0).fit(X, y).predict(X), whole, rtol=1e-9
        )
    with mercer.config(memory="200MB"), pytest.raises(ValueError, match="a lower degree") as told:
        LocalLinearRegressor(bandwidth=9.0, local_degree=3).fit(X, y).predict(X)
    assert "one row of 5456 local coefficients" in str(told.value)


def test_weights_of_classes_multiply_those_of_examples():
    rng = np.random.default_rng(1)
    X, y, given = rng.normal(size=(50, 2)), rng.integers(0, 3, 50), rng.integers(0, 3, 50)
    each = {0: 1.0, 1: 4.0, 2: 0.5}
    heavy = NadarayaWatsonClassifier(class_weight=each).fit(X, y, sample_weight=given)
    product = given * np.array([each[c] for c in y])
    same = NadarayaWatsonClassifier().fit(X, y, sample_weight=product)
    np.testing.assert_allclose(heavy.predict_proba(X), same.predict_proba(X))
    assert heavy.bandwidth_ == same.bandwidth_
    # A class without any weight is no class.
    assert NadarayaWatsonClassifier().fit(X, y, sample_weight=y != 1).classes_.tolist() == [0, 2]
