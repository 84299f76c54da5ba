"""Ridge estimators: equal to scikit-learn, to refits, and from solver to solver."""

import functools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge as Peer
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import Gaussian, Linear, Polynomial, Spectrum
from mercer.learners import KernelRidge, KernelRidgeClassifier

RNG = np.random.default_rng(2)
N = 60
X = RNG.normal(size=(N, 3))
Z = RNG.normal(size=(25, 3))
y = np.sin(2 * X[:, 0]) + X[:, 1] + 3.0
Y = np.column_stack([y, X[:, 2] ** 2, RNG.normal(size=N)])
WEIGHTS = RNG.random(N)
EXACT = ["cholesky", "eigh", "cg"]
GAMMA = 0.7
KERNEL = Gaussian.from_gamma(GAMMA)


@parametrize_with_checks([KernelRidge(), KernelRidgeClassifier()])
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("solver", [*EXACT, "auto"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("alpha", [0.3, [0.1, 1.0, 5.0]])
def test_equal_to_scikit_learn(solver, weights, alpha):
    ours = KernelRidge(KERNEL, alpha, solver=solver, tol=1e-12, fit_intercept=False).fit(
        X, Y, weights
    )
    theirs = Peer(kernel="rbf", gamma=GAMMA, alpha=alpha).fit(X, Y, weights)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z), rtol=1e-7, atol=1e-8)
    one = KernelRidge(KERNEL, 0.3, solver=solver, tol=1e-12, fit_intercept=False).fit(X, y, weights)
    assert one.dual_coef_.shape == (N,)
    peer = Peer(kernel="rbf", gamma=GAMMA, alpha=0.3).fit(X, y, weights)
    np.testing.assert_allclose(one.predict(Z), peer.predict(Z), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_a_linear_kernel_with_intercept_is_ridge_regression(weights):
    theirs = Ridge(alpha=0.5).fit(X, Y, weights)
    for solver in (*EXACT, "primal", "nystrom"):
        ours = KernelRidge("linear()", 0.5, fit_intercept=True, solver=solver, tol=1e-12)
        ours.fit(X, Y, weights)
        np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)
    ours = KernelRidge("linear()", 0.5, fit_intercept=True).fit(X, Y, weights)
    assert ours.solver_ == "primal"
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)


def test_primal_and_dual_are_one_model():
    kernel = Polynomial(2, offset=1.0)
    for intercept in (False, True):
        options = {"alpha": 0.2, "fit_intercept": intercept}
        primal = KernelRidge(kernel, solver="primal", **options).fit(X, Y, WEIGHTS)
        dual = KernelRidge(kernel, solver="cholesky", **options).fit(X, Y, WEIGHTS)
        np.testing.assert_allclose(primal.predict(Z), dual.predict(Z), rtol=1e-9)
        np.testing.assert_allclose(primal.dual_coef_, dual.dual_coef_, atol=1e-8)
        np.testing.assert_allclose(primal.expansion_(Z), dual.predict(Z), rtol=1e-8)
        mean, std = primal.predict(Z, return_std=True)
        np.testing.assert_allclose(std, dual.predict(Z, return_std=True)[1], rtol=1e-6)
        assert mean.shape == std.shape == (25, 3)


# --- the path --------------------------------------------------------------------------------


ALPHAS = [1e-3, 0.1, 10.0]


@functools.cache
def refitted(kernel, intercept):
    """For each penalty, the prediction for every example by a fit without it."""
    found = np.empty((len(ALPHAS), N))
    for row, alpha in zip(found, ALPHAS, strict=True):
        for i in range(N):
            on = np.arange(N) != i
            refit = KernelRidge(kernel, alpha, solver="cholesky", fit_intercept=intercept)
            row[i] = refit.fit(X[on], y[on], WEIGHTS[on]).predict(X[i : i + 1])[0]
    return found


