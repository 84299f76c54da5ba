"""KernelSVC, KernelSVR and KernelOneClass against LIBSVM in scikit-learn, at its own tolerance."""

from __future__ import annotations

import pickle
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer._arrays import winners
from mercer.expansion import KernelExpansion
from mercer.kernels import Gaussian, Linear, Polynomial, Sigmoid
from mercer.learners import KernelOneClass, KernelSVC, KernelSVR
from mercer.learners.svms.classifier import pair_votes, quick_winners
from mercer.solvers.quadratic.row_sources import Source

KERNELS = {
    "rbf": (Gaussian.from_gamma(0.05), {"kernel": "rbf", "gamma": 0.05}),
    "poly": (
        Polynomial(3, offset=1.0),
        {"kernel": "poly", "degree": 3, "gamma": 1.0, "coef0": 1.0},
    ),
    "linear": (Linear(), {"kernel": "linear"}),
}


@pytest.fixture(scope="module")
def digits():
    data = load_digits()
    return data.data / 16, data.target


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer()
    return (data.data - data.data.mean(axis=0)) / data.data.std(axis=0), data.target


@pytest.fixture(scope="module")
def diabetes():
    data = load_diabetes()
    return data.data * 10, (data.target - data.target.mean()) / data.target.std()


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(0).uniform(0.2, 2.0, 2000)


def dual(model, K):
    """½ aᵀKa − Σ|a| of a binary machine, in float64."""
    a = np.zeros(len(K))
    a[model.support_] = model.dual_coef_[0]
    return 0.5 * a @ K @ a - np.abs(a).sum()


@pytest.mark.parametrize("C", [0.1, 5.0])
@pytest.mark.parametrize("name", KERNELS)
def test_two_classes_reach_libsvms_optimum(name, C, cancer):
    X, y = cancer
    kernel, theirs = KERNELS[name]
    model = KernelSVC(kernel, C=C, tol=1e-5).fit(X, y)
    peer = svm.SVC(C=C, tol=1e-5, **theirs).fit(X, y)
    K = kernel(X)
    assert dual(model, K) == pytest.approx(dual(peer, K), rel=1e-6)
    assert model.dual_objective_[0] == pytest.approx(dual(model, K), rel=1e-9)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(model.support_, peer.support_)
    np.testing.assert_array_equal(model.n_support_, peer.n_support_)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-3)


@pytest.mark.parametrize("name", KERNELS)
def test_ten_classes_have_libsvms_attributes(name, digits):
    X, y = digits
    kernel, theirs = KERNELS[name]
    model = KernelSVC(kernel, tol=1e-5, decision_function_shape="ovo").fit(X, y)
    peer = svm.SVC(tol=1e-5, decision_function_shape="ovo", **theirs).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    np.testing.assert_array_equal(model.support_, peer.support_)
    np.testing.assert_array_equal(model.support_vectors_, peer.support_vectors_)
    np.testing.assert_array_equal(model.n_support_, peer.n_support_)
    np.testing.assert_allclose(model.dual_coef_, peer.dual_coef_, atol=2e-3)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-3)
    for attribute in ("support_", "n_support_", "dual_coef_", "intercept_", "n_iter_", "classes_"):
        ours, other = getattr(model, attribute), getattr(peer, attribute)
        assert ours.shape == other.shape, attribute
        assert ours.dtype.kind == other.dtype.kind, attribute
    assert model.shape_fit_ == peer.shape_fit_
    assert model.fit_status_ == 0


def test_scores_a_class_and_ties(digits):
    X, y = digits[0][:600], digits[1][:600]
    options = {"decision_function_shape": "ovr", "tol": 1e-5}
    model = KernelSVC(Gaussian.from_gamma(0.05), **options).fit(X, y)
    peer = svm.SVC(gamma=0.05, **options).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)
    model.set_params(break_ties=True)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


@pytest.mark.parametrize("balance", ["balanced", {0: 3.0, 1: 0.5}])
def test_class_and_sample_weights(balance, cancer, weights):
    X, y = cancer
    w = weights[: len(y)].copy()
    w[::7] = 0.0
    model = KernelSVC(Gaussian.from_gamma(0.05), class_weight=balance, tol=1e-5).fit(X, y, w)
    # LIBSVM drops rows of weight zero, too, but counts them when it balances classes.
    kept = w > 0
    peer = svm.SVC(gamma=0.05, class_weight=balance, tol=1e-5).fit(X[kept], y[kept], w[kept])
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(kept)[peer.support_])
    assert np.isnan(model.slack_[~kept]).all()
    np.testing.assert_allclose(model.class_weight_, peer.class_weight_)


