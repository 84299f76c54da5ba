"""The passes of a step of SMO against NumPy."""

import numpy as np
import pytest

numba = pytest.importorskip("numba")
passes = pytest.importorskip("mercer.solvers.quadratic.row_by_row.passes")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [passes.LANES, 5 * passes.LANES, 1000])
def test_the_partner_gains_most_and_is_the_first_of_equals(dtype, n):
    partner = passes.partner

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
