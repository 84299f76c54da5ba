"""`steps()`: what `fit` does, step by step; the last step is the model of `fit`, to the bit."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import data
from mercer.kernels import Gaussian, Linear
from mercer.learners import (
    KernelLogisticRegression,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSVC,
    Perceptron,
)


@pytest.fixture
def moons():
    return data.moons(60, 0.2, random_state=1)


def both(model, X, y, *weights):
    """All steps, and the fitted model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return list(model.steps(X, y, *weights)), clone(model).fit(X, y, *weights)


def same(step, model):
    np.testing.assert_array_equal(step.coef, model.dual_coef_)
    np.testing.assert_array_equal(step.intercept, model.intercept_)
    assert step.coef.shape == model.dual_coef_.shape
    assert step.number == model.n_iter_


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("solver", ["gradient", "newton", "nystrom"])
def test_logistic_regression(solver, classes, moons):
    X, y = moons[0], np.arange(60) % 3 if classes == 3 else moons[1]
    model = KernelLogisticRegression(
        Gaussian(0.5), 0.1, solver=solver, max_iter=20, n_centers=10, random_state=0
    )
    steps, fitted = both(model, X, y, np.linspace(1, 2, 60))
    same(steps[-1], fitted)
    assert [step.objective for step in steps] == fitted.objectives_[1:].tolist()
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))


