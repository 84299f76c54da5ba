"""The passes of a step of SMO, and the layout of rows, against NumPy."""

from types import SimpleNamespace

import numpy as np
import pytest

from mercer.gram.rows import BLOCK
from mercer.solvers.quadratic.smo_on_demand import Worker

numba = pytest.importorskip("numba")
loop = pytest.importorskip("mercer.solvers.quadratic.smo_loop")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [loop.LANES, 5 * loop.LANES, 1000])
def test_the_partner_gains_most_and_is_the_first_of_equals(dtype, n):
    partner = loop.partner

    @numba.njit
    def found(F, low, row, diagonal, i, top, floor):
        return partner(F, low, 0, row, 0, diagonal, len(F), i, top, floor)

    rng = np.random.default_rng(n)
    for turn in range(20):
        F, low = rng.integers(-9, 9, n) / 4.0, rng.integers(-9, 9, n) / 4.0
        low[rng.random(n) < 0.3] = -np.inf
        row, diagonal = (rng.integers(0, 9, n).astype(dtype) for _ in range(2))
        i, top, floor = int(rng.integers(n)), 1.0 - turn % 10, dtype(1.0)
        slope = np.maximum(top + F + low, 0.0)
        gains = (slope**2 / np.maximum(diagonal[i] + diagonal - 2 * row, floor)).astype(dtype)
        j, gain, bottom = found(F, low, row, diagonal, i, top, floor)
        assert (gain, bottom) == (gains.max(), (F + low).max())
        assert j == (gains.argmax() if gains.max() > 0 else -1)


@pytest.mark.parametrize(("n", "width"), [(1, 1), (64, 8), (65, 7), (100, 30), (200, 0), (7, 41)])
def test_panels_hold_every_row_and_are_padded_with_the_first(n, width):
    rng = np.random.default_rng(n)
    right, rows = rng.normal(size=(300, width)), rng.integers(0, 300, n)
    stride = -(-n // BLOCK) * BLOCK
    worker = SimpleNamespace(right=right, shape=np.zeros(1, int), Z=np.full(stride * width, np.nan))
    Worker._lay_out(worker, rows, stride)
    padded = right[np.r_[rows, np.full(stride - n, rows[0])]]
    expected = padded.reshape(stride // BLOCK, BLOCK, width).transpose(0, 2, 1)
    np.testing.assert_array_equal(worker.Z.reshape(expected.shape), expected)
    assert worker.shape[0] == stride
