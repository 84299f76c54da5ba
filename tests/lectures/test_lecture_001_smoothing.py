"""Lecture 001, from "Kernel Regression" on: smoothers, their classifier, local regression."""

from __future__ import annotations

import timeit

import numpy as np
import pytest

import mercer
from mercer import (
    Gaussian,
    KernelCentroidClassifier,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    Laplacian,
    Linear,
    LocalLinearRegressor,
    Matern,
    NadarayaWatsonClassifier,
    NadarayaWatsonRegressor,
    Polynomial,
)
from mercer.data import linear_noise, pure_noise, sine_linear_noise
from mercer.kernels import Epanechnikov


def test_the_generalized_distance_finds_neighbors(rng):
    """001, line 336: k-nearest neighbors by κ(x,x) − 2κ(x,x') + κ(x',x'), for any kernel."""
    X, Q, t = rng.normal(size=(40, 2)), rng.normal(size=(9, 2)), rng.normal(size=40)
    for kernel in (Linear(), Polynomial(2), Polynomial(3, offset=1.0), Gaussian(0.7)):
        square = kernel.diag(Q)[:, None] - 2 * kernel(Q, X) + kernel.diag(X)[None, :]
        nearest = np.argsort(square, axis=1, kind="stable")[:, :3]
        model = KernelNeighborsRegressor(kernel, n_neighbors=3).fit(X, t)
        np.testing.assert_array_equal(model.kneighbors(Q, return_distance=False), nearest)
        np.testing.assert_allclose(
            model.kneighbors(Q)[0] ** 2, np.sort(square, axis=1)[:, :3], atol=1e-8
        )
        np.testing.assert_allclose(model.predict(Q), t[nearest].mean(axis=1), rtol=1e-12)
    # no longer limited to the ℓ₂ norm: in the features of Polynomial(2), x and −x are one point
    mirrored = KernelNeighborsClassifier(Polynomial(2), n_neighbors=1)
    mirrored.fit([[2.0, 1.0], [-1.0, 2.0]], ["a", "b"])
    assert mirrored.predict([[-2.0, -1.0]]).tolist() == ["a"]


def test_the_distance_to_the_mean_classifies(rng):
    """001, line 343: the nearest class mean, by sums of κ only."""
    X, y, Q = rng.normal(size=(30, 2)), np.repeat([0, 1], 15), rng.normal(size=(8, 2))
    kernel = Gaussian(0.8)
    model = KernelCentroidClassifier(kernel).fit(X, y)
    square = np.empty((8, 2))
    for c in (0, 1):
        members = X[y == c]
        cross, within = kernel(Q, members).mean(axis=1), kernel(members).mean()
        square[:, c] = kernel.diag(Q) - 2 * cross + within
    np.testing.assert_allclose(model.distances(Q) ** 2, square, atol=1e-12)
    np.testing.assert_array_equal(model.predict(Q), square.argmin(axis=1))


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.5), Laplacian(3.0), Matern(1.5, 0.4), Epanechnikov(2.0)], ids=repr
)
def test_kernel_regression_is_a_weighted_average(kernel, rng):
    """001, lines 445-450: y(x) = Σ κ(xₙ, x) tₙ / Σ κ(xₙ, x), with any kernel of the distance."""
    X, t = rng.random((30, 1)), rng.normal(size=30)
    Q = rng.random((12, 1))
    kappa = kernel(X, Q)
    by_hand = [
        sum(kappa[n, q] * t[n] for n in range(30)) / sum(kappa[n, q] for n in range(30))
        for q in range(12)
    ]
    model = NadarayaWatsonRegressor(kernel, bandwidth=1.0).fit(X, t)
    np.testing.assert_allclose(model.predict(Q), by_hand, rtol=1e-10)
    # an average: it stays between the targets, and adding a number to all of them adds it
    assert t.min() <= model.predict(Q).min() <= model.predict(Q).max() <= t.max()
    shifted = NadarayaWatsonRegressor(kernel, bandwidth=1.0).fit(X, t + 5.0)
    np.testing.assert_allclose(shifted.predict(Q), model.predict(Q) + 5.0, rtol=1e-10)


