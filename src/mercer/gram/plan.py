"""plan: the sizes of tiles, from the program, the shapes, the settings and the processor alone.

Within the memory limit, `make_plan` chooses tiles that stay in the cache, the number of threads,
and whether the loop over pairs is compiled.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import mercer.tuning as tuning
from mercer._arrays import is_sparse
from mercer._config import get_config, show_bytes, warn_if_tight
from mercer._escape.terminal import printable
from mercer._machine.threads import WORTH_FLOPS
from mercer.formula.nodes import Formula, Input
from mercer.gram.form import Program
from mercer.gram.rows import CHUNK, Operand, scatters, stays_sparse


class Cost(NamedTuple):
    """The work of one evaluation of all pairs."""

    flops: float
    pair_operations: float
    bytes_written: float


class Plan(NamedTuple):
    """How K is made: a value that can be printed and compared.

    `paneled`: the inputs whose sparse rows are multiplied in panels.
    """

    shape: tuple[int, int]
    tile: tuple[int, int]
    threads: int
    compiled: bool
    cost: Cost
    scratch_bytes: int
    paneled: frozenset[Input] = frozenset()

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
    """The number of element-wise operations per pair in the epilogue."""
    return sum(len(n.args) for n in formula.walk() if n.op not in ("const", "tile"))


def cost(program: Program, shape: tuple[int, int], widths: Mapping[Input, int]) -> Cost:
    """The work of all pairs: products, and operations in loops."""
    pairs, multiplications, loop = shape[0] * shape[1], 0, operations(program.epilogue)
    for source in program.sources:
        if source.kind in ("product", "repaired"):
            multiplications += widths.get(source.rows, 0)
        elif source.kind == "direct":
            body = operations(source.node.args[0]) if source.node.args else 2
            loop += widths[source.rows] * max(1, body)
    return Cost(2.0 * pairs * multiplications + pairs * loop, float(pairs * loop), 8.0 * pairs)


def make_plan(
    program: Program, x: Operand, z: Operand, dense: bool = False, fixed: int = 0, factor: int = 0
) -> Plan:
    """The plan of one evaluation of K between two operands.

    `dense`: the result is the matrix itself, and the first source is made in it. `factor`: columns
    of the matrix that K is multiplied with. `fixed`: bytes that are needed whatever the plan is.
    """
    from mercer.gram.cpu.compiled import can_compile

    settings, shape, itemsize = get_config(), (x.n, z.n), x.dtype.itemsize
    products = products_of(program, x, z)
    work = cost(program, shape, products.widths)
    fixed += products.held + held_bytes(x, z)
    left, padded = settings.memory_bytes - fixed, -(-z.n // CHUNK) * CHUNK
    read = [z.matrices[key] for key in set(program.direct)]
    packed = sum(padded * m.shape[1] * m.dtype.itemsize for m in read)
    compiled = work.pair_operations >= tuning.COMPILED_PAIRS and can_compile(program, x.dtype)
    compiled = compiled and packed <= left / 2
    left -= compiled * packed
    # Scratch memory of one pair: a tile per source, and what an opaque kernel or a ufunc takes.
    tiles = len(program.sources) - (len(program.direct) if compiled else 0) - dense
    per_pair = itemsize * (max(tiles, 0 if dense else 1) + 0.05 * (not compiled))
    per_pair += products.per_pair + sum(leaf.bytes_per_pair() for leaf in program.opaque)
    # Panels of X are copied where they are centered or sparse.
    per_row = 0 if program.fused else sum(products.widths.values()) * itemsize
    # Beside products, a matrix that is kept goes through memory anyway, and is mirrored by panels.
    in_cache = products.tile if program.fused or not dense else None
    largest = in_cache or (tuning.PRODUCT_ROWS, shape[1])
    threads = settings.n_threads if work.flops + 2.0 * x.n * z.n * factor >= WORTH_FLOPS else 1
    memory = (per_pair, per_row, products.per_column)
    fitted = _fitted_tile(shape, largest, threads, left, memory)
    if fitted is None:
        need = fixed + 1.2 * (16 * per_row + 64 * products.per_column + 16 * 64 * per_pair)
        raise MemoryError(
            f"a single tile needs {show_bytes(need)}, but the memory limit is "
            f"{show_bytes(settings.memory_bytes)}. Raise it with mercer.set_config(memory=…)."
        )
    tile, threads = fitted
    scratch = tile[0] * (tile[1] * per_pair + per_row) + tile[1] * products.per_column
    plan = Plan(shape, tile, threads, compiled, work, int(threads * scratch), products.paneled)
    logging.getLogger("mercer").debug("K: %s", plan)
    return plan


def check_room(shape: tuple[int, int], dtype: np.dtype, limit: int, where: str = "") -> None:
    """Refuse a dense matrix that exceeds the memory limit, and say what works."""
    need = shape[0] * shape[1] * dtype.itemsize
    if need > limit:
        raise MemoryError(
            f"the dense {shape[0]} × {shape[1]} {dtype.name} matrix needs {show_bytes(need)}, but "
            f"the memory limit{where} is {show_bytes(limit)}. G @ V and G.block(…) work within it, "
            "and so do the solvers 'cg' and 'nystrom'; or raise it: mercer.set_config(memory=…)."
        )
    if not where:
        warn_if_tight(need)


def _fitted_tile(
    shape: tuple[int, int],
    largest: tuple[int, int],
    threads: int,
    left: float,
    memory: tuple[float, float, float],
) -> tuple[tuple[int, int], int] | None:
    """A tile that fits `left` bytes, and the number of threads; None where not even one fits.

    `memory`: bytes of scratch memory per pair, per row and per column of a tile.
    """
    (n, m), (height, widest), (per_pair, per_row, per_column) = shape, largest, memory
    widest = min(m, widest)
    # Two panels per thread, unless they become too thin: one core may be busy elsewhere.
    if threads > 1:
        height = min(
            height, max(tuning.PANEL_ROWS, -(-n // (2 * threads))), max(64, -(-n // threads))
        )
    # As many panels for each thread, all of one height.
    panels = threads * max(1, -(-n // (threads * height)))
    height = max(1, -(-n // panels))
    while True:
        free = min(tuning.SCRATCH_BYTES, left / (1.2 * threads)) - height * per_row
        width = min(widest, int(free / max(per_pair * height + per_column, 1e-9)))
        if width >= min(m, 64):
            return (height, max(1, width)), threads
        if height > 16:
            height = max(16, height // 2)
        elif threads > 1:
            threads -= 1
        else:
            return None


def held_bytes(*operands: Operand) -> int:
    """Bytes of the matrices that are no views of the caller's data: results of input maps."""
    copies: dict[int, int] = {}
    for operand in operands:
        for matrix in operand.matrices.values():
            if matrix is operand.raw:
                continue
            numbers, raw = (m.data if is_sparse(m) else m for m in (matrix, operand.raw))
            if not (isinstance(raw, np.ndarray) and np.may_share_memory(numbers, raw)):
                more = matrix.indices.nbytes + 8 * matrix.shape[0] if is_sparse(matrix) else 0
                copies[id(matrix)] = numbers.nbytes + more
    return sum(copies.values())


