"""The whole foundation in a few seconds: run this first."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import Gaussian, KernelExpansion, Laplacian, Linear, Polynomial

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
Z = RNG.normal(size=(20, 4))


def test_a_kernel_is_its_formula() -> None:
    gap = X[:, None] - Z[None]
    np.testing.assert_allclose(Gaussian(2.0)(X, Z), np.exp(-(gap**2).sum(-1) / 8))
    np.testing.assert_allclose(Laplacian(0.5, norm=1)(X, Z), np.exp(-np.abs(gap).sum(-1) / 2))
    np.testing.assert_allclose(Polynomial(3, 1.0)(X, Z), (X @ Z.T + 1) ** 3)


def test_kernels_are_an_algebra() -> None:
    k = 0.5 * Gaussian(2.0).on([0, 1]) + Polynomial(2, 1.0).normalized() * Laplacian()
    n = np.sqrt(Polynomial(2, 1.0).diag(X)[:, None] * Polynomial(2, 1.0).diag(Z))
    expected = 0.5 * Gaussian(2.0)(X[:, :2], Z[:, :2]) + Polynomial(2, 1.0)(X, Z) / n * Laplacian()(
        X, Z
    )
    np.testing.assert_allclose(k(X, Z), expected)
    assert mercer.parse(repr(k)) == k
    assert k.prove()
    assert not (-k).prove()


def test_the_gram_is_lazy_and_right() -> None:
    for dtype, limit in ((np.float32, 1e-5), (np.float64, 1e-12)):
        G = (Gaussian() + Linear()).gram(X.astype(dtype), Z.astype(dtype))
        K = G.dense()
        assert K.dtype == dtype
        v = np.arange(20.0)
        assert np.abs(G @ v - K.astype(float) @ v).max() <= limit * np.abs(K @ v).max()
        np.testing.assert_array_equal(G.block([3, 1], slice(2, 5)), K[[3, 1], 2:5])
        np.testing.assert_allclose(G.T.dense(), K.T, atol=limit)


def test_an_expansion_predicts() -> None:
    y = np.sin(X[:, 0])
    K = Gaussian()(X)
    f = KernelExpansion(Gaussian(), X, np.linalg.solve(K + 1e-6 * np.eye(30), y))
    np.testing.assert_allclose(f(X), y, atol=1e-4)


def test_settings_hold_for_a_block() -> None:
    with mercer.config(threads=1, memory="1GB"):
        assert mercer.get_config().memory_bytes == 10**9
    with mercer.config(memory="1KB"), pytest.raises(MemoryError, match="memory limit"):
        Gaussian()(X)


def test_mistakes_are_explained() -> None:
    with pytest.raises(ValueError, match="Did you mean 'gaussian'"):
        mercer.parse("gausian(2)")
    with pytest.raises(ValueError, match="they must agree"):
        Gaussian()(X, Z[:, :2])
