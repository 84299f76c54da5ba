"""The text of a GPU kernel: a program becomes one Triton function.

A thread block owns a panel of rows and walks over tiles of columns. For each tile it makes the
statistics (matrix products on tensor cores, differences in registers), applies the epilogue in
registers, and adds the product with V to an accumulator: the tile never reaches memory.

A product runs on half-precision parts prepared once per row: x = h + l, each with eleven bits, so
that  x·z = h·h' + h·l' + l·h'  keeps 22. Narrow rows hold the three side by side ("packed"): one
product does all. With "fast" precision, and for rows that one part holds without loss
(`half_precision`), there is only h. Where the product's value only ever enters one sum with row
values, they are columns of the product, too (see `folding`).

Where a squared distance from the product has too few digits for near pairs only, those pairs count
as if they were farther away, and are written to a list: `near_pairs` mends them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mercer.engines.cuda.folding import Fold, folded
from mercer.formula.nodes import Formula, set_size
from mercer.formula.ops import form_of
from mercer.gram.cpu.numba_source import power_statements
from mercer.gram.form import Program


@dataclass(frozen=True)
class ProductLayout:
    """How one product source is stored: its padded width, one part or two, and the step over it."""

    width: int
    parts: int
    step: int
    scaled: bool
    #: Rows are split into two halves of their digits; otherwise one half holds them.
    split: bool = True
    fold: Fold | None = None
    #: Its row values are added to the product, because columns for them would not fit.
    apart: bool = False
    #: The source is a squared distance: the row values that hold ‖x‖² and ‖z‖², and the distance
    #: below which pairs are listed.
    norms: tuple[int, int] | None = None
    below: float = 0.0

    @property
    def far(self) -> float:
        """The distance at which near pairs count in a tile."""
        return 2 * self.below

    @property
    def kept(self) -> bool:
        """The rows' side fits in one step: it is loaded once and stays."""
        return self.width == self.step


#: How each operation is written.
TRITON: dict[str, Callable[..., str]] = {
    "add": lambda *a: "(" + " + ".join(a) + ")",
    "mul": lambda *a: "(" + " * ".join(a) + ")",
    "power": lambda u, v: f"tl.where({u} == 0.0, 0.0, tl.exp2({v} * tl.log2({u})))",
    **{op: f"tl.{op}({{}})".format for op in ("exp2", "log", "sqrt", "abs", "sin", "cos")},
    "rsqrt": lambda u: f"tl.where({u} == 0.0, 0.0, 1.0 / tl.sqrt({u}))",
    "div": lambda u, v: f"tl.where({v} == 0.0, 0.0, {u} / tl.where({v} == 0.0, 1.0, {v}))",
    "tanh": lambda u: f"(1.0 - 2.0 / (tl.exp2(2.8853900817779268 * {u}) + 1.0))",
    "min": lambda u, v: f"tl.minimum({u}, {v})",
    "max": lambda u, v: f"tl.maximum({u}, {v})",
    "step": lambda u: f"tl.where({u} >= 0.0, 1.0, 0.0)",
    "sign": lambda u: f"tl.where({u} > 0.0, 1.0, tl.where({u} < 0.0, -1.0, 0.0))",
    "eq": lambda u, v: f"tl.where({u} == {v}, 1.0, 0.0)",
}


#: The text of a function `exp2_unit`: the unit for exponentials does all the work, and gives zero
#: below the range of normal numbers. Triton has no words for which unit is meant, hence PTX; its
#: interpreter, which has no PTX, uses `tl.exp2`.
EXP2 = """
@triton.jit
def exp2_unit(t):
    return tl.inline_asm_elementwise(
        "{ ex2.approx.ftz.f32 $0, $1; }", "=&f,f", [t], dtype=tl.float32, is_pure=True, pack=1,
    )
"""
#: The text of a function that writes the pairs (r, q) that are near to a list.
LIST_NEAR = """
@triton.jit
def list_near(near, pairs, found, room, r, q, n, m):
    near = near & (r[:, None] < n) & (q[None, :] < m)
    one = near.to(tl.int64)
    at = tl.atomic_add(found + 0 * one, one, mask=near, sem="relaxed")
    pair = r[:, None].to(tl.int64) * m + q[None, :]
    tl.store(pairs + at, pair, mask=near & (at < room))
    return room

"""
#: Sums over sets of columns keep a tile in registers per size of a set.
LARGEST_SET = 8


def triton_form(op: str) -> Any:
    return form_of(op, "triton", TRITON)


