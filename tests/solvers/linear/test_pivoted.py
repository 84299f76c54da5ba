"""Ridge from some columns of K and products with it: the same numbers as by LAPACK."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

import mercer
from mercer import Gaussian, KernelRidge, Laplacian, tuning
from mercer.solvers.linear import pivoted
from mercer.solvers.linear.problem import RidgeProblem

N = 400
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 3))
TARGETS = np.sin(2 * X) + 0.1 * RNG.normal(size=(N, 3))
WEIGHTS = RNG.random(N) * (np.arange(N) % 50 > 0)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems as small as these are tried, too."""
    monkeypatch.setattr("mercer.tuning.PIVOTED_COLUMNS", 16)
    monkeypatch.setattr("mercer.tuning.STEP_SECONDS", 0.0)
    monkeypatch.setattr("mercer.tuning.FACTOR_FLOPS", 1e8)
    steps = pivoted._Budget.steps
    monkeypatch.setattr(pivoted._Budget, "steps", lambda self, r: 2 * steps(self, r))


def fit(kernel, rows=X, targets=TARGETS[:, 0], weights=None, **options):
    options = {"fit_intercept": False, **options}
    return KernelRidge(kernel, solver="pivoted", **options).fit(rows, targets, weights)


@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.parametrize(
    ("kernel", "rows"),
    [
        (Gaussian(6.0), X),
        (Gaussian(2.0), X),
        (Gaussian(0.6), X),
        (Laplacian(0.3, norm=1), X),
        (Gaussian(1.0), (X > 0.5).astype(float)),  # eight different rows
        ((0.1 * mercer.Linear() + 1) ** 3, X),
    ],
    ids=["wide", "median", "narrow", "laplacian", "repeated", "polynomial"],
)
def test_coefficients_are_those_of_lapack(kernel, rows, alpha):
    model = fit(kernel, rows, alpha=alpha)
    K = kernel(rows) + alpha * np.eye(N)
    a = cho_solve(cho_factor(K), TARGETS[:, 0])
    assert model.solver_ == "pivoted"
    assert 1 <= model.n_iter_ < 150
    np.testing.assert_allclose(model.dual_coef_, a, rtol=0, atol=1e-9 * np.abs(a).max())
    left = K @ model.dual_coef_ - TARGETS[:, 0]
    assert np.linalg.norm(left) <= 1e-10 * np.linalg.norm(TARGETS[:, 0])


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("targets", [TARGETS[:, 0], TARGETS])
def test_targets_weights_intercepts_and_penalties_are_those_of_a_factor(
    targets, intercept, weights
):
    alpha = 0.1 if targets.ndim == 1 else [0.1, 0.03, 0.1]
    options = {"alpha": alpha, "fit_intercept": intercept}
    found = fit(Gaussian(2.0), X, targets, weights, **options)
    exact = KernelRidge(Gaussian(2.0), solver="cholesky", **options).fit(X, targets, weights)
    assert found.solver_ == "pivoted"
    np.testing.assert_allclose(found.dual_coef_, exact.dual_coef_, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.intercept_, exact.intercept_, rtol=1e-8, atol=1e-12)
    for ours, theirs in zip(
        found.predict(X[:20], return_std=True), exact.predict(X[:20], return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


def test_single_precision_has_its_digits():
    rows = X.astype(np.float32)
    found = fit(Gaussian(2.0), rows, alpha=0.1)
    exact = KernelRidge(Gaussian(2.0), alpha=0.1, fit_intercept=False).fit(X, TARGETS[:, 0])
    assert found.solver_ == "pivoted"
    assert found.dual_coef_.dtype == np.float32
    np.testing.assert_allclose(found.predict(rows), exact.predict(X), atol=2e-5)


def test_equal_data_give_equal_numbers():
    models = [fit(Laplacian(0.3, norm=1), alpha=0.1) for _ in range(2)]
    np.testing.assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"alpha": 1e-13}, "badly conditioned"),
        ({"kernel": Gaussian(0.1), "alpha": 1e-4}, "far from any matrix of low rank"),
    ],
)
def test_what_does_not_pay_is_factorized_and_says_so(monkeypatch, options, why):
    monkeypatch.setattr("mercer.tuning.FACTOR_FLOPS", 160e9)
    options = {"kernel": Gaussian(6.0)} | options
    with pytest.warns() if options["alpha"] < 1e-12 else mercer.config():
        model = KernelRidge(solver="pivoted", **options).fit(X, TARGETS[:, 0])
    assert model.solver_ == "cholesky"
    assert why in model.solver_reason_


def test_k_goes_on_to_the_factorization_where_steps_are_slow(monkeypatch):
    made = []
    monkeypatch.setattr(pivoted._Budget, "steps", lambda *_: 1)
    monkeypatch.setattr(pivoted, "expected_steps", lambda ratio, itemsize: 0.0)
    monkeypatch.setattr("mercer.tuning.FACTOR_FLOPS", 160e9)
    whole = pivoted.scaled_matrix
    monkeypatch.setattr(pivoted, "scaled_matrix", lambda *a, **k: made.append(1) or whole(*a, **k))
    monkeypatch.setattr("mercer.solvers.linear.factor.scaled_matrix", None)
    model = fit(Gaussian(0.3), alpha=0.01)
    assert made
    assert model.solver_ == "cholesky"
    assert "would take longer" in model.solver_reason_
    K = Gaussian(0.3)(X) + 0.01 * np.eye(N)
    np.testing.assert_allclose(K @ model.dual_coef_, TARGETS[:, 0], atol=1e-9)


def test_an_indefinite_matrix_is_solved_too():
    K = np.diag(np.linspace(-3, 4, 60))
    with pytest.warns(UserWarning, match="definite"):
        model = KernelRidge("precomputed", alpha=0.5, solver="pivoted", fit_intercept=False).fit(
            K, np.ones(60)
        )
    assert model.solver_ == "cholesky"
    np.testing.assert_allclose(model.dual_coef_, 1 / (np.diag(K) + 0.5))


def test_ctrl_c_ends_it(monkeypatch):
    def pressed(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(pivoted, "symmetric_times", pressed)
    with pytest.raises(KeyboardInterrupt):
        fit(Gaussian(2.0), alpha=0.1)


def test_auto_takes_it_for_many_rows_only():
    rows = RNG.normal(size=(tuning.PIVOTED_ROWS, 2))
    model = KernelRidge(Gaussian(2.0), alpha=0.1).fit(rows, rows[:, 0])
    assert model.solver_ == "pivoted"
    assert "fewer columns" in model.solver_reason_
    assert KernelRidge(Gaussian(2.0), alpha=0.1).fit(rows[1:], rows[1:, 0]).solver_ == "cholesky"
    path = KernelRidge(Gaussian(2.0), alphas=[0.1, 1.0]).fit(rows, rows[:, 0])
    assert path.solver_ == "cholesky"
    problem = RidgeProblem(rows[:, :1], np.array([0.1]))
    assert pivoted.ridge(Gaussian(2.0).gram(rows), problem).instead is None
