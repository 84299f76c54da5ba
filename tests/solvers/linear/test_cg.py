"""Conjugate gradients: several right-hand sides, preconditioners, rounding, interruption."""

import warnings

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning

import mercer
from mercer import Gaussian
from mercer.kernels import NegativeSquaredDistance
from mercer.solvers.linear import cg
from mercer.solvers.linear import exact as ridge_exact
from mercer.solvers.linear.iterations import NotDefinite, conjugate_gradients
from mercer.solvers.linear.problem import RidgeProblem

RNG = np.random.default_rng(3)
N, T = 150, 3
X = RNG.normal(size=(N, 2))
TARGETS = RNG.normal(size=(N, T)) + 1.0
WEIGHTS = RNG.random(N)
KERNEL = Gaussian(0.8)
ALPHAS = np.array([0.01, 1.0, 0.1])


def run(kernel=KERNEL, rows=X, weights=None, intercept=False, **options):
    settings = {"tol": 1e-10, "random": np.random.RandomState(0)} | options
    problem = RidgeProblem(TARGETS, ALPHAS, weights, intercept)
    return cg.ridge(kernel.gram(rows), problem, **settings)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("how", ["nystrom", "cholesky", None])
def test_the_solution_is_the_exact_one(how, weights, intercept):
    found = run(preconditioner=how, weights=weights, intercept=intercept, rank=40)
    exact = ridge_exact.cholesky(KERNEL.gram(X), RidgeProblem(TARGETS, ALPHAS, weights, intercept))
    assert found.stopped == ""
    np.testing.assert_allclose(found.coef, exact.coef, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found.intercept, exact.intercept, rtol=1e-7, atol=1e-10)


def test_a_preconditioner_saves_iterations():
    plain = run(preconditioner=None).n_iter
    assert run(preconditioner="nystrom", rank=60).n_iter < plain / 3
    assert run(preconditioner="cholesky", rank=60).n_iter < plain / 3


@pytest.mark.parametrize("how", ["nystrom", "cholesky"])
def test_low_rank_factors_agree_with_k_on_their_pivots(how):
    gram = KERNEL.gram(X)
    low = cg.CHOICES[how](gram, 30, np.random.RandomState(1))
    K = gram.dense()
    S = low.pivots
    assert len(set(S)) == len(S) <= 30
    np.testing.assert_allclose(low.F @ low.F[S].T, K[:, S], atol=1e-7)
    np.testing.assert_allclose(low.L @ low.L.T, K[np.ix_(S, S)], atol=1e-8)
    # and K − FFᵀ is positive semi-definite
    assert np.linalg.eigvalsh(K - low.F @ low.F.T)[0] > -1e-8


def test_pivots_are_better_than_a_sample_where_examples_crowd():
    """A cluster of 140 points and ten far ones: a sample misses most of those."""
    Z = np.vstack([0.01 * RNG.normal(size=(140, 2)), 30 * RNG.normal(size=(10, 2))])
    gram = Gaussian(1.0).gram(Z)
    K = gram.dense()
    left = {}
    for how in ("nystrom", "cholesky"):
        low = cg.CHOICES[how](gram, 15, np.random.RandomState(0))
        left[how] = np.trace(K - low.F @ low.F.T)
    assert left["cholesky"] < 0.2 * left["nystrom"]


def test_duplicates_do_not_break_the_factor():
    Z = np.vstack([X[:20]] * 4)
    for how in ("nystrom", "cholesky"):
        low = cg.CHOICES[how](KERNEL.gram(Z), 60, np.random.RandomState(0))
        assert len(low.pivots) <= 20
        assert np.isfinite(low.F).all()


def test_woodbury_inverts_what_it_says():
    low = cg.nystrom(KERNEL.gram(X), 25, np.random.RandomState(0))
    B = RNG.normal(size=(N, T))
    solved = cg.Woodbury(low, WEIGHTS).solve(B, ALPHAS)
    SF = WEIGHTS[:, None] * low.F
    for j, alpha in enumerate(ALPHAS):
        np.testing.assert_allclose(
            (SF @ SF.T + alpha * np.eye(N)) @ solved[:, j], B[:, j], atol=1e-6
        )