def test_sigma_and_gamma_of_the_smoother(rng):
    """001, line 455: exp(−‖x−x'‖²/2σ²) = exp(−γ‖x−x'‖²), and h is σ."""
    X, t = rng.random((20, 1)), rng.normal(size=20)
    sigma, gamma = 0.3, 1 / (2 * 0.3**2)
    models = [
        NadarayaWatsonRegressor(Gaussian(sigma), bandwidth=1.0),
        NadarayaWatsonRegressor(Gaussian.from_gamma(gamma), bandwidth=1.0),
        NadarayaWatsonRegressor(Gaussian(), bandwidth=sigma),
    ]
    first, *rest = (model.fit(X, t).predict(X) for model in models)
    for other in rest:
        np.testing.assert_allclose(other, first, rtol=1e-12)


def test_linear_data_is_followed_but_sags_at_the_boundary():
    """001, lines 457-459, "linear + noise": the average flattens at both ends; a line does not."""
    X, t = linear_noise(n=400, noise=0.3, random_state=0)
    low, high = X.min(), X.max()
    slope, intercept = np.polyfit(X[:, 0], t, 1)
    truth = lambda x: slope * x + intercept  # noqa: E731
    ends, middle = np.array([[low], [high]]), np.linspace(low, high, 9)[3:6, None]
    width = 0.1 * (high - low)
    average = NadarayaWatsonRegressor(bandwidth=width).fit(X, t)
    line = LocalLinearRegressor(bandwidth=width).fit(X, t)
    inward = np.sign(slope) * np.array([1.0, -1.0])
    bias = inward * (average.predict(ends) - truth(ends[:, 0]))
    assert (bias > 0.5 * abs(slope) * width).all()
    np.testing.assert_allclose(average.predict(middle), truth(middle[:, 0]), atol=0.2)
    np.testing.assert_allclose(line.predict(ends), truth(ends[:, 0]), atol=0.25)


def test_sine_and_line_are_followed():
    """001, lines 461-463, "sine + linear + noise": the chosen bandwidth sees the waves."""
    X, t = sine_linear_noise(n=300, noise=0.1, random_state=0)
    train, test = np.arange(0, 300, 2), np.arange(1, 300, 2)
    constant = np.mean((t[test] - t[train].mean()) ** 2)
    for estimator in (NadarayaWatsonRegressor, LocalLinearRegressor):
        model = estimator().fit(X[train], t[train])
        assert np.mean((model.predict(X[test]) - t[test]) ** 2) < 0.1 * constant


def test_pure_noise_gives_a_flat_line():
    """001, lines 465-467, "completely random": nothing is found, and leave-one-out says so."""
    flat = []
    for seed in range(5):
        X, t = pure_noise(n=300, random_state=seed)
        grid = np.linspace(X.min(), X.max(), 50)[:, None]
        flat.append(np.std(NadarayaWatsonRegressor().fit(X, t).predict(grid)) / t.std())
    assert np.median(flat) < 0.1


def test_weighted_majority(rng):
    """001, lines 475-479: h(x) = sign Σ κ(x, xₙ) tₙ for t = ±1; the average has the same sign."""
    X, Q = rng.normal(size=(40, 2)), rng.normal(size=(15, 2))
    t = np.where(X[:, 0] > 0.3, 1, -1)
    kernel = Gaussian(0.6)
    votes = kernel(Q, X) @ t
    classifier = NadarayaWatsonClassifier(kernel, bandwidth=1.0).fit(X, t)
    np.testing.assert_array_equal(classifier.predict(Q), np.sign(votes))
    average = NadarayaWatsonRegressor(kernel, bandwidth=1.0).fit(X, t)
    np.testing.assert_array_equal(np.sign(average.predict(Q)), np.sign(votes))
    share = classifier.predict_proba(Q)
    np.testing.assert_allclose(share[:, 1] - share[:, 0], average.predict(Q), atol=1e-12)


