"""Sums over the columns of a panel, in registers: x·z, ‖x − z‖² and ‖x − z‖₁ of one x or several.

Rows z lie in panels of BLOCK, column by column (`mercer.gram.rows`). A row of K reads all
of them once, and memory is slower than the sums: `TOGETHER` rows take little longer than one. Every
sum stays in a register from the first column to the last.

Rows on a grid have words of four bytes as columns ("bytes"): a quarter of the memory, and of the
instructions where the processor multiplies bytes (`mercer.gram.cpu.byte_loops`).
"""

from __future__ import annotations

from typing import Any

from mercer._machine.lanes import lanes_of, processor, tile_sums
from mercer.gram.rows import BLOCK, TOGETHER


def _register() -> int:
    """Bytes of a register of this processor, as far as it matters."""
    return 64 if processor().get("avx512f") else 32


def width(rows: int, size: int) -> int:
    """The number of z that fit the registers beside `rows` of x; a number takes `size` bytes."""
    vectors = 4 * TOGETHER if _register() == 64 else 2 * TOGETHER
    return min(BLOCK, vectors // rows * _register() // size)


def panel_sums(op: str, rows: int, size: int) -> Any:
    """`mercer._machine.lanes.tile_sums` of `rows` of x, and of `width(rows, size)` of z."""
    lanes = lanes_of(_register() // size)
    return tile_sums(op, lanes, rows, width(rows, size) // lanes, BLOCK, even=False)
