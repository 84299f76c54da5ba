"""Lecture 001: the dual of regularized linear regression, as an estimator."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.kernels import FromFeatures, Gaussian, Linear, Polynomial

LAMBDA = 0.7


@pytest.fixture
def regression(rng):
    X = rng.normal(size=(40, 2))
    return X, np.sin(X[:, 0]) + X[:, 1] ** 2, rng.normal(size=(8, 2))


def test_the_matrix_inversion_lemma_turns_one_solver_into_the_other(regression, features):
    """001, lines 375-397: Φᵀ(λI + ΦΦᵀ)⁻¹t = (λI + ΦᵀΦ)⁻¹Φᵀt, in two solvers."""
    X, t, _ = regression
    kernel = Polynomial(2, offset=1.0)
    phi = features(kernel, X)
    A, U, C, V = LAMBDA * np.eye(6), phi.T, np.eye(40), phi
    inv = np.linalg.inv
    left = inv(A + U @ C @ V)
    right = inv(A) - inv(A) @ U @ inv(inv(C) + V @ inv(A) @ U) @ V @ inv(A)
    np.testing.assert_allclose(left, right, atol=1e-10)
    primal = KernelRidge(kernel, LAMBDA, solver="primal", fit_intercept=False).fit(X, t)
    dual = KernelRidge(kernel, LAMBDA, solver="cholesky", fit_intercept=False).fit(X, t)
    np.testing.assert_allclose(primal.coef_, left @ phi.T @ t, rtol=1e-9)
    np.testing.assert_allclose(phi.T @ dual.dual_coef_, right @ phi.T @ t, rtol=1e-9)


@pytest.mark.parametrize("n", [4, 40])
def test_primal_and_dual_predict_the_same(n, regression, features):
    """001, lines 95-101 and 405-437: N < M and N > M; "auto" inverts the smaller matrix."""
    X, t, Z = regression
    kernel = Polynomial(2, offset=1.0)  # M = 6
    phi = features(kernel, X[:n])
    w = np.linalg.solve(phi.T @ phi + LAMBDA * np.eye(6), phi.T @ t[:n])
    a = np.linalg.solve(kernel(X[:n]) + LAMBDA * np.eye(n), t[:n])
    model = KernelRidge(kernel, LAMBDA, fit_intercept=False).fit(X[:n], t[:n])
    assert model.solver_ == ("primal" if n > 6 else "cholesky")
    np.testing.assert_allclose(model.dual_coef_, a, rtol=1e-8)  # a = (λI + K)⁻¹t
    np.testing.assert_allclose(model.predict(Z), kernel(Z, X[:n]) @ a, rtol=1e-8)  # y = aᵀk(x)
    np.testing.assert_allclose(model.predict(Z), features(kernel, Z) @ w, rtol=1e-8)
    np.testing.assert_allclose(model.expansion_.primal(), w, rtol=1e-7)  # w = Φᵀa


def test_regression_on_powers_up_to_five():
    """001, lines 50-58: t ≈ w·(x, x², …, x⁵): a line through the origin cannot, five powers can."""
    x = np.linspace(-1.5, 1.5, 25)[:, None]
    t = 2 * x[:, 0] + 0.5 * x[:, 0] ** 2 - 3 * x[:, 0] ** 3 + x[:, 0] ** 5
    powers = Linear().polynomial([0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    given = FromFeatures(lambda X: np.hstack([X**j for j in range(1, 6)]))
    line = KernelRidge(Linear(), 1e-10, fit_intercept=False).fit(x, t)
    assert np.abs(line.predict(x) - t).max() > 1.0
    for kernel in (powers, given):
        for solver in ("primal", "cholesky"):
            model = KernelRidge(kernel, 1e-8, solver=solver, fit_intercept=False).fit(x, t)
            np.testing.assert_allclose(model.predict(x), t, atol=1e-6)
        primal = KernelRidge(kernel, 1e-8, fit_intercept=False).fit(x, t)
        assert primal.solver_ == "primal"
        np.testing.assert_allclose(primal.coef_, [2, 0.5, -3, 0, 1], atol=1e-5)


def test_a_larger_penalty_gives_a_smaller_w():
    """001, lines 96-98: λ trades the fit for ‖w‖."""
    x = np.linspace(-1, 1, 15)[:, None]
    t = np.sin(4 * x[:, 0])
    powers = Linear().polynomial([0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    models = [
        KernelRidge(powers, alpha, fit_intercept=False).fit(x, t) for alpha in (1e-4, 1e-2, 1.0)
    ]
    norms = [float(np.linalg.norm(m.coef_)) for m in models]
    errors = [float(np.square(m.predict(x) - t).sum()) for m in models]
    assert norms == sorted(norms, reverse=True)
    assert errors == sorted(errors)


def test_one_kernel_is_easily_replaced_by_another(regression):
    """001, line 439: with an infinite φ only the dual is left."""
    X, t, Z = regression
    model = KernelRidge(Gaussian(0.8), 1e-3, fit_intercept=False).fit(X, t)
    assert model.solver_ == "cholesky"
    a = np.linalg.solve(Gaussian(0.8)(X) + 1e-3 * np.eye(40), t)
    np.testing.assert_allclose(model.predict(Z), Gaussian(0.8)(Z, X) @ a, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.predict(X), t - 1e-3 * model.dual_coef_, atol=1e-9)
