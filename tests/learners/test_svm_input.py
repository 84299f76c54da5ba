"""What the support vector machines accept and refuse, and how they stop."""

from __future__ import annotations

import pickle
import signal
import threading
import time
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import estimator_checks_generator

import mercer
from mercer.kernels import Gaussian, Linear, Polynomial, Similarity
from mercer.learners import KernelOneClass, KernelSVC, KernelSVR
from mercer.solvers.quadratic.row_sources import Source
from mercer.solvers.quadratic.smo_on_demand import Worker

LOCK = threading.Lock()

# scikit-learn's own SVC, SVR and OneClassSVM are excused from these, for the same reason: weights
# and copies give the same problem, but two solutions of it within `tol` of the optimum.
EXCUSED = {
    "check_sample_weight_equivalence_on_dense_data": "equal to the tolerance of the solver only",
    "check_sample_weight_equivalence_on_sparse_data": "equal to the tolerance of the solver only",
}


@pytest.mark.parametrize("model", [KernelSVC(), KernelSVR(), KernelOneClass()], ids=repr)
def test_scikit_learns_checks(model):
    checks = estimator_checks_generator(model, expected_failed_checks=EXCUSED, mark="skip")
    for estimator, check in checks:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                check(estimator)
            except Exception as error:
                if type(error).__name__ != "SkipTest":
                    raise


def test_weights_are_repetitions_up_to_the_tolerance(sample):
    """What the excused check asks for, at a tolerance that shows it."""
    X, y = sample
    times = np.arange(len(y)) % 3
    model = KernelSVC(Gaussian(2.0), tol=1e-9).fit(X, y, times)
    copies = KernelSVC(Gaussian(2.0), tol=1e-9).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    np.testing.assert_allclose(model.decision_function(X), copies.decision_function(X), atol=1e-7)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other")


def test_a_given_matrix_is_the_kernel_itself(sample):
    X, y = sample
    k = Gaussian(1.5)
    direct = KernelSVC(k).fit(X, y)
    given = KernelSVC("precomputed").fit(k(X), y)
    np.testing.assert_allclose(
        given.decision_function(k(X[:20], X)), direct.decision_function(X[:20]), atol=1e-10
    )
    np.testing.assert_array_equal(given.support_, direct.support_)
    t = X[:, 0]
    given_t = KernelSVR("precomputed", tol=1e-8).fit(k(X), t)
    direct_t = KernelSVR(k, tol=1e-8).fit(X, t)
    np.testing.assert_allclose(given_t.predict(k(X)), direct_t.predict(X), atol=1e-7)
    with pytest.raises(ValueError, match="square"):
        KernelSVC("precomputed").fit(k(X)[:, :50], y)
    with pytest.raises(ValueError, match="120"):
        given.predict(k(X[:20], X[:50]))


@pytest.mark.parametrize("form", ["csr", "frame", "list", "expression", "function"])
def test_the_same_machine_from_any_form(form, sample):
    X, y = sample
    direct = KernelSVC(Gaussian(1.5)).fit(X, y)
    kernel, data = Gaussian(1.5), X
    if form == "csr":
        data = sp.csr_array(X)
    elif form == "frame":
        data = pd.DataFrame(X, columns=list("abcd"))
    elif form == "list":
        data = X.tolist()
    elif form == "expression":
        kernel = "gaussian(sigma=1.5)"
    else:
        kernel = lambda x, z: float(np.exp(-((x - z) ** 2).sum() / 4.5))  # noqa: E731
    model = KernelSVC(kernel).fit(data, y)
    np.testing.assert_allclose(
        model.decision_function(data), direct.decision_function(X), atol=1e-9
    )
    assert sp.issparse(model.support_vectors_) == (form == "csr")


