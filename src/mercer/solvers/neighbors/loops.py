"""The k largest of each row, kept while tiles go by; and distances of listed pairs. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import inner, njit


@inner
def put(value: Any, column: Any, values: Any, index: Any, row: Any, k: Any) -> None:
    """Into a full list of k, the largest first, behind equal ones; the last one is dropped."""
    at = k - 1
    while at > 0 and values[row, at - 1] < value:
        values[row, at], index[row, at] = values[row, at - 1], index[row, at - 1]
        at -= 1
    values[row, at], index[row, at] = value, column


@njit(nogil=True, fastmath={"nnan", "contract", "nsz"})
def keep_largest(
    tile: Any, start: Any, scale: Any, offset: Any, own: Any, values: Any, index: Any
) -> None:
    """Merge scale · tile[i, t] + offset[t] into the sorted lists values[i], index[i].

    `start`: the column the tile begins at. `own[i]`: a column that does not count for row i.
    A chunk is only looked at entry by entry where some entry is large enough: to count those
    vectorizes, and most chunks of 64 have none.
    """
    k = values.shape[1]
    for i in range(tile.shape[0]):
        worst = values[i, k - 1]
        for begin in range(0, tile.shape[1], 64):
            width = min(64, tile.shape[1] - begin)
            row = tile[i, begin : begin + width]
            extra = offset[begin : begin + width]
            larger = 0
            for t in range(width):
                larger += scale * row[t] + extra[t] > worst
            if larger == 0:
                continue
            for t in range(width):
                value = scale * row[t] + extra[t]
                column = start + begin + t
                if value <= worst or column == own[i]:
                    continue
                put(value, column, values, index, i, k)
                worst = values[i, k - 1]


@njit(nogil=True, fastmath={"contract", "reassoc", "nsz"})
def squared_distances(x: Any, z: Any, index: Any, out: Any) -> None:
    """‖xᵢ − z_p‖² for the p listed for each i, in float64 from the differences."""
    for i in range(index.shape[0]):
        for j in range(index.shape[1]):
            row, other = x[i], z[index[i, j]]
            total = 0.0
            for d in range(x.shape[1]):
                gap = np.float64(row[d]) - np.float64(other[d])
                total += gap * gap
            out[i, j] = total


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
