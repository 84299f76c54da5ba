"""Gaussian processes beside scikit-learn's: posterior, evidence and gradient on twenty kernels."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.gaussian_process import GaussianProcessClassifier as PeerOfClasses
from sklearn.gaussian_process import GaussianProcessRegressor as Peer
from sklearn.gaussian_process import kernels as sk
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import (
    ChiSquared,
    Cosine,
    Gaussian,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelRidge,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Spectrum,
)

R = np.random.default_rng(3)
X, NEW = R.uniform(0.1, 2.0, (30, 3)), R.uniform(0.1, 2.0, (8, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * R.normal(size=30)
LENGTHS = [1.0, 2.0, 0.7]


def const(value):
    return sk.ConstantKernel(value)


def dot(offset, bounds=(1e-5, 1e5)):
    return sk.DotProduct(np.sqrt(offset), bounds)


def pairwise(metric, gamma, **more):
    return sk.PairwiseKernel(gamma, metric=metric, pairwise_kernels_kwargs=more or None)


#: Ours, theirs, and per number of theirs the name of ours and ∂ log ours/∂ log theirs.
SAME = {
    "gaussian": (Gaussian(1.5), sk.RBF(1.5), {"sigma": 1}),
    "lengths": (Gaussian(LENGTHS), sk.RBF(LENGTHS), {f"sigma[{j}]": 1 for j in range(3)}),
    "scaled": (2.0 * Gaussian(1.2), const(2.0) * sk.RBF(1.2), {"factor": 1, "kernel__sigma": 1}),
    "scaled lengths": (
        0.5 * Gaussian(LENGTHS),
        const(0.5) * sk.RBF(LENGTHS),
        {"factor": 1, **{f"kernel__sigma[{j}]": 1 for j in range(3)}},
    ),
    "matern 1/2": (Matern(0.5, 1.3), sk.Matern(1.3, nu=0.5), {"length": 1}),
    "matern 3/2": (Matern(1.5, 0.8), sk.Matern(0.8, nu=1.5), {"length": 1}),
    "matern 5/2": (Matern(2.5, 2.0), sk.Matern(2.0, nu=2.5), {"length": 1}),
    "laplacian": (Laplacian(0.7), sk.Matern(1 / 0.7, nu=0.5), {"rate": -1}),
    "laplacian 1": (Laplacian(0.7, norm=1), pairwise("laplacian", 0.7), {"rate": 1}),
    "rational quadratic": (
        RationalQuadratic(0.6, 1.7),
        sk.RationalQuadratic(1.7, 0.6),
        {"alpha": 1, "length": 1},
    ),
    "periodic": (
        Periodic(2.3, 0.9).on([0]),
        sk.ExpSineSquared(0.9, 2.3),
        {"kernel__length": 1, "kernel__period": 1},
    ),
    "linear": (Linear() + 1.5, dot(1.5), {"right__value": 2}),
    "square": ((Linear() + 1.5) ** 2, dot(1.5) ** 2, {"kernel__right__value": 2}),
    "polynomial": (
        Polynomial(3, offset=1.0),
        pairwise("polynomial", 1.0, degree=3, coef0=1.0),
        {"gamma": 1},
    ),
    "cosine": (2.0 * Cosine(), const(2.0) * pairwise("cosine", 1.0), {"factor": 1, None: 0}),
    "chi squared": (ChiSquared(0.5), pairwise("chi2", 0.5), {"gamma": 1}),
    "sum": (
        Gaussian(1.0) + Matern(1.5, 0.5),
        sk.RBF(1.0) + sk.Matern(0.5, nu=1.5),
        {"left__sigma": 1, "right__length": 1},
    ),
    "product": (
        Gaussian(1.0) * (Linear() + 0.5),
        sk.RBF(1.0) * dot(0.5),
        {"left__sigma": 1, "right__right__value": 2},
    ),
    "power": (Matern(2.5, 1.0) ** 3, sk.Matern(1.0, nu=2.5) ** 3, {"kernel__length": 1}),
    "three": (
        0.3 * Gaussian(2.0) + 1.5 * Matern(0.5, 1.0) * RationalQuadratic(1.0, 1.0) + 0.2,
        const(0.3) * sk.RBF(2.0)
        + const(1.5) * sk.Matern(1.0, nu=0.5) * sk.RationalQuadratic(1.0, 1.0)
        + const(0.2),
        {
            "left__left__factor": 1,
            "left__left__kernel__sigma": 1,
            "left__right__left__factor": 1,
            "left__right__left__kernel__length": 1,
            "left__right__right__alpha": 1,
            "left__right__right__length": 1,
            "right__value": 1,
        },
    ),
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("normalize", [False, True])
def test_posterior_evidence_and_gradient_are_scikit_learns(name, normalize):
    ours, theirs, names = SAME[name]
    columns = [0] if name == "periodic" else [0, 1, 2]
    model = GaussianProcessRegressor(ours, 0.05, optimizer=None, normalize_y=normalize).fit(X, Y)
    peer = Peer(theirs, alpha=0.05, optimizer=None, normalize_y=normalize).fit(X[:, columns], Y)
    close = {"rtol": 1e-8, "atol": 1e-8}
    mean, variance = model.latent_mean_and_variance(NEW)
    expected, deviation = peer.predict(NEW[:, columns], return_std=True)
    assert np.allclose(mean, expected, **close)
    assert np.allclose(variance, deviation**2, **close)
    same, std = model.predict(NEW, return_std=True)
    noise = 0.05 * (Y.var() if normalize else 1.0)
    assert np.array_equal(same, mean)
    assert np.allclose(std**2, deviation**2 + noise, **close)
    covariance = peer.predict(NEW[:, columns], return_cov=True)[1]
    assert np.allclose(model.predict(NEW, return_cov=True)[1], covariance, **close)
    value, slopes = model.log_marginal_likelihood(eval_gradient=True)
    known, gradient = peer.log_marginal_likelihood(peer.kernel_.theta, eval_gradient=True)
    assert value == pytest.approx(known, rel=1e-8)
    assert model.log_marginal_likelihood_value_ == value
    own = {**dict(zip(model.theta_names_, slopes, strict=True)), None: 0.0}
    numeric = isinstance(theirs, sk.PairwiseKernel)  # differences are all scikit-learn has there
    tolerance = {"rtol": 1e-3, "atol": 1e-4} if numeric else close
    chained = [own[one] * factor for one, factor in names.items()]
    assert np.allclose(chained, gradient, **tolerance)


def test_learning_reaches_the_evidence_of_scikit_learn():
    model = GaussianProcessRegressor(2.0 * Gaussian(LENGTHS), random_state=0).fit(X, Y)
    kernel = const(2.0) * sk.RBF(LENGTHS) + sk.WhiteKernel(0.1)
    peer = Peer(kernel, normalize_y=True, alpha=0.0).fit(X, Y)
    assert model.log_marginal_likelihood_value_ > peer.log_marginal_likelihood_value_ - 0.5
    assert model.theta_names_[-1] == "noise"
    assert model.theta_[-1] == pytest.approx(np.log(model.noise_))
    _, slopes = model.log_marginal_likelihood(eval_gradient=True)
    free = np.abs(model.theta_ - np.append(np.log([2.0, *LENGTHS]), np.log(0.2))) < 9
    assert np.abs(slopes[free]).max() < 0.1


def test_restarts_bounds_and_fixed_numbers():
    poor = GaussianProcessRegressor(Gaussian(30.0), tol=1e-9).fit(X, Y)
    better = GaussianProcessRegressor(Gaussian(30.0), n_restarts=3, random_state=1).fit(X, Y)
    assert better.log_marginal_likelihood_value_ >= poor.log_marginal_likelihood_value_ - 1e-4
    kernel = 2.0 * Gaussian(1.0)
    held = GaussianProcessRegressor(kernel, bounds={"factor": "fixed", "noise": (0.5, 0.6)})
    held.fit(X, Y)
    assert held.kernel_.factor == 2.0
    assert 0.5 <= held.noise_ <= 0.6
    assert held.theta_names_ == ["kernel__sigma", "noise"]
    still = GaussianProcessRegressor(kernel, bounds={"noise": "fixed"}, optimizer=None).fit(X, Y)
    assert still.kernel_ == kernel
    assert still.noise_ == pytest.approx(0.2)
    narrow = GaussianProcessRegressor(Gaussian(1.0), bounds={"sigma": (0.9, 1.1)}).fit(X, Y)
    assert 0.9 <= narrow.kernel_.sigma <= 1.1 + 1e-9


def test_the_mean_is_ridge_regression_and_an_expansion():
    model = GaussianProcessRegressor(Gaussian(1.0), 0.1).fit(X, Y)
    assert np.allclose(model.expansion_(NEW), model.predict(NEW), atol=1e-12)
    ridge = mercer.KernelRidge(model.kernel_, 0.1, fit_intercept=False).fit(X, model.y_train_)
    assert np.allclose(model.dual_coef_, ridge.dual_coef_)


def test_several_targets_share_the_kernel():
    both = np.column_stack([Y, 10 * np.cos(X[:, 2])])
    model = GaussianProcessRegressor(Gaussian(1.0), 0.1, normalize_y=False).fit(X, both)
    each = [
        GaussianProcessRegressor(model.kernel_, 0.1, optimizer=None, normalize_y=False).fit(X, t)
        for t in both.T
    ]
    mean, std = model.predict(NEW, return_std=True)
    assert np.allclose(mean, np.column_stack([one.predict(NEW) for one in each]))
    assert std.shape == (8, 2)
    total = sum(one.log_marginal_likelihood_value_ for one in each)
    assert model.log_marginal_likelihood_value_ == pytest.approx(total)
    assert model.sample_y(NEW, 3).shape == (8, 2, 3)
    assert model.predict(NEW, return_cov=True)[1].shape == (8, 8, 2)


def test_samples_have_the_mean_and_the_spread_of_the_posterior():
    model = GaussianProcessRegressor(Gaussian(0.5), 0.1).fit(X, Y)
    mean, variance = model.latent_mean_and_variance(NEW)
    std = np.sqrt(variance)
    drawn = model.sample_y(NEW, 4000, random_state=0)
    assert np.allclose(drawn.mean(axis=1), mean, atol=0.1 * std.max())
    assert np.allclose(drawn.std(axis=1), std, rtol=0.1)


def _friedman(rows, columns, noise):
    X, y = make_friedman1(rows, n_features=columns, noise=noise, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.mark.parametrize("length", [0.02, 0.1, 1.0, 300.0])
def test_one_length_per_column_is_found_from_any_width(length):
    """Where lengths begin far too small K is the identity; far too large, some are never left."""
    X, y = _friedman(250, 8, 1.0)
    model = GaussianProcessRegressor(Gaussian([length] * 8)).fit(X, y)
    good = GaussianProcessRegressor(Gaussian([3.0] * 8)).fit(X, y)
    assert model.log_marginal_likelihood_value_ > good.log_marginal_likelihood_value_ - 1.0
    assert model.kernel_.sigma[:5].max() < model.kernel_.sigma[5:].min()


def test_a_width_that_is_bounded_is_not_left_and_nothing_is_said_aloud():
    X, y = _friedman(100, 5, 1.0)
    with pytest.warns(UserWarning, match="better than noise alone"):
        model = GaussianProcessRegressor(Gaussian(0.01), bounds={"sigma": (0.01, 0.02)}).fit(X, y)
    assert 0.01 <= model.kernel_.sigma <= 0.02
    with pytest.warns(UserWarning, match="better than noise alone"):
        GaussianProcessRegressor().fit(X, np.random.default_rng(0).normal(size=100))
    labels = np.random.default_rng(0).integers(0, 2, 100)
    with pytest.warns(UserWarning, match="better than noise alone"):
        GaussianProcessClassifier(2.0 * Gaussian(0.01)).fit(X, labels)


def test_a_classifier_leaves_a_width_that_is_far_too_small():
    X, y = _friedman(150, 5, 0.1)
    model = GaussianProcessClassifier(4.0 * Gaussian(0.01)).fit(X, y > np.median(y))
    assert model.kernel_.kernel.sigma > 0.5
    assert model.log_marginal_likelihood_value_ > -150 * np.log(2) + 20


@pytest.mark.parametrize("make", [GaussianProcessRegressor, KernelRidge])
@pytest.mark.parametrize("noise", [0.3, 2.0])
def test_standard_deviations_are_those_of_new_targets(make, noise):
    """In any unit: about 68 % within one, 95 % within two."""
    X, y = _friedman(1500, 6, noise)
    mean, std = make().fit(X[:500], 1000.0 * y[:500]).predict(X[500:], return_std=True)
    away = np.abs(1000.0 * y[500:] - mean) / std
    assert 0.60 < np.mean(away < 1) < 0.80
    assert 0.91 < np.mean(away < 2) < 0.985


def test_many_rows_begin_on_some(monkeypatch):
    from mercer.learners.processes import base

    monkeypatch.setattr(base, "CHOOSING_ROWS", 14)
    model = GaussianProcessRegressor(Gaussian(1.0), random_state=0).fit(X, Y)
    monkeypatch.undo()
    direct = GaussianProcessRegressor(Gaussian(1.0), random_state=0).fit(X, Y)
    value = direct.log_marginal_likelihood_value_
    assert model.log_marginal_likelihood_value_ == pytest.approx(value, abs=0.01)


def test_with_all_examples_as_centers_the_bound_is_the_evidence():
    kernel = 1.5 * Gaussian(LENGTHS) + 0.3
    exact = GaussianProcessRegressor(kernel, 0.2, optimizer=None).fit(X, Y)
    same = GaussianProcessRegressor(kernel, 0.2, optimizer=None, centers=range(30)).fit(X, Y)
    assert same.solver_ == "variational"
    ours, slopes = same.log_marginal_likelihood(eval_gradient=True)
    known, gradient = exact.log_marginal_likelihood(eval_gradient=True)
    assert ours == pytest.approx(known, rel=1e-6)
    assert np.allclose(slopes, gradient, rtol=1e-5)
    for one, other in zip(
        same.predict(NEW, return_std=True), exact.predict(NEW, return_std=True), strict=True
    ):
        assert np.allclose(one, other, atol=1e-5)


def test_the_slopes_of_the_bound_are_its_differences():
    kernel = 1.5 * Gaussian(LENGTHS) + 0.2 * Matern(1.5, 1.0) * (Linear() + 0.5)
    options = {"optimizer": None, "n_centers": 9, "random_state": 0}
    model = GaussianProcessRegressor(kernel, **options).fit(X, np.column_stack([Y, Y**2]))
    value, slopes = model.log_marginal_likelihood(eval_gradient=True)
    assert len(model.centers_) == 9
    steps = 1e-5 * np.eye(len(slopes))
    for slope, step in zip(slopes, steps, strict=True):
        ahead, behind = (model.log_marginal_likelihood(model.theta_ + s) for s in (step, -step))
        assert slope == pytest.approx((ahead - behind) / 2e-5, rel=1e-4, abs=1e-5)
    exact = GaussianProcessRegressor(kernel, optimizer=None).fit(X, np.column_stack([Y, Y**2]))
    assert value < exact.log_marginal_likelihood_value_


def test_many_examples_are_learned_by_centers(monkeypatch):
    from mercer.learners.processes import regression

    monkeypatch.setattr(regression, "EXACT_PROCESS_ROWS", 20)
    model = GaussianProcessRegressor(Gaussian(1.0), random_state=0, n_centers=20).fit(X, Y)
    assert model.solver_ == "variational"
    assert (model.regressor_.centers_ == model.centers_).all()
    assert model.score(X, Y) > 0.9
    assert np.allclose(model.expansion_(NEW), model.predict(NEW))
    with pytest.raises(ValueError, match="a name or indices"):
        GaussianProcessRegressor(centers=NEW).fit(X, Y)


def test_strings_frames_searches_and_pipelines():
    pd = pytest.importorskip("pandas")
    words = ["aab", "aba", "bbc", "bcb", "abab", "ccc"]
    target = [float(word.count("a")) for word in words]
    model = GaussianProcessRegressor(1.0 * Spectrum(1)).fit(words, target)
    assert "factor" in model.theta_names_
    assert model.predict(["aaaa"])[0] > model.predict(["bbcc"])[0]
    frame = pd.DataFrame(X, columns=list("abc"))
    by_name = GaussianProcessRegressor(Gaussian(1.0).on(["a", "b"])).fit(frame, Y)
    assert by_name.predict(frame.iloc[:2]).shape == (2,)
    pipe = make_pipeline(StandardScaler(), GaussianProcessRegressor(optimizer=None))
    step = "gaussianprocessregressor"
    grid = GridSearchCV(
        pipe, {f"{step}__noise": [0.01, 10.0], f"{step}__kernel__sigma": [1.0]}, cv=2
    )
    assert grid.fit(X, Y).best_params_[f"{step}__noise"] == 0.01


def test_saved_and_loaded_to_the_same_answers(tmp_path):
    model = GaussianProcessRegressor(2.0 * Gaussian(LENGTHS)).fit(X, Y)
    model.save(tmp_path / "process.mercer")
    loaded = mercer.load(tmp_path / "process.mercer")
    for ours, theirs in zip(
        model.predict(NEW, return_std=True), loaded.predict(NEW, return_std=True), strict=True
    ):
        assert (ours == theirs).all()
    assert loaded.log_marginal_likelihood() == model.log_marginal_likelihood_value_


@pytest.mark.parametrize(
    ("options", "rows", "words"),
    [
        ({"noise": -1.0}, X, "noise must be"),
        ({"bounds": 3}, X, "bounds must be a dict"),
        ({"bounds": {"sigmo": (1, 2)}}, X, "bounds names"),
        ({"bounds": {"sigma": (2, 1)}}, X, "two numbers 0 < low < high"),
        ({"bounds": {"sigma": (5, 6)}}, X, "starts outside of its bounds"),
        ({}, X * np.nan, "takes no missing values"),
        ({"noise": 0.0}, np.ones((30, 3)), "need some noise"),
    ],
)
def test_bad_input_is_answered(options, rows, words):
    with pytest.raises((ValueError, TypeError), match=words):
        GaussianProcessRegressor(Gaussian(1.0), **options).fit(rows, Y)


def test_one_row_constant_columns_and_targets():
    one = GaussianProcessRegressor().fit([[1.0, 2.0]], [3.0])
    assert one.predict([[1.0, 2.0]])[0] == pytest.approx(3.0)
    flat = np.column_stack([X, np.ones(30)])
    model = GaussianProcessRegressor(Gaussian(np.ones(4))).fit(flat, Y)
    assert np.isfinite(model.predict(flat)).all()
    constant = GaussianProcessRegressor().fit(X, np.full(30, 7.0))
    assert np.allclose(constant.predict(NEW), 7.0)
    with pytest.raises(ValueError, match="numbers are learned"):
        model.log_marginal_likelihood([0.0])
    with pytest.raises(RuntimeError, match="not both"):
        model.predict(flat, return_std=True, return_cov=True)


# --- classes -----------------------------------------------------------------------------------

TWO = np.where(Y + 0.3 * R.normal(size=30) > np.median(Y), "yes", "no")


@pytest.mark.parametrize("name", ["scaled lengths", "matern 5/2", "linear", "three"])
def test_laplace_evidence_and_gradient_are_scikit_learns(name):
    ours, theirs, names = SAME[name]
    model = GaussianProcessClassifier(ours, optimizer=None).fit(X, TWO)
    peer = PeerOfClasses(theirs, optimizer=None, max_iter_predict=1000).fit(X, TWO)
    value, slopes = model.log_marginal_likelihood(eval_gradient=True)
    known, gradient = peer.log_marginal_likelihood(peer.kernel_.theta, eval_gradient=True)
    assert value == pytest.approx(known, rel=1e-8)
    own = dict(zip(model.theta_names_, slopes, strict=True))
    chained = [own[one] * factor for one, factor in names.items()]
    assert np.allclose(chained, gradient, rtol=1e-5, atol=1e-6)  # they stop at 1e-10 of the loss
    # Their mean of the sigmoid is an approximation by five error functions.
    assert np.allclose(model.predict_proba(NEW), peer.predict_proba(NEW), atol=3e-3)
    assert (model.predict(NEW) == peer.predict(NEW)).all()
    if hasattr(peer, "latent_mean_and_variance"):  # since scikit-learn 1.7
        known = peer.latent_mean_and_variance(NEW)
        assert np.allclose(model.latent_mean_and_variance(NEW), known, rtol=1e-4, atol=1e-5)


def test_the_kernel_of_classes_is_learned():
    kernel = 4.0 * Gaussian(1.0)
    model = GaussianProcessClassifier(kernel, bounds={"factor": (0.1, 100.0)}).fit(X, TWO)
    still = GaussianProcessClassifier(kernel, optimizer=None).fit(X, TWO)
    assert model.log_marginal_likelihood_value_ > still.log_marginal_likelihood_value_
    _, slopes = model.log_marginal_likelihood(eval_gradient=True)
    inside = np.exp(model.theta_[0]) < 99.0
    assert abs(slopes[0]) < 0.05 or not inside
    far = model.predict_proba([[1e3, 1e3, 1e3]])
    assert np.allclose(far, 0.5)


def test_three_classes_are_each_told_from_the_rest(tmp_path):
    three = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
    model = GaussianProcessClassifier(9.0 * Gaussian(1.0), optimizer=None).fit(X, three)
    each = [
        GaussianProcessClassifier(9.0 * Gaussian(1.0), optimizer=None).fit(X, three == c)
        for c in range(3)
    ]
    shares = np.stack([one.predict_proba(NEW)[:, 1] for one in each], axis=1)
    assert np.allclose(model.predict_proba(NEW), shares / shares.sum(axis=1, keepdims=True))
    assert model.decision_function(NEW).shape == (8, 3)
    mean, variance = model.latent_mean_and_variance(NEW)
    assert np.allclose(mean, model.decision_function(NEW))
    assert np.allclose(variance[:, 1], each[1].latent_mean_and_variance(NEW)[1])
    total = sum(one.log_marginal_likelihood_value_ for one in each)
    assert model.log_marginal_likelihood_value_ == pytest.approx(total)
    model.save(tmp_path / "classes.mercer")
    again = mercer.load(tmp_path / "classes.mercer")
    assert (again.predict_proba(NEW) == model.predict_proba(NEW)).all()


def test_bad_input_to_a_classifier_is_answered():
    with pytest.raises(ValueError, match="at least 2 classes"):
        GaussianProcessClassifier().fit(X, np.ones(30))
    model = GaussianProcessClassifier("precomputed").fit(X @ X.T, TWO)
    with pytest.raises(ValueError, match=r"needs k\(x, x\)"):
        model.predict_proba(X @ X.T)
    same = GaussianProcessClassifier(Gaussian(1.0)).fit(np.ones((6, 2)), [0, 1] * 3)
    assert np.allclose(same.predict_proba([[1.0, 1.0]]), 0.5)


@pytest.mark.parametrize("n_centers", [None, 3])
def test_weights_stand_for_repeated_examples(n_centers):
    rng = np.random.default_rng(0)
    X, times = rng.normal(size=(25, 2)), np.r_[1, 1, 1, rng.integers(0, 4, 22)]
    Y = np.c_[np.sin(X[:, 0]), X[:, 1]] + 0.3 * rng.normal(size=(25, 2))
    kernel = 1.3 * Gaussian([1.0, 2.0]) + 0.1 * Linear()
    centers = "uniform" if n_centers is None else np.arange(n_centers)
    options = {"optimizer": None, "noise": "auto", "centers": centers}
    once = GaussianProcessRegressor(kernel, **options).fit(X, Y, sample_weight=times)
    often = GaussianProcessRegressor(kernel, **options)
    often.fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    (value, slopes), (wanted, exact) = (
        model.log_marginal_likelihood(once.theta_, eval_gradient=True) for model in (once, often)
    )
    np.testing.assert_allclose(value, wanted, rtol=1e-9)
    np.testing.assert_allclose(slopes, exact, rtol=1e-7, atol=1e-7)
    Q = rng.normal(size=(4, 2))
    for a, b in zip(*(m.predict(Q, return_std=True) for m in (once, often)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-7)


@pytest.mark.filterwarnings("ignore")
def test_no_variance_is_negative():
    rng = np.random.default_rng(4)
    n, columns = int(rng.integers(20, 300)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, columns))
    gp = GaussianProcessRegressor(mercer.Polynomial(3, 1.0), 1e-10, optimizer=None)
    covariance = gp.fit(X, np.sin(X[:, 0])).predict(X, return_cov=True)[1]
    assert covariance.diagonal().min() >= 0


def test_columns_of_very_different_spread_are_no_trap():
    random = np.random.default_rng(3)
    Z = random.normal(size=(150, 6))
    spread = np.array([1.0, 300.0, 0.01, 20.0, 0.05, 3.0])
    y = np.abs(Z[:, 0]) + np.sin(3 * Z[:, 3]) + 0.05 * random.normal(size=len(Z))
    found = [
        mercer.GaussianProcessRegressor(mercer.Gaussian(start)).fit(Z * spread, y)
        for start in (np.ones(6), 3 * spread)
    ]
    of_ones, of_spread = (model.log_marginal_likelihood_value_ for model in found)
    assert of_ones > of_spread - 5.0 > found[0]._of_nothing() + 20
