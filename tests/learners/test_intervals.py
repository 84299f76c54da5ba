"""Intervals: the closed forms against refits, coverage, sets of classes, bad input."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import (
    Gaussian,
    GaussianProcessRegressor,
    KernelLogisticRegression,
    KernelQuantileRegressor,
    KernelRidge,
    KernelSVC,
    Spectrum,
    calibrate,
)
from mercer.learners.intervals.calibration import ConformalClassifier, ConformalRegressor, level

R = np.random.default_rng(8)
X, NEW = R.uniform(-2, 2, (40, 2)), R.uniform(-2, 2, (7, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * R.normal(size=40)


def brute(make, folds, alpha):
    """Jackknife+ and CV+ by their definition: a model without each fold."""
    low, high = [], []
    for fold in folds:
        others = np.setdiff1d(np.arange(len(X)), fold)
        model = make().fit(X[others], Y[others])
        for off in np.abs(Y[fold] - model.predict(X[fold])):
            low.append(model.predict(NEW) - off)
            high.append(model.predict(NEW) + off)
    n = len(X)
    down, up = int(np.floor(alpha * (n + 1))), int(np.ceil((1 - alpha) * (n + 1)))
    return np.stack([np.sort(low, axis=0)[down - 1], np.sort(high, axis=0)[up - 1]], axis=1)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("solver", ["cholesky", "eigh"])
def test_jackknife_plus_is_n_refits(intercept, solver):
    def make():
        return KernelRidge("gaussian(1)", 0.3, fit_intercept=intercept, solver=solver)

    found = calibrate(make()).fit(X, Y)
    assert found.method_ == "jackknife+"
    expected = brute(make, np.arange(40)[:, None], 0.2)
    assert np.allclose(found.predict_interval(NEW, 0.2), expected)
    assert np.allclose(found.predict(NEW), make().fit(X, Y).predict(NEW))


@pytest.mark.parametrize("intercept", [False, True])
def test_cv_plus_is_as_many_refits(intercept):
    def make():
        return KernelRidge("gaussian(1)", 0.3, fit_intercept=intercept)

    found = calibrate(make(), "cv+", cv=6, random_state=0).fit(X, Y)
    assert np.allclose(found.predict_interval(NEW, 0.2), brute(make, found._folds, 0.2))
    # What has no closed form is refitted.
    line = calibrate(LinearRegression(), "cv+", cv=6, random_state=0).fit(X, Y)
    assert np.allclose(line.predict_interval(NEW, 0.2), brute(LinearRegression, line._folds, 0.2))


def test_a_process_is_a_ridge_of_normalized_targets():
    process = GaussianProcessRegressor("gaussian(1)", 0.1, optimizer=None)
    found = calibrate(process).fit(X, 100 + 50 * Y)
    ridge = calibrate(KernelRidge("gaussian(1)", 0.1, fit_intercept=False)).fit(
        X, (Y - Y.mean()) / Y.std()
    )
    expected = ridge.predict_interval(NEW, 0.1) * 50 * Y.std() + 100 + 50 * Y.mean()
    assert np.allclose(found.predict_interval(NEW, 0.1), expected)


def test_split_is_the_level_of_what_was_held_back():
    found = calibrate(LinearRegression(), random_state=3).fit(X, Y)
    assert found.method_ == "split"
    off = np.sort(np.abs(found.residuals_))
    assert level(off, 0.1) == off[int(np.ceil(21 * 0.9)) - 1]
    low, high = found.predict_interval(NEW, 0.1).T
    assert np.allclose((low + high) / 2, found.predict(NEW))
    assert np.allclose(high - low, 2 * level(off, 0.1))
    assert np.isinf(found.predict_interval(NEW, 0.01)).all()


def test_sets_hold_the_classes_that_scores_allow():
    y = np.array(["a", "b", "c"])[np.digitize(Y, [-0.5, 0.7])]
    for model in (KernelLogisticRegression("gaussian(1)", 0.1), LinearSVC(), KernelSVC()):
        found = calibrate(model, random_state=0).fit(X, y)
        sets = found.predict_set(X, 0.1)
        assert sets.shape == (40, 3)
        assert sets.any(axis=1).all()
        assert (sets <= found.predict_set(X, 0.05)).all()
        labels = found.predict(X)
        assert sets[np.arange(40), np.searchsorted(found.classes_, labels)].all()
    two = calibrate(LinearSVC(), random_state=0).fit(X, Y > 0)
    assert two.predict_set(X, 0.2).shape == (40, 2)


def test_strings_frames_and_files(tmp_path):
    pd = pytest.importorskip("pandas")
    words = ["aab", "aba", "bbc", "bcb", "abab", "ccc"] * 3
    target = [float(word.count("a")) for word in words]
    by_words = calibrate(KernelRidge(Spectrum(1), 0.1)).fit(words, target)
    assert by_words.predict_interval(["aaaa"], 0.2).shape == (1, 2)
    frame = pd.DataFrame(X, columns=list("ab"))
    named = calibrate(KernelRidge("gaussian(1).on(['a'])", 0.1), "split").fit(frame, Y)
    assert list(named.feature_names_in_) == ["a", "b"]
    model = calibrate(KernelRidge("gaussian(1)", 0.1)).fit(X, Y)
    model.save(tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert (again.predict_interval(NEW) == model.predict_interval(NEW)).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: calibrate(LinearRegression(), "jackknife+").fit(X, Y), "needs the closed form"),
        (lambda: calibrate(KernelRidge(), "best").fit(X, Y), "method must be"),
        (lambda: calibrate(KernelRidge("precomputed")).fit(X @ X.T, Y), "not a matrix"),
        (lambda: calibrate(KernelRidge()).fit(X, Y).predict_interval(NEW, 1.0), "alpha must be"),
        (lambda: calibrate(KernelRidge()).fit(X, None), "requires y"),
        (lambda: calibrate(KernelSVC()).fit(X, np.ones(40)), "at least 2 classes"),
        (lambda: calibrate(LinearRegression()).fit(X[:1], Y[:1]), "at least 2 examples"),
    ],
)
def test_bad_input_is_answered(call, words):
    with pytest.raises(ValueError, match=words):
        call()


LEVELS = [0.1, 0.5, 0.8]


def test_quantiles_without_a_penalty_are_scikit_learns():
    model = KernelQuantileRegressor("linear()", LEVELS, C=1e4, tol=1e-5).fit(X, Y)
    for j, level_ in enumerate(LEVELS):
        peer = QuantileRegressor(quantile=level_, alpha=0.0).fit(X, Y)
        assert np.allclose(model.expansion_(NEW)[:, j], peer.predict(NEW), atol=2e-3)


def test_quantiles_minimize_the_pinball_loss():
    """Against SciPy on the same problem, as a smooth one with two slack variables per example."""
    x, y, C = X[:12], Y[:12], 3.0
    K = mercer.Gaussian(1.0)(x)
    model = KernelQuantileRegressor("gaussian(1)", 0.3, C, tol=1e-6).fit(x, y)

    def objective(z):
        a, over, under = z[:12], z[13:25], z[25:]
        return 0.5 * a @ K @ a + C * (0.3 * over.sum() + 0.7 * under.sum())

    # y = Ka + b + over − under, with both slack variables at least 0.
    equation = np.hstack([K, np.ones((12, 1)), np.eye(12), -np.eye(12)])
    bounds = [(None, None)] * 13 + [(0, None)] * 24
    start = np.concatenate([np.zeros(13), np.maximum(y, 0), np.maximum(-y, 0)])
    best = minimize(
        objective,
        start,
        bounds=bounds,
        constraints=LinearConstraint(equation, y, y),
        options={"maxiter": 500, "ftol": 1e-10},
    )
    left = y - model.predict(x)
    a = np.zeros(12)
    a[model.support_] = model.dual_coef_[0]
    ours = 0.5 * a @ K @ a + C * np.maximum(0.3 * left, -0.7 * left).sum()
    assert ours == pytest.approx(best.fun, rel=1e-4)


def test_levels_hold_their_share_and_never_cross():
    random = np.random.default_rng(1)
    x = random.uniform(-2, 2, (200, 1))
    y = np.sin(2 * x[:, 0]) + (0.1 + np.abs(x[:, 0])) * random.normal(size=200)
    model = KernelQuantileRegressor(Gaussian(0.4), [0.9, 0.05, 0.5, 0.45]).fit(x, y)
    assert model.quantiles_.tolist() == [0.05, 0.45, 0.5, 0.9]
    line = np.linspace(-3, 3, 300)[:, None]
    assert (np.diff(model.predict_quantiles(line), axis=1) >= 0).all()
    below = (y[:, None] < model.predict_quantiles(x)).mean(axis=0)
    assert np.allclose(below, model.quantiles_, atol=0.03)
    assert (model.predict(line) == model.predict_quantiles(line)[:, 2]).all()
    weights = random.integers(0, 3, 200)
    heavy = KernelQuantileRegressor(Gaussian(0.4), 0.5, 2.0, tol=1e-5).fit(x, y, weights)
    copied = np.repeat(np.arange(200), weights)
    plain = KernelQuantileRegressor(Gaussian(0.4), 0.5, 2.0, tol=1e-5).fit(x[copied], y[copied])
    assert np.allclose(heavy.predict(line), plain.predict(line), atol=1e-3)


def test_calibrated_quantiles_are_as_wide_as_the_noise():
    random = np.random.default_rng(1)
    x = random.uniform(0, 2, (300, 1))
    y = (0.1 + x[:, 0]) * random.normal(size=300)
    model = calibrate(KernelQuantileRegressor(Gaussian(1.0), (0.1, 0.9)), random_state=0).fit(x, y)
    low, high = model.predict_interval([[0.1], [1.9]], 0.2).T
    assert high[1] - low[1] > 1.8 * (high[0] - low[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator", [ConformalRegressor(), ConformalRegressor(method="split"), ConformalClassifier()]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks(estimator):
    check_estimator(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["jackknife+", "cv+", "split"])
def test_intervals_cover_on_200_problems(method):
    """The rate of misses over 200 simulated problems is α to sampling error, for three α."""
    rates, missed = np.array([0.05, 0.1, 0.2]), np.zeros((200, 3))
    for seed in range(200):
        random = np.random.default_rng(seed)
        x = random.uniform(-2, 2, (140, 1))
        spread = random.uniform(0.1, 1.0) * (1 + np.abs(x[:, 0]))
        y = np.sin(random.uniform(1, 3) * x[:, 0]) + spread * random.standard_t(4, 140)
        model = calibrate(KernelRidge("gaussian(0.7)", 0.5), method, random_state=seed)
        model.fit(x[:60], y[:60])
        for j, alpha in enumerate(rates):
            low, high = model.predict_interval(x[60:], alpha).T
            missed[seed, j] = np.mean((y[60:] < low) | (y[60:] > high))
    error = missed.std(axis=0) / np.sqrt(200)
    # A rank of so few residuals lies up to 1/(n + 1) off the rate, on the safe side.
    assert (missed.mean(axis=0) <= rates + 3.5 * error).all()
    assert (missed.mean(axis=0) >= rates - 3.5 * error - 1 / 31).all()


@pytest.mark.slow
def test_sets_cover_on_200_problems():
    missed = np.zeros(200)
    for seed in range(200):
        random = np.random.default_rng(seed)
        x = random.normal(size=(160, 2))
        y = np.digitize(x[:, 0] + random.normal(size=160), [-0.7, 0.7])
        model = calibrate(KNeighborsClassifier(15), random_state=seed).fit(x[:80], y[:80])
        inside = model.predict_set(x[80:], 0.1)
        missed[seed] = 1 - inside[np.arange(80), y[80:]].mean()
    assert missed.mean() <= 0.1 + 3.5 * missed.std() / np.sqrt(200)


def test_new_examples_of_quantiles_are_checked():
    model = KernelQuantileRegressor("gaussian(1)", [0.5], C=1.0).fit(X, Y)
    with pytest.raises(ValueError, match="Reshape your data"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="NaN"):
        model.predict_quantiles(np.full((1, X.shape[1]), np.nan))
