"""Answers are in the unit of the targets, however small or large that is."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.learners.catalog import learners

#: Losses with a scale of their own (an absolute tolerance, or ε) are another matter.
OWN_SCALE = {"KernelSVR", "KernelQuantileRegressor"}
REGRESSORS = [
    entry.estimator("regression")
    for entry in learners("regression")
    if entry.estimator("regression").__name__ not in OWN_SCALE
]


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e160, 1e200])
@pytest.mark.parametrize("regressor", REGRESSORS, ids=lambda one: one.__name__)
def test_the_unit_of_the_targets_does_not_matter(regressor, unit):
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 2))
    y = X[:, 0] + 0.1 * random.normal(size=80)
    plain = regressor().fit(X, y).predict(X)
    scaled = regressor().fit(X, y * unit).predict(X) / unit
    np.testing.assert_allclose(scaled, plain, rtol=1e-9, atol=1e-10)
    assert np.ptp(plain) > 1
