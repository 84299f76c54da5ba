"""Rows of K by position, against the dense matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import config
from mercer._tiles import Scratch
from mercer.gram.base import Gram
from mercer.gram.rows_of_k import RowsOfK
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial, Precomputed, Similarity

KERNELS = [
    Linear(),
    Gaussian(2.0),
    Polynomial(3, offset=1.0),
    Laplacian(0.5, norm=1),
    Gaussian(1.5) + 0.5 * Polynomial(2).normalized(),
    Similarity(lambda x, z: float(x @ z)),
]


@pytest.fixture
def data():
    return np.random.default_rng(0).normal(size=(70, 40))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_rows_blocks_and_sums_are_those_of_the_dense_matrix(kernel, threads, data):
    columns = np.random.default_rng(1).permutation(70)[:50]
    K = kernel(data)[np.ix_(columns, columns)]
    panels = RowsOfK(kernel.gram(data), columns, threads)
    rows = np.array([3, 41, 0, 17, 5])
    coef = np.array([1.0, -2.0, 0.5, 3.0, -1.0])
    np.testing.assert_allclose(panels.rows(rows), K[rows], rtol=1e-10, atol=1e-12)
    some = np.array([4, 3, 49, 0])
    np.testing.assert_allclose(
        panels.block(rows, some), K[np.ix_(rows, some)], rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(panels.combine(coef, rows), coef @ K[rows], rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(panels.diagonal, np.diag(K), rtol=1e-12)


def test_fewer_columns_of_fewer_columns(data):
    panels = RowsOfK(Gaussian().gram(data), np.array([5, 9, 2, 30])).among(np.array([2, 0]))
    np.testing.assert_allclose(
        panels.rows(np.array([0, 1])), Gaussian()(data)[np.ix_([2, 5], [2, 5])], rtol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows(data, dtype):
    X = np.where(data > 0.5, data, 0).astype(dtype)
    dense, sparse = RowsOfK(Gaussian(3.0).gram(X)), RowsOfK(Gaussian(3.0).gram(sp.csr_array(X)))
    rows = np.array([1, 60, 7])
    assert sparse.rows(rows).dtype == dtype
    np.testing.assert_allclose(sparse.rows(rows), dense.rows(rows), atol=2e-6)


def test_a_given_matrix(data):
    K = data @ data.T
    panels = RowsOfK(Precomputed().gram(K), np.array([4, 60, 8]))
    np.testing.assert_array_equal(panels.rows(np.array([1])), K[[60]][:, [4, 60, 8]])


def test_long_lists_of_rows_are_cut(monkeypatch, data):
    monkeypatch.setattr("mercer.tuning.PRODUCT_ROWS", 8)
    monkeypatch.setattr("mercer.tuning.ROW_TILE_COLUMNS", 16)
    K, panels = Gaussian()(data), RowsOfK(Gaussian().gram(data), threads=2)
    rows, coef = np.arange(69, 9, -1), np.linspace(-1, 1, 60)
    np.testing.assert_allclose(panels.rows(rows), K[rows], rtol=1e-10)
    np.testing.assert_allclose(panels.combine(coef, rows), coef @ K[rows], atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kept_rows_and_computed_ones_are_the_same(kernel, data):
    """Room for seven rows: some are kept, some are given up for others, some are computed."""
    K, plain = kernel(data), RowsOfK(kernel.gram(data))
    kept = plain.with_room(np.empty(7 * 70 + 3))
    wanted = np.zeros(70, dtype=bool)
    rng = np.random.default_rng(3)
    for _ in range(4):
        rows = rng.permutation(70)[:5]
        wanted[:] = False
        wanted[rows] = True
        kept.load(rows, wanted)
        some = rng.permutation(70)[:20]
        coef = rng.normal(size=20)
        np.testing.assert_allclose(
            kept.block(some, rows), K[np.ix_(some, rows)], rtol=1e-10, atol=1e-12
        )
        np.testing.assert_allclose(kept.combine(coef, some), coef @ K[some], rtol=1e-9, atol=1e-9)
    assert kept.computed > 20
    assert plain.computed == 0


def test_rows_that_are_kept_are_not_computed_again(data):
    kept = RowsOfK(Gaussian().gram(data)).with_room(np.empty(10 * 70))
    kept.load(np.arange(10), np.ones(70, dtype=bool))
    kept.combine(np.ones(10), np.arange(10))
    kept.block(np.arange(10), np.arange(70))
    assert kept.computed == 10


@pytest.mark.parametrize("keep", [False, True])
def test_panels_and_products(keep, data):
    gram = Gaussian(2.0).gram(data, data[:30] + 0.1)
    K, rows, V = gram.dense(), RowsOfK(gram), np.random.default_rng(2).normal(size=(30, 2))
    assert rows.keep() if keep else rows.kept is None
    np.testing.assert_allclose(rows.panel(slice(5, 25), Scratch(0)), K[5:25], rtol=1e-12)
    np.testing.assert_allclose(rows.product(V), K @ V, rtol=1e-10, atol=1e-12)
    with config(memory="10KB"):
        assert RowsOfK(gram).keep() is False


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", KERNELS[:5], ids=repr)
def test_columns_that_grow(kernel, sparse, data):
    X = sp.csr_array(np.where(data > 0.5, data, 0)) if sparse else data
    K, rows = kernel(X), kernel.gram(X).rows_of_k(growing=True)
    assert rows.shape == (70, 0)
    panel = rows.take(rows=np.array([60, 3, 41]))
    chosen = np.random.default_rng(4).permutation(70)
    for start in range(0, 70, 10):
        rows.append(chosen[start : start + 10])
    assert panel.shape == (3, 70)
    part = panel.take(columns=slice(20, 50))
    expected = K[np.ix_([60, 3, 41], chosen[20:50])]
    far = np.array([60, 3, 41])[:, None] != chosen[20:50]  # the diagonal is as it is computed
    filled = part.fill(slice(0, 3), np.empty((3, 30)))
    np.testing.assert_allclose(filled[far], expected[far], rtol=1e-9, atol=1e-12)
    V = np.random.default_rng(5).normal(size=(30, 2))
    np.testing.assert_allclose(part.product(V, slice(1, 3)), expected[1:] @ V, rtol=1e-6, atol=1e-9)
    rows.forget(60)
    assert rows.shape == (70, 10)
    last = rows.take(slice(0, 2), slice(0, 10)).fill(slice(0, 2), np.empty((2, 10)))
    far = np.arange(2)[:, None] != chosen[60:]
    np.testing.assert_allclose(
        last[far], K[np.ix_([0, 1], chosen[60:])][far], rtol=1e-9, atol=1e-12
    )


def test_streamed_rows_have_none_to_ask_for_one_by_one():
    gram = Gaussian().gram(np.eye(2))
    with pytest.raises(TypeError, match="no rows of it one by one"):
        Gram.rows_of_k(gram)