def test_locally_weighted_regression_minimizes_the_weighted_squares(rng):
    """001, lines 484-490: w minimizes Σ rₙ (tₙ − wᵀφ(xₙ))², rₙ = exp(−‖xₙ−x‖²/2σ²); wᵀφ(x)."""
    X, t, sigma = rng.random((30, 1)), rng.normal(size=30), 0.2

    def phi(x):
        return np.column_stack([np.ones(len(x)), x, x**2])

    model = LocalLinearRegressor(Gaussian(sigma), bandwidth=1.0, feature_map=phi).fit(X, t)
    for x in rng.random((6, 1)):
        r = np.exp(-((X[:, 0] - x) ** 2) / (2 * sigma**2))
        R = np.diag(r)
        w = np.linalg.solve(phi(X).T @ R @ phi(X), phi(X).T @ R @ t)
        assert model.predict([x]).item() == pytest.approx((phi(x[None]) @ w).item(), rel=1e-7)
        # w is where the gradient of the weighted squares vanishes
        np.testing.assert_allclose(phi(X).T @ (r * (t - phi(X) @ w)), 0.0, atol=1e-9)
    # monomials around x span the same functions, so degree 2 is the same fit
    degree = LocalLinearRegressor(Gaussian(sigma), bandwidth=1.0, local_degree=2).fit(X, t)
    np.testing.assert_allclose(degree.predict(X), model.predict(X), rtol=1e-7)


def test_only_observations_close_to_the_query_count(rng):
    """001, lines 494-496: what happens far away changes nothing, in both methods."""
    X = np.linspace(0, 1, 50)[:, None]
    t = rng.normal(size=50)
    changed = t.copy()
    changed[40:] += 1000.0
    for estimator in (NadarayaWatsonRegressor, LocalLinearRegressor):
        for kernel in (Gaussian(), Epanechnikov()):
            one = estimator(kernel, bandwidth=0.05).fit(X, t).predict(X[:10])
            other = estimator(kernel, bandwidth=0.05).fit(X, changed).predict(X[:10])
            np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.slow
def test_local_regression_is_more_accurate_and_slower():
    """001, lines 498-499: LWLR needs D + 1 times the sums of KR, and has the smaller error."""
    X, t = sine_linear_noise(n=400, noise=0.1, random_state=1)
    train, test = np.arange(0, 400, 2), np.arange(1, 400, 2)
    errors, times = [], []
    Q = np.linspace(0, 10, 4000)[:, None]
    for estimator in (NadarayaWatsonRegressor, LocalLinearRegressor):
        model = estimator().fit(X[train], t[train])
        errors.append(np.mean((model.predict(X[test]) - t[test]) ** 2))
        times.append(min(timeit.repeat(lambda model=model: model.predict(Q), number=1, repeat=7)))
    assert errors[1] < errors[0]
    assert times[1] > times[0]


@pytest.mark.parametrize("estimator", [NadarayaWatsonRegressor, LocalLinearRegressor])
def test_both_suffer_when_the_input_dimension_is_high(estimator, rng):
    """001, line 497: with as many examples, more irrelevant inputs mean a larger error."""
    errors = []
    for columns in (1, 4, 12):
        X, Q = rng.random((200, columns)), rng.random((300, columns))
        t, truth = np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=200), np.sin(6 * Q[:, 0])
        errors.append(np.mean((estimator().fit(X, t).predict(Q) - truth) ** 2))
    assert errors[0] < 0.2 * errors[1]
    assert errors[1] < 0.7 * errors[2]


def test_free_to_choose_the_kernel(rng):
    """001, line 496: any kernel assigns the weights; one with negative values cannot."""
    X, t = rng.random((25, 2)), rng.normal(size=25)
    for kernel in (Laplacian(norm=1), mercer.RationalQuadratic(), Polynomial(2, offset=1.0)):
        K = kernel(X)
        model = NadarayaWatsonRegressor(kernel, bandwidth=1.0).fit(X, t)
        np.testing.assert_allclose(model.predict(X), K @ t / K.sum(axis=1), rtol=1e-10)
    with pytest.raises(ValueError, match="negative"):
        NadarayaWatsonRegressor("linear()", bandwidth=1.0).fit(X - 0.5, t).predict(X - 0.5)
