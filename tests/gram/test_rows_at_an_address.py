"""Rows of K by a function at an address: one alone, and several that read Z once."""

import ctypes

import numpy as np
import pytest

from mercer.gram.cpu.row_function import loop_program, row_function
from mercer.gram.rows.prepared import CHUNK, TOGETHER
from mercer.kernels import as_kernel


@pytest.mark.parametrize("single", [False, True])
def test_rows_one_by_one_and_together_are_those_of_k(single):
    n = CHUNK + 64
    X = np.random.default_rng(0).normal(size=(n, 9))
    gram = as_kernel("gaussian(2.0) * linear() + 0.5 * laplacian(1.0, norm=1)").gram(X)
    function = row_function(gram, loop_program(gram), single)
    assert function.together == TOGETHER
    length = function.right.shape[1]
    Z = np.zeros((2, length, CHUNK), function.dtype)
    Z[0], Z[1, :, :64] = function.right[:CHUNK].T, function.right[CHUNK:].T
    shape = np.array([n, length, *function.widths])
    K = gram.dense()
    for rows in ([5], [7, 300], [0, 319, 17, 256]):
        out = np.zeros((TOGETHER, n), function.dtype)
        chosen = np.zeros(1 + 2 * TOGETHER, np.int64)
        chosen[0] = len(rows)
        chosen[1 : 1 + len(rows)] = np.array(rows) * function.left.shape[1]
        chosen[1 + TOGETHER :] = np.arange(TOGETHER) * n
        arrays = (function.numbers, function.left, Z, shape, out, chosen)
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))(function.address)
        call(*(array.ctypes.data for array in arrays))
        np.testing.assert_allclose(out[: len(rows)], K[rows], atol=1e-5 if single else 1e-13)
        assert not out[len(rows) :].any()
