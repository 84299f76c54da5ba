"""X Zᵀ of sparse rows by compiled loops, straight into a dense array.

- `multiply_scattered`: a row of the product is a sum of columns of Z, one per stored number of a
  row of X; each adds to a few entries of a row of sums in the first-level cache. Only columns that
  both rows store are multiplied, 0.7 ns each; SciPy, which makes a sparse result, takes 5 ns.
- `multiply_in_panels`: a few rows of Z lie in a dense panel, column by column; every number of X
  multiplies a line of it, and the sums stay in registers. A number takes 0.1 ns per row of Z: rows
  that share more than a seventh of their columns are faster this way.

`mercer.gram.plan` takes the one that costs less.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._lazy import record
from mercer._machine.jit import chosen_by_types, njit
from mercer._machine.lanes import everywhere_of, lanes_of, like, load_of, store
from mercer._tiles import cut, whole_rows
from mercer.tuning import SCATTERED_TILE, SPARSE_PANEL_BYTES

#: Rows of Z whose sums stay in that cache.
WIDTH = SCATTERED_TILE[1]


@record
class Columns:
    """A CSR matrix of `n` rows by columns: where each begins, its rows (ascending), its numbers.

    `kept`: where the numbers from some multiples of WIDTH on begin."""

    n: int
    begins: np.ndarray
    rows: np.ndarray
    numbers: np.ndarray
    kept: dict[int, np.ndarray]

    def before(self, row: int) -> np.ndarray:
        """The end of the numbers before this row, per column."""
        if row == 0 or row >= self.n:
            return self.begins[1:] if row else self.begins[:-1]
        if row % WIDTH:
            return np.asarray(_before(self.begins, self.rows, row))
        if row not in self.kept:
            self.kept[row] = _before(self.begins, self.rows, row)
        return self.kept[row]


def columns_of(z: Any) -> Columns:
    by_column = z.tocsc()
    begins, rows = unsigned(by_column.indptr), unsigned(by_column.indices)
    return Columns(z.shape[0], begins, rows, by_column.data, {})


def multiply_scattered(x: Any, rows: slice, z: Columns, columns: slice, out: Any) -> None:
    """out ← x[rows] z[columns]ᵀ for a CSR matrix x."""
    starts = unsigned(x.indptr[rows.start : rows.stop + 1])
    left, last = (starts, unsigned(x.indices), x.data), z.before(columns.start)
    for part in cut(columns.start, columns.stop, WIDTH):
        first, last = last, z.before(part.stop)
        right = first, last, z.rows, z.numbers
        to = out[:, part.start - columns.start : part.stop - columns.start]
        start, width = z.rows.dtype.type(part.start), part.stop - part.start
        _scatter(left, right, start, width, whole_rows(to))


def unsigned(indices: np.ndarray) -> np.ndarray:
    """View indices as unsigned: a signed one may count from the end, which takes twice as long."""
    return indices.view(f"u{indices.itemsize}")


@njit(nogil=True)
def _before(begins: Any, rows: Any, row: Any) -> Any:
    ends = np.empty(len(begins) - 1, begins.dtype)
    for j in range(len(ends)):
        low, high = np.int64(begins[j]), np.int64(begins[j + 1])
        while low < high:
            middle = (low + high) >> 1
            if rows[middle] < row:
                low = middle + 1
            else:
                high = middle
        ends[j] = low
    return ends


@njit(nogil=True)
def _scatter(x: Any, columns: Any, start: Any, width: Any, out: Any) -> None:
    starts, places, values = x
    first, last, rows, numbers = columns
    for i in range(out.shape[0]):
        sums = out[i, :width]
        sums[:] = 0
        for at in range(starts[i], starts[i + 1]):
            value, j = values[at], places[at]
            for other in range(first[j], last[j]):
                sums[rows[other] - start] += value * numbers[other]


#: Vectors of 64 bytes in a line of the panel, each with a name in the loop.
VECTORS = SPARSE_PANEL_BYTES // 64
assert VECTORS == 4


def multiply_in_panels(x: Any, rows: slice, z: Any, columns: slice, out: Any) -> None:
    """out ← x[rows] z[columns]ᵀ for CSR matrices."""
    lines = SPARSE_PANEL_BYTES // out.itemsize
    panel, sums = np.zeros(x.shape[1] * lines, dtype=out.dtype), np.empty(lines, dtype=out.dtype)
    left, right = (
        (unsigned(m.indptr[part.start : part.stop + 1]), unsigned(m.indices), m.data)
        for m, part in ((x, rows), (z, columns))
    )
    _multiply(left, right, panel, sums, whole_rows(out))


def _sums_of(lanes: int) -> Any:
    """The body for vectors of `lanes` numbers, VECTORS of which are a line."""
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
