"""Lecture 003: margin, support vectors, slack, on sets in the plane worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.learners import KernelSVC, KernelSVR
from mercer.solvers.quadratic.hard_margin import NotSeparableError, NoTubeError


def hard(X, y, kernel=None):
    return KernelSVC(kernel or Linear(), C=np.inf, tol=1e-9).fit(np.asarray(X, dtype=float), y)


def test_two_points_and_a_crowd_behind_them():
    """(0, 0) against (1, 1): w = (1, 1), b = −1, r = 1/√2; the others change nothing."""
    X = [[0, 0], [-1, 0], [-2, -3], [1, 1], [2, 1], [4, 4]]
    model = hard(X, [0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(model.coef_, [[1.0, 1.0]], atol=1e-8)
    np.testing.assert_allclose(model.intercept_, [-1.0], atol=1e-8)
    np.testing.assert_array_equal(model.support_, [0, 3])
    np.testing.assert_allclose(model.dual_coef_, [[-1.0, 1.0]], atol=1e-8)
    assert model.margin_[0] == pytest.approx(1 / np.sqrt(2))
    # distances |x₁ + x₂ − 1| / √2 by hand
    np.testing.assert_allclose(model.margins_, np.array([1, 2, 6, 1, 2, 7]) / np.sqrt(2), atol=1e-8)
    np.testing.assert_allclose(model.slack_, 0.0, atol=1e-8)
    assert model.dual_objective_[0] == pytest.approx(-1.0)  # −½‖w‖²


def test_three_support_vectors():
    """(0, 1) above the segment from (−1, 0) to (1, 0): w = (0, 2), b = −1, α = 2, 1, 1."""
    model = hard([[0, 1], [-1, 0], [1, 0], [0, 9], [5, -3]], ["+", "-", "-", "+", "-"])
    assert list(model.classes_) == ["+", "-"]
    np.testing.assert_allclose(model.coef_, [[0.0, -2.0]], atol=1e-8)
    np.testing.assert_allclose(np.abs(model.dual_coef_), [[2.0, 1.0, 1.0]], atol=1e-8)
    np.testing.assert_array_equal(model.n_support_, [1, 2])
    np.testing.assert_allclose(model.margins_, [0.5, 0.5, 0.5, 8.5, 3.5], atol=1e-8)


def test_the_street_is_twice_the_margin():
    """Lecture 003 calls the whole width δ: the distance between the support vectors' lines."""
    model = hard([[0, 0], [0, 3], [2, 1], [2, 2]], [0, 0, 1, 1])
    assert 2 * model.margin_[0] == pytest.approx(2.0)


def test_exclusive_or_under_the_quadratic_kernel():
    """(1 + x·z)² on the four corners: α = 1/8, f = x₁x₂, r = √2."""
    X = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]])
    model = hard(X, [1, 1, -1, -1], Polynomial(2, offset=1.0))
    np.testing.assert_allclose(np.abs(model.dual_coef_), 1 / 8, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, 0.0, atol=1e-9)
    assert model.margin_[0] == pytest.approx(np.sqrt(2))
    points = np.array([[0.5, 2.0], [-3.0, 0.25]])
    np.testing.assert_allclose(
        model.decision_function(points), points[:, 0] * points[:, 1], atol=1e-8
    )


def test_slack_by_hand():
    """x = 0 and 1 with C = 1/2: w = 1/2, b = −1/4, and each misses its side by 3/4."""
    model = KernelSVC(Linear(), C=0.5, tol=1e-9).fit([[0.0], [1.0]], [0, 1])
    np.testing.assert_allclose(model.decision_function([[0.0], [1.0]]), [-0.25, 0.25])
    np.testing.assert_allclose(model.slack_, [0.75, 0.75])
    np.testing.assert_allclose(model.margins_, [0.5, 0.5])


def test_an_outlier_is_paid_for():
    """One − among the + : its slack is 1 − yf, everyone else's is 0 for a large enough C."""
    X = np.array([[-2.0], [-1.0], [1.0], [2.0], [3.0]])
    y = [0, 0, 1, 1, 0]
    model = KernelSVC(Linear(), C=1.0, tol=1e-9).fit(X, y)
    signs = np.array([-1, -1, 1, 1, -1])
    np.testing.assert_allclose(
        model.slack_, np.maximum(0, 1 - signs * model.decision_function(X)), atol=1e-7
    )
    assert model.slack_[4] > 1