def test_an_indefinite_matrix_goes_to_minres_with_a_warning():
    with pytest.warns(UserWarning, match="MINRES"):
        found = run(NegativeSquaredDistance(), tol=1e-10, max_iter=2000, preconditioner=None)
    K = NegativeSquaredDistance()(X)
    for j, alpha in enumerate(ALPHAS):
        np.testing.assert_allclose(
            K @ found.coef[:, j] + alpha * found.coef[:, j], TARGETS[:, j], atol=1e-5
        )


def test_single_precision_stops_at_its_rounding():
    wide = Gaussian(3.0)
    gram = wide.gram(X.astype(np.float32))
    options = {"tol": 1e-14, "random": np.random.RandomState(0)}
    found = cg.ridge(gram, RidgeProblem(TARGETS, np.full(T, 1e-4)), **options)
    assert found.stopped == "rounding"
    assert found.residual > 1e-4
    fine = cg.ridge(gram, RidgeProblem(TARGETS, np.full(T, 1.0)), **options)
    exact = ridge_exact.cholesky(wide.gram(X), RidgeProblem(TARGETS, np.full(T, 1.0)))
    np.testing.assert_allclose(wide(X) @ fine.coef, wide(X) @ exact.coef, atol=1e-3)


def test_too_few_iterations_are_reported():
    found = run(preconditioner=None, max_iter=3)
    assert (found.stopped, found.n_iter) == ("max_iter", 3)
    assert found.residual > 1e-3


def test_ctrl_c_keeps_what_there_is():
    calls = []

    def multiply(P, columns):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return KERNEL(X) @ P + P

    result = conjugate_gradients(multiply, TARGETS, lambda R, columns: R, tol=1e-12)
    assert result.stopped == "interrupt"
    assert result.n_iter == 4
    assert result.residuals.max() < 1.0


def test_zero_right_hand_sides_and_negative_curvature():
    zero = conjugate_gradients(lambda P, c: P, np.zeros((5, 2)), lambda R, c: R)
    assert (zero.X == 0).all()
    assert zero.n_iter == 0
    with pytest.raises(NotDefinite):
        conjugate_gradients(lambda P, c: -P, np.ones((5, 1)), lambda R, c: R)


def test_matrix_free_within_a_small_limit():
    with mercer.config(memory="600KB", threads=1), warnings.catch_warnings():
        warnings.simplefilter("error")
        n = 1000
        Z = RNG.normal(size=(n, 2))
        t = np.sin(Z[:, :1])
        found = cg.ridge(
            Gaussian(2.0).gram(Z),
            RidgeProblem(t, np.ones(1)),
            rank=10,
            random=np.random.RandomState(0),
        )
    np.testing.assert_allclose(Gaussian(2.0)(Z) @ found.coef + found.coef, t, atol=1e-4)


def duplicates():
    """A tenth of the examples twice, with other targets: K is singular, and λ decides."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    rows = np.vstack([rows, rows[:20]])
    return Gaussian(0.5).gram(rows), rng.normal(size=(220, 1))


@pytest.mark.parametrize("preconditioner", ["nystrom", "cholesky"])
def test_residuals_that_grow_for_a_while_do_not_end_it(preconditioner):
    gram, targets = duplicates()
    alphas = np.array([1e-6])
    options = {"preconditioner": preconditioner, "rank": 40, "random": np.random.RandomState(0)}
    found = cg.ridge(gram, RidgeProblem(targets, alphas), **options)
    exact = ridge_exact.cholesky(gram, RidgeProblem(targets, alphas))
    assert found.n_iter > 150
    assert found.stopped == ""
    np.testing.assert_allclose(gram @ found.coef, gram @ exact.coef, atol=1e-4)


def test_a_singular_matrix_and_a_tiny_penalty_name_the_condition_number():
    gram, targets = duplicates()
    with pytest.warns(LinAlgWarning, match=r"condition number of about \d.*e\+15"):
        cg.ridge(gram, RidgeProblem(targets, np.array([1e-14])), random=np.random.RandomState(0))
