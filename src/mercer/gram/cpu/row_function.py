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
from mercer.gram.byte_rows import BEFORE
from mercer.gram.cpu.compiled import can_compile, constants, load_generated
from mercer.gram.cpu.numba_header import header
from mercer.gram.cpu.numba_source import Writer
from mercer.gram.form import Program, compile_program
from mercer.gram.row_values import row_value
from mercer.gram.rows import BLOCK, TOGETHER

if TYPE_CHECKING:
    from mercer.gram.host import HostGram


# --- The text of rows of K at an address: for solvers that are machine code themselves ------------
# A program of statistics by loops alone is written as `numba_source` writes tiles, but with rows
# of X and Z as one array each: the row values, and then the columns of all sources. What calls it
# is described in `mercer.gram.cpu.row_function`.


#: Statistics that `mercer.gram.cpu.panel_sums` adds up, for several rows at a time.
SUMS = ("sqdist", "dot", "l1")
ROW_HEADER = f"""
from numba import types
from mercer._machine.numba_cache import callback
from mercer.gram.cpu.panel_sums import panel_sums, width

P, N = types.CPointer(numba.from_dtype(np.dtype(R))), types.CPointer(types.intp)
SIZE = np.dtype(R).itemsize
ALONE, EACH = width(1, SIZE), width({TOGETHER}, SIZE)
"""


def render_row(
    program: Program, dtype: str, widths: list[int], form: str = "panel"
) -> tuple[str, list[float]]:
    """The text of a module whose `rows` are rows of K at an address, and the numbers it takes.

    `form`: what rows hold: their numbers ("panel"), or a sum and a scale, and words of four bytes
    ("byte", `mercer.gram.byte_rows`).
    """
    writer = RowWriter(program, widths)
    writer.form = form
    text = writer.function("row")
    sums = [
        f"{op}_{rows} = panel_sums({(op if form == 'panel' else 'bytes')!r}, {rows}, SIZE)\n"
        for op in sorted({program.sources[i].node.op for i in writer.summed})
        for rows in (1, TOGETHER)
    ]
    return f"{header(dtype)}{ROW_HEADER}{''.join(sums)}\n{text}", writer.numbers


def rows_together(program: Program, widths: list[int]) -> int:
    """How many rows are made at a time at no more than twice the cost of one."""
    return TOGETHER if RowWriter(program, widths).summed else 1


class RowWriter(Writer):
    """Reads x and Z from flat arrays, and stores a few rows."""

    rows, chunk, form = TOGETHER, BLOCK, "panel"

    @property
    def summed(self) -> list[int]:
        """Sources of many columns that are added up for all rows at once."""
        return [i for i in self._looped() if self.program.sources[i].node.op in SUMS]

    def _x(self, i: int, column: str) -> str:
        return f"x[p{i} + {column}]"

    def _z(self, i: int, column: str) -> str:
        """The index at which the column begins."""
        return f"(first + r{i} + {column}) * {BLOCK}"

    def _at(self, name: str) -> str:
        return f"z[{name} + t]"

    def _columns(self, i: int) -> str:
        return f"w{i}"

    def _value_x(self, i: int) -> str:
        return f"x[own + {i}]"

    def _values_z(self, i: int) -> str:
        return f"(first + {i}) * {BLOCK}"

    def _add_up(self, i: int) -> list[str]:
        """The sums of all rows over one panel."""
        op, before = self.program.sources[i].node.op, 0 if self.form == "panel" else BEFORE
        place = f"z, (first + r{i} + {before}) * {BLOCK} + e, w{i} - {before}, b{i}"
        each = ", ".join(f"chosen[{1 + r}] + o{i} + {before}" for r in range(TOGETHER))
        return [
            f"if count == {TOGETHER}:",
            "    for e in range(0, w, EACH):",
            f"        {op}_{TOGETHER}(x, ({each}), {place}, e)",
            "else:",
            "    for r in range(count):",
            "        for e in range(0, w, ALONE):",
            f"            {op}_1(x, (chosen[1 + r] + o{i} + {before},), {place}, r * {BLOCK} + e)",
            *self._finished(i, op),
        ]

    def _finished(self, i: int, op: str) -> list[str]:
        """Lines that make numbers of whole sums of bytes."""
        if self.form == "panel":
            return []
        return [
            "for r in range(count):",
            f"    a{i}, at_x, at_z = b{i}[r], chosen[1 + r] + o{i}, (first + r{i}) * {BLOCK}",
            "    mine, scale = bits_of_float(x[at_x]), x[at_x + 1]",
            "    for t in range(w):",
            "        rest = I(mine + bits_of_float(z[at_z + t]))",
            f"        whole = I({-2 if op == 'sqdist' else 1} * bits_of_float(a{i}[t]))",
            f"        a{i}[t] = scale * R(I(whole + rest))",
        ]

    def _assemble(self, kind: str, loops: list[str], inner: list[str], result: str) -> str:
        """`shape`: the columns of Z (a multiple of BLOCK), its rows, and the width of each source.

        `chosen`: how many rows, at most TOGETHER, where each begins in x, and where in `out`.
        """
        on_x, on_z = len(self.program.row_x), len(self.program.row_z)
        text = [
            "@callback(types.void(P, P, P, N, P, N), error_model='numpy', fastmath=FLAGS)",
            "def rows(c, x, z, shape, out, chosen):",
            "    n, count = shape[0], chosen[0]",
            *(f"    w{i} = shape[{2 + s}]" for s, i in enumerate(self.direct)),
        ]
        for before, i in enumerate(self.direct):
            others = "".join(f" + w{j}" for j in self.direct[:before])
            text += [f"    o{i}, r{i} = {on_x}{others}, {on_z}{others}"]
        text += [
            *self._before(kind),
            f"    for b in range(n // {BLOCK}):",
            f"        at, first = b * {BLOCK}, b * shape[1]",
            f"        w = {BLOCK}",
            *("        " + line for i in self.summed for line in self._add_up(i)),
            "        for r in range(count):",
            f"            own, to = chosen[1 + r], chosen[{1 + TOGETHER} + r] + at",
            *(f"            p{i} = own + o{i}" for i in self.direct),
            *("            " + line for line in self._row_begins()),
            *("            " + line for line in [*self._views(kind), *loops]),
            "            for t in range(w):",
            *("                " + line for line in inner),
            f"                out[to + t] = {result}",
        ]
        return "\n".join(text) + "\n"


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
