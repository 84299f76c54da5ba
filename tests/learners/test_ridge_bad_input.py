"""What ridge regression says about input that makes no sense, and what it does with odd input."""

import warnings

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning

from mercer import Gaussian
from mercer.kernels import NegativeSquaredDistance
from mercer.learners import KernelRidge, KernelRidgeClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
y = RNG.normal(size=30)


def test_as_many_penalties_as_targets():
    with pytest.raises(ValueError, match="2 numbers, but there are 3 targets"):
        KernelRidge(alpha=[1.0, 2.0]).fit(X, np.column_stack([y, y, y]))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"solver": "primal"}, "needs a finite feature map"),
        ({"solver": "cg", "alphas": [1.0]}, "no leave-one-out"),
    ],
)
def test_options_that_do_not_go_together(options, said):
    with pytest.raises(ValueError, match=said):
        KernelRidge(Gaussian(), **options).fit(X, y)


@pytest.mark.parametrize("model", [KernelRidge(), KernelRidgeClassifier()])
def test_weights(model):
    labels = y > 0
    with pytest.raises(ValueError, match="not be negative"):
        model.fit(X, labels, sample_weight=-np.ones(30))
    with pytest.raises(ValueError, match="at least one non-zero"):
        model.fit(X, labels, sample_weight=np.zeros(30))
    with pytest.raises(ValueError):
        model.fit(X, labels, sample_weight=np.ones(29))


def test_one_class():
    with pytest.raises(ValueError, match="at least 2 classes"):
        KernelRidgeClassifier().fit(X, np.ones(30))
    with pytest.raises(ValueError, match="at least 2 classes"):
        KernelRidgeClassifier().fit(X, y > 0, sample_weight=(y > 0).astype(float))


@pytest.mark.parametrize("solver", ["cholesky", "eigh", "cg", "nystrom", "auto"])
def test_a_constant_target(solver):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelRidge(Gaussian(), 0.1, solver=solver, fit_intercept=True)
        model.fit(X, np.full(30, 4.0))
        np.testing.assert_allclose(model.predict(X + 100.0), 4.0, rtol=1e-6)
        zero = KernelRidge(Gaussian(), 0.1, solver=solver).fit(X, np.zeros(30))
    assert (zero.dual_coef_ == 0).all()


def test_duplicated_rows_and_a_tiny_penalty():
    twice, target = np.vstack([X, X]), np.append(y, y + 1.0)
    with pytest.warns(LinAlgWarning, match="condition number"):
        model = KernelRidge(Gaussian(0.3), 1e-17).fit(twice, target)
    np.testing.assert_allclose(model.predict(X), y + 0.5, atol=1e-6)


@pytest.mark.parametrize("solver", ["cholesky", "eigh", "cg", "auto"])
def test_a_kernel_that_is_none_is_named_and_solved(solver):
    kernel = NegativeSquaredDistance()
    with pytest.warns(UserWarning, match="not a positive semi-definite kernel"):
        model = KernelRidge(
            kernel, 0.5, solver=solver, preconditioner=None, tol=1e-10, fit_intercept=False
        ).fit(X, y)
    wanted = np.linalg.solve(kernel(X) + 0.5 * np.eye(30), y)
    np.testing.assert_allclose(model.dual_coef_, wanted, rtol=1e-4, atol=1e-6)


def test_too_few_iterations_and_interruption(monkeypatch):
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        KernelRidge(Gaussian(), 1e-5, solver="cg", max_iter=2, preconditioner=None).fit(X, y)
    from mercer.solvers.linear.cg import RidgeSystem

    calls = []
    multiply = RidgeSystem._multiply

    def interrupted(self, P, columns):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return multiply(self, P, columns)

    monkeypatch.setattr(RidgeSystem, "_multiply", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = KernelRidge(Gaussian(), 1e-5, solver="cg", preconditioner=None).fit(X, y)
    assert model.n_iter_ == 2
    assert (model.dual_coef_ != 0).any()


def test_targets_of_another_length_or_none():
    with pytest.raises(ValueError, match="inconsistent"):
        KernelRidge().fit(X, y[:-1])
    with pytest.raises(ValueError, match="y"):
        KernelRidge().fit(X, None)


def test_one_example():
    model = KernelRidge(Gaussian(), 1.0, fit_intercept=False).fit(X[:1], [2.0])
    assert model.predict(X[:1])[0] == pytest.approx(1.0)


def test_class_weights_must_be_positive():
    with pytest.raises(ValueError, match="class_weight must be positive"):
        KernelRidgeClassifier(class_weight={False: 0.0, True: 1.0}).fit(X, y > 0)


def test_text_where_numbers_are_needed():
    X = np.eye(3)
    for value in (["1", "2"], [True], np.array(["1"]), [1.0, -1.0]):
        with pytest.raises((TypeError, ValueError), match="alpha must be a number"):
            KernelRidge(alpha=value).fit(X, [1.0, 2.0, 3.0])
    for y in (
        ["a", "b", "c"],
        np.array(["1.5", "2", "x"]),
        np.array([1.0, "b", 2.0], dtype=object),
    ):
        with pytest.raises(ValueError, match="KernelRidge predicts numbers, but y holds text"):
            KernelRidge().fit(X, y)
    with pytest.raises(ValueError, match=r"hold 1 class: \[0\.0\]"):
        KernelRidgeClassifier().fit(X, np.zeros(3))
