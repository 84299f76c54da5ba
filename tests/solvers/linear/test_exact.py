"""Exact ridge solvers: one array, any λ, weights, a free intercept, leave-one-out, singular K."""

import warnings

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning

import mercer
from mercer import Gaussian, Linear, Sigmoid
from mercer.kernels import NegativeSquaredDistance
from mercer.solvers.linear import exact as ridge_exact
from mercer.solvers.linear import factor
from mercer.solvers.linear.blas import add_squares, mirror
from mercer.solvers.linear.problem import RidgeProblem

RNG = np.random.default_rng(7)
N, T = 37, 3
X = RNG.normal(size=(N, 3))
TARGETS = RNG.normal(size=(N, T)) + 2.0
WEIGHTS = RNG.random(N)
WEIGHTS[[3, 20]] = 0.0
KERNEL = Gaussian(1.2)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("run", [ridge_exact.cholesky, ridge_exact.eigh])
def test_one_penalty_for_each_target(textbook_ridge, run, weights, intercept):
    alphas = np.array([0.1, 2.0, 0.1])
    found = run(KERNEL.gram(X), RidgeProblem(TARGETS, alphas, weights, intercept))
    w = np.ones(N) if weights is None else weights
    for j, alpha in enumerate(alphas):
        coef, b = textbook_ridge(KERNEL, X, TARGETS, alpha, w, intercept)
        np.testing.assert_allclose(found.coef[:, j], coef[:, j], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(found.intercept[j], b[j], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("run", [ridge_exact.cholesky_path, ridge_exact.eigh_path])
def test_leave_one_out_is_what_refitting_gives(refitted, run, weights, intercept):
    alphas = np.array([1e-3, 0.1, 5.0])
    path = run(KERNEL.gram(X), RidgeProblem(TARGETS, alphas, weights, intercept))
    w = np.ones(N) if weights is None else weights
    for a, alpha in enumerate(alphas):
        expected = refitted(KERNEL, X, TARGETS, alpha, w, intercept)
        np.testing.assert_allclose(path.loo[a], expected, rtol=1e-8, atol=1e-8)


def test_the_factor_is_made_in_the_array_that_holds_k():
    """One N×N array: K stays in one triangle, also where Cholesky fails halfway."""
    shifted = factor.Shifted(KERNEL.gram(X))
    first = shifted.factor(0.5)
    array = shifted._A
    assert first.A is array
    x = first.solve(TARGETS)
    second = shifted.factor(0.01)
    assert second.A is array
    K = KERNEL(X)
    np.testing.assert_allclose((K + 0.5 * np.eye(N)) @ x, TARGETS, atol=1e-10)
    np.testing.assert_allclose(np.triu(array, 1), np.triu(K, 1), atol=1e-14)
    inverse = np.linalg.inv(K + 0.01 * np.eye(N))
    np.testing.assert_allclose(second.inverse_diagonal(), inverse.diagonal(), rtol=1e-9)


def doubled(n=40):
    Z = np.vstack([X[: n // 2], X[: n // 2]])
    t = RNG.normal(size=(n, 1))
    return Z, t, (t[: n // 2] + t[n // 2 :]) / 2


@pytest.mark.parametrize("alpha", [1e-13, 1e-17, 1e-40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_duplicated_rows_and_a_tiny_penalty_are_solved_with_a_warning(alpha, dtype):
    """f goes through the mean of the targets of equal examples, as it does for λ → 0."""
    Z, t, mean = doubled()
    with pytest.warns(LinAlgWarning, match=r"condition number of about \d.*e\+1"):
        found = ridge_exact.cholesky(
            KERNEL.gram(Z.astype(dtype)), RidgeProblem(t, np.array([alpha]))
        )
    tolerance = 1e-6 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(KERNEL(Z)[:20] @ found.coef, mean, atol=tolerance)


def test_leave_one_out_of_duplicates_is_the_target_of_the_twin():
    Z, t, _ = doubled()
    with pytest.warns(LinAlgWarning, match="condition number"):
        path = ridge_exact.eigh_path(KERNEL.gram(Z), RidgeProblem(t, np.array([1e-16, 1.0])))
    np.testing.assert_allclose(path.loo[0], np.roll(t, 20, axis=0), atol=1e-6)


def test_a_well_conditioned_problem_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ridge_exact.cholesky(
            KERNEL.gram(X.astype(np.float32)), RidgeProblem(TARGETS, np.full(T, 1e-2))
        )
        ridge_exact.eigh(KERNEL.gram(X), RidgeProblem(TARGETS, np.full(T, 1e-6)))


def test_single_precision_goes_on_in_double_where_it_must():
    wide = Gaussian(3.0)
    gram = wide.gram(X.astype(np.float32))
    assert (
        ridge_exact.cholesky(gram, RidgeProblem(TARGETS, np.full(T, 1.0))).coef.dtype == np.float32
    )
    found = ridge_exact.cholesky(gram, RidgeProblem(TARGETS, np.full(T, 1e-9)))
    assert found.coef.dtype == np.float64
    K = wide(X.astype(np.float32).astype(np.float64)) + 1e-9 * np.eye(N)
    np.testing.assert_allclose(K @ found.coef, TARGETS, atol=1e-6)


@pytest.mark.parametrize("kernel", [NegativeSquaredDistance(), Sigmoid(1.0, -1.0)])
def test_an_indefinite_matrix_is_solved_all_the_same(kernel):
    K = kernel(X) + 0.3 * np.eye(N)
    assert np.linalg.eigvalsh(K)[0] < -0.01
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = ridge_exact.cholesky(kernel.gram(X), RidgeProblem(TARGETS, np.full(T, 0.3)))
        path = ridge_exact.eigh_path(kernel.gram(X), RidgeProblem(TARGETS, np.array([0.3])))
        other = ridge_exact.cholesky_path(kernel.gram(X), RidgeProblem(TARGETS, np.array([0.3])))
    # where a rule refutes the kernel the learner has said so before
    refuted = kernel.claim().holds is False
    assert refuted or any("not positive semi-definite" in str(w.message) for w in said)
    np.testing.assert_allclose(K @ found.coef, TARGETS, atol=1e-8)
    np.testing.assert_allclose(path.coef[0], found.coef, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(path.loo, other.loo, rtol=1e-6, atol=1e-8)


def test_a_kernel_that_is_not_symmetric_gives_its_symmetric_part_and_a_warning():
    K = KERNEL(X)
    K[0, 1] += 0.5
    with pytest.warns(UserWarning, match="not symmetric"):
        found = ridge_exact.cholesky(
            mercer.Precomputed().gram(K), RidgeProblem(TARGETS, np.ones(T))
        )
    np.testing.assert_allclose(((K + K.T) / 2 + np.eye(N)) @ found.coef, TARGETS, atol=1e-10)


def test_room_for_one_matrix_is_enough_for_cholesky():
    n = 400
    Z = RNG.normal(size=(n, 2))
    t = RNG.normal(size=(n, 1))
    with mercer.config(memory=int(1.6 * n * n * 8), threads=1):
        found = ridge_exact.cholesky(Gaussian(0.3).gram(Z), RidgeProblem(t, np.array([1.0])))
    np.testing.assert_allclose((Gaussian(0.3)(Z) + np.eye(n)) @ found.coef, t, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_squares(dtype):
    P, C = RNG.normal(size=(30, 600)).astype(dtype), np.zeros((600, 600), dtype=dtype)
    add_squares(P, C)
    add_squares(P[:7], C)
    wanted = P.T @ P + P[:7].T @ P[:7]
    np.testing.assert_allclose(mirror(C), wanted, rtol=1e-4 if dtype == np.float32 else 1e-12,
                               atol=1e-4)  # fmt: skip
    with pytest.raises(ValueError, match="does not fit"):
        add_squares(P.astype(np.float16), C)
    with pytest.raises(ValueError, match="does not fit"):
        add_squares(P[:, :5].copy(), C)


def test_zero_matrix():
    """A kernel that is zero everywhere: a = t/λ, f = 0."""
    found = ridge_exact.cholesky(
        Linear().gram(np.zeros((5, 2))), RidgeProblem(TARGETS[:5], np.full(T, 2.0))
    )
    np.testing.assert_allclose(found.coef, TARGETS[:5] / 2)


def test_small_eigenvalues_are_not_taken_for_rounding_in_single_precision():
    """ω runs from 0.01 to 2000 here, and N rounding units of the largest would be 0.5."""
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(2000, 8)), rng.normal(size=(2000, 1))
    kernel = Gaussian(1.5) + 1.0
    alphas = np.array([0.2, 2.0])
    single = ridge_exact.eigh_path(
        kernel.gram(rows.astype(np.float32)), RidgeProblem(targets, alphas)
    )
    exact = ridge_exact.cholesky_path(kernel.gram(rows), RidgeProblem(targets, alphas))
    np.testing.assert_allclose(single.loo, exact.loo, atol=0.02)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eigenvalues_that_are_rounding_are_left_out(dtype):
    B = np.random.default_rng(0).normal(size=(60, 5))
    spectrum = factor.Spectrum.of((B @ B.T).astype(dtype))
    assert np.count_nonzero(spectrum.inverse(np.array([1e-30]))) == 5
    assert np.count_nonzero(spectrum.inverse(np.array([1.0]))) == 60
