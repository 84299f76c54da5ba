"""The rows of a problem side by side, in panels of BLOCK, column by column: what a row of K reads.

Each number of the rows is moved once, and with few steps that is a good part of a problem. So
squares of `LANES` × `LANES` numbers are transposed in registers, in three rounds of exchanges:

    round s:   columns c + s of row r are exchanged with columns c of row r + s

which took 0.2 to 0.5 ns per number in float32, where a loop over single numbers took 1 to 2.4.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mercer._machine.jit import njit
from mercer.gram.cpu.vectors import INDEX, Vectors, data_of
from mercer.gram.rows.prepared import BLOCK

#: Rows and columns of a square, a power of two; BLOCK is a multiple of it.
LANES = 8


def _transpose(
    typing_context: Any, right: Any, rows: Any, first: Any, column: Any, width: Any, Z: Any, at: Any
) -> Any:
    """Z[at + c BLOCK + r] = right[rows[first + r], column + c] for all r, c < LANES."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds, (right, rows, first, column, width, Z, at) = signature.args, arguments
        arrays = data_of(context, builder, [kinds[0], kinds[1], kinds[5]], [right, rows, Z])
        v, (numbers, index, out) = Vectors(builder, LANES), arrays
        square = []
        for r in range(LANES):
            row = builder.load(builder.gep(index, [builder.add(first, INDEX(r))]))
            square.append(v.load(numbers, builder.add(builder.mul(row, width), column)))
        step = 1
        while step < LANES:
            for r in range(LANES):
                if not r & step:
                    pair = square[r], square[r + step]
                    square[r], square[r + step] = _exchanged(builder, *pair, step)
            step *= 2
        for c, found in enumerate(square):
            v.store(found, out, builder.add(at, INDEX(c * BLOCK)))
        return context.get_dummy_value()

    whole = types.int64
    return types.void(right, rows, whole, whole, whole, Z, whole), generate


def _exchanged(builder: Any, a: Any, b: Any, step: int) -> tuple[Any, Any]:
    """a with every second stretch of `step` columns from b, and b with those of a."""
    kind = ir.VectorType(ir.IntType(32), LANES)
    low = [LANES + c - step if c & step else c for c in range(LANES)]
    high = [LANES + c if c & step else c + step for c in range(LANES)]
    first, second = (builder.shuffle_vector(a, b, ir.Constant(kind, m)) for m in (low, high))
    return first, second


#: As compiled functions see it: without the context of the compiler.
transpose: Any = intrinsic(_transpose)


@njit(part=True, error_model="numpy", _nrt=False)
def lay_out(right, rows, Z, stride):  # type: ignore[no-untyped-def]
    """These rows of `right` in panels of Z, padded with the first one to `stride` of them."""
    n, width = len(rows), right.shape[1]
    for first in range(0, stride, LANES):
        at = first // BLOCK * BLOCK * width + first % BLOCK
        done = 0
        while first + LANES <= n and done + LANES <= width:
            transpose(right, rows, first, done, width, Z, at + done * BLOCK)
            done += LANES
        for r in range(LANES):
            row = rows[first + r if first + r < n else 0]
            for d in range(done, width):
                Z[at + d * BLOCK + r] = right[row, d]
