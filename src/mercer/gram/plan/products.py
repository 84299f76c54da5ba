"""How the products under K are made: what they copy, and the tiles that suit them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer._lazy import record
from mercer.formula.nodes import Input
from mercer.gram.plan.program import Source
from mercer.gram.rows.prepared import Operand
from mercer.gram.rows.sparse import scatters, stays_sparse

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
