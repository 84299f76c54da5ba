"""Ridge through M×M matrices: features, centers; sums over panels; the memory limit."""

import warnings

import numpy as np
import pytest

import mercer
from mercer import Gaussian, Polynomial
from mercer._tiles import Scratch
from mercer.solvers.linear import exact as ridge_exact
from mercer.solvers.linear import nystrom, primal
from mercer.solvers.linear.panels import FeaturePanels, GramPanels
from mercer.solvers.linear.problem import RidgeProblem

RNG = np.random.default_rng(11)
N, T = 90, 2
X = RNG.normal(size=(N, 2))
TARGETS = RNG.normal(size=(N, T)) + 1.0
WEIGHTS = RNG.random(N)
WEIGHTS[5] = 0.0
ALPHAS = np.array([0.3, 2.0])
QUADRATIC = Polynomial(2, offset=1.0)


def panels_of(kernel):
    return FeaturePanels(kernel, X, len(X))


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_normal_equations_are_the_sums_they_stand_for(weights):
    panels = panels_of(QUADRATIC)
    phi = QUADRATIC.features(X)
    w = np.ones(N) if weights is None else weights
    for threads, memory in ((1, "1GB"), (2, "1GB"), (2, "200KB")):
        with mercer.config(threads=threads, memory=memory):
            normal = panels.normal(TARGETS, weights)
        np.testing.assert_allclose(normal.H, phi.T @ (w[:, None] * phi), rtol=1e-12)
        np.testing.assert_allclose(normal.R, phi.T @ (w[:, None] * TARGETS), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(normal.sums, phi.T @ w, rtol=1e-12)
        assert normal.weight == pytest.approx(w.sum())


def test_sums_of_single_precision_tiles_are_double():
    gram = Gaussian().gram(X.astype(np.float32)).take(columns=np.arange(10))
    assert GramPanels(gram).normal(TARGETS, None).H.dtype == np.float64


@pytest.mark.parametrize("keep", [False, True])
def test_products_with_panels(keep):
    gram = Gaussian().gram(X).take(columns=np.arange(0, N, 3))
    panels = GramPanels(gram)
    if keep:
        assert panels.keep()
        assert panels.panel(slice(0, 3), Scratch(0)).base is not None  # a view: nothing is made
    K = gram.dense()
    B, V = RNG.normal(size=(30, 4)), RNG.normal(size=(N, 3))
    np.testing.assert_allclose(panels.product(B), K @ B, rtol=1e-12)
    np.testing.assert_allclose(panels.transposed_product(V), K.T @ V, rtol=1e-10)
    with mercer.config(memory="1KB"):
        assert not GramPanels(gram).keep()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_primal_is_dual(weights, intercept):
    panels = panels_of(QUADRATIC)
    found = primal.ridge(panels, RidgeProblem(TARGETS, ALPHAS, weights, intercept))
    exact = ridge_exact.cholesky(
        QUADRATIC.gram(X), RidgeProblem(TARGETS, ALPHAS, weights, intercept)
    )
    np.testing.assert_allclose(QUADRATIC.features(X).T @ exact.coef, found.coef, atol=1e-9)
    np.testing.assert_allclose(found.intercept, exact.intercept, rtol=1e-9)
    left = TARGETS - panels.product(found.coef) - found.intercept
    np.testing.assert_allclose(primal.dual(left, ALPHAS, weights), exact.coef, atol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_primal_leave_one_out_is_that_of_the_dual(weights, intercept):
    problem = RidgeProblem(TARGETS, ALPHAS, weights, intercept)
    found, left = primal.ridge_path(panels_of(QUADRATIC), problem)
    exact = ridge_exact.eigh_path(QUADRATIC.gram(X), problem)
    np.testing.assert_allclose(found.loo, exact.loo, atol=1e-9)
    duals = primal.dual(left, ALPHAS[:, None, None], weights)
    np.testing.assert_allclose(duals, exact.coef, atol=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
def test_all_examples_as_centers_give_the_exact_solution(intercept):
    kernel = Gaussian(0.7)
    gram = kernel.gram(X)
    centers = nystrom.draw_centers(gram, N, np.random.RandomState(0))
    found = nystrom.ridge(centers, RidgeProblem(TARGETS, ALPHAS, WEIGHTS, intercept))
    exact = ridge_exact.cholesky(gram, RidgeProblem(TARGETS, ALPHAS, WEIGHTS, intercept))
    K = kernel(X)
    np.testing.assert_allclose(
        K @ found.coef + found.intercept, K @ exact.coef + exact.intercept, atol=1e-7
    )


@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_with_centers_is_what_refitting_gives(intercept):
    """The centers stay; an example that is left out only loses its weight."""
    gram = Gaussian(0.9).gram(X)
    centers = nystrom.draw_centers(gram, 12, np.random.RandomState(0))
    path = nystrom.ridge_path(centers, RidgeProblem(TARGETS, ALPHAS, WEIGHTS, intercept))
    columns = gram.block(slice(None), centers.positions)
    for a, alpha in enumerate(ALPHAS):
        for i in (0, 5, 17, int(centers.positions[0])):
            without = WEIGHTS.copy()
            without[i] = 0.0
            refit = nystrom.ridge(
                centers, RidgeProblem(TARGETS, np.full(T, alpha), without, intercept)
            )
            np.testing.assert_allclose(
                path.loo[a, i], columns[i] @ refit.coef + refit.intercept, atol=1e-8
            )


def test_single_precision_tiles_lose_little():
    kernel = Gaussian(0.4)
    centers = nystrom.draw_centers(kernel.gram(X), 30, np.random.RandomState(0))
    single = nystrom.draw_centers(kernel.gram(X.astype(np.float32)), 30, np.random.RandomState(0))
    assert (single.positions == centers.positions).all()
    assert single.penalty.dtype == np.float64
    K = centers.panels.gram.dense()
    exact = K @ nystrom.ridge(centers, RidgeProblem(TARGETS, ALPHAS)).coef
    np.testing.assert_allclose(
        K @ nystrom.ridge(single, RidgeProblem(TARGETS, ALPHAS)).coef, exact, atol=1e-5
    )


def test_duplicated_centers_and_a_tiny_penalty():
    Z = np.vstack([X[:30]] * 3)
    t = np.vstack([TARGETS[:30]] * 3)
    gram = Gaussian(2.0).gram(Z)
    centers = nystrom.draw_centers(gram, 90, np.random.RandomState(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = nystrom.ridge(centers, RidgeProblem(t, np.full(T, 1e-12)))
    fitted = Gaussian(2.0)(Z) @ found.coef
    assert np.isfinite(fitted).all()
    assert np.abs(fitted - t).mean() < np.abs(t - t.mean(0)).mean()


def test_an_indefinite_kernel_is_solved_with_a_warning():
    gram = (Gaussian(1.0) - 1.5 * Gaussian(0.3)).gram(X)
    centers = nystrom.draw_centers(gram, 20, np.random.RandomState(0))
    with pytest.warns(UserWarning, match="negative eigenvalues"):
        found = nystrom.ridge(centers, RidgeProblem(TARGETS, np.full(T, 100.0)))
    K = centers.panels.gram.dense()
    left = (K.T @ K + 100.0 * centers.penalty) @ found.coef - K.T @ TARGETS
    np.testing.assert_allclose(left, 0.0, atol=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_conjugate_gradients_give_what_the_normal_equations_give(weights, intercept, monkeypatch):
    centers = nystrom.draw_centers(Gaussian(0.7).gram(X), 30, np.random.RandomState(0))
    problem = RidgeProblem(TARGETS, ALPHAS, weights, intercept)
    direct = nystrom.ridge(centers, problem)
    monkeypatch.setattr(nystrom, "NORMAL_MATRIX_FLOPS", 0.0)
    found = nystrom.ridge(centers, problem, tol=1e-12)
    assert direct.n_iter == 1 < found.n_iter < 60
    assert found.stopped == ""
    np.testing.assert_allclose(found.intercept, direct.intercept, atol=1e-8)
    K = centers.panels.gram.dense()
    np.testing.assert_allclose(K @ found.coef, K @ direct.coef, atol=1e-7)
    short = nystrom.ridge(centers, problem, tol=1e-12, max_iter=2)
    assert (short.n_iter, short.stopped) == (2, "max_iter")


def test_default_counts():
    assert nystrom.default_count(50) == 50
    assert nystrom.default_count(10_000) == 2000
    assert nystrom.default_count(1_000_000) == 5000


def test_too_many_centers_say_how_many_fit():
    with mercer.config(memory="10MB"), pytest.raises(MemoryError, match=r"\d+ centers fit"):
        nystrom.draw_centers(Gaussian().gram(np.zeros((2000, 1))), 1000, np.random.RandomState())
