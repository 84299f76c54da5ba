"""Logistic solvers against a generic optimizer: objective and probabilities to 1e-6."""

import numpy as np
import pytest
from scipy.optimize import minimize

import mercer
from mercer import Gaussian
from mercer.solvers.linear import nystrom
from mercer.solvers.linear.panels import GramPanels
from mercer.solvers.smooth.descent import gradient_descent, safe_rate
from mercer.solvers.smooth.losses import Binary, Multinomial, Squares
from mercer.solvers.smooth.newton import newton
from mercer.solvers.smooth.spaces import CenterSpan, Span, rank_for

RNG = np.random.default_rng(5)
N = 50
X = RNG.normal(size=(N, 2))
KERNEL = Gaussian(1.0)
K = KERNEL(X)
WEIGHTS = 2 * RNG.random(N)
NOISY = (X[:, 0] * X[:, 1] + 0.4 * RNG.normal(size=N) > 0).astype(int)
TEN = RNG.integers(0, 10, N)
LABELS = {
    "binary": lambda w: Binary(NOISY, w),
    "three": lambda w: Multinomial(TEN % 3, 3, w),
    "ten": lambda w: Multinomial(TEN, 10, w),
}


def generic(loss, alpha, intercept):
    """The same objective in the hands of BFGS, which knows nothing of kernels."""
    C = loss.columns

    def split(v):
        return v[: N * C].reshape(N, C), v[N * C :] if intercept else np.zeros(C)

    # In w = Lᵀa the problem is well scaled; K = LLᵀ up to what float64 cannot see.
    L = np.linalg.cholesky(K + 1e-13 * np.eye(N))

    def function(v):
        w, b = split(v)
        scores = L @ w + b
        g = loss.gradient(loss.link(scores))
        value = loss.value(scores) + 0.5 * alpha * np.sum(w * w)
        slope = [(L.T @ g + alpha * w).ravel()] + ([g.sum(0)] if intercept else [])
        return value, np.concatenate(slope)

    size = N * C + (C if intercept else 0)
    options = {"gtol": 1e-10, "ftol": 1e-16, "maxiter": 20000, "maxfun": 40000, "maxcor": 50}
    answer = minimize(function, np.zeros(size), jac=True, method="L-BFGS-B", options=options)
    w, b = split(answer.x)
    return answer.fun, loss.link(L @ w + b)


def span(rank=N, rows=X, keep=0.5):
    return Span(KERNEL.gram(rows), np.random.RandomState(0), rank, keep)


def center_span(count=N, rank=N, keep=0.5):
    random = np.random.RandomState(0)
    chosen = nystrom.draw_centers(KERNEL.gram(X), count, random)
    return CenterSpan(chosen, random, rank, keep)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weights", [np.ones(N), WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("labels", LABELS)
def test_objective_and_probabilities_are_those_of_a_generic_optimizer(labels, weights, intercept):
    alpha = 0.1
    loss = LABELS[labels](weights)
    value, wanted = generic(loss, alpha, intercept)
    for space in (span(), span(10), center_span(), center_span(rank=10)):
        found = newton(space, loss, alpha, intercept=intercept, tol=1e-13)
        scores = K @ space.expansion(found.coef) + found.intercept
        assert found.stopped == ""
        assert found.objective == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(loss.link(scores), wanted, atol=1e-6)


def test_the_default_tolerance_is_kept():
    loss = LABELS["three"](np.ones(N))
    best = newton(span(), loss, 0.01, tol=1e-14).objective
    for tol in (1e-2, 1e-4, 1e-6):
        reached = newton(span(), loss, 0.01, tol=tol)
        assert reached.objective <= best * (1 + tol)
    assert reached.n_iter < 20


def test_the_objective_falls_with_every_step():
    for loss in (LABELS["binary"](WEIGHTS), LABELS["ten"](WEIGHTS)):
        objectives = newton(span(), loss, 1e-4).objectives
        assert (np.diff(objectives) < 0).all()


def test_coefficients_of_the_optimum_are_the_residuals():
    """αa = w(y − p): the gradient in a vanishes, and examples without weight have no part."""
    weights = WEIGHTS.copy()
    weights[4] = 0.0
    loss = LABELS["three"](weights)
    found = newton(span(), loss, 0.2, tol=1e-14)
    p = loss.link(K @ found.coef + found.intercept)
    np.testing.assert_allclose(0.2 * found.coef, -loss.gradient(p), atol=1e-6)
    assert np.abs(found.coef[4]).max() < 1e-7
    np.testing.assert_allclose(found.coef.sum(axis=1), 0.0, atol=1e-12)


