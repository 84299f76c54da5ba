"""Rows of a problem in panels, against NumPy."""

import numpy as np
import pytest

numba = pytest.importorskip("numba")
panels = pytest.importorskip("mercer.solvers.quadratic.row_by_row.panels")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "width"), [(1, 1), (64, 8), (65, 7), (100, 30), (200, 0), (7, 41)])
def test_panels_hold_every_row_and_are_padded_with_the_first(n, width, dtype):
    @numba.njit
    def lay_out(right, rows, Z, stride):
        panels.lay_out(right, rows, Z, stride)

    rng = np.random.default_rng(n)
    right, rows = rng.normal(size=(300, width)).astype(dtype), rng.integers(0, 300, n)
    stride = -(-n // panels.BLOCK) * panels.BLOCK
    Z = np.full(stride * width, np.nan, dtype)
    lay_out(right, rows, Z, stride)
    padded = right[np.r_[rows, np.full(stride - n, rows[0])]]
    expected = padded.reshape(stride // panels.BLOCK, panels.BLOCK, width).transpose(0, 2, 1)
    np.testing.assert_array_equal(Z.reshape(expected.shape), expected)
