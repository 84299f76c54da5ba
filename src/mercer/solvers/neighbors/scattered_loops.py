"""Compiled: products of sparse rows by scattering, and distances of listed pairs of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import njit
from mercer.solvers.neighbors.loops import keep_largest


@njit(nogil=True)
def search_rows(
    x: Any, columns: Any, offset: Any, room: Any, own: Any, values: Any, index: Any
) -> None:
    """The largest 2x·z + offset of each row of x; `columns`: those of Z; `room`: a row of sums."""
    starts, places, numbers = x
    begins, rows, others = columns
    sums = room[0]
    for i in range(len(values)):
        sums[:] = 0.0
        for at in range(starts[i], starts[i + 1]):
            value, j = numbers[at], places[at]
            for other in range(begins[j], begins[j + 1]):
                sums[rows[other]] += value * others[other]
        one = slice(i, i + 1)
        keep_largest(room, 0, 2.0, offset, own[one], values[one], index[one])


@njit(nogil=True)
def distances_of_pairs(x: Any, z: Any, index: Any, out: Any) -> None:
    """‖xᵢ − z_p‖² for the p listed for each i; numbers of a row in the order of their columns."""
    starts, places, numbers = x
    begins, columns, others = z
    for i in range(index.shape[0]):
        for j in range(index.shape[1]):
            p, total = index[i, j], 0.0
            a, b = starts[i], begins[p]
            while a < starts[i + 1] or b < begins[p + 1]:
                left = a < starts[i + 1] and (b >= begins[p + 1] or places[a] <= columns[b])
                right = b < begins[p + 1] and (a >= starts[i + 1] or columns[b] <= places[a])
                gap = 0.0
                if left:
                    gap += np.float64(numbers[a])
                    a += 1
                if right:
                    gap -= np.float64(others[b])
                    b += 1
                total += gap * gap
            out[i, j] = total