def test_strings_under_a_black_box():
    def letters(x, z):
        return float(sum(x.count(c) * z.count(c) for c in "abcdefgh"))

    words = ["aab", "abb", "ba", "cca", "efg", "gge", "fhh", "heg"]
    model = KernelSVC(Similarity(letters)).fit(words, [0, 0, 0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(model.predict(["abba", "gef"]), [0, 1])
    assert set(model.support_vectors_) <= set(words)
    inside = KernelOneClass(Similarity(letters), nu=0.5).fit(words)
    assert inside.predict(words).shape == (8,)


def test_a_grid_search_reaches_the_kernel(sample):
    X, y = sample
    search = GridSearchCV(
        KernelSVC(Gaussian() + Linear()), {"kernel__left__sigma": [0.01, 1.0], "C": [1.0]}, cv=3
    ).fit(X, y)
    assert search.best_params_["kernel__left__sigma"] == 1.0


def test_pickles(sample):
    X, y = sample
    model = KernelSVC(Gaussian(1.5)).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.margins_, model.margins_)


def test_the_expansion_is_the_decision_function(sample):
    X, y = sample
    model = KernelSVC(Gaussian(1.5)).fit(X, y)
    np.testing.assert_allclose(model.expansion_(X), model.decision_function(X))
    assert 1 / np.sqrt(model.expansion_.squared_norm) == pytest.approx(model.margin_[0], rel=1e-6)
    np.testing.assert_allclose(
        model.expansion_.margins(X, np.where(y == "same", 1, -1)), model.margins_, rtol=1e-6
    )


def test_primal_weights_where_the_feature_map_is_finite(sample):
    X, y = sample
    linear, gaussian = KernelSVC(Linear()).fit(X, y), KernelSVC(Gaussian()).fit(X, y)
    np.testing.assert_allclose(
        X @ linear.coef_[0] + linear.intercept_, linear.decision_function(X), atol=1e-10
    )
    assert not hasattr(gaussian, "coef_")


def test_probabilities_from_a_given_matrix(sample):
    X, y = sample
    K = Gaussian(1.5)(X)
    model = KernelSVC("precomputed", probability=True).fit(K, y)
    direct = KernelSVC(Gaussian(1.5), probability=True).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(K), direct.predict_proba(X), atol=1e-6)
    with pytest.raises(ValueError, match="held-out"):
        KernelSVC(probability=True).fit(X[:4], [0, 0, 0, 1])


def test_a_kernel_on_named_columns(sample):
    X, y = sample
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = KernelSVC(Gaussian(1.5).on(["a", "b"]), tol=1e-9).fit(frame, y)
    direct = KernelSVC(Gaussian(1.5), tol=1e-9).fit(X[:, :2], y)
    np.testing.assert_allclose(
        model.decision_function(frame), direct.decision_function(X[:, :2]), atol=1e-7
    )


def test_identical_fits_are_identical(sample):
    X, y = sample
    a, b = (KernelSVC(Gaussian(1.5)).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(a.dual_coef_, b.dual_coef_)


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"kernel": "gausian()"}, ValueError, "gausian"),
        ({"kernel": 3}, TypeError, "is the kernel, got 3: C=3"),
    ],
)
def test_impossible_options(options, error, match, sample):
    with pytest.raises(error, match=match):
        KernelSVC(**options).fit(*sample)


def test_ties_are_broken_between_classes_only(sample):
    model = KernelSVC(decision_function_shape="ovo", break_ties=True).fit(*sample)
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.predict(sample[0])


def test_coefficients_are_sparse_after_sparse_rows(sample, tmp_path):
    X, y = sample
    for kind, t in ((KernelSVC, y), (KernelSVR, X[:, 0]), (KernelOneClass, None)):
        model = kind("linear()").fit(sp.csr_array(X), t)
        mercer.save(model, tmp_path / "model")
        for one in (model, mercer.load(tmp_path / "model")):
            assert sp.issparse(one.dual_coef_)
            f = (one.dual_coef_ @ one.support_vectors_ @ X.T)[0] + one.intercept_[0]
            np.testing.assert_allclose(one.expansion_(X), f, atol=1e-9)