@pytest.mark.parametrize("C", [1.0, 20.0, np.inf])
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0), Polynomial(2, offset=1.0)], ids=repr)
def test_only_support_vectors_matter(kernel, C):
    """Lecture 003, line 316: fit again without the others, and the classifier is the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    X = np.vstack([X[:40] + [2.5, 0], X[40:] - [2.5, 0]])
    y = np.repeat([1, 0], 40)
    if np.isinf(C):
        clear = np.abs(X[:, 0]) > 0.3
        X, y = X[clear], (X[clear, 0] > 0).astype(int)
    model = KernelSVC(kernel, C=C, tol=1e-8).fit(X, y)
    assert len(model.support_) < len(y)
    alone = KernelSVC(kernel, C=C, tol=1e-8).fit(X[model.support_], y[model.support_])
    grid = rng.normal(size=(50, 2)) * 3
    np.testing.assert_allclose(
        alone.decision_function(grid), model.decision_function(grid), atol=1e-5
    )
    # … and so do copies of them, moved further away from the surface, that are left out.
    others = np.setdiff1d(np.arange(len(y)), model.support_)
    assert (model.margins_[others] >= model.margin_[0] - 1e-6).all()
    np.testing.assert_allclose(model.slack_[others], 0.0, atol=1e-6)


def test_the_margin_is_the_widest():
    """No other direction separates these points by more: tried for every degree."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    X, y = X[np.abs(X[:, 0]) > 0.2], (X[:, 0] > 0)[np.abs(X[:, 0]) > 0.2]
    model = hard(X, y)
    angles = np.radians(np.arange(0, 360, 0.02))
    scores = X @ np.array([np.cos(angles), np.sin(angles)])
    gaps = scores[y].min(axis=0) - scores[~y].max(axis=0)
    assert 2 * model.margin_[0] >= gaps.max() - 1e-9
    assert 2 * model.margin_[0] == pytest.approx(gaps.max(), rel=1e-3)


def test_many_classes_have_one_column_a_pair():
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 6.0]])
    model = hard(X, ["a", "b", "c"])
    nan = np.nan
    np.testing.assert_allclose(
        model.margins_,
        [[2, 3, nan], [2, nan, np.sqrt(52) / 2], [nan, 3, np.sqrt(52) / 2]],
        atol=1e-8,
    )
    np.testing.assert_allclose(model.margin_, [2, 3, np.sqrt(52) / 2], atol=1e-8)
    assert model.slack_.shape == (3, 3)


def test_classes_that_overlap_have_no_hard_margin():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    with pytest.raises(NotSeparableError, match="Certificate") as caught:
        hard(X, [0, 1, 0, 1])
    weights = np.zeros(4)
    weights[caught.value.rows] = caught.value.weights
    assert weights[[0, 2]].sum() == pytest.approx(1.0)
    assert weights[[1, 3]].sum() == pytest.approx(-1.0)
    np.testing.assert_allclose(weights @ X, 0.0, atol=1e-5)


def test_the_same_row_in_two_classes_is_named():
    X = np.random.default_rng(0).normal(size=(30, 4))
    X[17] = X[3]
    y = np.arange(30) % 2
    y[3], y[17] = 0, 1
    with pytest.raises(NotSeparableError) as caught:
        KernelSVC(Gaussian(1.0), C=np.inf).fit(X.astype(np.float32), y)
    assert set(caught.value.rows) >= {3, 17}
    model = KernelSVC(Gaussian(1.0), C=1e3).fit(X, y)  # a finite C takes it
    assert model.slack_[[3, 17]].sum() == pytest.approx(2.0, abs=1e-2)


def test_a_hard_tube_holds_every_target():
    """C=inf: f is within ε everywhere, as with any C that no coefficient reaches."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)
    hard = KernelSVR(Gaussian(0.7), C=np.inf, epsilon=0.15, tol=1e-5).fit(X, y)
    assert np.abs(hard.predict(X) - y).max() <= 0.15 + 1e-4
    assert hard.slack_.max() < 1e-4
    large = np.abs(hard.dual_coef_).max() * 1.5
    soft = KernelSVR(Gaussian(0.7), C=large, epsilon=0.15, tol=1e-5).fit(X, y)
    np.testing.assert_allclose(hard.predict(X), soft.predict(X), atol=1e-3)
    refit = KernelSVR(Gaussian(0.7), C=np.inf, epsilon=0.15, tol=1e-5, warm_start=True).fit(X, y)
    np.testing.assert_array_equal(refit.fit(X, y).predict(X), hard.predict(X))


def test_no_hard_tube_is_proved():
    """Two examples at one place with targets 0 and 1: no f is within 0.1 of both."""
    X, y = np.array([[0.0], [0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 1.0, 2.0])
    with pytest.raises(NoTubeError, match="contradict") as caught:
        KernelSVR(Gaussian(), C=np.inf, epsilon=0.1).fit(X, y)
    weights = np.zeros(4)
    weights[caught.value.rows] = caught.value.weights
    assert weights.sum() == pytest.approx(0.0, abs=1e-9)
    K = Gaussian()(X)
    assert weights @ K @ weights < 1e-9
    assert weights @ y > 0.1 * np.abs(weights).sum()
    with pytest.raises(NoTubeError):
        KernelSVR("linear()", C=np.inf, epsilon=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])


def test_a_hard_margin_ends_where_the_working_set_holds_fewer_rows_than_violate():
    """The partner of a row that should grow once left the working set as it came in, for ever."""
    from sklearn.datasets import make_blobs
    from sklearn.svm import SVC

    X, y = make_blobs(400, 40, centers=2, random_state=0)
    hard = KernelSVC("gaussian(8)", C=np.inf, tol=1e-5).fit(X, y)
    soft = SVC(C=1e8, gamma=1 / 128, tol=1e-6).fit(X, y)
    expected = soft.decision_function(X)
    np.testing.assert_allclose(hard.decision_function(X), expected, atol=1e-3)
