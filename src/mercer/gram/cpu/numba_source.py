"""The text of a compiled loop: a program becomes one Python function for Numba.

Shape of the generated function, for each group of rows and each chunk of columns:

    statistics by differences   a loop over features into a small buffer in the first-level cache;
                                a few features of the chunk are read for all rows of the group
    epilogue                    one pass over the chunk per row, vectorized by the compiler
    result                      stored in the tile ("fill"), or multiplied with V ("multiply")

Numbers are passed at run time, so that one text serves every σ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.formula.nodes import Formula, set_size
from mercer.formula.ops import Sign, form_of
from mercer.formula.profile import DISTANCES, sign_of
from mercer.gram.cpu.numba_header import header
from mercer.gram.form import Program
from mercer.gram.rows import CHUNK, TOGETHER

#: Up to this many features the loop over them is written out.
UNROLL = 8
#: Features taken at a time beyond that.
STRIDE = 4


def render(program: Program, dtype: str, widths: list[int]) -> tuple[str, list[float]]:
    """The module's text, and the numbers it takes; `widths`: features of each direct source."""
    writer = Writer(program, widths)
    fill = writer.function("fill")
    parts = [header(dtype), fill]
    if program.fused:
        parts.append(writer.function("multiply"))
    return "\n".join(parts), writer.numbers


