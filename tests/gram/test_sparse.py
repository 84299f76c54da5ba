"""Sparse rows: whatever is made dense on the way, K is that of the dense rows."""

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import Gaussian, Laplacian, Polynomial

RNG = np.random.default_rng(0)
KERNELS = [Gaussian(2.0), Gaussian(0.02), Polynomial(3, offset=1.0), Laplacian(norm=1), Laplacian()]


def rows(n, share, columns=120):
    full = RNG.normal(size=(n, columns))
    return np.where(RNG.random(full.shape) < share, full, 0.0)


@pytest.fixture(params=[True, False], ids=["by a loop", "by SciPy"])
def scatters(request, monkeypatch):
    """Whether sparse rows are multiplied by the compiled loop."""
    for module in ("rows.sparse", "cpu.engine", "host"):
        monkeypatch.setattr(f"mercer.gram.{module}.scatters", lambda: request.param)
    return request.param


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
def test_k_is_that_of_the_dense_rows(kernel, share, scatters):
    X, Z = rows(90, share), rows(70, share)
    Z[:5] = X[:5]
    x, z = sp.csr_array(X), sp.csr_array(Z)
    np.testing.assert_allclose(kernel(x, z), kernel(X, Z), atol=1e-9)
    np.testing.assert_allclose(kernel(x), kernel(X), atol=1e-9)
    gram, v = kernel.gram(x, z), RNG.normal(size=90)
    np.testing.assert_allclose(gram.T @ v, kernel(X, Z).T @ v, atol=1e-8)
    some = gram.take([3, 1, 2], slice(0, 20))
    np.testing.assert_allclose(some.dense(), kernel(X[[3, 1, 2]], Z[:20]), atol=1e-9)


def test_what_is_made_dense_follows_the_share_of_zeros_and_the_memory(scatters):
    def sides(share):
        x, z = kernel.gram(*(sp.csr_array(rows(90, share)) for _ in range(2))).sides()
        return [sp.issparse(m) for side in (x, z) for m in side.matrices.values()]

    kernel = Polynomial(3)
    assert sides(0.02) == [True, True]
    assert sides(0.1) == [True, scatters]
    assert sides(0.4) == [False, False]
    with mercer.config(memory=500_000):
        assert sides(0.4) == [True, True]


def test_strips_are_cut_anywhere_and_numbers_may_come_in_parts(monkeypatch):
    monkeypatch.setattr("mercer.gram.rows.sparse.scatters", lambda: True)
    X, Z = rows(100, 0.05), rows(150, 0.05)
    whole = sp.csr_array(Z)
    halves = np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr
    z = sp.csr_array(halves, Z.shape)
    gram = Polynomial(2).gram(sp.csr_array(X), z)
    tile = gram.tile(slice(7, 90), slice(5, 131))
    assert gram.sides()[1].strips
    np.testing.assert_allclose(tile, (X[7:90] @ Z[5:131].T) ** 2, atol=1e-9)
    np.testing.assert_allclose(Gaussian(3.0)(z, sp.csr_array(X)), Gaussian(3.0)(Z, X), atol=1e-9)