def test_log_probabilities_and_the_seed_of_their_folds(sample, tmp_path):
    X, y = sample
    plain = KernelSVC(probability=True).fit(X, y)
    np.testing.assert_allclose(plain.predict_log_proba(X), np.log(plain.predict_proba(X)))
    assert not hasattr(KernelSVC(), "predict_log_proba")
    seeded = [KernelSVC(probability=True, random_state=s).fit(X, y) for s in (0, 0, 1)]
    shares = [model.predict_proba(X) for model in seeded]
    np.testing.assert_array_equal(shares[0], shares[1])
    assert (shares[0] != shares[2]).any()
    mercer.save(seeded[0], tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict_proba(X), shares[0])


def test_impossible_regression(sample):
    X = sample[0]
    with pytest.raises(ValueError, match="use epsilon"):
        KernelSVR(C=np.inf, nu=0.5).fit(X, X[:, 0])
    with pytest.raises(NotFittedError):
        KernelSVC().predict(X)


def test_one_class_alone_is_refused(sample):
    X, _ = sample
    with pytest.raises(ValueError, match="1 class"):
        KernelSVC().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="1 class"):
        KernelSVC().fit(X, np.arange(len(X)) % 2, np.arange(len(X)) % 2)


def test_weights_must_make_sense(sample):
    X, y = sample
    w = np.ones(len(y))
    w[3] = -1
    with pytest.raises(ValueError, match="negative"):
        KernelSVC().fit(X, y, w)
    with pytest.raises(ValueError, match="zero"):
        KernelSVC().fit(X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match="sample_weight"):
        KernelSVC().fit(X, y, np.ones(3))


def test_an_infeasible_nu_says_what_is_feasible():
    X = np.arange(20.0).reshape(-1, 1)
    with pytest.raises(ValueError, match=r"infeasible.*0\.2"):
        KernelSVC(nu=0.5).fit(X, np.r_[np.zeros(18), np.ones(2)])


def test_a_refuted_kernel_warns_and_still_gives_a_model(sample):
    X, y = sample
    with pytest.warns(UserWarning, match="not a positive semi-definite"):
        model = KernelSVC(-1.0 * Gaussian(), max_iter=5000).fit(X, y)
    assert model.predict(X).shape == y.shape


def test_a_constant_target_is_a_constant(sample):
    X, _ = sample
    model = KernelSVR().fit(X, np.full(len(X), 3.0))
    np.testing.assert_allclose(model.predict(X), 3.0, atol=0.1)
    assert len(model.support_) == 0
    assert model.predict(X[:2]).shape == (2,)


def test_duplicated_rows(sample):
    X, y = sample
    once = KernelSVC(Gaussian(1.5), C=2.0, tol=1e-6).fit(X, y)
    twice = KernelSVC(Gaussian(1.5), C=1.0, tol=1e-6).fit(np.vstack([X, X]), np.r_[y, y])
    np.testing.assert_allclose(twice.decision_function(X), once.decision_function(X), atol=1e-4)


# --- stopping early ----------------------------------------------------------------------------


def test_max_iter_warns(sample):
    X, y = sample
    with pytest.warns(ConvergenceWarning, match="max_iter=5"):
        model = KernelSVC(Gaussian(0.5), C=100, max_iter=5).fit(X, y)
    assert model.n_iter_[0] == 5
    assert model.fit_status_ == 1
    assert model.predict(X).shape == y.shape


@pytest.fixture
def _ctrl_c_interrupts():
    """A process started in the background ignores SIGINT; these tests need the usual handler."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press(pressed):
    """Ctrl-C, once, however many threads get here."""
    with LOCK:
        if not pressed:
            pressed.append(True)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


@pytest.mark.posix
@pytest.mark.usefixtures("_ctrl_c_interrupts")
def test_ctrl_c_keeps_the_model_so_far():
    """The signal comes in the middle of the fit, from the kernel itself."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    y = (X[:, 0] + rng.normal(size=1000) > 0).astype(int)
    calls, pressed = [], []

    def k(A, B):
        calls.append(len(A))
        if sum(calls) > 1500 and not pressed:
            press(pressed)
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = KernelSVC(Similarity(k, blocks=True), C=100.0, tol=1e-8).fit(X, y)
    assert len(model.support_)
    assert model.score(X, y) > 0.5
    assert model.fit_status_ == 1