@pytest.mark.parametrize("solver", ["cholesky", "eigh", "primal", "nystrom"])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_path_chooses_by_what_refitting_without_each_example_gives(solver, intercept):
    kernel = Polynomial(2, offset=1.0) if solver == "primal" else KERNEL
    options = {"solver": solver, "fit_intercept": intercept, "n_centers": N}
    model = KernelRidge(kernel, alphas=ALPHAS, **options).fit(X, y, WEIGHTS)
    left_out = refitted(kernel, intercept)
    errors = np.average(np.square(left_out - y), axis=1, weights=WEIGHTS)
    best = int(np.argmin(errors))
    assert model.alpha_ == ALPHAS[best]
    tolerance = 1e-5 if solver == "nystrom" else 1e-8
    np.testing.assert_allclose(model.loo_predictions_, left_out[best], atol=tolerance)
    np.testing.assert_allclose(model.loo_errors_, errors, rtol=1e-4)
    again = KernelRidge(kernel, model.alpha_, **options).fit(X, y, WEIGHTS)
    np.testing.assert_allclose(model.predict(Z), again.predict(Z), rtol=1e-6)
    assert model.dual_coef_path_.shape == (3, *model.dual_coef_.shape)


def test_one_penalty_for_all_targets_or_one_for_each():
    alphas = np.logspace(-3, 2, 15)
    shared = KernelRidge(KERNEL, alphas=alphas).fit(X, Y)
    assert shared.solver_ == "eigh"  # many penalties: one factorization
    assert isinstance(shared.alpha_, float)
    assert shared.loo_errors_.shape == (15, 3)
    own = KernelRidge(KERNEL, alphas=alphas, alpha_per_target=True).fit(X, Y)
    assert own.alpha_.shape == (3,)
    for j in range(3):
        alone = KernelRidge(KERNEL, alphas=alphas).fit(X, Y[:, j])
        assert own.alpha_[j] == alone.alpha_
        np.testing.assert_allclose(own.predict(Z)[:, j], alone.predict(Z), rtol=1e-9)
        np.testing.assert_allclose(own.loo_predictions_[:, j], alone.loo_predictions_, rtol=1e-8)
    few = KernelRidge(KERNEL, alphas=alphas[:3]).fit(X, Y)
    assert few.solver_ == "cholesky"