@pytest.mark.parametrize("weighted", [False, True])
def test_nu_classification(weighted, cancer, digits, weights):
    for X, y in (cancer, digits):
        w = weights[: len(y)] if weighted else None
        model = KernelSVC(Gaussian.from_gamma(0.05), nu=0.1, tol=1e-6).fit(X, y, w)
        peer = svm.NuSVC(nu=0.1, gamma=0.05, tol=1e-6).fit(X, y, w)
        np.testing.assert_allclose(
            model.decision_function(X), peer.decision_function(X), atol=1e-3, rtol=1e-3
        )
        np.testing.assert_array_equal(model.support_, peer.support_)


def test_nu_bounds_the_shares(cancer):
    X, y = cancer
    model = KernelSVC(Gaussian.from_gamma(0.05), nu=0.3, tol=1e-5).fit(X, y)
    assert len(model.support_) >= 0.3 * len(y)
    assert (model.slack_ > 1e-3).mean() <= 0.3


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [1.0, 50.0])
def test_regression_with_epsilon_and_with_nu(C, weighted, diabetes, weights):
    X, y = diabetes
    w = weights[: len(y)] if weighted else None
    kernel = Gaussian.from_gamma(0.3)
    model = KernelSVR(kernel, C=C, epsilon=0.2, tol=1e-5).fit(X, y, w)
    peer = svm.SVR(C=C, epsilon=0.2, gamma=0.3, tol=1e-5).fit(X, y, w)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-3)
    np.testing.assert_array_equal(model.support_, peer.support_)
    assert model.dual_coef_.shape == peer.dual_coef_.shape
    assert model.intercept_.shape == peer.intercept_.shape
    assert model.n_support_.shape == peer.n_support_.shape
    residual = np.abs(y - model.predict(X))
    np.testing.assert_allclose(model.slack_, np.maximum(0, residual - 0.2), atol=1e-9)

    model = KernelSVR(kernel, C=C, nu=0.4, tol=1e-5).fit(X, y, w)
    peer = svm.NuSVR(C=C, nu=0.4, gamma=0.3, tol=1e-5).fit(X, y, w)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-3)
    np.testing.assert_array_equal(model.support_, peer.support_)
    if not weighted:
        outside = np.abs(y - model.predict(X)) > model.epsilon_ + 1e-3
        assert outside.mean() <= 0.4


def test_the_dual_of_regression(diabetes):
    X, y = diabetes
    kernel = Gaussian.from_gamma(0.3)
    model = KernelSVR(kernel, C=2.0, epsilon=0.1, tol=1e-5).fit(X, y)
    peer = svm.SVR(C=2.0, epsilon=0.1, gamma=0.3, tol=1e-5).fit(X, y)
    values = []
    for m in (model, peer):
        a = np.zeros(len(y))
        a[m.support_] = m.dual_coef_[0]
        values.append(0.5 * a @ kernel(X) @ a + 0.1 * np.abs(a).sum() - y @ a)
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    assert model.dual_objective_ == pytest.approx(values[0], rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_class(weighted, diabetes, weights):
    X = diabetes[0]
    w = weights[: len(X)] if weighted else None
    model = KernelOneClass(Gaussian.from_gamma(0.3), nu=0.2, tol=1e-6).fit(X, sample_weight=w)
    peer = svm.OneClassSVM(nu=0.2, gamma=0.3, tol=1e-6).fit(X, sample_weight=w)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(model.score_samples(X), peer.score_samples(X), atol=1e-3)
    np.testing.assert_array_equal(model.support_, peer.support_)
    assert model.offset_ == pytest.approx(float(peer.offset_[0]), rel=1e-6)
    np.testing.assert_allclose(model.slack_, np.maximum(0, -model.decision_function(X)), atol=1e-9)
    length = np.sqrt(model.expansion_.squared_norm)
    np.testing.assert_allclose(model.margins_, model.decision_function(X) / length, atol=1e-9)


def test_random_data_in_many_shapes():
    rng = np.random.default_rng(7)
    for n, d, classes, C in ((30, 1, 2, 1.0), (200, 3, 4, 100.0), (1200, 6, 2, 2.0)):
        X = rng.normal(size=(n, d))
        y = rng.integers(classes, size=n) if classes > 2 else (X[:, 0] + rng.normal(size=n) > 0)
        model = KernelSVC(Gaussian.from_gamma(0.5), C=C, tol=1e-5).fit(X, y)
        peer = svm.SVC(C=C, gamma=0.5, tol=1e-5).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)


def test_float32_stays_float32_and_finds_the_same_machine(digits):
    X, y = digits
    single = KernelSVC(Gaussian.from_gamma(0.05)).fit(X.astype(np.float32), y)
    double = KernelSVC(Gaussian.from_gamma(0.05)).fit(X, y)
    assert single.support_vectors_.dtype == np.float32
    assert (single.predict(X.astype(np.float32)) == double.predict(X)).mean() > 0.999
    np.testing.assert_allclose(single.dual_objective_, double.dual_objective_, rtol=1e-5)


