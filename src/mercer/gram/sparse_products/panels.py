"""X Zᵀ of sparse rows that have many columns in common.

A few rows of Z at a time lie in a dense panel, column by column; every number of X multiplies a
line of it, and the sums stay in registers. A number takes 0.1 ns per row of Z, whether that row has
its column or not: rows that share more than a seventh of their columns take longer scattered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import chosen_by_types, njit
from mercer._machine.lanes import everywhere_of, lanes_of, like, load_of, store
from mercer.gram.cpu.compiled import whole_rows
from mercer.gram.plan.products import PANEL_BYTES
from mercer.gram.sparse_products.scattered import unsigned

#: Vectors of 64 bytes in a line of the panel, each with a name in the loop.
VECTORS = PANEL_BYTES // 64
assert VECTORS == 4


def multiply(x: Any, rows: slice, z: Any, columns: slice, out: Any) -> None:
    """out ← x[rows] z[columns]ᵀ for CSR matrices."""
    lines = PANEL_BYTES // out.itemsize
    panel, sums = np.zeros(x.shape[1] * lines, dtype=out.dtype), np.empty(lines, dtype=out.dtype)
    left, right = (
        (unsigned(m.indptr[part.start : part.stop + 1]), unsigned(m.indices), m.data)
        for m, part in ((x, rows), (z, columns))
    )
    _multiply(left, right, panel, sums, whole_rows(out))


def _sums_of(lanes: int) -> Any:
    """The body for vectors of so many lanes, VECTORS of which are a line."""
    lanes = lanes_of(lanes)
    load, everywhere = load_of(lanes), everywhere_of(lanes)

    def sums(
        numbers: Any, places: Any, start: Any, count: Any, panel: Any, size: Any, out: Any, at: Any
    ) -> None:
        for part in range(0, size, VECTORS * lanes):
            a = b = c = d = like(everywhere(0.0), panel)
            for t in range(start, start + count):
                line, number = np.int64(places[t]) * size + part, everywhere(numbers[t])
                a = a + number * load(panel, line)
                b = b + number * load(panel, line + lanes)
                c = c + number * load(panel, line + 2 * lanes)
                d = d + number * load(panel, line + 3 * lanes)
            store(a, out, at + part)
            store(b, out, at + part + lanes)
            store(c, out, at + part + 2 * lanes)
            store(d, out, at + part + 3 * lanes)

    return sums


_narrow, _wide = _sums_of(16), _sums_of(8)


@chosen_by_types
def _line_sums(
    numbers: Any, places: Any, start: Any, count: Any, panel: Any, size: Any, out: Any, at: Any
) -> Any:
    """out[at …] ← Σ numbers[t] · line places[t] of the panel, for `count` of t from `start`.

    A line has `size` numbers.
    """
    return _narrow if "float32" in str(panel.dtype) else _wide


@njit(nogil=True)
def _multiply(x: Any, z: Any, panel: Any, sums: Any, out: Any) -> None:
    starts, places, values = x
    begins, columns, numbers = z
    size, m = len(sums), len(begins) - 1
    for first in range(0, m, size):
        count = min(size, m - first)
        for r in range(count):
            for t in range(begins[first + r], begins[first + r + 1]):
                panel[np.int64(columns[t]) * size + r] += numbers[t]
        for i in range(len(starts) - 1):
            start, length = np.int64(starts[i]), np.int64(starts[i + 1]) - np.int64(starts[i])
            if length == 0:
                out[i, first : first + count] = 0
            elif count == size:
                _line_sums(
                    values, places, start, length, panel, size, out, i * out.shape[1] + first
                )
            else:
                _line_sums(values, places, start, length, panel, size, sums, 0)
                for t in range(count):
                    out[i, first + t] = sums[t]
        for r in range(count):
            for t in range(begins[first + r], begins[first + r + 1]):
                panel[np.int64(columns[t]) * size + r] = 0