# --- the standard deviation ------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["cholesky", "eigh", "cg", "nystrom"])
def test_std_is_that_of_a_gaussian_process(solver):
    options = {"solver": solver, "n_centers": N, "tol": 1e-12}
    ours = KernelRidge(Gaussian(1.3), 0.2, **options, fit_intercept=False).fit(X, y)
    # The factor of the kernel that makes y most likely.
    A = Gaussian(1.3)(X) + 0.2 * np.eye(N)
    s = float(y @ np.linalg.solve(A, y)) / N
    process = GaussianProcessRegressor(s * RBF(1.3), alpha=s * 0.2, optimizer=None).fit(X, y)
    mean, variance = ours.latent_mean_and_variance(Z)
    wanted_mean, wanted = process.predict(Z, return_std=True)
    np.testing.assert_allclose(mean, wanted_mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(variance, wanted**2, rtol=1e-5)
    std = ours.predict(Z, return_std=True)[1]
    np.testing.assert_allclose(std**2, wanted**2 + s * 0.2, rtol=1e-5)
    targets = np.column_stack([y, Y[:, 1], 10 * y])
    many = KernelRidge(Gaussian(1.3), [0.2, 1.0, 0.2], **options, fit_intercept=False)
    several = many.fit(X, targets).predict(Z, return_std=True)[1]
    np.testing.assert_allclose(several[:, [0, 2]], np.column_stack([std, 10 * std]), rtol=1e-5)


def test_std_with_weights_is_noise_divided_by_them():
    """A weight of 2 is two measurements of one value."""
    twice = np.ones(N)
    twice[:5] = 2.0
    weighted = KernelRidge(KERNEL, 0.3, fit_intercept=True).fit(X, y, twice)
    repeated = KernelRidge(KERNEL, 0.3, fit_intercept=True).fit(
        np.vstack([X, X[:5]]), np.append(y, y[:5])
    )
    for a, b in zip(
        weighted.predict(Z, return_std=True), repeated.predict(Z, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-7)


def test_std_with_an_intercept_is_that_of_a_very_wide_constant():
    """A free intercept is the limit of k + c for c → ∞."""
    free = KernelRidge(KERNEL, 0.3, fit_intercept=True).fit(X, y)
    wide = KernelRidge(KERNEL + 1e7, 0.3, solver="cholesky", fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(free.predict(Z), wide.predict(Z), rtol=1e-5)
    one = N / (N - 1)  # the intercept takes one of the degrees of freedom
    np.testing.assert_allclose(
        free.predict(Z, return_std=True)[1] ** 2,
        one * wide.predict(Z, return_std=True)[1] ** 2,
        rtol=1e-4,
    )


# --- inputs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["cholesky", "eigh", "cg", "nystrom"])
def test_a_precomputed_matrix(solver):
    options = {"alpha": 0.3, "solver": solver, "random_state": 0, "n_centers": 40, "tol": 1e-10}
    given = KernelRidge("precomputed", **options).fit(KERNEL(X), Y)
    direct = KernelRidge(KERNEL, **options).fit(X, Y)
    np.testing.assert_allclose(given.predict(KERNEL(Z, X)), direct.predict(Z), rtol=1e-5, atol=1e-7)
    with pytest.raises(ValueError, match="expecting 60"):
        given.predict(KERNEL(Z, X)[:, :7])
    with pytest.raises(ValueError, match="return_std"):
        given.predict(KERNEL(Z, X), return_std=True)


def test_sparse_single_precision_frames_strings_and_callables():
    import pandas as pd

    dense = KernelRidge(KERNEL, 0.3).fit(X, y)
    sparse = KernelRidge(KERNEL, 0.3).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(Z)), dense.predict(Z), rtol=1e-9)
    single = KernelRidge(KERNEL, 0.3).fit(X.astype(np.float32), y)
    assert single.dual_coef_.dtype == np.float32
    np.testing.assert_allclose(single.predict(Z.astype(np.float32)), dense.predict(Z), rtol=1e-3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = KernelRidge(Gaussian().on(["a", "c"]), 0.3).fit(frame, y)
    direct = KernelRidge(Gaussian(), 0.3).fit(X[:, [0, 2]], y)
    np.testing.assert_allclose(
        named.predict(pd.DataFrame(Z, columns=["a", "b", "c"])), direct.predict(Z[:, [0, 2]])
    )
    words = ["gattaca", "tagacat", "cattag", "aaaa"]
    model = KernelRidge(Spectrum(2), 0.1).fit(words, [1.0, 2.0, 3.0, 4.0])
    assert model.predict(["aaaa", "gattaca"]).shape == (2,)
    box = KernelRidge(lambda a, b: float(a @ b), 0.3).fit(X, y)
    np.testing.assert_allclose(box.predict(Z), KernelRidge("linear()", 0.3).fit(X, y).predict(Z))


def test_parameters_of_the_kernel_reach_a_grid_search():
    search = GridSearchCV(KernelRidge("gaussian(1)"), {"kernel__sigma": [1e-3, 1.0]}, cv=3)
    assert search.fit(X, y).best_params_ == {"kernel__sigma": 1.0}


def test_copies_and_files(tmp_path):
    model = KernelRidge(KERNEL, alphas=[0.1, 1.0], fit_intercept=True).fit(X, Y)
    std = model.predict(Z, return_std=True)[1]
    assert len(pickle.dumps(model)) < 5 * N * N * 8  # no factorization in it
    mercer.save(model, tmp_path / "m")
    for again in (pickle.loads(pickle.dumps(model)), mercer.load(tmp_path / "m")):
        np.testing.assert_array_equal(again.predict(Z), model.predict(Z))
        np.testing.assert_allclose(again.predict(Z, return_std=True)[1], std)
    assert not hasattr(clone(model), "dual_coef_")


def test_refitting_forgets_the_path():
    model = KernelRidge(KERNEL, alphas=[0.1, 1.0]).fit(X, y)
    model.set_params(alphas=None).fit(X, y)
    assert not hasattr(model, "loo_errors_")
    assert not hasattr(model, "dual_coef_path_")


# --- which solver ----------------------------------------------------------------------------


def test_auto_goes_by_size_path_and_memory():
    assert KernelRidge(Linear()).fit(X, y).solver_ == "primal"
    assert KernelRidge(Polynomial(6, offset=1.0)).fit(X, y).solver_ == "cholesky"  # M = 84 > N
    assert KernelRidge(KERNEL).fit(X, y).solver_ == "cholesky"
    assert KernelRidge(KERNEL, alphas=np.logspace(-3, 3, 20)).fit(X, y).solver_ == "eigh"
    big = RNG.normal(size=(700, 2))
    target = np.sin(big[:, 0])
    with mercer.config(memory="3MB", threads=1):
        model = KernelRidge("gaussian(1)", 1e-3, n_centers=60, random_state=0).fit(big, target)
    assert model.solver_ == "nystrom"
    assert model.centers_.shape == (60,) == (len(model.expansion_),)
    assert model.score(big, target) > 0.99


def test_what_does_not_fit_names_what_does():
    big = np.zeros((3000, 2))
    with mercer.config(memory="10MB"):
        with pytest.raises(MemoryError, match=r"'cholesky' needs 72.* MB .* is 10 MB; .*'cg'"):
            KernelRidge(KERNEL, solver="cholesky").fit(big, big[:, 0])
        with pytest.raises(MemoryError, match=r"'eigh' needs 216 MB"):
            KernelRidge(KERNEL, solver="eigh", alphas=[1.0]).fit(big, big[:, 0])


# --- classification --------------------------------------------------------------------------


def test_the_classifier_is_ridge_on_plus_and_minus_one():
    A, labels = load_iris(return_X_y=True)
    ours = KernelRidgeClassifier("linear()", 1.0).fit(A, labels)
    theirs = RidgeClassifier(alpha=1.0).fit(A, labels)
    np.testing.assert_allclose(
        ours.decision_function(A), theirs.decision_function(A), rtol=1e-7, atol=1e-9
    )
    assert (ours.predict(A) == theirs.predict(A)).all()
    names = np.array(["no", "yes"])[(labels > 0).astype(int)]
    ours = KernelRidgeClassifier("linear()", 1.0, class_weight="balanced").fit(A, names)
    theirs = RidgeClassifier(class_weight="balanced").fit(A, names)
    np.testing.assert_allclose(ours.decision_function(A), theirs.decision_function(A), rtol=1e-6)
    assert ours.dual_coef_.ndim == 1


def test_digits_by_ridge():
    A, labels = load_digits(return_X_y=True)
    A = A.astype(np.float32) / 16
    alphas = np.logspace(-3, 0, 4)
    model = KernelRidgeClassifier("gaussian(1.5)", alphas=alphas).fit(A[:900], labels[:900])
    assert model.score(A[900:], labels[900:]) > 0.96
    # leave-one-out tells it beforehand
    guess = model.loo_predictions_.argmax(axis=1) == labels[:900]
    assert guess.mean() > 0.97


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("columns", [3, 12])
@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
def test_no_penalty_gives_least_squares(columns, weighted):
    """Of all least-squares solutions the one of least norm, with an intercept or without."""
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(9, columns)), rng.normal(size=(9, 2))
    X -= X.mean(axis=0)  # a constant is in the null space of K
    w = rng.integers(1, 4, 9).astype(float) if weighted else np.ones(9)
    s = np.sqrt(w)[:, None]
    plain = KernelRidge("linear()", alpha=0, fit_intercept=False).fit(X, Y, sample_weight=w)
    assert plain.solver_ == "eigh"
    theta = np.linalg.lstsq(s * X, s * Y, rcond=None)[0]
    np.testing.assert_allclose(plain.predict(X), X @ theta, atol=1e-8)
    np.testing.assert_allclose(X.T @ plain.dual_coef_, theta, atol=1e-8)
    shifted = KernelRidge("linear()", alpha=[0, 0.0], fit_intercept=True).fit(X, Y, sample_weight=w)
    theta = np.linalg.lstsq(np.c_[s * X, s], s * Y, rcond=None)[0]
    np.testing.assert_allclose(shifted.predict(X), np.c_[X, np.ones(9)] @ theta, atol=1e-8)


def test_no_penalty_interpolates_and_other_solvers_refuse():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    for intercept in (False, True):
        model = KernelRidge("laplacian()", alpha=0, fit_intercept=intercept).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, atol=1e-9)
    labels = np.arange(20) % 3
    assert KernelRidgeClassifier("laplacian()", alpha=0).fit(X, labels).score(X, labels) == 1.0
    for solver in ("primal", "cholesky", "nystrom", "cg"):
        with pytest.raises(ValueError, match="needs alpha > 0, and it is 0; 'eigh' works without"):
            KernelRidge("linear()", alpha=0, solver=solver).fit(X, y)