@lru_cache(maxsize=256)
def renderable(program: Program) -> bool:
    """Whether every operation has a Triton form."""
    known = all(s.kind in ("product", "repaired", "direct") for s in program.sources)
    sets = [set_size(s.node.value[0]) for s in program.sources if s.node.op == "reduce"]
    return known and max(sets, default=0) <= LARGEST_SET and program.written_in(triton_form)


@dataclass(frozen=True)
class Rendered:
    """The text of a module, its numbers, and the row values that it reads."""

    text: str
    numbers: list[float]
    row_x: list[int]
    row_z: list[int]


@lru_cache(maxsize=256)
def render(
    program: Program,
    layouts: tuple[tuple[int, ProductLayout], ...],
    kind: str,
    ptx: bool = True,
    few: tuple[tuple[int, int], ...] = (),
) -> Rendered:
    """`layouts`: of every product; `kind`: "vector", "vectors", "symmetric" or "dense"; `ptx`:
    whether there is PTX; `few`: the columns of statistics that have so few of them that the panel's
    rows stay in registers."""
    folds = {i: layout.fold for i, layout in layouts if layout.fold is not None}
    writer = Writer(folded(program, folds), dict(layouts), dict(few))
    # Where all that is left for a pair is an exponential, the unit for it is the bottleneck.
    if ptx and (few or (folds and not writer.wide)):
        writer.exp2 = EXP2
    return Rendered(writer.module(kind), writer.numbers, writer.rows["x"], writer.rows["z"])


