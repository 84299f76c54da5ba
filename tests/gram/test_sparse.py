"""Sparse rows: whatever is made dense on the way, K is that of the dense rows."""

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import Gaussian, Laplacian, Polynomial
from mercer._machine.jit import compiles
from mercer.gram.cpu import sparse_loops as scattered

RNG = np.random.default_rng(0)
NEEDS_NUMBA = pytest.mark.skipif(not compiles(), reason="needs Numba")
KERNELS = [Gaussian(2.0), Gaussian(0.02), Polynomial(3, offset=1.0), Laplacian(norm=1), Laplacian()]


def rows(n, share, columns=120):
    full = RNG.normal(size=(n, columns))
    return np.where(RNG.random(full.shape) < share, full, 0.0)


#: Modules that ask whether the loop is there.
ASKING = ("rows", "fill", "plan")


@pytest.fixture(params=[True, False], ids=["by a loop", "by SciPy"])
def scatters(request, monkeypatch):
    """Whether sparse rows are multiplied by the compiled loop."""
    for module in ASKING:
        monkeypatch.setattr(f"mercer.gram.{module}.scatters", lambda *_: request.param)
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
        x, z = kernel.gram(*(sp.csr_array(rows(90, share)) for _ in range(2))).operands()
        return [sp.issparse(m) for side in (x, z) for m in side.matrices.values()]

    kernel = Polynomial(3)
    assert sides(0.02) == [True, True]
    assert sides(0.1) == [True, scatters]
    assert sides(0.4) == [False, False]
    with mercer.config(memory=500_000):
        assert sides(0.4) == [True, True]


def test_tiles_are_cut_anywhere_and_numbers_may_come_in_parts(scatters):
    X, Z = rows(100, 0.05), rows(150, 0.05)
    whole = sp.csr_array(Z)
    halves = np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr
    z = sp.csr_array(halves, Z.shape)
    gram = Polynomial(2).gram(sp.csr_array(X), z)
    tile = gram.tile(slice(7, 90), slice(5, 131))
    np.testing.assert_allclose(tile, (X[7:90] @ Z[5:131].T) ** 2, atol=1e-9)
    np.testing.assert_allclose(Gaussian(3.0)(z, sp.csr_array(X)), Gaussian(3.0)(Z, X), atol=1e-9)


def test_rows_of_sums_are_cut_where_they_would_leave_the_cache(monkeypatch):
    monkeypatch.setattr(scattered, "WIDTH", 16)
    X, Z = rows(9, 0.1), rows(50, 0.1)
    Z[:, 7] = 0.0
    by_column, out = scattered.columns_of(sp.csr_array(Z)), np.empty((5, 41))
    scattered.multiply_scattered(sp.csr_array(X), slice(2, 7), by_column, slice(3, 44), out)
    np.testing.assert_allclose(out, X[2:7] @ Z[3:44].T, atol=1e-12)


@NEEDS_NUMBA
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_panels_hold_any_part_of_the_rows(kind):
    from mercer.gram.cpu import sparse_loops as panels

    X, Z = rows(9, 0.3).astype(kind), rows(150, 0.3).astype(kind)
    X[4] = 0.0
    out = np.full((5, 130), np.nan, dtype=kind)
    whole = sp.csr_array(Z)
    halves = np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr
    z = sp.csr_array(halves, Z.shape)  # numbers may come in parts
    panels.multiply_in_panels(sp.csr_array(X), slice(2, 7), z, slice(3, 103), out[:, 20:120])
    expected = X[2:7] @ Z[3:103].T
    np.testing.assert_allclose(out[:, 20:120], expected, atol=1e-5 if kind == "float32" else 1e-12)
    assert np.isnan(out[:, :20]).all()
    assert np.isnan(out[:, 120:]).all()


@NEEDS_NUMBA
def test_rows_with_many_columns_in_common_are_multiplied_in_panels(scatters):
    full = np.zeros((100, 120))
    full[:, :15] = RNG.normal(size=(100, 15))  # few numbers, and all of them in common
    gram = Polynomial(3, offset=1.0).gram(sp.csr_array(full))
    assert bool(gram._plan().paneled) == scatters
    np.testing.assert_allclose(gram.dense(), Polynomial(3, offset=1.0)(full), rtol=1e-12)
    np.testing.assert_allclose(gram @ full, Polynomial(3, offset=1.0)(full) @ full, rtol=1e-11)
    assert not Polynomial(3).gram(sp.csr_array(rows(100, 0.1)))._plan().paneled
    if scatters:
        told = str(Polynomial(3).explain(sp.csr_array(full)))
        assert "of sparse rows, in panels" in told


def test_the_loop_is_named_where_k_is_explained(scatters):
    told = str(Gaussian(2.0).explain(sp.csr_array(rows(90, 0.02))))
    assert ("of sparse rows, scattered" in told) == scatters
