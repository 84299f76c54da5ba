"""The planner: tile shapes from the memory limit, the caches, the threads and the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._config import get_config, show_bytes
from mercer._escape.terminal import printable
from mercer._lazy import record
from mercer._machine.threads import WORTH_FLOPS
from mercer.formula.nodes import Formula, Input
from mercer.gram.form import Program, Source
from mercer.gram.operand import Operand
from mercer.gram.rows import scatters, stays_sparse

#: Rows of a panel under a matrix product at most, and rows below which it runs at half the rate.
PRODUCT_ROWS, FULL_RATE = 1024, 256
#: Tile of a loop over pairs whose result goes through memory: it should stay in cache.
LOOP_TILE = (256, 2048)
#: Bytes of scratch memory per thread at most, however large the limit.
SCRATCH = 48_000_000
#: Columns of V up to which a product K V runs inside the compiled loop.
FUSED_COLUMNS = 16
#: Pair operations from which a loop is compiled: NumPy takes about 1.5 ms for them.
COMPILE_WORK = 1_000_000


@record
class Cost:
    """Work of one evaluation of all pairs."""

    flops: float
    pair_operations: float
    bytes_written: float


@record
class Plan:
    """How K is made: a value that can be printed and compared."""

    shape: tuple[int, int]
    tile: tuple[int, int]
    threads: int
    compiled: bool
    cost: Cost
    scratch_bytes: int

    @printable
    def __str__(self) -> str:
        epilogue = "one compiled loop" if self.compiled else "NumPy ufuncs in cache"
        return (
            f"{self.shape[0]} × {self.shape[1]} in tiles of {self.tile[0]} × {self.tile[1]}, "
            f"{self.threads} thread(s), epilogue: {epilogue}, "
            f"{self.cost.flops:.3g} flops, scratch {show_bytes(self.scratch_bytes)}"
        )


@lru_cache(maxsize=1024)
def operations(formula: Formula) -> int:
    """Element-wise operations per pair in the epilogue."""
    return sum(len(n.args) for n in formula.walk() if n.op not in ("const", "tile"))


def cost(
    sources: tuple[Source, ...],
    epilogue: Formula,
    shape: tuple[int, int],
    widths: Mapping[Input, int],
) -> Cost:
    """The work of all pairs: products, and operations in loops."""
    pairs = shape[0] * shape[1]
    multiplications = 0
    loop = operations(epilogue)
    for source in sources:
        if source.kind in ("product", "repaired"):
            multiplications += widths.get(source.rows, 0)
        elif source.kind == "direct":
            body = operations(source.node.args[0]) if source.node.args else 2
            loop += widths[source.rows] * max(1, body)
    return Cost(2.0 * pairs * multiplications + pairs * loop, float(pairs * loop), 8.0 * pairs)


def make_plan(
    program: Program,
    shape: tuple[int, int],
    products: Products,
    itemsize: int,
    may_compile: bool,
    fixed_bytes: int = 0,
    dense: bool = False,
    packed_bytes: int = 0,
    factor: int = 0,
) -> Plan:
    """The plan of one evaluation: a function of these arguments and the settings alone.

    `dense`: the result is the matrix itself, and the first source is made in it. `factor`: columns
    of the matrix that K is multiplied with. `fixed_bytes` are needed whatever the plan is,
    `packed_bytes` by compiled loops only.
    """
    settings = get_config()
    limit, threads = settings.memory_bytes, settings.n_threads
    fixed_bytes += products.held
    left = limit - fixed_bytes
    # Memory beyond this changes no plan.
    left = min(left, 2 * packed_bytes + int(1.2 * SCRATCH * threads) + 1)
    task = _Task(program.sources, program.epilogue, shape, itemsize, dense, products, factor)
    compiled = may_compile and task.cost().pair_operations >= COMPILE_WORK
    plan = _planned(task, compiled, packed_bytes, left, threads, WORTH_FLOPS)
    if plan is None:
        need = fixed_bytes + 1.2 * task.least_bytes()
        raise MemoryError(
            f"a single tile needs {show_bytes(need)}, but the memory limit is "
            f"{show_bytes(limit)}. Raise it with mercer.set_config(memory=…)."
        )
    return plan


@record
class _Task:
    """What a plan is made for."""

    sources: tuple[Source, ...]
    epilogue: Formula
    shape: tuple[int, int]
    itemsize: int
    dense: bool
    products: Products
    factor: int

    @property
    def loop_only(self) -> bool:
        return all(s.kind == "direct" for s in self.sources)

    def cost(self) -> Cost:
        return cost(self.sources, self.epilogue, self.shape, dict(self.products.widths))

    def largest_tile(self) -> tuple[int, int]:
        if self.loop_only:
            return LOOP_TILE
        # A matrix that is kept goes through memory anyway, and is mirrored panel by panel.
        cached = None if self.dense else self.products.tile
        return cached or (PRODUCT_ROWS, self.shape[1])

    def bytes_per_pair(self, compiled: bool) -> float:
        """Scratch memory of one pair: its tiles, and what an opaque kernel takes."""
        tiles = sum(s.kind != "direct" or not compiled for s in self.sources) - self.dense
        tiles = max(tiles, 0 if self.dense else 1)
        opaque = [s.node.value[0].bytes_per_pair() for s in self.sources if s.kind == "opaque"]
        loops = 0 if compiled else 0.05 * self.itemsize
        return tiles * self.itemsize + sum(opaque) + loops + self.products.per_pair

    def bytes_per_row(self) -> int:
        """Panels of X are copied where they are centered or sparse."""
        return (
            0 if self.loop_only else sum(width for _, width in self.products.widths) * self.itemsize
        )

    def least_bytes(self) -> float:
        """The smallest tile, 16 × 64."""
        rows = 16 * self.bytes_per_row() + 64 * self.products.per_column
        return rows + 16 * 64 * self.bytes_per_pair(False)


@lru_cache(maxsize=4096)
def _planned(
    task: _Task,
    compiled: bool,
    packed_bytes: int,
    left: int,
    threads: int,
    worth_threads: float,
) -> Plan | None:
    """A plan within `left` bytes; None where not even one tile fits.

    `worth_threads`: the flops from which on several threads pay.
    """
    work = task.cost()
    n, m = task.shape
    threads = threads if work.flops + 2.0 * n * m * task.factor >= worth_threads else 1
    compiled = compiled and packed_bytes <= left / 2
    per_pair, per_row = task.bytes_per_pair(compiled), task.bytes_per_row()
    per_column = task.products.per_column
    left -= packed_bytes if compiled else 0
    height, widest = task.largest_tile()
    widest = min(m, widest)
    # Two panels per thread, unless they become too thin: one core may be busy elsewhere.
    if threads > 1:
        height = min(height, max(FULL_RATE, -(-n // (2 * threads))), max(64, -(-n // threads)))
    # As many panels for each thread, all of one height.
    panels = threads * max(1, -(-n // (threads * height)))
    height = max(1, -(-n // panels))
    while True:
        room = min(SCRATCH, left / (1.2 * threads)) - height * per_row
        width = min(widest, int(room / max(per_pair * height + per_column, 1e-9)))
        if width >= min(m, 64):
            break
        if height > 16:
            height = max(16, height // 2)
        elif threads > 1:
            threads -= 1
        else:
            return None
    scratch = int(threads * (height * width * per_pair + height * per_row + width * per_column))
    return Plan(task.shape, (height, max(1, width)), threads, compiled, work, scratch)


#: Tile whose products, epilogue and sums find it in the second-level cache, or near it; numbers of
#: 8 bytes. Larger ones took twice as long in all with 30 columns on two cores: 24 ms for 8 million
#: pairs, half of it for memory that is touched for the first time.
CACHE_TILE = (256, 1024)
#: The same where sparse rows are scattered: the longer a row of sums, the longer the inner loops.
SCATTERED_TILE = (64, 4096)
#: What the two loops over sparse rows take, in multiplications of dense rows (0.04 ns each): per
#: column that two rows have in common, or per number of the row x; and per pair.
SCATTERED, PANELED = (16.0, 3.0), (2.5, 10.0)
#: Rows of X that are worth filling panels for, and columns whose panels stay in a near cache.
PANEL_ROWS, PANEL_COLUMNS = 64, 2048
#: Bytes of a panel per column: with 256, sums and a line of it fit the registers of any processor.
PANEL_BYTES = 256
#: Columns up to which what follows a product is a visible share of the work. With more, larger
#: panels, which BLAS packs less often, gain as much as the cache does.
LIGHT = 300


@record
class Products:
    """How products are made. Bytes beside their result: per column of a tile (a row of Z that is
    centered, or made dense), per pair (a sparse result), and once for all of K.

    `widths`: columns of dense rows whose product takes as long, per input; `paneled`: inputs whose
    sparse rows are multiplied in panels; `tile`: rows and columns of a tile at
    most, none where it should be as large as memory allows."""

    per_column: int = 0
    per_pair: int = 0
    held: int = 0
    widths: tuple[tuple[Input, int], ...] = ()
    paneled: frozenset[Input] = frozenset()
    tile: tuple[int, int] | None = None


def by_loop(x: Operand, z: Operand, rows: Input) -> bool:
    """Whether a compiled loop over sparse rows makes this product."""
    left, right = x.matrices[rows], z.matrices[rows]
    return is_sparse(left) and stays_sparse(right, left) and scatters(left, right)


def products_of(sources: tuple[Source, ...], x: Operand, z: Operand) -> Products:
    """How the products of these sources are made."""
    inputs = {s.rows for s in sources if s.kind in ("product", "repaired")}
    per_column = per_pair = held = 0
    widths, paneled = {}, set()
    for key, m in z.matrices.items():
        widths[key] = m.shape[1]
        if key in inputs and by_loop(x, z, key):
            cost, in_panels = _cheaper_loop(x.matrices[key], m)
            widths[key] = int(cost) + 1
            size = z.bytes_by_column(key)
            if in_panels:
                paneled.add(key)
                held += get_config().n_threads * PANEL_BYTES * m.shape[1]
            elif z.keeps_columns(key):
                held += size
            else:
                per_column += 2 * size // max(1, z.n)
        elif stays_sparse(m, x.matrices[key]):
            per_pair += 2 * z.dtype.itemsize + 8
        elif is_sparse(m) or (z.centers.get(key) is not None and key not in z.grids):
            per_column += m.shape[1] * m.dtype.itemsize
    black_box = any(s.kind == "opaque" for s in sources)  # it may be called as seldom as possible
    tile = None if black_box else _tile(inputs, paneled, x, z)
    known = tuple(widths.items())
    return Products(per_column, per_pair, held, known, frozenset(paneled), tile)


def _cheaper_loop(x: Any, z: Any) -> tuple[float, bool]:
    """What the cheaper loop over sparse rows takes per pair, and whether it is that in panels."""
    (n, columns), m = x.shape, z.shape[0]
    counts = (np.bincount(side.indices, minlength=columns).astype(float) for side in (x, z))
    common, numbers = np.dot(*counts) / max(1, n * m), x.nnz / max(1, n)
    scattered = SCATTERED[0] * common + SCATTERED[1]
    paneled = PANELED[0] * numbers + PANELED[1]
    fits = n >= PANEL_ROWS and columns <= PANEL_COLUMNS
    return float(min(scattered, paneled) if fits else scattered), fits and paneled < scattered


def _tile(
    inputs: set[Input], paneled: set[Input], x: Operand, z: Operand
) -> tuple[int, int] | None:
    scattered = {key for key in inputs - paneled if by_loop(x, z, key)}
    for key in inputs - scattered - paneled:
        sides = x.matrices[key], z.matrices[key]
        light = key in z.grids or sides[0].shape[1] <= LIGHT
        if not light or any(is_sparse(side) for side in sides):
            return None
    rows, columns = SCATTERED_TILE if scattered else CACHE_TILE
    return rows, columns * 8 // z.dtype.itemsize