def test_a_gradient_step_is_the_rule_of_the_lecture(moons):
    """Lecture 000, line 248: a ← a − η(K(p − y) + αKa), w₀ ← w₀ − ηΣ(p − y)."""
    X, y = moons
    labels, rate, kernel = (y == np.unique(y)[1]).astype(float), 0.01, Gaussian(0.5)
    K, a, b = kernel(X), np.zeros(60), 0.0
    options = {"solver": "gradient", "learning_rate": rate, "max_iter": 5}
    for step in both(KernelLogisticRegression(kernel, 0.1, **options), X, y)[0]:
        p = 1 / (1 + np.exp(-(K @ a + b)))
        a, b = a - rate * (K @ (p - labels) + 0.1 * K @ a), b - rate * (p - labels).sum()
        np.testing.assert_allclose(step.coef, a, atol=1e-12)
        np.testing.assert_allclose(step.intercept, b, atol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("solver", ["gradient", "cg"])
def test_ridge_regression(solver, targets, intercept, moons):
    X = moons[0]
    t = np.sin(3 * X[:, 0]) if targets == 1 else np.c_[np.sin(3 * X[:, 0]), X[:, 1]]
    options = {"solver": solver, "max_iter": 30, "preconditioner": None, "tol": 1e-8}
    model = KernelRidge(Gaussian(0.7), 0.5, fit_intercept=intercept, **options)
    steps, fitted = both(model, X, t, np.linspace(1, 2, 60))
    same(steps[-1], fitted)
    if solver == "gradient":
        K, w = Gaussian(0.7)(X), np.linspace(1, 2, 60)
        step = steps[3]
        a = step.coef.reshape(60, -1)
        squares = (t.reshape(60, -1) - K @ a - step.intercept) ** 2
        objective = w @ squares.sum(axis=1) + 0.5 * np.sum(a * (K @ a))
        assert step.objective == pytest.approx(objective)
    else:
        assert steps[-1].residual < steps[0].residual


def test_the_gradient_leads_to_the_solution_of_the_normal_equations():
    X = np.linspace(-1, 1, 6)[:, None]
    t = X[:, 0] - X[:, 0] ** 2
    exact = KernelRidge(Gaussian(0.3), 1.0, fit_intercept=True).fit(X, t)
    slow = clone(exact).set_params(solver="gradient", max_iter=2000, tol=1e-10).fit(X, t)
    np.testing.assert_allclose(slow.predict(X), exact.predict(X), atol=1e-6)
    assert slow.intercept_ == pytest.approx(exact.intercept_, abs=1e-5)


def test_a_ridge_classifier_has_steps_too(moons):
    steps, fitted = both(KernelRidgeClassifier(Gaussian(0.5), solver="cg"), *moons)
    same(steps[-1], fitted)


def test_solvers_without_steps_are_refused(moons):
    with pytest.raises(ValueError, match="'cholesky' takes no steps"):
        KernelRidge(Gaussian(0.5), solver="cholesky").steps(*moons)
    with pytest.raises(ValueError, match="'nystrom' takes no steps"):
        KernelRidge(Gaussian(0.5), solver="nystrom", n_centers=5).steps(*moons)
    with pytest.raises(ValueError, match="one alpha for all targets"):
        KernelRidge(Gaussian(0.5), [1.0, 2.0], solver="gradient").fit(
            moons[0], np.c_[moons[1], moons[1]]
        )


@pytest.mark.parametrize("C", [0.3, 100.0])
def test_smo(C, moons):
    X, y = moons
    model = KernelSVC(Gaussian(0.5), C)
    steps, fitted = both(model, X, y, np.linspace(0.5, 1, 60))
    last = steps[-1]
    full = np.zeros(60)
    full[fitted.support_] = fitted.dual_coef_[0]
    # LIBSVM solves so few rows; the steps are its own, in double precision.
    K = Gaussian(0.5)(X)
    f, g = K @ last.coef + last.intercept, K @ full + fitted.intercept_[0]
    np.testing.assert_allclose(f, g, atol=4 * model.tol)
    assert last.number == len(steps)
    assert last.gap <= model.tol
    before = np.zeros(60)
    signs = np.where(y == fitted.classes_[1], 1.0, -1.0)
    for step in steps:
        up, down = step.pair
        moved = step.coef - before
        assert moved[up] > 0 > moved[down]
        assert moved[up] == pytest.approx(-moved[down])
        assert np.flatnonzero(moved).tolist() == sorted(step.pair)
        # what one of the pair was chosen by: of all that may shrink it wants it most
        wants = signs - K @ before
        may = np.where(signs > 0, before > 0, before > -C * np.linspace(0.5, 1, 60))
        assert wants[down] == pytest.approx(wants[may].min(), abs=1e-9)
        before = step.coef


def test_smo_of_many_rows():
    """`fit` takes conjugate steps, too; both end at the same optimum."""
    X, y = data.moons(1000, 0.3, random_state=0)
    steps, fitted = both(KernelSVC(Gaussian(0.5), 1.0), X, y)
    f = Gaussian(0.5)(X) @ steps[-1].coef + steps[-1].intercept
    np.testing.assert_allclose(f, fitted.decision_function(X), atol=5e-3)


def test_smo_of_several_problems_is_refused(moons):
    X, y = moons
    with pytest.raises(ValueError, match="not those of 3 classes"):
        KernelSVC().steps(X, np.arange(60) % 3)
    for options in ({"nu": 0.5}, {"C": np.inf}):
        with pytest.raises(ValueError, match="finite C"):
            KernelSVC(**options).steps(X, y)


@pytest.mark.parametrize("averaging", ["last", "average"])
@pytest.mark.parametrize("held", [None, 0.3])
def test_perceptrons(held, averaging, moons):
    X, y = moons
    options = {"epochs": 6, "random_state": 3, "validation_fraction": held, "averaging": averaging}
    steps, fitted = both(KernelPerceptron(Gaussian(0.3), fit_intercept=True, **options), X, y)
    np.testing.assert_array_equal(steps[-1].alpha, fitted.alpha_)
    assert len(steps) == fitted.n_visits_
    assert steps[-1].mistakes == fitted.n_mistakes_
    assert [v.index for v in steps if v.updated] == fitted.mistakes_.tolist()
    K = Gaussian(0.3)(X)
    for before, now in pairwise(steps):
        f = K[now.index] @ before.alpha + before.intercept
        assert now.score == pytest.approx(f, abs=1e-12)
        assert now.squared_norm == pytest.approx(now.alpha @ K @ now.alpha, abs=1e-9)
    steps, fitted = both(Perceptron(**options), X, y)
    np.testing.assert_allclose(steps[-1].alpha @ X, fitted._last[0], atol=1e-12)
    assert [v.index for v in steps if v.updated] == fitted.mistakes_.tolist()


@pytest.mark.parametrize("classes", [2, 3])
def test_perceptrons_with_weights_of_classes(classes, moons):
    """An update goes as many times as far as its example weighs; weights are no whole numbers."""
    X, y = moons[0], np.arange(60) % 7 % classes
    options = {"epochs": 4, "random_state": 3, "class_weight": "balanced", "fit_intercept": True}
    steps, fitted = both(KernelPerceptron(Gaussian(0.3), **options), X, y)
    np.testing.assert_array_equal(steps[-1].alpha, fitted.alpha_)
    np.testing.assert_array_equal(np.atleast_1d(steps[-1].intercept), fitted.intercept_)
    K = Gaussian(0.3)(X)
    alpha = steps[-1].alpha.reshape(60, -1)
    assert steps[-1].squared_norm == pytest.approx(np.sum(alpha * (K @ alpha)))
    steps, fitted = both(Perceptron(**options), X, y)
    np.testing.assert_allclose(steps[-1].alpha.T @ X, np.squeeze(fitted.coef_), atol=1e-10)


def test_steps_with_a_budget_are_refused(moons):
    with pytest.raises(ValueError, match="a budget does not keep"):
        KernelPerceptron(Linear(), budget=5).steps(*moons)