def test_a_path_of_C_is_faster_warm(cancer):
    X, y = cancer
    path = [0.5, 1.0, 2.0, 4.0, 8.0]
    warm = KernelSVC(Gaussian.from_gamma(0.05), warm_start=True)
    steps = [0, 0]
    for C in path:
        cold = KernelSVC(Gaussian.from_gamma(0.05), C=C).fit(X, y)
        warm.set_params(C=C).fit(X, y)
        np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=5e-3)
        steps[0] += int(warm.n_iter_[0])
        steps[1] += int(cold.n_iter_[0])
    assert steps[0] < 0.95 * steps[1]
    again = warm.fit(X, y)
    assert again.n_iter_[0] <= 1


def test_a_path_of_C_in_regression(diabetes):
    X, y = diabetes
    warm = KernelSVR(Gaussian.from_gamma(0.3), warm_start=True)
    for C in (1.0, 2.0, 1.5):
        cold = KernelSVR(Gaussian.from_gamma(0.3), C=C, tol=1e-4).fit(X, y)
        warm.set_params(C=C, tol=1e-4).fit(X, y)
        np.testing.assert_allclose(warm.predict(X), cold.predict(X), atol=1e-3)
    warm.fit(X[:100], y[:100])  # other examples: from scratch, no error


def test_probabilities_by_calibration(cancer):
    X, y = cancer
    names = np.array(["bad", "good"])[y]
    model = KernelSVC(Gaussian.from_gamma(0.05), probability=True).fit(X[::2], names[::2])
    p = model.predict_proba(X[1::2])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    guess = model.classes_[p.argmax(axis=1)]
    assert (guess == names[1::2]).mean() > 0.95
    # Calibrated: those called good with 90 % and more are good that often.
    sure = p[:, 1] > 0.9
    assert (names[1::2][sure] == "good").mean() > 0.9
    assert not hasattr(KernelSVC(), "predict_proba")


def test_nu_with_an_indefinite_kernel_is_scaled_as_libsvm_does():
    """The offset of the margin may be negative there; it is divided by all the same."""
    X, y = load_iris(return_X_y=True)
    model = KernelSVC(Sigmoid(0.02), nu=0.2).fit(X, y)
    theirs = svm.NuSVC(kernel="sigmoid", gamma=0.02, coef0=0.0, nu=0.2).fit(X, y)
    assert model.score(X, y) >= theirs.score(X, y) - 0.02 > 0.6