def test_the_data_chooses_the_penalty_by_leave_one_out():
    noisy = np.sin(2 * X[:, 0]) + 0.3 * np.random.default_rng(5).normal(size=len(X))
    model = KernelRidge(Gaussian(1.0), fit_intercept=True).fit(X, noisy)
    path = KernelRidge(Gaussian(1.0), alphas=10.0 ** np.arange(1, -7, -1), fit_intercept=True)
    assert model.alpha_ == pytest.approx(path.fit(X, noisy).alpha_)
    # A kernel twice as large asks for twice the penalty, and gives the same f.
    twice = KernelRidge(2 * Gaussian(1.0), fit_intercept=True).fit(X, noisy)
    assert twice.alpha_ == pytest.approx(2 * model.alpha_)
    np.testing.assert_allclose(twice.predict(X), model.predict(X))
    # The unit of a target does not count, and copies are left out together.
    several = KernelRidge(Gaussian(1.0), fit_intercept=True).fit(X, np.c_[noisy, 1e6 * noisy])
    assert several.alpha_ == model.alpha_
    both = KernelRidge(Gaussian(1.0), fit_intercept=True).fit(np.r_[X, X], np.r_[noisy, noisy])
    weighted = KernelRidge(Gaussian(1.0), fit_intercept=True).fit(X, noisy, np.full(len(X), 2.0))
    assert both.alpha_ == weighted.alpha_
    np.testing.assert_allclose(both.predict(X), weighted.predict(X))


