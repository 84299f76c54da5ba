"""KernelLogisticRegression: equal to scikit-learn, calibrated, and whatever the input."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import Gaussian, Linear, Polynomial, Spectrum
from mercer.learners import KernelLogisticRegression

RNG = np.random.default_rng(4)
IRIS, KINDS = load_iris(return_X_y=True)
TWO = (KINDS == 1).astype(int)
WEIGHTS = RNG.random(len(KINDS))
FINE = {"tol": 1e-13}


@parametrize_with_checks([KernelLogisticRegression()])
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("solver", ["newton", "nystrom"])
@pytest.mark.parametrize("labels", [TWO, KINDS], ids=["binary", "multinomial"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_a_linear_kernel_is_logistic_regression(solver, labels, weights, class_weight):
    """True multinomial for three classes, w₀ free: C = 1/α."""
    alpha = 0.5
    ours = KernelLogisticRegression(
        "linear()", alpha, solver=solver, class_weight=class_weight, **FINE
    ).fit(IRIS, labels, weights)
    theirs = LogisticRegression(
        C=1 / alpha, tol=1e-10, max_iter=20000, class_weight=class_weight, solver="newton-cholesky"
    ).fit(IRIS, labels, weights)
    np.testing.assert_allclose(ours.predict_proba(IRIS), theirs.predict_proba(IRIS), atol=1e-6)
    np.testing.assert_allclose(ours.expansion_.primal().T.ravel(), theirs.coef_.ravel(), atol=1e-5)


def test_the_sign_convention_of_the_lecture():
    """P(Y = 0|x) = 1/(1 + exp(w₀ + Σ αⱼ k(xⱼ, x))), Y = 0 the first class."""
    model = KernelLogisticRegression(Gaussian(2.0), 0.1).fit(IRIS, TWO)
    scores = model.intercept_[0] + Gaussian(2.0)(IRIS) @ model.dual_coef_
    np.testing.assert_allclose(model.predict_proba(IRIS)[:, 0], 1 / (1 + np.exp(scores)))
    np.testing.assert_allclose(model.decision_function(IRIS), scores)
    assert ((scores > 0) == (model.predict(IRIS) == 1)).all()


def test_probabilities_sum_to_one_and_their_logarithms_do_not_underflow():
    for labels in (TWO, KINDS):
        model = KernelLogisticRegression("linear()", 1e-6).fit(IRIS, labels)
        p = model.predict_proba(IRIS)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        logs = model.predict_log_proba(100 * IRIS)
        assert np.isfinite(logs).all()
        assert logs.min() < -1000
        np.testing.assert_allclose(np.exp(model.predict_log_proba(IRIS)), p, atol=1e-12)


def test_probabilities_are_calibrated():
    """Reliability: among the examples given 0.3, about three in ten are of the class."""
    n = 4000
    X = RNG.uniform(-2, 2, size=(n, 2))
    truth = expit(3 * np.sin(2 * X[:, 0]) + X[:, 1])
    labels = (RNG.random(n) < truth).astype(int)
    half = n // 2
    model = KernelLogisticRegression(Gaussian(1.0), 0.5).fit(X[:half], labels[:half])
    p = model.predict_proba(X[half:])[:, 1]
    share, said = calibration_curve(labels[half:], p, n_bins=8, strategy="quantile")
    # 250 examples in each bin: the share itself is known to three hundredths
    assert np.abs(share - said).max() < 0.08
    assert np.abs(share - said).mean() < 0.035
    assert np.abs(p - truth[half:]).mean() < 0.04
    assert said.min() < 0.1
    assert said.max() > 0.9


def test_ten_digits():
    A, labels = load_digits(return_X_y=True)
    A = A.astype(np.float32) / 16
    model = KernelLogisticRegression(Gaussian(1.5), 1e-3).fit(A[:700], labels[:700])
    assert model.dual_coef_.shape == (700, 10)
    assert model.score(A[900:], labels[900:]) > 0.95
    assert log_loss(labels[900:], model.predict_proba(A[900:])) < 0.2
    assert model.n_iter_ < 30


@pytest.mark.parametrize("solver", ["newton", "nystrom", "gradient"])
def test_a_precomputed_matrix(solver):
    kernel = Gaussian(1.0)
    options = {"alpha": 0.3, "solver": solver, "random_state": 0, "n_centers": 60, "max_iter": 50}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = KernelLogisticRegression("precomputed", **options).fit(kernel(IRIS), KINDS)
        direct = KernelLogisticRegression(kernel, **options).fit(IRIS, KINDS)
    np.testing.assert_allclose(
        given.predict_proba(kernel(IRIS[:9], IRIS)), direct.predict_proba(IRIS[:9]), atol=1e-4
    )
    with pytest.raises(ValueError, match="expecting 150"):
        given.predict(kernel(IRIS[:9], IRIS[:5]))


def test_sparse_single_precision_and_strings():
    dense = KernelLogisticRegression(Gaussian(1.0), 0.3).fit(IRIS, KINDS)
    sparse = KernelLogisticRegression(Gaussian(1.0), 0.3).fit(sp.csr_array(IRIS), KINDS)
    single = KernelLogisticRegression(Gaussian(1.0), 0.3).fit(IRIS.astype(np.float32), KINDS)
    wanted = dense.predict_proba(IRIS)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(IRIS)), wanted, atol=1e-4)
    np.testing.assert_allclose(single.predict_proba(IRIS.astype(np.float32)), wanted, atol=1e-3)
    words = ["aaab", "aaba", "abaa", "cccd", "ccdc", "cdcc"]
    model = KernelLogisticRegression(Spectrum(2), 0.1).fit(words, list("xxxyyy"))
    assert list(model.predict(["aaaa", "cccc"])) == ["x", "y"]


def test_centers_come_near_the_exact_model():
    A, labels = load_digits(return_X_y=True)
    A = A[:400] / 16
    labels = labels[:400]
    exact = KernelLogisticRegression(Gaussian(2.0), 0.1).fit(A, labels)
    near = KernelLogisticRegression(
        Gaussian(2.0), 0.1, solver="nystrom", n_centers=250, random_state=0
    ).fit(A, labels)
    assert near.centers_.shape == (250,)
    assert len(near.expansion_) == 250
    assert exact.objective_ < near.objective_ < 1.2 * exact.objective_
    assert np.abs(near.predict_proba(A) - exact.predict_proba(A)).mean() < 0.01


def test_auto_takes_centers_beyond_its_limit(monkeypatch):
    monkeypatch.setattr("mercer.solvers.smooth.fit.EXACT_ROWS", 100)
    model = KernelLogisticRegression("gaussian(1)", n_centers=20).fit(IRIS, KINDS)
    assert model.solver_ == "nystrom"
    assert KernelLogisticRegression("gaussian(1)").fit(IRIS[50:], KINDS[50:]).solver_ == "newton"


def test_within_a_memory_limit_smaller_than_the_matrix():
    A = RNG.normal(size=(600, 2))
    labels = (A[:, 0] * A[:, 1] > 0).astype(int)
    free = KernelLogisticRegression("gaussian(1)", 0.1, random_state=0).fit(A, labels)
    with mercer.config(memory="1.5MB", threads=1):  # K is 2.9 MB
        tight = KernelLogisticRegression("gaussian(1)", 0.1, random_state=0).fit(A, labels)
    assert tight.solver_ == "newton"
    np.testing.assert_allclose(tight.objective_, free.objective_, rtol=1e-4)  # both within tol


def test_copies_and_files(tmp_path):
    model = KernelLogisticRegression(Polynomial(2, offset=1.0)).fit(IRIS, KINDS)
    mercer.save(model, tmp_path / "m")
    for again in (pickle.loads(pickle.dumps(model)), mercer.load(tmp_path / "m")):
        np.testing.assert_allclose(again.predict_proba(IRIS), model.predict_proba(IRIS), atol=1e-12)


def test_dependent_centers_in_single_precision_find_the_minimum():
    """Features of a wide Gaussian are nearly dependent: what rounding adds is no feature."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (600, 2)) / 11
    y = rng.integers(0, 3, 600) + (X[:, 0] > 0.5)
    model = KernelLogisticRegression(
        "gaussian(3)", 0.01, solver="nystrom", n_centers=100, random_state=0
    )
    exact = model.fit(X, y).objective_
    assert model.fit(X.astype(np.float32), y).objective_ == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("columns", [2, 20])
def test_large_numbers_are_no_sign_of_an_indefinite_kernel(columns):
    X = 1e6 * np.random.default_rng(0).normal(size=(60, columns))
    y = X[:, 0] > 0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = KernelLogisticRegression(Linear(), alpha=1.0).fit(X, y)
    assert not [w for w in told if "definite" in str(w.message)]
    assert model.score(X, y) == 1.0
