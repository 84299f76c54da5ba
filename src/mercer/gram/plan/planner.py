"""The planner: tile shapes from the memory limit, the caches, the threads and the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from mercer._config import get_config, show_bytes
from mercer._lazy import record
from mercer._machine.jit import patience
from mercer._machine.pools import is_running
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
#: Pair operations below which compiling a loop costs more than it saves.
COMPILE_WORK = 60_000_000
#: The same where its machine code is there already, so that only a call is paid: with less work a
#: Gram takes 0.2 to 0.4 ms either way.
READY_WORK = 100_000
#: How many times as many where no machine code is kept yet: NumPy then takes about a second, as
#: long as the compiler.
COLD_TIMES = 25
#: Flops of products per operation of loops from which on products are most of the work, and flops
#: of a tenth of a second.
PRODUCT_SHARE, BLAS_FLOPS = 10, 1e10
#: How often a model is asked as a rule: a loop that does not pay once is compiled for so many.
REPEATS = 30


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
    #: Whether the threads are those of BLAS, under its products.
    blas: bool = False

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
    blas: bool = False,
    done: float = 0.0,
) -> Plan:
    """`dense`: the result is the matrix itself, and the first source is made in it.

    `factor`: columns of the matrix that K is multiplied with. `fixed_bytes` are needed whatever the
    plan is, `packed_bytes` by compiled loops only. `blas`: its threads may do the products.
    `done`: operations that went before, as `least_to_compile` takes them.
    """
    settings = get_config()
    limit, threads = settings.memory_bytes, settings.n_threads
    fixed_bytes += products.held
    left = limit - fixed_bytes
    # Room beyond this changes no plan, so that plans are found again while free memory varies.
    left = min(left, 2 * packed_bytes + int(1.2 * SCRATCH * threads) + 1)
    task = _Task(program.sources, program.epilogue, shape, itemsize, dense, products, factor)
    worth = may_compile and task.cost().pair_operations >= least_to_compile(done)
    blas = blas and task.is_left_to_blas() and is_running()
    plan = _planned(task, worth, packed_bytes, left, threads, WORTH_FLOPS, blas)
    if plan is None:
        need = fixed_bytes + 1.2 * task.least_bytes()
        raise MemoryError(
            f"a single tile needs {show_bytes(need)}, but the memory limit is "
            f"{show_bytes(limit)}. Raise it with mercer.set_config(memory=…)."
        )
    return plan


def worth_compiling() -> int:
    """Pair operations from which a loop is compiled."""
    return COMPILE_WORK * (1 if patience() == 1 else COLD_TIMES)


def least_to_compile(done: float) -> float:
    """The same after so many operations that NumPy did (infinity: it is compiled already).

    Who asks often for little has waited as long as for the compiler, sooner or later.
    """
    least = worth_compiling()
    return max(min(READY_WORK, least), least - done)


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

    def is_left_to_blas(self) -> bool:
        """Whether threads of BLAS that hold the cores at the moment should do the products.

        Work that lasts longer than they wait is done by ours, and so is work that is not products.
        """
        work, (n, m) = self.cost(), self.shape
        products = work.flops - work.pair_operations + 2.0 * n * m * self.factor
        enough = PRODUCT_SHARE * work.pair_operations <= products < BLAS_FLOPS
        return enough and self.products.by_blas

    def largest_tile(self, blas: bool) -> tuple[int, int]:
        if self.loop_only:
            return LOOP_TILE
        # A matrix that is kept goes through memory anyway, and is mirrored panel by panel.
        cached = None if blas or self.dense else self.products.tile
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
    worth_compiling: bool,
    packed_bytes: int,
    left: int,
    threads: int,
    worth_threads: float,
    blas: bool,
) -> Plan | None:
    """A plan within `left` bytes; None where not even one tile fits.

    `worth_threads`: the flops from which on several threads pay.
    """
    work = task.cost()
    n, m = task.shape
    threads = threads if work.flops + 2.0 * n * m * task.factor >= worth_threads else 1
    blas = blas and threads > 1
    compiled = worth_compiling and packed_bytes <= left / 2
    per_pair, per_row = task.bytes_per_pair(compiled), task.bytes_per_row()
    per_column = task.products.per_column
    left -= packed_bytes if compiled else 0
    height, widest = task.largest_tile(blas)
    widest = min(m, widest)
    # BLAS shares out each product by itself: the larger, the better. Of a matrix that is kept only
    # one triangle may be made, panel by panel.
    shared = 1 if blas and not task.dense else threads
    # Two panels per thread, unless they become too thin: one core may be busy elsewhere.
    if shared > 1:
        height = min(height, max(FULL_RATE, -(-n // (2 * threads))), max(64, -(-n // threads)))
    # As many panels for each thread, all of one height.
    panels = shared * max(1, -(-n // (shared * height)))
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
    return Plan(task.shape, (height, max(1, width)), threads, compiled, work, scratch, blas)
