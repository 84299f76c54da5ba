"""Lecture 003: support vector machines, and which of all separators is the best."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import KernelPerceptron, KernelSVC
from mercer.kernels import Gaussian, Linear, Polynomial


@pytest.fixture
def two_clouds(rng):
    """Separable, with a gap of 1 along the first axis."""
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    X[:, 0] += 0.5 * y
    return X, y


def _margin(w, b, X, y):
    """min yᵢ(w·xᵢ + b)/‖w‖: what the separator leaves to the closest example."""
    return float((y * (X @ w + b)).min() / np.linalg.norm(w))


def test_there_is_no_telling_which_separator_a_perceptron_finds(two_clouds):
    """003, lines 282-287: other orders, other separators; an SVM finds one optimum in all."""
    X, y = two_clouds
    walks, machines = [], []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(y))
        model = KernelPerceptron(Linear(), 200, fit_intercept=True, shuffle=False)
        model.fit(X[order], y[order])
        assert model.converged_
        w = model.expansion_.primal()
        walks.append(np.arctan2(w[1], w[0]))
        machines.append(KernelSVC(Linear(), C=np.inf, tol=1e-9).fit(X[order], y[order]))
    assert np.ptp(walks) > 0.02
    for machine in machines[1:]:
        np.testing.assert_allclose(machine.coef_, machines[0].coef_, atol=1e-6)
        np.testing.assert_allclose(machine.intercept_, machines[0].intercept_, atol=1e-6)


def test_an_update_can_be_retracted():
    """003, lines 286-289: the perceptron's α only grow; the optimum sets most of them to zero."""
    X = np.array([[3.0, 0.5], [1.0, 1.0], [-1.0, -1.0], [-3.0, 0.2]])
    y = np.array([1, 1, -1, -1])
    counts = [np.abs(v.alpha) for v in KernelPerceptron(Linear(), 50, shuffle=False).steps(X, y)]
    assert (np.diff(counts, axis=0) >= 0).all()
    assert counts[-1][0] >= 1  # the first example it sees, for ever
    machine = KernelSVC(Linear(), C=np.inf, tol=1e-9).fit(X, y)
    assert set(machine.support_) == {1, 2}
    np.testing.assert_allclose(machine.coef_, [[0.5, 0.5]], atol=1e-7)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, offset=1.0), Gaussian(1.0)], ids=repr)
def test_globally_optimal_parameters(kernel, two_clouds):
    """003, line 289: Kuhn and Tucker's conditions hold, so no α is better."""
    X, y = two_clouds
    model = KernelSVC(kernel, C=3.0, tol=1e-8).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0] * y[model.support_]
    assert alpha.min() >= -1e-12
    assert alpha.max() <= 3.0 + 1e-9
    assert abs(alpha @ y) < 1e-9
    yf = y * model.decision_function(X)
    inside, at_bound = alpha < 1e-9, alpha > 3.0 - 1e-9
    assert (yf[inside] >= 1 - 1e-6).all()
    assert (yf[at_bound] <= 1 + 1e-6).all()
    np.testing.assert_allclose(yf[~inside & ~at_bound], 1.0, atol=1e-6)


def test_dual_sparsity(two_clouds):
    """003, line 291: few examples carry the separator."""
    X, y = two_clouds
    model = KernelSVC(Linear(), C=np.inf, tol=1e-9).fit(X, y)
    assert len(model.support_) == 3  # in the plane, in general position
    assert len(model.expansion_) == 3


def test_which_of_the_linear_separators_is_optimal(two_clouds, rng):
    """003, lines 299-303, 315: none of the separators drawn, nor any other, has a wider margin."""
    X, y = two_clouds
    best = KernelSVC(Linear(), C=np.inf, tol=1e-9).fit(X, y)
    widest = _margin(best.coef_[0], best.intercept_[0], X, y)
    assert widest == pytest.approx(best.margin_[0])
    found = 0
    for seed in range(10):
        model = KernelPerceptron(Linear(), 500, fit_intercept=True, random_state=seed).fit(X, y)
        margin = _margin(model.expansion_.primal(), model.intercept_[0], X, y)
        assert margin <= widest + 1e-9
        found += margin > 0
    for _ in range(2000):
        turned = best.coef_[0] + 0.3 * rng.normal(size=2)
        shifted = best.intercept_[0] + 0.3 * rng.normal()
        assert _margin(turned, shifted, X, y) <= widest + 1e-9
    assert found == 10


def test_the_distance_r_the_support_vectors_and_the_margin(two_clouds):
    """003, lines 305-309: r = |w·x + b|/‖w‖; the closest are support vectors; δ is twice it."""
    X, y = two_clouds
    model = KernelSVC(Linear(), C=np.inf, tol=1e-9).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    r = np.abs(X @ w + b) / np.linalg.norm(w)
    np.testing.assert_allclose(model.margins_, r, rtol=1e-6)
    closest = np.flatnonzero(r < r.min() * (1 + 1e-6))
    assert set(closest) == set(model.support_)
    ends = [X[model.support_][y[model.support_] == side] @ w for side in (1, -1)]
    delta = (ends[0].min() - ends[1].max()) / np.linalg.norm(w)
    assert delta == pytest.approx(2 * model.margin_[0])


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3, offset=1.0), Gaussian(0.8)], ids=repr)
def test_other_training_examples_are_ignorable(kernel, two_clouds, rng):
    """003, line 316: take them away, or move them behind the margin, and nothing changes."""
    X, y = two_clouds
    model = KernelSVC(kernel, C=np.inf, tol=1e-9).fit(X, y)
    grid = rng.normal(size=(40, 2))
    wanted = model.decision_function(grid)
    alone = KernelSVC(kernel, C=np.inf, tol=1e-9).fit(X[model.support_], y[model.support_])
    np.testing.assert_allclose(alone.decision_function(grid), wanted, atol=1e-5)
    others = np.setdiff1d(np.arange(len(y)), model.support_)
    kept = np.concatenate([model.support_, others[::2]])
    half = KernelSVC(kernel, C=np.inf, tol=1e-9).fit(X[kept], y[kept])
    np.testing.assert_allclose(half.decision_function(grid), wanted, atol=1e-5)