@pytest.mark.parametrize("options", [{}, {"nu": 0.3}, {"class_weight": "balanced", "C": 7.0}])
def test_many_small_classes_are_solved_together(options, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 4)
    X = rng.normal(size=(12, 3))[y] + 0.4 * rng.normal(size=(48, 3))
    together = KernelSVC(Gaussian(), tol=1e-6, **options).fit(X, y)
    monkeypatch.setattr(
        "mercer.solvers.quadratic.parallel.row_sources",
        lambda gram, most: iter([Source(gram, gram.dtype, gram.diagonal())]),
    )
    apart = KernelSVC(Gaussian(), tol=1e-6, **options).fit(X, y)
    for name in ("intercept_", "dual_objective_", "margin_"):
        np.testing.assert_allclose(
            getattr(together, name), getattr(apart, name), rtol=1e-4, atol=1e-5
        )
    np.testing.assert_allclose(together.decision_function(X), apart.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(together.slack_, apart.slack_, atol=1e-4)


def test_small_problems_that_take_many_steps_are_finished(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 6
    whole = KernelSVC("linear()", C=50.0, tol=1e-5).fit(X, y)
    monkeypatch.setattr("mercer.solvers.quadratic.problem.SVM_STEPS", 20)
    monkeypatch.setattr("mercer.solvers.quadratic.problem.SVM_STEPS_PER_ROW", 0)
    cut = KernelSVC("linear()", C=50.0, tol=1e-5).fit(X, y)
    assert cut.fit_status_ == 0
    np.testing.assert_allclose(cut.dual_objective_, whole.dual_objective_, rtol=1e-4)
    with pytest.warns(ConvergenceWarning, match="max_iter=5"):
        assert KernelSVC("linear()", max_iter=5).fit(X, y).n_iter_.max() <= 5


def test_many_classes_are_scored_by_the_support_vectors_of_two_at_a_time():
    """300 classes of 3 rows have 44 850 pairs: a column of coefficients each would be 323 MB."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(30), 4)
    X = rng.normal(size=(30, 5))[y] + 0.8 * rng.normal(size=(120, 5))
    model = KernelSVC(Gaussian(2.0), decision_function_shape="ovo", tol=1e-8).fit(X, y)
    peer = svm.SVC(gamma=1 / 8, decision_function_shape="ovo", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-6)
    assert (model.predict(X) == peer.predict(X)).all()
    with mercer.config(memory="1MB"):  # a few rows at a time
        assert (model.predict(X) == peer.predict(X)).all()
    scores = model.set_params(decision_function_shape="ovr").decision_function(X)
    peer.decision_function_shape = "ovr"
    np.testing.assert_allclose(scores, peer.decision_function(X), atol=1e-6)
    f = model.expansion_
    assert "coef" not in vars(f)
    assert f.coef.shape == (len(model.support_), 435)
    np.testing.assert_allclose(f(X), Gaussian(2.0)(X, f.points) @ f.coef + f.intercept, atol=1e-12)
    assert len(pickle.loads(pickle.dumps(model)).expansion_) == len(f)


@pytest.mark.parametrize("seed", range(6))
def test_labels_by_float32_are_those_of_float64(seed, monkeypatch):
    """Whatever the kernel, C and number of classes: rows in doubt are asked for again."""
    # A polynomial of three columns would be a sum of monomials.
    monkeypatch.setattr(KernelExpansion, "has_monomials", lambda self, X: False)
    rng = np.random.default_rng(seed)
    classes = (2, 5, 24)[seed % 3]
    y = rng.integers(0, classes, 500)
    X = rng.normal(size=(classes, 3))[y] + rng.normal(size=(500, 3)).round(1)
    kernel = (Gaussian(3.0), Polynomial(3, offset=1.0, gamma=0.3))[seed % 2]
    model = KernelSVC(kernel, C=10.0**seed / 100, tol=0.01).fit(X, y)
    asked = np.concatenate([X, rng.normal(size=(300, 3))])
    quick, doubtful = quick_winners(model.expansion_, asked, classes)
    exact = winners(model._votes(asked, pair_votes))
    assert set(np.flatnonzero(quick != exact)) <= set(doubtful.tolist())
    np.testing.assert_array_equal(model.predict(asked), exact)


def _unscaled(n, columns, scale, dtype, seed):
    """Rows twice, far too large for a cubic kernel, and noise as a target."""
    rng = np.random.default_rng(seed)
    X = np.tile(scale * rng.normal(size=(n // 2, columns)), (2, 1)).astype(dtype)
    return X, X[:, 0] + scale * rng.normal(size=n)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_gap_at_the_rounding_of_k_ends_the_search(dtype):
    X, y = _unscaled(340, 2, 90.0, dtype, seed=2)
    model = KernelSVR(Polynomial(3, 1.0), C=0.5 if dtype == "float32" else 8.0, nu=0.4)
    begin = time.process_time()
    with pytest.warns(ConvergenceWarning, match="within the rounding of k"):
        model.fit(X, y)
    assert time.process_time() - begin < 15
    assert model.n_iter_ < 2_000_000
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("options", [{"C": 30.0}, {"C": 30.0, "nu": 0.5}])
def test_a_narrow_valley_of_real_data_is_gone_down_to_the_end(options):
    """A cubic kernel of a standardized table, which LIBSVM does not end in 20 million steps."""
    X, y = load_diabetes(return_X_y=True)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = KernelSVR(Polynomial(3, 1.0), **options).fit(X, y)
    if "nu" in options:
        return
    a, K = model.expansion_.coef, Polynomial(3, 1.0)(X[model.support_])
    dual = 0.5 * a @ K @ a - a @ y[model.support_] + 0.1 * np.abs(a).sum()
    lost = np.maximum(np.abs(model.predict(X) - y) - 0.1, 0.0).sum()
    primal = 0.5 * a @ K @ a + 30.0 * lost
    assert abs(primal + dual) < 1e-3 * primal  # no gap: both are optimal


def test_a_problem_that_takes_for_ever_ends(monkeypatch):
    monkeypatch.setattr("mercer.solvers.quadratic.smo_on_demand.LAST_STEP", 30_000)
    X, y = _unscaled(380, 5, 41.0, "float64", seed=7)
    with pytest.warns(ConvergenceWarning, match="no solution after"):
        model = KernelSVR(Polynomial(3, 1.0), C=0.12, nu=0.84).fit(X, y)
    assert 30_000 <= model.n_iter_ < 300_000


def test_many_sparse_rows_are_labeled_as_dense_ones_are():
    """Of thousands of columns: K is computed at once, and no row of it by machine code."""
    X = sp.random(700, 5000, 0.01, "csr", random_state=0)
    w = np.random.default_rng(0).normal(size=5000)
    y = (X @ w > np.median(X @ w)).astype(int)
    sparse, dense = (KernelSVC(Gaussian(4.0)).fit(rows, y) for rows in (X, X.toarray()))
    np.testing.assert_allclose(sparse.dual_objective_, dense.dual_objective_, rtol=1e-4)
    assert (sparse.predict(X) == dense.predict(X.toarray())).mean() > 0.99
