"""Paths of many penalties by a tridiagonal matrix: against eigenvectors, inverses and refits."""

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning

import mercer
from mercer import Gaussian, KernelRidge
from mercer.kernels import NegativeSquaredDistance
from mercer.solvers.linear import exact
from mercer.solvers.linear.problem import RidgeProblem
from mercer.solvers.linear.tridiagonal import Tridiagonal, tridiagonal_path

RNG = np.random.default_rng(5)
N = 120
X = RNG.normal(size=(N, 4))
TARGETS = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]]) + 0.1 * RNG.normal(size=(N, 2))
WEIGHTS = RNG.uniform(0.5, 2.0, size=N)
KERNEL = Gaussian(1.0)
ALPHAS = np.logspace(-3, 2, 11)


@pytest.mark.parametrize("n", [1, 2, 3, 50, N])
def test_a_reduced_matrix_is_the_matrix(n):
    K = KERNEL(X[:n])
    reduced = Tridiagonal.of(K.copy())
    T = (
        np.diag(reduced.diagonal)
        + np.diag(reduced.off_diagonal, 1)
        + np.diag(reduced.off_diagonal, -1)
    )
    Qt = reduced.q_transposed
    np.testing.assert_allclose(Qt @ Qt.T, np.eye(n), atol=1e-13)
    np.testing.assert_allclose(Qt.T @ T @ Qt, K, atol=1e-13)
    for alpha in (1e-3, 1.0):
        inverse = np.linalg.inv(K + alpha * np.eye(n))
        solved, diagonal = reduced.inverses(np.array([alpha]), TARGETS[:n])
        np.testing.assert_allclose(solved[0], inverse @ TARGETS[:n], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(diagonal[0], inverse.diagonal(), rtol=1e-10)
        values = np.linalg.eigvalsh(K) + alpha
        assert reduced.condition(alpha) == pytest.approx(values[-1] / values[0], rel=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_path_is_that_of_eigenvectors(weights, intercept):
    arguments = KERNEL.gram(X), RidgeProblem(TARGETS, ALPHAS, weights, intercept)
    path, other = tridiagonal_path(*arguments), exact.eigh_path(*arguments)
    for name in ("alphas", "coef", "intercept", "loo"):
        ours, theirs = getattr(path, name), getattr(other, name)
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


def test_leave_one_out_is_what_refitting_gives():
    path = tridiagonal_path(KERNEL.gram(X), RidgeProblem(TARGETS, ALPHAS, WEIGHTS, True))
    for a, alpha in enumerate(ALPHAS):
        for i in (0, 17, 119):
            rest = np.delete(np.arange(N), i)
            model = KernelRidge(KERNEL, alpha, fit_intercept=True, solver="cholesky")
            model.fit(X[rest], TARGETS[rest], sample_weight=WEIGHTS[rest])
            np.testing.assert_allclose(path.loo[a, i], model.predict(X[i : i + 1])[0], rtol=1e-7)


def test_single_precision_is_solved_in_double():
    single = X.astype(np.float32)
    problem = RidgeProblem(TARGETS, np.array([1e-6, 1.0]))
    path = tridiagonal_path(Gaussian(3.0).gram(single), problem)
    expected = exact.eigh_path(Gaussian(3.0).gram(single.astype(float)), problem)
    np.testing.assert_allclose(path.loo, expected.loo, rtol=1e-5, atol=1e-6)


def test_duplicates_and_a_tiny_penalty_go_to_the_eigenvectors():
    Z, t = np.vstack([X[:60], X[:60]]), RNG.normal(size=(120, 1))
    problem = RidgeProblem(t, np.array([1e-16, 1.0]))
    assert tridiagonal_path(KERNEL.gram(Z), problem) is None
    model = KernelRidge(KERNEL, alphas=[1e-16, 1.0], fit_intercept=False, solver="eigh")
    with pytest.warns(LinAlgWarning, match="condition number of about .* K leaves out get none"):
        model.fit(Z, t[:, 0])
    with pytest.warns(LinAlgWarning):
        expected = exact.eigh_path(KERNEL.gram(Z), problem)
    np.testing.assert_array_equal(model.dual_coef_path_, expected.coef[:, :, 0])
    np.testing.assert_allclose(expected.loo[0], np.roll(t, 60, axis=0), atol=1e-6)


@pytest.mark.parametrize(("alpha", "certain"), [(1e-12, False), (1e-9, True)])
def test_a_matrix_with_few_digits_left_goes_to_the_eigenvectors(alpha, certain):
    """The factors exist, but eigenvectors could tell a small direction from none."""
    Z, t = np.vstack([X[:60], X[:60]]), RNG.normal(size=(120, 1))
    assert np.isfinite(Tridiagonal.of(KERNEL(Z)).condition(alpha))
    path = tridiagonal_path(KERNEL.gram(Z), RidgeProblem(t, np.array([alpha])))
    assert (path is not None) is certain


def test_an_indefinite_matrix_goes_to_the_eigenvectors():
    problem = RidgeProblem(TARGETS, np.array([0.3, 1.0]))
    assert tridiagonal_path(NegativeSquaredDistance().gram(X), problem) is None
    K = -np.square(X[:, None] - X).sum(axis=2)  # nothing is known of a given matrix
    assert tridiagonal_path(mercer.Precomputed().gram(K), problem) is None


def test_the_learner_takes_it_for_more_than_five_penalties(monkeypatch):
    expected = KernelRidge(KERNEL, alphas=ALPHAS, solver="cholesky").fit(X, TARGETS)
    monkeypatch.setattr(exact, "eigh_path", lambda *_: pytest.fail("no eigenvectors are needed"))
    model = KernelRidge(KERNEL, alphas=ALPHAS).fit(X, TARGETS)
    assert model.solver_ == "eigh"
    assert model.alpha_ == expected.alpha_
    np.testing.assert_allclose(model.dual_coef_, expected.dual_coef_, rtol=1e-8, atol=1e-9)
    assert KernelRidge(KERNEL, alphas=ALPHAS[:5]).fit(X, TARGETS).solver_ == "cholesky"


def test_the_path_needs_room_for_two_matrices():
    with mercer.config(memory="150kB"):
        assert tridiagonal_path(KERNEL.gram(X), RidgeProblem(TARGETS, ALPHAS)) is None
