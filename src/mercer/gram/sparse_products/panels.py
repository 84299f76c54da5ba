"""X Zᵀ of sparse rows that have many columns in common.

A few rows of Z at a time lie in a dense panel, column by column; every number of X multiplies a
line of it, and the sums stay in registers. A number takes 0.1 ns per row of Z, whether that row has
its column or not: rows that share more than a seventh of their columns take longer scattered.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from mercer._machine.jit import njit
from mercer.gram.cpu.compiled import whole_rows
from mercer.gram.cpu.vectors import INDEX, Vectors, data_of
from mercer.gram.plan.products import PANEL_BYTES
from mercer.gram.sparse_products.scattered import unsigned

#: Vectors of 64 bytes in a line of the panel.
VECTORS = PANEL_BYTES // 64


def multiply(x: Any, rows: slice, z: Any, columns: slice, out: Any) -> None:
    """out ← x[rows] z[columns]ᵀ for CSR matrices."""
    lines = PANEL_BYTES // out.itemsize
    panel, sums = np.zeros(x.shape[1] * lines, dtype=out.dtype), np.empty(lines, dtype=out.dtype)
    left, right = (
        (unsigned(m.indptr[part.start : part.stop + 1]), unsigned(m.indices), m.data)
        for m, part in ((x, rows), (z, columns))
    )
    _multiply(left, right, panel, sums, whole_rows(out))


def _line_sums(
    typing_context: Any, numbers: Any, places: Any, start: Any, count: Any, panel: Any,
    out: Any, at: Any,
) -> Any:  # fmt: skip
    """out[at …] ← Σ numbers[t] · line places[t] of the panel, for `count` ≥ 1 of t from `start`."""
    lanes = 512 // panel.dtype.bitwidth
    parts = range(0, lanes * VECTORS, lanes)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds, given = signature.args, arguments
        lines, result = data_of(context, builder, kinds[4:6], given[4:6])
        values, columns = (
            builder.gep(data, [given[2]])
            for data in data_of(context, builder, kinds[:2], given[:2])
        )
        v = Vectors(builder, lanes)

        def body(t: Any, *totals: Any) -> list[Any]:
            column = builder.load(builder.gep(columns, [t]))
            column = column if column.type == INDEX else builder.zext(column, INDEX)
            line = builder.mul(column, INDEX(lanes * VECTORS))
            number = v.everywhere(builder.load(builder.gep(values, [t])))
            products = (v.times(number, v.load(lines, builder.add(line, INDEX(p)))) for p in parts)
            return [v.add(total, term) for total, term in zip(totals, products, strict=True)]

        zero = v.filled(lines.type.pointee, 0.0)
        found = v.loop(given[3], 1, [zero] * VECTORS, body)
        for part, total in zip(parts, found, strict=True):
            v.store(total, result, builder.add(given[6], INDEX(part)))
        return context.get_dummy_value()

    i8 = types.int64
    return types.void(numbers, places, i8, i8, panel, out, i8), generate


#: As compiled functions see it: without the context of the compiler.
line_sums: Any = intrinsic(_line_sums)


@njit(nogil=True)
def _multiply(x: Any, z: Any, panel: Any, sums: Any, out: Any) -> None:
    starts, places, values = x
    begins, columns, numbers = z
    size, m = len(sums), len(begins) - 1
    for first in range(0, m, size):
        count = min(size, m - first)
        for r in range(count):
            for at in range(begins[first + r], begins[first + r + 1]):
                panel[np.int64(columns[at]) * size + r] += numbers[at]
        for i in range(len(starts) - 1):
            start, length = np.int64(starts[i]), np.int64(starts[i + 1]) - np.int64(starts[i])
            if length == 0:
                out[i, first : first + count] = 0
            elif count == size:
                line_sums(values, places, start, length, panel, out, i * out.shape[1] + first)
            else:
                line_sums(values, places, start, length, panel, sums, 0)
                for t in range(count):
                    out[i, first + t] = sums[t]
        for r in range(count):
            for at in range(begins[first + r], begins[first + r + 1]):
                panel[np.int64(columns[at]) * size + r] = 0
