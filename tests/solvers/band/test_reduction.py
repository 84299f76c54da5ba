"""K = Q B Qᵀ with a banded B, products in place, and the ridge path that goes through them."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning, cholesky_banded

import mercer
from mercer import Gaussian, NegativeSquaredDistance, Similarity
from mercer._tiles import Scratch
from mercer.learners import KernelRidge
from mercer.solvers import band as ridge_band
from mercer.solvers.band import loops as band_loops
from mercer.solvers.band import path as ridge_path
from mercer.solvers.band import reduction as band
from mercer.solvers.linear import exact as ridge_exact
from mercer.solvers.linear.problem import RidgeProblem

RNG = np.random.default_rng(5)
N, T = 137, 3
X = RNG.normal(size=(N, 3))
TARGETS = RNG.normal(size=(N, T)) + 2.0
WEIGHTS = RNG.random(N)
WEIGHTS[[3, 20, 136]] = 0.0
KERNEL = Gaussian(1.2)
ALPHAS = np.array([1e-3, 0.1, 5.0])
DTYPES = [np.float32, np.float64]


@pytest.fixture
def small(monkeypatch):
    """The band route for few rows and any number of λ; tiles and threads as for many rows."""
    monkeypatch.setattr(ridge_band, "ENOUGH_ROWS", 2)
    monkeypatch.setattr(ridge_band, "ROWS_FOR_EACH", 1)
    monkeypatch.setattr(ridge_path, "WIDTH", 8)
    monkeypatch.setattr(band, "GATHER", 16)
    monkeypatch.setattr(band, "TILE", 32)
    monkeypatch.setattr(band, "WORTH_THREADS", 50)


def symmetric(n, dtype):
    A = RNG.normal(size=(n, n))
    return (A + A.T).astype(dtype)


def dense(found):
    n = len(found.q_transposed)
    B = np.zeros((n, n))
    for d in range(min(found.width, n - 1) + 1):
        at = np.arange(n - d)
        B[at + d, at] = B[at, at + d] = found.diagonals[d, : n - d]
    return B


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 3, 8, 32])
@pytest.mark.parametrize("n", [1, 2, 7, 32, 33, 64, 95, 137])
def test_a_symmetric_matrix_is_q_b_qt(small, n, width, dtype):
    A = symmetric(n, dtype)
    array = A.copy()
    found = band.to_band(array, width)
    assert found.q_transposed is array
    assert found.width == max(1, min(width, n - 1))
    Q, rounding = found.q_transposed.T.astype(float), 30 * np.finfo(dtype).eps
    np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=rounding)
    np.testing.assert_allclose(Q @ dense(found) @ Q.T, A, atol=rounding * np.sqrt(n))


@pytest.mark.parametrize("n", [1100, 1023])
def test_tiles_threads_and_panels_as_they_are(n):
    A = symmetric(n, np.float64)
    with mercer.config(threads=3):
        found = band.to_band(A.copy(), 32)
        again = band.to_band(A.copy(), 32)
    Q = found.q_transposed.T
    np.testing.assert_allclose(Q @ dense(found) @ Q.T, A, atol=1e-11)
    np.testing.assert_array_equal(found.diagonals, again.diagonals)
    np.testing.assert_array_equal(found.q_transposed, again.q_transposed)


def test_a_matrix_of_zeros_and_a_diagonal_stay_as_they_are(small):
    for A in (np.zeros((40, 40)), np.diag(np.arange(40.0))):
        found = band.to_band(A.copy(), 8)
        Q = found.q_transposed.T
        np.testing.assert_allclose(Q @ dense(found) @ Q.T, A, atol=1e-12)


def test_the_parts_that_are_done_add_up_to_one(small):
    done = []
    band.to_band(symmetric(N, np.float64), 8, done.append)
    assert len(done) > 10
    # the first rows of Q are those of the identity, and cost nothing
    assert 0.9 < sum(done) <= 1.0 + 1e-12


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 33, 150])
def test_squares_of_a_banded_solve(n, dtype):
    width = 16
    diagonals = np.zeros((width + 1, n))
    for d in range(min(width, n - 1) + 1):
        diagonals[d, : n - d] = RNG.normal(size=n - d) * 0.1
    diagonals[0] = 4.0
    factor = cholesky_banded(diagonals, lower=True)
    L = np.zeros((n, n))
    for d in range(min(width, n - 1) + 1):
        L[np.arange(d, n), np.arange(n - d)] = factor[d, : n - d]
    P = RNG.normal(size=(n, band_loops.COLUMNS))
    c, own = band_loops.coefficients(factor, np.dtype(dtype))
    panel = np.zeros((n + n % 2, band_loops.COLUMNS), dtype=dtype)
    panel[:n] = P
    Y = np.zeros((len(panel) + width) * band_loops.COLUMNS, dtype=dtype)
    found = np.empty(band_loops.COLUMNS)
    band_loops.solved_squares(panel.ravel(), c, own, Y, found)
    expected = np.square(np.linalg.solve(L, P)).sum(axis=0)
    np.testing.assert_allclose(found, expected, rtol=100 * np.finfo(dtype).eps)


def test_a_width_the_loop_does_not_know_is_refused():
    with pytest.raises(ValueError, match="multiple of 8"):
        band_loops.coefficients(np.ones((6, 9)), np.dtype(float))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_leave_one_out_is_what_refitting_gives(textbook_ridge, refitted, small, weights, intercept):
    path = ridge_band.band_path(KERNEL.gram(X), RidgeProblem(TARGETS, ALPHAS, weights, intercept))
    w = np.ones(N) if weights is None else weights
    for a, alpha in enumerate(ALPHAS):
        coef, b = textbook_ridge(KERNEL, X, TARGETS, alpha, w, intercept)
        np.testing.assert_allclose(path.coef[a], coef, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(path.intercept[a], b, rtol=1e-8, atol=1e-10)
        expected = refitted(KERNEL, X, TARGETS, alpha, w, intercept)
        np.testing.assert_allclose(path.loo[a], expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("n", [136, 137])
def test_the_path_is_that_of_the_eigenvectors(small, monkeypatch, n, weights, intercept):
    monkeypatch.setattr(ridge_path, "BATCH", 4)  # λ in several batches
    clean = Scratch.get

    def dirty(self, key, *args):
        first = key not in self._buffers
        buffer = clean(self, key, *args)
        if first:
            buffer.fill(np.nan)
        return buffer

    monkeypatch.setattr(Scratch, "get", dirty)  # as memory comes
    alphas = np.logspace(-3, 2, 11)
    w = None if weights is None else weights[:n]
    arguments = (KERNEL.gram(X[:n]), RidgeProblem(TARGETS[:n], alphas, w, intercept))
    path, other = ridge_band.band_path(*arguments), ridge_exact.eigh_path(*arguments)
    for name in ("alphas", "coef", "intercept", "loo"):
        ours, theirs = getattr(path, name), getattr(other, name)
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


def test_single_precision_is_as_good_as_the_condition_allows(small):
    """Eigenvalues below N ε ω_max are kept: they are small, not noise."""
    single = X.astype(np.float32)
    alphas = np.array([1e-2, 1.0])
    path = ridge_band.band_path(KERNEL.gram(single), RidgeProblem(TARGETS, alphas))
    exact = ridge_exact.eigh_path(KERNEL.gram(single.astype(float)), RidgeProblem(TARGETS, alphas))
    assert path.coef.dtype == np.float32
    for ours, theirs in ((path.coef, exact.coef), (path.loo, exact.loo)):
        np.testing.assert_allclose(ours, theirs, atol=2e-3 * np.abs(theirs).max())


def test_single_precision_goes_on_in_double_where_it_must(small):
    wide, single = Gaussian(3.0), X.astype(np.float32)
    alphas = np.array([1e-6, 1.0])
    path = ridge_band.band_path(wide.gram(single), RidgeProblem(TARGETS, alphas))
    exact = ridge_exact.eigh_path(wide.gram(single.astype(float)), RidgeProblem(TARGETS, alphas))
    assert path.coef.dtype == np.float64
    np.testing.assert_allclose(path.loo, exact.loo, rtol=1e-5, atol=1e-6)


def test_the_condition_is_found_to_a_factor(small):
    K = KERNEL(X)
    values = np.linalg.eigvalsh(K)
    found = band.to_band(K.copy(), 8)
    for alpha in (1e-3, 1.0):
        exact = (values[-1] + alpha) / (values[0] + alpha)
        assert 0.4 * exact < ridge_path.condition(found, alpha) < 1.01 * exact
    assert ridge_path.condition(band.to_band(K - 0.5 * np.eye(N), 8), 0.1) == np.inf


def test_a_matrix_with_few_digits_left_is_not_certain(small):
    """Cholesky goes through, but eigenvectors could tell a small direction from none."""
    Z = np.vstack([X[:60], X[:60]])
    found = band.to_band(KERNEL(Z), 8)
    for alpha, certain in ((1e-12, False), (1e-9, True)):
        assert 1e9 < ridge_path.condition(found, alpha) < 1e15
        assert ridge_path.certain(found, alpha) is certain


def test_duplicates_and_a_tiny_penalty_go_to_the_eigenvectors(small):
    Z, t = np.vstack([X[:60], X[:60]]), RNG.normal(size=(120, 1))
    assert ridge_band.band_path(KERNEL.gram(Z), RidgeProblem(t, np.array([1e-16, 1.0]))) is None
    with pytest.warns(LinAlgWarning, match="condition number of about .* K leaves out get none"):
        model = KernelRidge(KERNEL, alphas=[1e-16, 1.0], solver="eigh").fit(Z, t[:, 0])
    with pytest.warns(LinAlgWarning):
        expected = ridge_exact.eigh_path(KERNEL.gram(Z), RidgeProblem(t, np.array([1e-16, 1.0])))
    np.testing.assert_array_equal(model.dual_coef_path_, expected.coef[:, :, 0])
    np.testing.assert_allclose(expected.loo[0], np.roll(t, 60, axis=0), atol=1e-6)


def _minus_squared_distance(a, b):
    return -float(np.square(np.asarray(a) - np.asarray(b)).sum())


def test_an_indefinite_matrix_goes_to_the_eigenvectors(small, monkeypatch):
    """By what is known of the kernel, and where nothing is known, by the factorization."""
    alphas = np.array([0.3, 1.0])
    unknown = Similarity(_minus_squared_distance)
    calls = []
    monkeypatch.setattr(ridge_path, "to_band", lambda *a: calls.append(1) or band.to_band(*a))
    for kernel in (NegativeSquaredDistance(), unknown):
        assert ridge_band.band_path(kernel.gram(X), RidgeProblem(TARGETS, alphas)) is None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = KernelRidge(kernel, alphas=alphas, solver="eigh").fit(X, TARGETS)
            expected = ridge_exact.eigh_path(kernel.gram(X), RidgeProblem(TARGETS, alphas))
        np.testing.assert_allclose(model.dual_coef_path_, expected.coef, rtol=1e-6, atol=1e-8)
    assert len(calls) == 2  # the unknown one, twice


def test_the_learner_takes_the_band(small, monkeypatch):
    def never(*_):
        raise AssertionError("no eigenvectors are needed")

    expected = KernelRidge(KERNEL, alphas=ALPHAS, solver="cholesky").fit(X, TARGETS)
    monkeypatch.setattr(ridge_exact, "eigh_path", never)
    model = KernelRidge(KERNEL, alphas=ALPHAS, solver="eigh").fit(X, TARGETS)
    assert model.solver_ == "eigh"
    assert model.alpha_ == expected.alpha_
    np.testing.assert_allclose(model.dual_coef_, expected.dual_coef_, rtol=1e-8, atol=1e-9)


def test_seven_penalties_are_enough_for_the_band(small):
    alphas = np.logspace(-2, 2, 7)
    assert KernelRidge(KERNEL, alphas=alphas).fit(X, TARGETS).solver_ == "eigh"
    assert KernelRidge(KERNEL, alphas=alphas[:6]).fit(X, TARGETS).solver_ == "cholesky"
    each = KernelRidge(KERNEL, alpha=alphas).fit(X, RNG.normal(size=(N, 7)))
    assert each.solver_ == "cholesky"


def test_the_band_is_left_where_it_does_not_pay_or_fit(small, monkeypatch):
    gram = KERNEL.gram(X)
    assert ridge_band.band_path(gram, RidgeProblem(TARGETS, ALPHAS)) is not None
    with mercer.config(memory="150kB"):
        assert ridge_band.band_path(gram, RidgeProblem(TARGETS, ALPHAS)) is None
    monkeypatch.setattr(ridge_band, "ROWS_FOR_EACH", 60)
    assert ridge_band.band_path(gram, RidgeProblem(TARGETS, ALPHAS)) is None
    monkeypatch.setattr(ridge_band, "ROWS_FOR_EACH", 1)
    monkeypatch.setattr(ridge_band, "ENOUGH_ROWS", N + 1)
    assert ridge_band.band_path(gram, RidgeProblem(TARGETS, ALPHAS)) is None


def test_the_band_can_be_switched_off(small, monkeypatch):
    monkeypatch.setattr(ridge_path, "to_band", lambda *_: pytest.fail("a band was made"))
    monkeypatch.setattr(ridge_band, "ENABLED", False)
    alphas = np.logspace(-2, 2, 7)
    model = KernelRidge(KERNEL, alphas=alphas, solver="eigh").fit(X, TARGETS)
    expected = ridge_exact.eigh_path(KERNEL.gram(X), RidgeProblem(TARGETS, alphas))
    assert (model.dual_coef_path_ == expected.coef).all()
    assert KernelRidge(KERNEL, alphas=alphas).fit(X, TARGETS).solver_ == "cholesky"


@pytest.mark.parametrize(("value", "enabled"), [("0", "False"), ("1", "True")])
def test_an_environment_variable_switches_it_off(value, enabled):
    script = "from mercer.solvers import band; print(band.ENABLED)"
    environment = os.environ | {"MERCER_BAND": value}
    answer = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True)
    assert answer.stdout.decode().strip() == enabled
