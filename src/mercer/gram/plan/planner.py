"""The planner: tile shapes from the memory limit, the caches, the threads and the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from mercer._config import get_config, show_bytes
from mercer._lazy import record
from mercer._machine.threads import WORTH_FLOPS
from mercer.formula.nodes import Formula, Input
from mercer.gram.plan.products import Products
from mercer.gram.plan.program import Program, Source

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