def test_the_data_chooses_a_penalty_for_any_kernel_and_any_memory():
    K = KERNEL(X)
    assert KernelRidge("precomputed").fit(K, y).alpha_ == KernelRidge(KERNEL).fit(X, y).alpha_
    words = ["abab", "aabb", "bbbb", "baba", "bbba"]
    assert KernelRidge(Spectrum(2)).fit(words, np.arange(5.0)).alpha_ > 0
    assert KernelRidge(KERNEL).fit(X[:1], y[:1]).alpha_ > 0
    with mercer.config(memory="200kB"):
        assert KernelRidge(KERNEL, solver="nystrom", n_centers=5).fit(
            np.tile(X, (9, 1)), np.tile(y, 9)
        )


def test_the_intercept_is_learned_by_default():
    """Targets far from 0, asked about far from the examples: the mean, and not 0."""
    shifted = Y[:, 0] + 100.0
    far = X[:1] + 1000.0
    model = KernelRidge(KERNEL, 0.3).fit(X, shifted)
    assert model.predict(far)[0] == pytest.approx(model.intercept_)
    assert abs(model.intercept_ - 100.0) < 5.0
    bare = KernelRidge(KERNEL, 0.3, fit_intercept=False).fit(X, shifted)
    assert bare.intercept_ == 0.0
    assert bare.predict(far)[0] == pytest.approx(0.0, abs=1e-6)