def test_curvature_is_the_derivative_of_the_residual():
    for name in ("binary", "ten"):
        loss = LABELS[name](WEIGHTS)
        scores, V = RNG.normal(size=(2, N, loss.columns))
        h = 1e-6
        slope = (
            loss.gradient(loss.link(scores + h * V)) - loss.gradient(loss.link(scores - h * V))
        ) / (2 * h)
        p = loss.link(scores)
        np.testing.assert_allclose(loss.curvature(p, V), slope, atol=1e-8)
        step = (loss.value(scores + h * V) - loss.value(scores - h * V)) / (2 * h)
        assert step == pytest.approx(np.sum(loss.gradient(p) * V), rel=1e-6)


def test_the_gradient_rule_of_the_lecture_goes_to_the_same_place():
    for labels in ("binary", "three"):
        loss = LABELS[labels](np.ones(N))
        slow = gradient_descent(GramPanels(KERNEL.gram(X)), loss, 1.0, tol=1e-9, max_iter=3000)
        fast = newton(span(), loss, 1.0, tol=1e-13)
        assert slow.objective == pytest.approx(fast.objective, rel=1e-3)
        assert (np.diff(slow.objectives) <= 1e-12).all()
        assert slow.n_iter > 10 * fast.n_iter


def test_a_rate_that_is_too_large_is_named_with_one_that_is_not():
    loss = LABELS["binary"](np.ones(N))
    matrix = GramPanels(KERNEL.gram(X))
    with pytest.raises(ValueError, match=r"diverges with learning_rate=100; .* is safe"):
        gradient_descent(matrix, loss, 1.0, learning_rate=100.0)
    assert 0 < safe_rate(matrix, loss, 1.0, True) < 1


def test_k_need_not_be_kept():
    loss = LABELS["ten"](np.ones(N))
    kept = newton(span(20), loss, 0.1, tol=1e-12)
    free = newton(span(20, keep=0.0), loss, 0.1, tol=1e-12)
    np.testing.assert_allclose(free.coef, kept.coef, atol=1e-7)


def test_the_preconditioner_is_exact_for_two_classes_and_all_examples():
    """Then conjugate gradients need one product to solve and one to see that it is solved."""
    found = newton(span(), LABELS["binary"](WEIGHTS), 0.1, tol=1e-12)
    assert found.n_products <= 2 * found.n_iter + 2
    rough = newton(span(5), LABELS["binary"](WEIGHTS), 0.1, tol=1e-12)
    assert rough.n_products > 3 * rough.n_iter


def test_that_of_centers_is_exact_where_all_examples_are_curved_alike():
    exact = newton(center_span(), Squares(X[:, :2]), 0.1, tol=1e-12)
    assert exact.objectives[1] <= (1 + 1e-13) * exact.objective  # after the first step
    rough = newton(center_span(rank=5), Squares(X[:, :2]), 0.1, tol=1e-12)
    assert rough.objectives[1] > (1 + 1e-13) * rough.objective
    assert rough.n_products > exact.n_products
    np.testing.assert_allclose(rough.objective, exact.objective, rtol=1e-9)


def test_ranks():
    assert rank_for(50, 1) == 50
    assert rank_for(10_000, 1) == 400
    assert 500 < rank_for(1_000_000, 10) < 1000


@pytest.mark.parametrize("run", ["newton", "gradient"])
def test_ctrl_c_keeps_the_model_found_so_far(run, monkeypatch):
    calls = []
    product = GramPanels.product

    def interrupted(self, V):
        calls.append(1)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return product(self, V)

    loss = LABELS["ten"](np.ones(N))
    space = span(5)
    monkeypatch.setattr(GramPanels, "product", interrupted)
    if run == "newton":
        found = newton(space, loss, 1e-5, tol=1e-15)
    else:
        found = gradient_descent(space.panels, loss, 1e-5, learning_rate=1e-4)
    assert found.stopped == "interrupt"
    assert found.objective < found.objectives[0]


def test_single_precision_ends_at_its_rounding():
    loss = LABELS["three"](np.ones(N))
    found = newton(span(20, X.astype(np.float32)), loss, 1e-3, tol=1e-6)
    assert found.stopped == ""
    assert found.objective == pytest.approx(
        newton(span(), loss, 1e-3, tol=1e-9).objective, rel=1e-4
    )


def test_centers_within_a_small_limit():
    """K_nm is made again for every pass where it does not fit."""
    loss = LABELS["binary"](np.ones(N))
    kept = newton(center_span(20), loss, 0.1, tol=1e-10)
    with mercer.config(memory="60KB", threads=1):
        space = center_span(20, keep=0.01)
        found = newton(space, loss, 0.1, tol=1e-10)
        assert space.panels.kept is None
    np.testing.assert_allclose(found.objective, kept.objective, rtol=1e-9)
