"""A few rows of K as a function at an address: for solvers that are machine code themselves.

A quadratic solver asks for a row here and there, among the columns that still matter. Calling back
into Python for each of them would take longer than the row. So the formula is compiled to

    rows(numbers, left, Z, shape, out, chosen):    out[r, j] = k(x_r, z_j)

where each x is a row of `left` (its row values, then the columns of every source) and Z are rows of
`right` in panels of BLOCK (`mercer.gram.rows`), which the solver packs as it likes. All
statistics are loops over the columns, x·z too: with few columns that is as fast as a matrix product
and needs no more than one row. With many, memory sets the pace, and `together` rows take little
longer than one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import mercer.tuning as tuning
from mercer._arrays import is_sparse
from mercer._lazy import record
from mercer.formula.nodes import Formula, statistics
from mercer.gram.accuracy import Method, movable
from mercer.gram.cpu.compiled import can_compile, constants, load_generated
from mercer.gram.cpu.numba_row import render_row, rows_together
from mercer.gram.form import Program, compile_program
from mercer.gram.row_values import row_value

if TYPE_CHECKING:
    from mercer.gram.host import HostGram


@record
class RowFunction:
    """The function at `address`, the `numbers` it takes, and the examples as x and as z."""

    address: int
    numbers: np.ndarray
    left: np.ndarray
    right: np.ndarray
    widths: tuple[int, ...]
    together: int
    module: Any  # owns the machine code


def loop_program(gram: HostGram) -> Program | None:
    """The program of loops alone; None where k has no such form."""
    program = _looped(gram.formula)
    if program is None:
        return None
    matrices = [gram.operands()[0].matrices[s.rows] for s in program.sources]
    # Rows that are wider than K are for formulas that need the digits.
    return program if all(m.dtype == gram.dtype for m in matrices) else None


def columns(gram: HostGram, program: Program) -> int:
    """Columns of all sources together: what an entry of K costs. Four of a byte count as one."""
    side = gram.operands()[0]
    return sum(
        -(-side.matrices[s.rows].shape[1] // (4 if s.rows in side.grids else 1))
        for s in program.sources
    )


@lru_cache(maxsize=512)
def _looped(formula: Formula) -> Program | None:
    loop = Method("loop")
    inputs = {n.value: loop for n in statistics(formula) if n.op in ("sqdist", "dot")}
    program = compile_program(formula, inputs)
    return program if program.sources and program.fused and can_compile(program) else None


def row_function(
    gram: HostGram, program: Program, single: bool, centered: bool = False
) -> RowFunction:
    """The function of rows of K, by columns.

    `single`: in float32, whatever the rows are (see `mercer.gram.accuracy`);
    `centered`: without the mean, where only differences are read, because that keeps more digits.
    """
    dtype = np.dtype(np.float32) if single else gram.dtype
    free = movable(program.formula) if centered else set()
    matrices = gram.operands()[0].matrices
    blocks = [_dense(matrices[s.rows], dtype, s.rows in free) for s in program.sources]
    return _of_blocks(gram, program, blocks, blocks, "panel")


def byte_function(gram: HostGram, program: Program) -> RowFunction | None:
    """The function in float32, by sums of bytes; None where rows are off a grid, or too narrow."""
    grids, blocks = gram.operands()[0].grids, []
    for source in program.sources:
        if source.node.op not in ("sqdist", "dot") or source.rows not in grids:
            return None
        words = grids[source.rows].words(source.node.op)
        if words is None or words[0].shape[1] < tuning.BYTE_WORDS:
            return None
        blocks.append(words)
    left, right = ([side[i] for side in blocks] for i in (0, 1))
    return _of_blocks(gram, program, left, right, "byte")


def _of_blocks(
    gram: HostGram,
    program: Program,
    left: list[np.ndarray],
    right: list[np.ndarray],
    form: str,
) -> RowFunction:
    """The columns of every source as x and as z have them."""
    x, z = gram.operands()
    dtype, widths = left[0].dtype, tuple(b.shape[1] for b in left)
    rows_x, rows_z = (
        _beside([row_value(f, side, "X") for f in formulas], blocks, dtype)
        for side, formulas, blocks in ((x, program.row_x, left), (z, program.row_z, right))
    )
    module, numbers, together = _compiled(program, dtype.name, widths, form)
    return RowFunction(module.rows.address, numbers, rows_x, rows_z, widths, together, module)


@lru_cache(maxsize=512)
def _compiled(
    program: Program, dtype: str, widths: tuple[int, ...], form: str
) -> tuple[Any, np.ndarray, int]:
    """The compiled module, the numbers it takes, and how many rows it makes together."""
    source, numbers = render_row(program, dtype, list(widths), form)
    together = rows_together(program, list(widths))
    return load_generated(source), constants(numbers, dtype), together


def _beside(values: list[np.ndarray], blocks: list[np.ndarray], dtype: np.dtype) -> np.ndarray:
    """Row values, then the columns of every source."""
    if not values and len(blocks) == 1:
        return np.ascontiguousarray(blocks[0], dtype=dtype)
    # Words of bytes have no other type in between: it could change their bits.
    return np.column_stack([*(v.astype(dtype) for v in values), *blocks])


def _dense(matrix: Any, dtype: np.dtype, centered: bool) -> np.ndarray:
    """Sparse rows as they are: most of their numbers are 0, which no center makes smaller."""
    if is_sparse(matrix):
        return np.asarray(matrix.astype(dtype).toarray())
    if not centered:
        return np.asarray(matrix.astype(dtype, copy=False))
    out = np.empty(matrix.shape, dtype)
    return np.subtract(matrix, matrix.mean(axis=0), out=out, casting="same_kind")
