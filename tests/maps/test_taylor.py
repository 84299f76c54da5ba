"""TaylorGaussianMap: the series of lecture 001 converges to the Gaussian."""

from __future__ import annotations

from itertools import pairwise
from math import comb, factorial

import numpy as np
import pytest
from scipy import sparse

from mercer.kernels import Gaussian
from mercer.maps import PolynomialMap, TaylorGaussianMap


@pytest.mark.parametrize("sigma", [0.7, 1.0, 3.0])
def test_converges_to_the_gaussian(rng, sigma):
    X = rng.uniform(-1, 1, size=(30, 3))
    K = Gaussian(sigma)(X)
    errors = []
    for order in (0, 2, 4, 8, 16, 20):
        F = TaylorGaussianMap(sigma, order).fit_transform(X)
        assert F.shape[1] == comb(3 + order, 3)
        errors.append(np.abs(F @ F.T - K).max())
        # Taylor's bound: the rest of e^t is at most e^|t| |t|^(n+1) / (n+1)!
        t = (X @ X.T) / sigma**2
        scale = np.exp(-0.5 * (np.diag(t)[:, None] + np.diag(t)))
        rest = scale * np.exp(np.abs(t)) * np.abs(t) ** (order + 1) / factorial(order + 1)
        assert (np.abs(F @ F.T - K) <= rest + 1e-14).all()
    assert all(a > b for a, b in pairwise(errors) if a > 1e-13)
    assert errors[-1] < 1e-6


def test_blocks_are_the_lectures(rng):
    X = rng.normal(size=(5, 2))
    sigma = 1.3
    F = TaylorGaussianMap(sigma, 3).fit_transform(X)
    scale = np.exp(-(X**2).sum(1) / (2 * sigma**2))[:, None]
    blocks = [np.ones((5, 1))] + [PolynomialMap(n).fit_transform(X) for n in (1, 2, 3)]
    want = [scale * b / np.sqrt(factorial(n) * sigma ** (2 * n)) for n, b in enumerate(blocks)]
    np.testing.assert_allclose(F, np.hstack(want), rtol=1e-12)


def test_one_sigma_per_column(rng, relative_error):
    X = rng.uniform(-1, 1, size=(12, 3))
    sigma = [1.0, 2.0, 0.8]
    F = TaylorGaussianMap(sigma, 22).fit_transform(X)
    assert relative_error(F @ F.T, Gaussian(sigma)(X)) < 1e-8


@pytest.mark.parametrize("sigma", [1.5, [1.0, 2.0, 0.8]])
def test_sparse_rows_and_names(rng, sigma):
    X = rng.normal(size=(20, 3)) * (rng.random((20, 3)) < 0.5)
    phi = TaylorGaussianMap(sigma, 4).fit(X)
    S = sparse.csr_array(X)
    before = S.copy()
    np.testing.assert_allclose(phi.transform(S).toarray(), phi.transform(X), rtol=1e-12)
    np.testing.assert_array_equal(S.data, before.data)
    assert list(phi.get_feature_names_out())[:5] == ["1", "x0", "x1", "x2", "x0^2"]


def test_far_points_vanish_instead_of_overflowing():
    for dtype, far in ((np.float64, 1e200), (np.float32, 1e30)):
        F = TaylorGaussianMap().fit_transform(np.array([[far, 1.0], [0.0, 0.0]], dtype=dtype))
        assert F.dtype == dtype
        np.testing.assert_array_equal(F[0], 0.0)
        assert F[1, 0] == 1.0


def test_as_many_widths_as_columns():
    with pytest.raises(ValueError, match="one per column"):
        TaylorGaussianMap(sigma=[1.0, 2.0, 3.0]).fit([[1.0, 2.0]])