class Writer:
    """Collects the statements of one function; each node is computed once."""

    #: The size of the buffer of sums: rows of a group, columns of a chunk.
    rows, chunk = TOGETHER, CHUNK

    def __init__(self, program: Program, widths: list[int]) -> None:
        self.program = program
        self.numbers: list[float] = []
        self.direct: list[int] = [i for i, s in enumerate(program.sources) if s.kind == "direct"]
        self.tiles: list[int] = [i for i, s in enumerate(program.sources) if s.kind != "direct"]
        self.widths: dict[int, int] = dict(zip(self.direct, widths, strict=True))

    def number(self, value: float) -> str:
        if value in (0.0, 1.0, 0.5):
            return {0.0: "ZERO", 1.0: "ONE", 0.5: "HALF"}[value]
        if value not in self.numbers:
            self.numbers.append(value)
        return f"c{self.numbers.index(value)}"

    def function(self, kind: str) -> str:
        """`kind` "fill" stores k in a tile; "multiply" adds k V to the result."""
        loops = [line for i in self._looped() for line in self._accumulate(i)]
        inner = [line for i in self._written_out() for line in self._unrolled(i)]
        names: dict[int, str] = {}
        result = self._expression(self.program.epilogue, names, inner)
        return self._assemble(kind, loops, inner, result)

    def _x(self, i: int, column: str) -> str:
        """A column of the row x of a source."""
        return f"X{i}[i, {column}]"

    def _z(self, i: int, column: str) -> str:
        """A column of the rows z of this chunk."""
        return f"Z{i}[b, {column}, o : o + w]"

    def _at(self, name: str) -> str:
        """Entry t of such a column."""
        return f"{name}[t]"

    def _columns(self, i: int) -> str:
        return f"X{i}.shape[1]"

    def _value_x(self, i: int) -> str:
        """A value of the row x."""
        return f"rx{i}[i]"

    def _values_z(self, i: int) -> str:
        """A value of the rows z of this chunk."""
        return f"rz{i}[s : s + w]"

    def _assemble(self, kind: str, loops: list[str], inner: list[str], result: str) -> str:
        sums = [line for i in self.summed for line in self._add_up(i)]  # first: they name numbers
        row = [*self._row_begins(), *self._views(kind), *loops]
        store = "row" if kind == "fill" else "k"
        text = [
            "@njit(nogil=True, error_model='numpy', fastmath=FLAGS)",
            f"def {kind}({', '.join(self._arguments(kind))}):",
            *self._before(kind),
            f"    for i0 in range(0, out.shape[0], {TOGETHER}):",
            "        left = out.shape[0] - i0",
            f"        rows = left if left < {TOGETHER} else {TOGETHER}",
            *(["        total[:] = 0.0"] if kind == "multiply" else []),
            f"        for b in range(j0 // {CHUNK}, (j1 + {CHUNK - 1}) // {CHUNK}):",
            f"            first, last = b * {CHUNK}, (b + 1) * {CHUNK}",
            "            lo = j0 if j0 > first else first",
            "            w = (j1 if j1 < last else last) - lo",
            "            o = lo - first",
            "            s = lo - j0",
            *("            " + line for line in sums),
            "            for r in range(rows):",
            "                i = i0 + r",
            *("                " + line for line in row),
            "                for t in range(w):",
            *("                    " + line for line in [*inner, f"{store}[t] = {result}"]),
            *(MULTIPLIED if kind == "multiply" else []),
        ]
        return "\n".join(text) + "\n"

    def _arguments(self, kind: str) -> list[str]:
        return [
            "c",
            *(f"T{i}" for i in self.tiles[1:]),
            *(name for i in self.direct for name in (f"X{i}", f"Z{i}")),
            *(f"rx{i}" for i in range(len(self.program.row_x))),
            *(f"rz{i}" for i in range(len(self.program.row_z))),
            "j0",
            "j1",
            *(["out"] if kind == "fill" else ["V", "out"]),
        ]

    def _before(self, kind: str) -> list[str]:
        """Numbers and buffers, once per call."""
        lines = [f"    c{i} = c[{i}]" for i in range(len(self.numbers))]
        lines += ["    " + self._buffer(i) for i in self._looped()]
        sets = {i: self._set_size(i) for i in self._looped()}
        lines += [
            f"    e{i} = np.empty(({size + 1}, {CHUNK}), R)"
            for i, size in sets.items()
            if 0 < size <= self.widths[i]
        ]
        if kind == "multiply":
            lines.append(f"    k = np.empty((1, {CHUNK}), R)[0]")
            lines.append(f"    total = np.empty(({TOGETHER}, V.shape[0]), np.float64)")
        return lines

    def _buffer(self, i: int) -> str:
        """The sums of one chunk, of all rows or of one."""
        if i in self.summed:
            return f"b{i} = np.empty(({self.rows}, {self.chunk}), R)"
        return f"a{i} = np.empty({CHUNK}, R)"

    def _row_begins(self) -> list[str]:
        """Lines that read what belongs to row i alone."""
        lines = [f"x{i} = {self._value_x(i)}" for i in range(len(self.program.row_x))]
        for i in self._written_out():
            lines += [f"q{i}_{d} = {self._x(i, str(d))}" for d in range(self.widths[i])]
        return lines

    @property
    def summed(self) -> list[int]:
        """Sources of many features that are added up for all rows of a group at once."""
        return [i for i in self._looped() if not self._set_size(i)]

    def _looped(self) -> list[int]:
        """Sources of differences with many features, over which the text has a loop."""
        return [i for i in self.direct if self.widths[i] > UNROLL]

    def _written_out(self) -> list[int]:
        """Sources of differences with few features, which are written one after the other."""
        return [i for i in self.direct if self.widths[i] <= UNROLL]

    def _views(self, kind: str) -> list[str]:
        """Slices that start at the chunk: an index that cannot be negative lets loops vectorize."""
        lines = ["row = out[i, s : s + w]"] if kind == "fill" else []
        lines += [f"t{i} = T{i}[i, s : s + w]" for i in self.tiles[1:]]
        lines += [f"v{i} = {self._values_z(i)}" for i in range(len(self.program.row_z))]
        for i in self._written_out():
            lines += [f"z{i}_{d} = {self._z(i, str(d))}" for d in range(self.widths[i])]
        return lines

    # --- statistics by differences -----------------------------------------------------------

    def _accumulate(self, i: int) -> list[str]:
        """The sums of one row."""
        if i in self.summed:
            return [f"a{i} = b{i}[r]"]
        return self._accumulate_sets(i) if self._set_size(i) else self._sums(i, list)

    def _add_up(self, i: int) -> list[str]:
        """The sums of all rows of a group."""

        def for_all(lines: list[str]) -> list[str]:
            begin = ["for r in range(rows):", "    i = i0 + r", f"    a{i} = b{i}[r]"]
            return [*begin, *("    " + line for line in lines)]

        return self._sums(i, for_all)

    def _sums(self, i: int, of_rows: Callable[[list[str]], list[str]]) -> list[str]:
        """A loop over features into a{i}: several at a time, so that a{i} is touched less often.

        `of_rows` turns the lines for one row, with its sums in a{i}, into the lines for all rows.
        """
        how, start, finish = self._how(i)
        columns = self._columns(i)
        lines = of_rows([f"for t in range(w): a{i}[t] = {start}"])
        lines.append(f"e = {columns} // {STRIDE} * {STRIDE}")
        for step, span in ((STRIDE, f"0, e, {STRIDE}"), (1, f"e, {columns}")):
            lines.append(f"for d in range({span}):")
            lines += [f"    zr{j} = {self._z(i, f'd + {j}')}" for j in range(step)]
            row = [f"xd{j} = {self._x(i, f'd + {j}')}" for j in range(step)]
            row += ["for t in range(w):", f"    s{i} = a{i}[t]"]
            for j in range(step):
                body: list[str] = [f"zd = {self._at(f'zr{j}')}"]
                term = self._term(i, f"xd{j}", "zd", body)
                body.append(f"s{i} = {how(f's{i}', term)}")
                row += ["    " + line for line in body]
            row.append(f"    a{i}[t] = s{i}")
            lines += ["    " + line for line in of_rows(row)]
        if finish:
            lines += of_rows([f"for t in range(w): a{i}[t] {finish}"])
        return lines

    def _accumulate_sets(self, i: int) -> list[str]:
        """e{i}[s, t] is the sum over all sets of s features so far; the largest grow first."""
        size, body = self._set_size(i), [f"zd = {self._at('zr')}"]
        if size > self.widths[i]:
            return [f"for t in range(w): a{i}[t] = ZERO"]
        term = self._term(i, "xd", "zd", body)
        return [
            f"e{i}[0, :w] = ONE",
            f"e{i}[1:, :w] = ZERO",
            f"for d in range({self._columns(i)}):",
            f"    xd = {self._x(i, 'd')}",
            f"    zr = {self._z(i, 'd')}",
            "    for t in range(w):",
            *("        " + line for line in body),
            f"        a{i}[t] = {term}",
            f"    for u in range(min({size}, d + 1), 0, -1):",
            f"        for t in range(w): e{i}[u, t] += a{i}[t] * e{i}[u - 1, t]",
            f"for t in range(w): a{i}[t] = e{i}[{size}, t]",
        ]

    def _unrolled_sets(self, i: int) -> list[str]:
        size, lines = self._set_size(i), []
        for d in range(self.widths[i]):
            lines.append(f"zd = {self._at(f'z{i}_{d}')}")
            lines.append(f"g = {self._term(i, f'q{i}_{d}', 'zd', lines)}")
            for s in range(min(size, d + 1), 0, -1):
                grown = "g" if s == 1 else f"g * e{i}_{s - 1}"
                lines.append(f"e{i}_{s} = {grown if s == d + 1 else f'e{i}_{s} + {grown}'}")
        return [*lines, f"s{i} = {f'e{i}_{size}' if size <= self.widths[i] else 'ZERO'}"]

    def _set_size(self, i: int) -> int:
        node = self.program.sources[i].node
        return set_size(node.value[0]) if node.op == "reduce" else 0

    def _unrolled(self, i: int) -> list[str]:
        if self._set_size(i):
            return self._unrolled_sets(i)
        how, _, finish = self._how(i)
        lines: list[str] = []
        for d in range(self.widths[i]):
            lines.append(f"zd = {self._at(f'z{i}_{d}')}")
            term = self._term(i, f"q{i}_{d}", "zd", lines)
            lines.append(f"s{i} = {how(f's{i}', term) if d else term}")
        if finish:
            lines.append(f"s{i} {finish}")
        return lines

    def _how(self, i: int) -> tuple[Callable[[str, str], str], str, str]:
        node = self.program.sources[i].node
        how = node.value[0] if node.op == "reduce" else ("max" if node.op == "linf" else "sum")
        if how == "prod":
            return (lambda a, b: f"{a} * ({b})"), "ONE", ""
        if how == "max":
            return NUMBA["max"], "-INF", ""
        finish = f"*= {self.number(1.0 / self.widths[i])}" if how == "mean" else ""
        return (lambda a, b: f"{a} + {b}"), "ZERO", finish

    def _term(self, i: int, x: str, z: str, lines: list[str]) -> str:
        node = self.program.sources[i].node
        if node.op == "reduce":
            names = {
                id(n): x if n.value == "x" else z for n in node.args[0].walk() if n.op == "coord"
            }
            return self._expression(node.args[0], names, lines)
        if node.op == "dot":
            return f"{x} * {z}"
        # Rows may be wider than K (see `Step.widens`); their difference need not be.
        lines.append(f"g = R({x} - {z})")
        return "g * g" if node.op == "sqdist" else "abs(g)"

    # --- the epilogue --------------------------------------------------------------------------

    def _expression(self, formula: Formula, names: dict[int, str], lines: list[str]) -> str:
        """Append the statements of `formula`; the name that holds its value."""
        for node in formula.walk(bodies=False):
            if id(node) in names:
                continue
            if node.op == "const":
                names[id(node)] = self.number(node.value)
            elif node.op == "tile":
                names[id(node)] = self._tile(node.value)
            elif node.op == "rowx":
                names[id(node)] = f"x{node.value}"
            elif node.op == "rowz":
                names[id(node)] = self._at(f"v{node.value}")
            else:
                name = f"u{len(names)}"
                arguments = [names[id(a)] for a in node.args]
                if node.op == "pow":
                    lines += power_statements(name, arguments[0], node.value, "ONE")
                elif node.op == "exp2" and (
                    sign_of(node.args[0], self._sign_of_leaf) & Sign.NEVER_POSITIVE
                ):
                    lines.append(f"{name} = exp2_down({arguments[0]})")
                else:
                    lines.append(f"{name} = {numba_form(node.op)(*arguments)}")
                names[id(node)] = name
        return names[id(formula)]

    def _sign_of_leaf(self, node: Formula) -> Sign:
        far = node.op == "tile" and self.program.sources[node.value].node.op in DISTANCES
        return Sign.NEVER_NEGATIVE if far else Sign.UNKNOWN

    def _tile(self, i: int) -> str:
        if i in self.widths:
            return f"s{i}" if i in self._written_out() else f"a{i}[t]"
        # The first matrix is made in place of the result.
        return "row[t]" if i == self.tiles[0] else f"t{i}[t]"


