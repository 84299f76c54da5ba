"""The rows of a problem side by side, in panels of BLOCK, column by column: what a row of K reads.

Each number of the rows is moved once, and with few steps that is a good part of a problem. So
squares of `LANES` × `LANES` numbers are transposed in registers, which took 0.2 to 0.5 ns per
number in float32, where a loop over single numbers took 1 to 2.4.
"""

from __future__ import annotations

from mercer._machine.jit import inner
from mercer._machine.lanes import lanes_of, transpose_of
from mercer.gram.rows.prepared import BLOCK

#: Rows and columns of a square, a power of two; BLOCK is a multiple of it.
LANES = lanes_of(8)
transpose = transpose_of(LANES, BLOCK)


@inner(error_model="numpy")
def lay_out(right, rows, Z, stride):  # type: ignore[no-untyped-def]
    """These rows of `right` in panels of Z, padded with the first one to `stride` of them."""
    n, width = len(rows), right.shape[1]
    squares, columns = n // LANES * LANES, width // LANES * LANES
    for first in range(0, squares, LANES):
        at = first // BLOCK * BLOCK * width + first % BLOCK
        for d in range(0, columns, LANES):
            transpose(right, rows, first, d, width, Z, at + d * BLOCK)
    for t in range(stride):
        row, at = rows[t if t < n else 0], t // BLOCK * BLOCK * width + t % BLOCK
        for d in range(columns if t < squares else 0, width):
            Z[at + d * BLOCK] = right[row, d]
