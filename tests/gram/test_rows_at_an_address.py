"""Rows of K by a function at an address: one alone, and several that read Z once."""

import ctypes

import numpy as np
import pytest

from mercer.gram.cpu.byte_loops import works
from mercer.gram.cpu.row_function import byte_function, loop_program, row_function
from mercer.gram.rows import BLOCK, TOGETHER
from mercer.kernels import as_kernel

#: Examples in several panels.
PADDED = 5 * BLOCK


@pytest.mark.parametrize("single", [False, True])
def test_rows_one_by_one_and_together_are_those_of_k(single):
    n = PADDED
    X = np.random.default_rng(0).normal(size=(n, 9))
    gram = as_kernel("gaussian(2.0) * linear() + 0.5 * laplacian(1.0, norm=1)").gram(X)
    function = row_function(gram, loop_program(gram), single)
    assert function.together == TOGETHER
    _check_rows(function, gram.dense(), 1e-5 if single else 1e-13)


@pytest.mark.skipif(not works(), reason="this processor multiplies no bytes")
@pytest.mark.parametrize("numbers", [np.arange(256) / 255, np.arange(2.0), np.arange(-90, 99)])
def test_rows_by_sums_of_bytes_are_those_of_k(numbers):
    X = np.random.default_rng(1).choice(numbers, (1100, 90))
    gram = as_kernel(f"gaussian({8 * np.std(X)}) + 0.01 * linear()").gram(X)
    function = byte_function(gram, loop_program(gram))
    assert function.right.shape[1] < X.shape[1]  # though both sources have columns
    K = gram.dense()
    _check_rows(function, K[:, :PADDED], 1e-6 * np.abs(K).max())


@pytest.mark.parametrize(
    ("sigma", "single"), [(10.0, True), (0.05, True), (10.0, False), (1e-5, False)]
)
def test_many_columns_are_read_as_they_are(sigma, single):
    X = np.random.default_rng(3).normal(size=(400, 90))
    gram = as_kernel(f"gaussian({sigma})").gram(X)
    function = row_function(gram, loop_program(gram), single)
    assert function.widths == (90,)
    _check_rows(function, gram.dense()[:, :PADDED], 1e-6 if single else 1e-13)


def test_sums_that_need_more_than_32_bits_are_none_of_bytes():
    X = np.random.default_rng(2).integers(0, 200, (1100, 90)) + 1e6
    gram = as_kernel("linear()").gram(X)
    assert byte_function(gram, loop_program(gram)) is None


def _check_rows(function, K, tolerance):
    """The first PADDED columns of rows alone, and of several."""
    n, length = PADDED, function.right.shape[1]
    panels = function.right[:n].reshape(-1, BLOCK, length)
    Z = np.ascontiguousarray(panels.transpose(0, 2, 1))
    shape = np.array([n, length, *function.widths])
    for rows in ([5], [7, 300], [0, 319, 17, 256]):
        out = np.zeros((TOGETHER, n), function.left.dtype)
        chosen = np.zeros(1 + 2 * TOGETHER, np.int64)
        chosen[0] = len(rows)
        chosen[1 : 1 + len(rows)] = np.array(rows) * function.left.shape[1]
        chosen[1 + TOGETHER :] = np.arange(TOGETHER) * n
        arrays = (function.numbers, function.left, Z, shape, out, chosen)
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))(function.address)
        call(*(array.ctypes.data for array in arrays))
        np.testing.assert_allclose(out[: len(rows)], K[rows], atol=tolerance)
        assert not out[len(rows) :].any()
