"""Targets in another unit give the same model in that unit, however small or large it is."""

import numpy as np
import pytest

from mercer.learners import (
    GaussianProcessRegressor,
    KernelQuantileRegressor,
    KernelRidge,
    LocalLinearRegressor,
    NadarayaWatsonRegressor,
)

LEARNERS = {
    "ridge": KernelRidge,
    "ridge of a path": lambda: KernelRidge(alphas=[1e-3, 1e-1, 10.0]),
    "process": GaussianProcessRegressor,
    "mean": NadarayaWatsonRegressor,
    "line": LocalLinearRegressor,
    "quantile": KernelQuantileRegressor,
}


@pytest.mark.parametrize("unit", [2.0**-990, 2.0**-530, 2.0**500])
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_unit_of_the_targets_changes_nothing(learner, unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=60)
    expected, found = (
        LEARNERS[learner]().fit(X, scale * y).predict(X) / scale for scale in (1.0, unit)
    )
    assert np.abs(found - expected).max() <= (2e-3 if learner == "quantile" else 1e-6)