class Writer:
    """Writes statements that use a tile of products, and keeps the numbers they need."""

    def __init__(
        self,
        program: Program,
        layouts: dict[int, ProductLayout],
        few: dict[int, int] | None = None,
    ) -> None:
        self.program: Program = program
        self.layouts: dict[int, ProductLayout] = layouts
        self.few: dict[int, int] = few or {}
        # Over wide rows the tile fills the registers: sums are taken tile by tile, which costs
        # little there; over narrow ones they are kept apart until the end.
        self.wide: bool = not all(layout.kept for layout in layouts.values())
        self.exp2 = ""
        leaves = {(node.op, node.value) for node in program.epilogue.walk() if not node.args}
        for fold in (layout.fold for layout in layouts.values() if layout.apart):
            assert fold is not None
            named = zip(("rowx", "rowz"), fold.rows, strict=True)
            leaves |= {(op, i) for op, i in named if i is not None}
        self.repaired: list[int] = [i for i, layout in layouts.items() if layout.norms is not None]
        for i in self.repaired:
            leaves |= set(zip(("rowx", "rowz"), layouts[i].norms or (), strict=True))
        self.rows: dict[str, list[Any]] = {
            side: sorted(i for op, i in leaves if op == f"row{side}") for side in "xz"
        }
        self.numbers: list[float] = []
        self.lines: list[str] = []
        self.depth: int = 1
        self.kind: str = ""

    def emit(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def number(self, value: float) -> str:
        if value not in self.numbers:
            self.numbers.append(value)
        return f"c{self.numbers.index(value)}"

    def arguments(self, kind: str) -> list[str]:
        names: list[str] = []
        for i in range(len(self.program.sources)):
            if i in self.layouts:
                names += [f"xh{i}", f"zh{i}"]
                if self.layouts[i].parts == 2:
                    names += [f"xl{i}", f"zl{i}"]
                names += [f"scale{i}"] if self.layouts[i].scaled else []
            else:
                names += [f"x{i}", f"z{i}", f"width{i}"]
        names += [f"r{side}{i}" for side in "xz" for i in self.rows[side]]
        names += ["diagonal", *([] if kind == "dense" else ["v"]), "out", "n", "m", "height"]
        names += ["breadth", "length", *(["pairs", "found", "room"] if self.repaired else [])]
        return names

    def module(self, kind: str) -> str:
        body = self._body(kind)
        numbers = [f"c{i}" for i in range(len(self.numbers))]
        shape = ["SQUARE: tl.constexpr", "NV: tl.constexpr", "BM: tl.constexpr", "BN: tl.constexpr"]
        arguments = ", ".join([*self.arguments(kind), *numbers, *shape])
        head = ['"""Generated by mercer; do not edit."""', "import triton"]
        head += ["import triton.language as tl", "", ""]
        head += [self.exp2] if self.exp2 else []
        head += [LIST_NEAR] if self.repaired else []
        # Or each kind of number would be compiled anew; rows of K are stored faster if m is even.
        free = ["n"] if kind == "dense" else ["n", "m"]
        head += [f"@triton.jit(do_not_specialize={free})"]
        return "\n".join([*head, f"def kernel({arguments}):", *body]) + "\n"

    def add_rows(self, i: int, layout: ProductLayout) -> None:
        """Terms beside a product: norms, or those that columns of a folded product do not add."""
        fold = layout.fold
        if layout.norms is not None:
            x, z = layout.norms
            self.emit(f"t{i} = tl.maximum(vx{x} + vz{z} - 2.0 * t{i}, 0.0)")
        if fold is None:
            return
        if layout.apart:
            named = zip("xz", fold.rows, strict=True)
            values = " + ".join(f"v{side}{row}" for side, row in named if row is not None)
            once = "" if fold.multiple == 1.0 else f"{self.number(fold.multiple)} * "
            self.emit(f"t{i} = t{i} + {once}({values})")
        if fold.shift:
            self.emit(f"t{i} = t{i} + {self.number(fold.shift)}")

    def _body(self, kind: str) -> list[str]:
        self.kind = kind
        self.emit("panel = tl.program_id(0)")
        self.emit("first = tl.program_id(1) * length")
        self.emit("last = tl.minimum(first + length, m)")
        if kind == "symmetric":
            self.emit("if last <= panel * BM:")
            self.emit("    return")
            self.emit("first = tl.maximum(first, (panel * BM // BN) * BN)")
        self.emit("r = panel * BM + tl.arange(0, BM)")
        self.emit("# All rows are padded to whole tiles: only vectors and the result need a mask.")
        for i in self.rows["x"]:
            self.emit(f"vx{i} = tl.load(rx{i} + r)[:, None]")
        self._kept_rows()
        if kind == "symmetric":
            self.emit("own = tl.load(v + r, mask=r < n, other=0.0)")
        if kind == "vectors":
            self.emit("total = tl.zeros([BM, NV], tl.float32)")
            self.emit("e = tl.arange(0, NV)")
        elif kind != "dense":
            shape = "[BM]" if self.wide else "[BM, 8]" if kind == "symmetric" else "[BM, BN]"
            self.emit(f"total = tl.zeros({shape}, tl.float32)")
        if kind == "symmetric":
            self.emit("beyond = (((panel + 1) * BM + BN - 1) // BN) * BN")
            self.emit("middle = tl.maximum(first, tl.minimum(beyond, last))")
            self._loop("first", "middle", self._use_on_diagonal, True)
            self._loop("middle", "last", self._use_symmetric, False)
        else:
            self._loop("first", "last", getattr(self, f"_use_{kind}"), True)
        getattr(self, f"_finish_{kind}")()
        return self.lines

    def _loop(self, first: str, last: str, use: Callable[[], None], diagonal: bool) -> None:
        """Over tiles of columns; `diagonal`: the tile may hold pairs of a row with itself."""
        self.emit(f"for j in range({first}, {last}, BN):")
        self.depth += 1
        self._tile(diagonal)
        use()
        for i, layout in self.layouts.items():
            for part in "hl"[: layout.parts]:
                self.emit(f"z{part}{i} += BN * {layout.width}")
        self.depth -= 1

    def _kept_rows(self) -> None:
        """Starts of the rows of each product, and the rows themselves where they are kept."""
        for i, layout in self.layouts.items():
            parts = "hl"[: layout.parts]
            self.emit(f"k{i} = tl.arange(0, {layout.step})")
            self.emit(f"qo{i} = tl.arange(0, BN)[None, :] * {layout.width} + k{i}[:, None]")
            self.emit(f"ro{i} = tl.arange(0, BM)[:, None] * {layout.width} + k{i}[None, :]")
            for part in parts:
                self.emit(f"x{part}{i} += panel.to(tl.int64) * BM * {layout.width}")
                self.emit(f"z{part}{i} += first.to(tl.int64) * {layout.width}")
                if layout.kept:
                    self.emit(f"a{part}{i} = tl.load(x{part}{i} + ro{i})")
        for i, columns in self.few.items():
            for d in range(columns):
                self.emit(f"x{i}_{d} = tl.load(x{i} + {d} * height.to(tl.int64) + r)[:, None]")

    def _tile(self, diagonal: bool) -> None:
        self.emit("q = j + tl.arange(0, BN)")
        for i in self.rows["z"]:
            self.emit(f"vz{i} = tl.load(rz{i} + q)[None, :]")
        for i, source in enumerate(self.program.sources):
            if i in self.layouts:
                self._product(i, self.layouts[i])
            else:
                self._direct(i, source.node)
        if self.repaired:
            self.emit(f"if {self.near('tl.min(tl.min({}, 1), 0)')}:")
            self.emit(f"    near = {self.near()}")
            for i in self.repaired:
                self.emit(f"    t{i} = tl.where(near, {self.number(self.layouts[i].far)}, t{i})")
            if diagonal:  # pairs that count in another tile, or by `diagonal`, are left out
                sign = ">" if self.kind == "symmetric" else "!="
                self.emit("    if SQUARE:")
                self.emit(f"        near = near & (q[None, :] {sign} r[:, None])")
            self.emit("    list_near(near, pairs, found, room, r, q, n, m)")
        result = self.expression(self.program.epilogue, {})
        # Adding zeros costs an addition per pair: only where no pair is in it.
        pairs = any(node.op == "tile" for node in self.program.epilogue.walk())
        self.emit(f"k = {result}" + ("" if pairs else " + tl.zeros([BM, BN], tl.float32)"))
        if not diagonal:
            return
        self.emit("if SQUARE:")
        self.emit("    if (j < (panel + 1) * BM) & (j + BN > panel * BM):")
        self.emit("        own_k = tl.load(diagonal + r)[:, None]")
        self.emit("        k = tl.where(r[:, None] == q[None, :], own_k, k)")

    def near(self, of: str = "{}") -> str:
        """Whether some distance of a pair is to be computed again; `of`: what to look at."""
        least = {i: self.number(self.layouts[i].below) for i in self.repaired}
        return " | ".join(f"({of.format(f't{i}')} <= {least[i]})" for i in self.repaired)

    def _product(self, i: int, layout: ProductLayout) -> None:
        self.emit(f"t{i} = tl.zeros([BM, BN], tl.float32)")
        if layout.kept:
            self._dots(i, layout, "")
        else:
            self.emit(f"for d{i} in range(0, {layout.width}, {layout.step}):")
            self.depth += 1
            self.emit(f"ah{i} = tl.load(xh{i} + ro{i} + d{i})")
            if layout.parts == 2:
                self.emit(f"al{i} = tl.load(xl{i} + ro{i} + d{i})")
            self._dots(i, layout, f" + d{i}")
            self.depth -= 1
        if layout.scaled:
            self.emit(f"t{i} = t{i} * scale{i}")
        self.add_rows(i, layout)

    def _dots(self, i: int, layout: ProductLayout, offset: str) -> None:
        self.emit(f"bh{i} = tl.load(zh{i} + qo{i}{offset})")
        self.emit(f"t{i} = tl.dot(ah{i}, bh{i}, t{i})")
        if layout.parts == 2:
            self.emit(f"bl{i} = tl.load(zl{i} + qo{i}{offset})")
            self.emit(f"t{i} = tl.dot(ah{i}, bl{i}, t{i})")
            self.emit(f"t{i} = tl.dot(al{i}, bh{i}, t{i})")

    def _direct(self, i: int, node: Formula) -> None:
        how = node.value[0] if node.op == "reduce" else ("max" if node.op == "linf" else "sum")
        start = {"prod": "1.0", "max": "float('-inf')"}.get(how, "0.0")
        for name in [f"e{i}_{s + 1}" for s in range(set_size(how))] or [f"t{i}"]:
            self.emit(f"{name} = tl.full([BM, BN], {start}, tl.float32)")
        z = f"z{i} + {{}} * breadth.to(tl.int64) + q"
        if i in self.few:
            for d in range(self.few[i]):
                self._column(i, how, f"x{i}_{d}", f"tl.load({z.format(d)})[None, :]")
        else:
            self.emit(f"for d{i} in range(0, width{i}):")
            self.depth += 1
            self.emit(f"xd = tl.load(x{i} + d{i} * height.to(tl.int64) + r)[:, None]")
            self._column(i, how, "xd", f"tl.load({z.format(f'd{i}')})[None, :]")
            self.depth -= 1
        if set_size(how):
            self.emit(f"t{i} = e{i}_{set_size(how)}")
        if how == "mean":
            self.emit(f"t{i} = t{i} / width{i}")

    def _column(self, i: int, how: str, x: str, z: str) -> None:
        """The term of one column in a statistic."""
        node = self.program.sources[i].node
        self.emit(f"zd = {z}")
        if node.op == "reduce":
            coordinates = [n for n in node.args[0].walk() if n.op == "coord"]
            names = {id(n): x if n.value == "x" else "zd" for n in coordinates}
            term = self.expression(node.args[0], names)
        else:
            self.emit(f"g = {x} - zd")
            term = "g * g" if node.op == "sqdist" else "tl.abs(g)"
        if set_size(how):
            # The largest sets first: they grow by smaller ones that this column is not in yet.
            self.emit(f"g = {term}")
            for s in range(set_size(how), 1, -1):
                self.emit(f"e{i}_{s} = e{i}_{s} + g * e{i}_{s - 1}")
            self.emit(f"e{i}_1 = e{i}_1 + g")
        else:
            join = {"prod": f"t{i} * ({term})", "max": f"tl.maximum(t{i}, {term})"}
            self.emit(f"t{i} = {join.get(how, f't{i} + {term}')}")

    def expression(self, formula: Formula, names: dict[int, str]) -> str:
        for node in formula.walk(bodies=False):
            if id(node) in names:
                continue
            if node.op == "const":
                names[id(node)] = self.number(node.value)
            elif node.op == "tile":
                names[id(node)] = f"t{node.value}"
            elif node.op in ("rowx", "rowz"):
                names[id(node)] = f"v{node.op[-1]}{node.value}"
            else:
                name = f"u{len(names)}"
                arguments = [names[id(a)] for a in node.args]
                if node.op == "pow":
                    for line in power_statements(name, arguments[0], node.value, "1.0"):
                        self.emit(line)
                elif node.op == "exp2" and self.exp2:
                    self.emit(f"{name} = exp2_unit({arguments[0]})")
                else:
                    self.emit(f"{name} = {triton_form(node.op)(*arguments)}")
                names[id(node)] = name
        return names[id(formula)]

    # --- what becomes of a tile --------------------------------------------------------------

    def _use_vector(self) -> None:
        self.emit("weights = tl.load(v + q, mask=q < m, other=0.0)")
        term = "k * weights[None, :]"
        self.emit(f"total += {f'tl.sum({term}, 1)' if self.wide else term}")

    def _add(self, k: str) -> None:
        """Over narrow rows eight sums are kept of each, of columns that one thread holds."""
        term = f"{k} * weights[None, :]"
        term = term if self.wide else f"tl.reshape({term}, [BM, BN // 8, 8])"
        self.emit(f"total += tl.sum({term}, 1)")

    @property
    def _sum(self) -> str:
        return "total" if self.wide else "tl.sum(total, 1)"

    def _finish_vector(self) -> None:
        self.emit("where = tl.program_id(1).to(tl.int64) * n + r")
        self.emit(f"tl.store(out + where, {self._sum}, mask=r < n)")

    def _use_vectors(self) -> None:
        self.emit("at = q[:, None].to(tl.int64) * NV + e[None, :]")
        self.emit("weights = tl.load(v + at)")
        self.emit('total = tl.dot(k, weights, total, input_precision="tf32x3")')

    def _finish_vectors(self) -> None:
        self.emit("where = (tl.program_id(1).to(tl.int64) * n + r)[:, None] * NV + e[None, :]")
        self.emit("tl.store(out + where, total, mask=r[:, None] < n)")

    def _use_on_diagonal(self) -> None:
        self.emit("weights = tl.load(v + q, mask=q < m, other=0.0)")
        self.emit("# Each pair counts once: the lower half is left out.")
        self._add("tl.where(q[None, :] >= r[:, None], k, 0.0)")
        self.emit("k = tl.where(q[None, :] > r[:, None], k, 0.0)")
        self._add_below()

    def _use_symmetric(self) -> None:
        self.emit("weights = tl.load(v + q, mask=q < m, other=0.0)")
        self._add("k")
        self._add_below()

    def _add_below(self) -> None:
        """The share of the pairs above the diagonal in the rows below it."""
        self.emit('tl.atomic_add(out + q, tl.sum(k * own[:, None], 0), mask=q < m, sem="relaxed")')

    def _finish_symmetric(self) -> None:
        self.emit(f'tl.atomic_add(out + r, {self._sum}, mask=r < n, sem="relaxed")')

    def _use_dense(self) -> None:
        self.emit("where = r[:, None].to(tl.int64) * m + q[None, :]")
        self.emit("tl.store(out + where, k, mask=(r[:, None] < n) & (q[None, :] < m))")

    def _finish_dense(self) -> None:
        pass
