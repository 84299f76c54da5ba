"""Columns of K that are appended, against the dense matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer._tiles import Scratch
from mercer.gram.base import Gram
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial

KERNELS = [
    Linear(),
    Gaussian(2.0),
    Polynomial(3, offset=1.0),
    Laplacian(0.5, norm=1),
    Gaussian(1.5) + 0.5 * Polynomial(2).normalized(),
]


@pytest.fixture
def data():
    return np.random.default_rng(0).normal(size=(70, 40))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_columns_that_grow(kernel, sparse, data):
    X = sp.csr_array(np.where(data > 0.5, data, 0)) if sparse else data
    K, rows = kernel(X), kernel.gram(X).columns_of_k()
    assert rows.count == 0
    panel = rows.take(rows=np.array([60, 3, 41]))
    chosen = np.random.default_rng(4).permutation(70)
    for start in range(0, 70, 10):
        rows.append(chosen[start : start + 10])
    assert panel.count == 70
    part = panel.take(columns=slice(20, 50))
    expected = K[np.ix_([60, 3, 41], chosen[20:50])]
    far = np.array([60, 3, 41])[:, None] != chosen[20:50]  # the diagonal is as it is computed
    filled = part.fill(slice(0, 3), np.empty((3, 30)))
    np.testing.assert_allclose(filled[far], expected[far], rtol=1e-9, atol=1e-12)
    V = np.random.default_rng(5).normal(size=(30, 2))
    some = part.product(V, slice(1, 3), Scratch(0))
    np.testing.assert_allclose(some, expected[1:] @ V, rtol=1e-6, atol=1e-9)
    rows.forget(60)
    assert rows.count == 10
    last = rows.take(slice(0, 2), slice(0, 10)).fill(slice(0, 2), np.empty((2, 10)))
    far = np.arange(2)[:, None] != chosen[60:]
    np.testing.assert_allclose(
        last[far], K[np.ix_([0, 1], chosen[60:])][far], rtol=1e-9, atol=1e-12
    )


def test_streamed_rows_have_no_columns_to_append():
    gram = Gaussian().gram(np.eye(2))
    with pytest.raises(TypeError, match="no columns one by one"):
        Gram.columns_of_k(gram)
