"""The text of one row of K at an address: for solvers that are machine code themselves.

A program of statistics by loops alone is written as `numba_source` writes tiles, but with a row of
X as one vector and Z as one array: the row values, and then the columns of all sources. What calls
it is described in `mercer.gram.cpu.row_function`.
"""

from __future__ import annotations

from mercer.gram.cpu.numba_header import header
from mercer.gram.cpu.numba_source import Writer
from mercer.gram.plan.program import Program
from mercer.gram.rows.prepared import CHUNK

ROW_HEADER = """
from numba import types
from mercer._machine.kept_code import callback

P = types.CPointer(numba.from_dtype(np.dtype(R)))
"""


def render_row(program: Program, dtype: str, widths: list[int]) -> tuple[str, list[float]]:
    """The text of a module whose `row` is one row of K at an address, and the numbers it takes."""
    writer = RowWriter(program, widths)
    text = writer.function("row")
    return f"{header(dtype)}{ROW_HEADER}\n{text}", writer.numbers


class RowWriter(Writer):
    """Reads x and Z from flat arrays, and stores one row."""

    def _x(self, i: int, column: str) -> str:
        return f"x[p{i} + {column}]"

    def _z(self, i: int, column: str) -> str:
        """Where the column begins."""
        return f"(first + r{i} + {column}) * {CHUNK}"

    def _at(self, name: str) -> str:
        return f"z[{name} + t]"

    def _columns(self, i: int) -> str:
        return f"w{i}"

    def _value_x(self, i: int) -> str:
        return f"x[{i}]"

    def _values_z(self, i: int) -> str:
        return f"(first + {i}) * {CHUNK}"

    def _assemble(self, kind: str, loops: list[str], inner: list[str], result: str) -> str:
        """`shape` has the columns of Z as they are padded, its rows, and the width per source."""
        on_x, on_z = len(self.program.row_x), len(self.program.row_z)
        text = [
            "@callback(types.void(P, P, P, types.CPointer(types.intp), P),",
            "          error_model='numpy', fastmath=FLAGS)",
            "def row(c, x, z, shape, out):",
            "    n = shape[0]",
            *(f"    w{i} = shape[{2 + s}]" for s, i in enumerate(self.direct)),
        ]
        for before, i in enumerate(self.direct):
            others = "".join(f" + w{j}" for j in self.direct[:before])
            text += [f"    p{i}, r{i} = {on_x}{others}, {on_z}{others}"]
        text += [
            *self._before(kind),
            *(line[4:] for line in self._row_begins(kind)),
            f"    for b in range((n + {CHUNK - 1}) // {CHUNK}):",
            f"        at, first = b * {CHUNK}, b * shape[1]",
            f"        w = min({CHUNK}, n - at)",
            *("        " + line for line in [*self._views(kind), *loops]),
            "        for t in range(w):",
            *("            " + line for line in inner),
            f"            out[at + t] = {result}",
        ]
        return "\n".join(text) + "\n"
