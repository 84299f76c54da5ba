"""The text of rows of K at an address: for solvers that are machine code themselves.

A program of statistics by loops alone is written as `numba_source` writes tiles, but with rows of X
and Z as one array each: the row values, and then the columns of all sources. What calls it is
described in `mercer.gram.cpu.row_function`.
"""

from __future__ import annotations

from mercer.gram.byte_rows import BEFORE
from mercer.gram.cpu.numba_header import header
from mercer.gram.cpu.numba_source import Writer
from mercer.gram.form import Program
from mercer.gram.rows import BLOCK, TOGETHER

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