@dataclass
class Products:
    """How products are made. Bytes beside their result: per column of a tile (a row of Z that is
    centered, or made dense), per pair (a sparse result), and once for all of K (`held`).

    `widths`: columns of dense rows whose product takes as long, per input; `paneled`: inputs whose
    sparse rows are multiplied in panels; `tile`: rows and columns of a tile at most, None where it
    should be as large as memory allows.
    """

    widths: dict[Input, int]
    per_column: int = 0
    per_pair: int = 0
    held: int = 0
    paneled: frozenset[Input] = frozenset()
    tile: tuple[int, int] | None = tuning.CACHE_TILE


def products_of(program: Program, x: Operand, z: Operand) -> Products:
    """How the products of a program are made between two operands."""
    products = Products({key: m.shape[1] for key, m in z.matrices.items()})
    for key, m in z.matrices.items():
        if is_sparse(m) or is_sparse(x.matrices[key]):
            _add_sparse(products, key, program, x, z)
        elif key not in z.grids and z.centers.get(key) is not None:
            products.per_column += m.shape[1] * m.dtype.itemsize
    if program.opaque:  # a black box is called as seldom as possible
        products.tile = None
    if products.tile is not None:
        products.tile = products.tile[0], products.tile[1] * 8 // z.dtype.itemsize
    return products


def _add_sparse(products: Products, key: Input, program: Program, x: Operand, z: Operand) -> None:
    """Count what the product of an input with sparse rows takes."""
    left, right = x.matrices[key], z.matrices[key]
    stays = stays_sparse(right, left)
    if not (key in program.multiplied and is_sparse(left) and stays and scatters(left, right)):
        if key in program.multiplied:
            products.tile = None
        if stays:
            products.per_pair += 2 * z.dtype.itemsize + 8
        elif is_sparse(right):
            products.per_column += right.shape[1] * right.dtype.itemsize
        return
    work, in_panels = _cheaper_loop(left, right)
    products.widths[key], size = int(work) + 1, z.bytes_by_column(key)
    if in_panels:
        products.paneled |= {key}
        products.held += get_config().n_threads * tuning.SPARSE_PANEL_BYTES * right.shape[1]
        return
    products.tile = products.tile and tuning.SCATTERED_TILE
    if z.keeps_columns(key):
        products.held += size
    else:
        products.per_column += 2 * size // max(1, z.n)


def _cheaper_loop(x: Any, z: Any) -> tuple[float, bool]:
    """The cost per pair of the cheaper loop over sparse rows, and whether it works in panels."""
    (n, columns), m = x.shape, z.shape[0]
    counts = (np.bincount(side.indices, minlength=columns).astype(float) for side in (x, z))
    common, numbers = np.dot(*counts) / max(1, n * m), x.nnz / max(1, n)
    scattered = tuning.SCATTERED_COST[0] * common + tuning.SCATTERED_COST[1]
    paneled = tuning.PANELED_COST[0] * numbers + tuning.PANELED_COST[1]
    fits = n >= tuning.SMALL_BLOCK_ROWS and columns <= tuning.SPARSE_PANEL_COLUMNS
    return float(min(scattered, paneled) if fits else scattered), fits and paneled < scattered
