"""Nested kernel parameters reach the fit: through set_params, GridSearchCV and Pipeline."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import Gaussian, Linear, Polynomial
from mercer.kernels import as_kernel
from mercer.kernels.estimators import KernelParams


class Interpolator(KernelParams, RegressorMixin, BaseEstimator):
    """(K + εI)⁻¹y, as small as an estimator can be; it remembers the kernel it was fitted with."""

    def __init__(self, kernel="gaussian(1) + linear()", ridge=1e-3):
        self.kernel = kernel
        self.ridge = ridge

    def fit(self, X, y):
        self.kernel_ = as_kernel(self.kernel)
        self.X_ = np.asarray(X)
        K = self.kernel_(self.X_)
        self.coef_ = np.linalg.solve(K + self.ridge * np.eye(len(K)), y)
        return self

    def predict(self, X):
        return self.kernel_(X, self.X_) @ self.coef_


RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, size=(60, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * X[:, 1]
SIGMAS = [0.01, 0.7, 50.0]


@pytest.mark.parametrize("kernel", [Gaussian(1.0) + Linear(), "gaussian(1) + linear()"])
def test_grid_search_really_fits_different_kernels(kernel) -> None:
    grid = {"kernel__left__sigma": SIGMAS}
    search = GridSearchCV(Interpolator(kernel), grid, cv=3).fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(np.round(scores, 6))) == 3, "the same kernel was fitted every time"
    assert search.best_params_["kernel__left__sigma"] == 0.7
    assert search.best_estimator_.kernel_ == Gaussian(0.7) + Linear()
    for sigma, score in zip(SIGMAS, scores, strict=True):
        by_hand = cross_val_score(Interpolator(Gaussian(sigma) + Linear()), X, Y, cv=3).mean()
        assert score == pytest.approx(by_hand)


def test_so_does_a_pipeline() -> None:
    pipeline = make_pipeline(StandardScaler(), Interpolator(Gaussian(1.0) + Linear()))
    grid = {"interpolator__kernel__left__sigma": SIGMAS, "interpolator__ridge": [1e-3]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert len(set(np.round(search.cv_results_["mean_test_score"], 6))) == 3
    assert search.best_estimator_[-1].kernel_.left.sigma == 0.7
    pipeline.set_params(interpolator__kernel__left__sigma=9.0)
    assert pipeline.fit(X, Y)[-1].kernel_ == Gaussian(9.0) + Linear()


def test_whole_kernels_are_values_of_a_grid() -> None:
    kernels = [Gaussian(0.7), Polynomial(3, 1.0), "laplacian(0.5)"]
    search = GridSearchCV(Interpolator(), {"kernel": kernels}, cv=3).fit(X, Y)
    assert len(set(np.round(search.cv_results_["mean_test_score"], 6))) == 3
    assert search.best_params_["kernel"] == Gaussian(0.7)


def test_clones_share_the_kernel_and_nothing_else() -> None:
    first = Interpolator(Gaussian(1.0))
    other = clone(first)
    assert other.kernel is first.kernel
    other.set_params(kernel__sigma=3.0)
    assert first.kernel == Gaussian(1.0)
    assert other.kernel == Gaussian(3.0)


def test_parameters_that_do_not_exist() -> None:
    for params in ({"kernel__left__width": 1}, {"width": 1}, {"ridge__x": 1}):
        with pytest.raises(ValueError):
            Interpolator(Gaussian() + Linear()).set_params(**params)


def test_the_perceptron_too() -> None:
    from mercer import KernelPerceptron

    labels = np.where(np.linalg.norm(X, axis=1) > 2, "far", "near")
    grid = {"kernel__left__sigma": [0.05, 1.0, 30.0]}
    model = KernelPerceptron(Gaussian(1.0) + 0.01 * Linear(), epochs=5, averaging="average")
    search = GridSearchCV(model, grid, cv=3).fit(X, labels)
    assert len(set(np.round(search.cv_results_["mean_test_score"], 6))) > 1
    assert search.best_estimator_.kernel.left.sigma == search.best_params_["kernel__left__sigma"]