#: k of a row and a chunk, multiplied with V and added up.
MULTIPLIED = """\
                for v in range(V.shape[0]):
                    part = ZERO
                    weights = V[v, lo : lo + w]
                    for t in range(w):
                        part += k[t] * weights[t]
                    total[r, v] += part
        for r in range(rows):
            for v in range(V.shape[0]):
                out[i0 + r, v] += R(total[r, v])""".splitlines()


def power_statements(name: str, base: str, n: int, one: str) -> list[str]:
    """name = baseⁿ by squaring, written out."""
    lines = [f"{name}_b = {base}"]
    if n < 0:
        lines.append(f"{name}_b = {one} / {name}_b")
        n = -n
    started = False
    while n:
        if n & 1:
            lines.append(f"{name} = {name} * {name}_b" if started else f"{name} = {name}_b")
            started = True
        n >>= 1
        if n:
            lines.append(f"{name}_b = {name}_b * {name}_b")
    return lines


#: How each operation is written; what is not here has no vectorized form and stays in NumPy.
NUMBA: dict[str, Callable[..., str]] = {
    "add": lambda *a: " + ".join(a),
    "mul": lambda *a: " * ".join(a),
    "exp2": lambda u: f"exp2({u})",
    "log": lambda u: f"log({u})",
    "power": lambda u, v: (
        f"(ZERO if {u} == ZERO else exp2({v} * R(1.4426950408889634) * log({u})))"
    ),
    "sqrt": lambda u: f"np.sqrt({u})",
    "rsqrt": lambda u: f"(ZERO if {u} == ZERO else ONE / np.sqrt({u}))",
    "div": lambda u, v: f"(ZERO if {v} == ZERO else {u} / {v})",
    "abs": lambda u: f"abs({u})",
    "min": lambda u, v: f"({u} if {u} < {v} else {v})",
    "max": lambda u, v: f"({u} if {u} > {v} else {v})",
    "step": lambda u: f"(ONE if {u} >= ZERO else ZERO)",
    "sign": lambda u: f"(ONE if {u} > ZERO else (-ONE if {u} < ZERO else ZERO))",
    "eq": lambda u, v: f"(ONE if {u} == {v} else ZERO)",
}


def numba_form(op: str) -> Any:
    return form_of(op, "numba", NUMBA)


def renderable(program: Program) -> bool:
    """Whether every operation of the program has a vectorized form."""
    return program.written_in(numba_form)
