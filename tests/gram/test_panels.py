"""Rows of K by position, against the dense matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.gram.panels import RowPanels
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
    panels = RowPanels(kernel.gram(data), columns)
    rows = np.array([3, 41, 0, 17, 5])
    coef = np.array([1.0, -2.0, 0.5, 3.0, -1.0])
    np.testing.assert_allclose(panels.rows(rows, threads=threads), K[rows], rtol=1e-10, atol=1e-12)
    some = np.array([4, 3, 49, 0])
    np.testing.assert_allclose(
        panels.block(rows, some), K[np.ix_(rows, some)], rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(
        panels.combine(coef, rows, threads), coef @ K[rows], rtol=1e-10, atol=1e-11
    )
    np.testing.assert_allclose(panels.diagonal, np.diag(K), rtol=1e-12)


def test_fewer_columns_of_fewer_columns(data):
    panels = RowPanels(Gaussian().gram(data), np.array([5, 9, 2, 30])).take(np.array([2, 0]))
    np.testing.assert_allclose(
        panels.rows(np.array([0, 1])), Gaussian()(data)[np.ix_([2, 5], [2, 5])], rtol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows(data, dtype):
    X = np.where(data > 0.5, data, 0).astype(dtype)
    dense, sparse = RowPanels(Gaussian(3.0).gram(X)), RowPanels(Gaussian(3.0).gram(sp.csr_array(X)))
    rows = np.array([1, 60, 7])
    assert sparse.rows(rows).dtype == dtype
    np.testing.assert_allclose(sparse.rows(rows), dense.rows(rows), atol=2e-6)


def test_a_given_matrix(data):
    K = data @ data.T
    panels = RowPanels(Precomputed().gram(K), np.array([4, 60, 8]))
    np.testing.assert_array_equal(panels.rows(np.array([1])), K[[60]][:, [4, 60, 8]])


def test_long_lists_of_rows_are_cut(monkeypatch, data):
    monkeypatch.setattr("mercer.gram.panels.HEIGHT", 8)
    monkeypatch.setattr("mercer.gram.panels.WIDTH", 16)
    K, panels = Gaussian()(data), RowPanels(Gaussian().gram(data))
    rows, coef = np.arange(69, 9, -1), np.linspace(-1, 1, 60)
    np.testing.assert_allclose(panels.rows(rows, threads=2), K[rows], rtol=1e-10)
    np.testing.assert_allclose(panels.combine(coef, rows, 2), coef @ K[rows], atol=1e-12)
