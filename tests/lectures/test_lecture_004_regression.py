"""Lecture 004: kernel linear regression, one of its objectives."""

from __future__ import annotations

import numpy as np

from mercer import KernelRidge
from mercer.kernels import Linear

LAMBDA = 0.3


def test_kernel_linear_regression(rng):
    """004, lines 1-7: from coordinates θ to weights of examples, θ = Σ αⱼφ(xⱼ), with (x, x²)."""
    x = np.sort(rng.uniform(-2, 2, 30))[:, None]
    t = 1.5 * x[:, 0] - 0.8 * x[:, 0] ** 2 + 0.1 * rng.normal(size=30)
    kernel = Linear().polynomial([0.0, 1.0, 1.0])  # x·z + (x·z)², as in line 58
    phi = np.column_stack([x, x**2])
    theta = np.linalg.solve(phi.T @ phi + LAMBDA * np.eye(2), phi.T @ t)
    model = KernelRidge(kernel, LAMBDA, solver="cholesky", fit_intercept=False).fit(x, t)
    np.testing.assert_allclose(phi.T @ model.dual_coef_, theta, rtol=1e-8)
    np.testing.assert_allclose(model.predict(x), phi @ theta, rtol=1e-8)
    np.testing.assert_allclose(theta, [1.5, -0.8], atol=0.1)
    line = KernelRidge(Linear(), LAMBDA, fit_intercept=False).fit(x, t)
    assert np.abs(line.predict(x) - t).mean() > 4 * np.abs(model.predict(x) - t).mean()
