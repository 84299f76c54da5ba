"""The planner: tile shapes from the memory limit, the caches, the threads and the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from mercer._config import get_config, show_bytes
from mercer.formula.nodes import Formula
from mercer.gram.plan.program import Program

#: Rows of a panel under a matrix product: fewer than 256 run at half the rate.
PRODUCT_ROWS = 1024
#: Tile of a loop over pairs whose result goes through memory: it should stay in cache.
LOOP_TILE = (256, 2048)
#: The most scratch memory a thread takes, however large the limit.
SCRATCH = 48_000_000
#: Multiply-adds below which starting threads costs more than it saves.
THREAD_WORK = 5_000_000
#: Pair operations below which compiling a loop costs more than it saves.
COMPILE_WORK = 60_000_000


@dataclass(frozen=True)
class Cost:
    """Work of one evaluation of all pairs."""

    flops: float
    pair_operations: float
    bytes_written: float


@dataclass(frozen=True)
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


def operations(formula: Formula) -> int:
    """Element-wise operations a pair in the epilogue."""
    return sum(len(n.args) for n in formula.walk() if n.op not in ("const", "tile"))


def cost(program: Program, shape: tuple[int, int], widths: dict) -> Cost:
    pairs = shape[0] * shape[1]
    multiplications = 0
    loop = operations(program.epilogue)
    for source in program.sources:
        if source.kind in ("product", "repaired"):
            multiplications += widths.get(source.rows, 0)
        elif source.kind == "direct":
            body = operations(source.node.args[0]) if source.node.args else 2
            loop += widths[source.rows] * max(1, body)
    return Cost(2.0 * pairs * multiplications + pairs * loop, float(pairs * loop), 8.0 * pairs)


def make_plan(
    program: Program,
    shape: tuple[int, int],
    widths: dict,
    itemsize: int,
    may_compile: bool,
    fixed_bytes: int = 0,
    dense: bool = False,
    packed_bytes: int = 0,
) -> Plan:
    """`dense`: the result is the matrix itself, and the first source is made in it.

    `fixed_bytes` are needed whatever the plan is, `packed_bytes` by compiled loops only.
    """
    settings = get_config()
    n, m = shape
    work = cost(program, shape, widths)
    threads = settings.n_threads if work.flops >= THREAD_WORK else 1
    fits = packed_bytes <= (settings.memory_bytes - fixed_bytes) / 2
    compiled = may_compile and fits and work.pair_operations >= COMPILE_WORK
    fixed_bytes += packed_bytes if compiled else 0
    loop_only = program.fused
    buffers = max(0, sum(s.kind != "direct" or not compiled for s in program.sources) - dense)
    buffers = max(buffers, 0 if dense else 1)
    extra = sum(s.node.value[0].bytes_per_pair() for s in program.sources if s.kind == "opaque")
    per_pair = buffers * itemsize + extra + (0 if compiled else 0.05 * itemsize)
    height, width = LOOP_TILE if loop_only else (PRODUCT_ROWS, m)
    height = max(1, min(height, max(64, -(-n // threads)), n))
    # Panels of X are copied where they are centred or sparse.
    per_row = sum(widths.values()) * itemsize if not loop_only else 0
    available = settings.memory_bytes - fixed_bytes
    budget = min(SCRATCH, available / (1.2 * threads))
    while True:
        room = budget - height * per_row
        width = min(width, m, int(room / max(per_pair * height, 1e-9)))
        if width >= min(m, 64):
            break
        if height > 16:
            height = max(16, height // 2)
        elif threads > 1:
            threads -= 1
            budget = min(SCRATCH, available / (1.2 * threads))
        else:
            need = fixed_bytes + 1.2 * (16 * per_row + 16 * 64 * per_pair)
            raise MemoryError(
                f"a single tile needs {show_bytes(need)}, but the memory limit is "
                f"{show_bytes(settings.memory_bytes)}. Raise it with mercer.config(memory=…)."
            )
        width = m if not loop_only else LOOP_TILE[1]
    scratch = int(threads * (height * width * per_pair + height * per_row))
    return Plan(shape, (height, max(1, width)), threads, compiled, work, scratch)