@pytest.mark.posix
@pytest.mark.usefixtures("_ctrl_c_interrupts")
def test_ctrl_c_with_many_pairs(monkeypatch):
    monkeypatch.setattr(
        "mercer.solvers.quadratic.parallel.row_sources",
        lambda gram, most: iter([Source(gram, gram.dtype, gram.diagonal())]),
    )
    X, y = load_digits(return_X_y=True)
    calls, pressed = [], []

    def k(A, B):
        calls.append(len(A))
        if len(calls) > 330 and not pressed:
            press(pressed)
        return np.exp(-0.001 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = KernelSVC(Similarity(k, blocks=True)).fit(X[:300], y[:300])
    assert model.intercept_.shape == (45,)
    assert model.predict(X[:10]).shape == (10,)


@pytest.mark.slow
@pytest.mark.usefixtures("_ctrl_c_interrupts")
def test_ctrl_c_with_many_small_pairs(monkeypatch):
    """What was solved before the signal is kept, the other pairs stay at zero."""
    X, y = load_digits(return_X_y=True)
    solve, pieces, pressed = Worker.solve, [], []

    def slow(self, problems, order, stop):
        solve(self, problems, order, stop)
        pieces.append(order)
        if len(pieces) == 3:
            press(pressed)
            while not stop.is_set():
                time.sleep(0.01)

    monkeypatch.setattr(Worker, "solve", slow)
    monkeypatch.setattr("mercer.solvers.quadratic.smo_on_demand.SVM_ONE_THREAD", 0)
    monkeypatch.setattr("mercer.solvers.quadratic.smo_on_demand.SVM_CHUNK_ROWS", 300)
    with mercer.config(threads=1), pytest.warns(ConvergenceWarning, match="interrupted"):
        model = KernelSVC(Gaussian(20.0)).fit(X[:300], y[:300])
    assert 0 < (model.n_iter_ > 0).sum() < 45
    assert (model.n_iter_ == 0).sum() > 20
    assert model.predict(X[:10]).shape == (10,)


# --- memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(2, offset=1.0)], ids=repr)
def test_fit_stays_inside_the_memory_limit(kernel):
    rng = np.random.default_rng(0)
    X = 0.3 * rng.normal(size=(4000, 20)).astype(np.float32)
    y = (10 * X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=4000) > 0).astype(int)
    free = KernelSVC(kernel, C=0.5).fit(X, y)
    limit = 25_000_000  # K has 64 MB
    with mercer.config(memory=limit, threads=2):
        tracemalloc.start()
        try:
            tight = KernelSVC(kernel, C=0.5).fit(X, y)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 1.1 * limit
    assert tight.dual_objective_[0] == pytest.approx(free.dual_objective_[0], rel=1e-4)


def test_no_fit_below_the_least_memory():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    with mercer.config(memory="3MB"), pytest.raises(MemoryError, match="rows of K"):
        KernelSVC().fit(X, X[:, 0] > 0)


def test_all_weights_zero_say_so(sample):
    X, y = sample
    for learner, targets in ((KernelSVC(), y), (KernelSVR(), X[:, 0]), (KernelOneClass(), None)):
        with pytest.raises(ValueError, match="all samples have zero or negative weights"):
            learner.fit(X, targets, np.zeros(len(X)))


def test_probability_switched_on_after_fit_asks_for_another_fit(sample):
    X, y = sample
    model = KernelSVC().fit(X, y).set_params(probability=True)
    with pytest.raises(NotFittedError, match="call fit again"):
        model.predict_proba(X)
    assert model.fit(X, y).predict_proba(X).shape == (len(X), 2)


def test_a_function_may_give_a_sparse_block(sample):
    X, y = sample
    sparse = Similarity(lambda a, b: sp.csr_array(a @ b.T), blocks=True)
    dense = Similarity(lambda a, b: a @ b.T, blocks=True)
    found = KernelSVC(sparse).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(found, KernelSVC(dense).fit(X, y).decision_function(X))
