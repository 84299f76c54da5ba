"""Rows of K by position, against the dense matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

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
    K, kept = kernel(data), RowsOfK(kernel.gram(data))
    kept.set_buffer(np.empty(7 * 70 + 3))
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


def test_rows_that_are_kept_are_not_computed_again(data):
    kept = RowsOfK(Gaussian().gram(data))
    kept.set_buffer(np.empty(10 * 70))
    kept.load(np.arange(10), np.ones(70, dtype=bool))
    kept.combine(np.ones(10), np.arange(10))
    kept.block(np.arange(10), np.arange(70))
    assert kept.computed == 10


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_tiles_of_parts_are_those_of_the_whole(kernel, sparse, data):
    """A walk over K settles its loop once, and takes rows and columns as it learns which."""
    if sparse and isinstance(kernel, Similarity):
        pytest.skip("calls a function on two rows")
    X = sp.csr_array(np.where(data > 0.5, data, 0)) if sparse else data
    K, gram = kernel(X), kernel.gram(X)
    gram.prepare_tiles()
    rows, columns = np.array([60, 3, 41]), np.random.default_rng(4).permutation(70)[20:50]
    part = gram.take(rows=rows).take(columns=columns)
    assert part._tile_filler.compiled is gram._tile_filler.compiled
    tile, expected = part.tile(slice(0, 3), slice(5, 30)), K[np.ix_(rows, columns[5:])]
    far = rows[:, None] != columns[5:]  # the diagonal is as it is computed
    np.testing.assert_allclose(tile[far], expected[far], rtol=1e-9, atol=1e-12)


def test_streamed_rows_have_none_to_ask_for_one_by_one():
    gram = Gaussian().gram(np.eye(2))
    with pytest.raises(TypeError, match="no rows of it one by one"):
        Gram.rows_of_k(gram)
