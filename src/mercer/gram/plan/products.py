"""How the products under K are made: what they copy, and the tiles that suit them."""

from __future__ import annotations

from mercer._arrays import is_sparse
from mercer._lazy import record
from mercer.formula.nodes import Input
from mercer.gram.plan.program import Source
from mercer.gram.rows.prepared import Side
from mercer.gram.rows.sparse import scatters, stays_sparse

#: Tile whose products, epilogue and sums find it in the second-level cache, or near it; numbers of
#: 8 bytes. Larger ones took twice as long in all with 30 columns on two cores: 24 ms for 8 million
#: pairs, half of it for memory that is touched for the first time.
CACHE_TILE = (256, 1024)
#: The same where sparse rows are scattered: the longer a row of sums, the longer the inner loops.
SCATTERED_TILE = (64, 4096)
#: What a multiplication costs there, in multiplications of dense rows: 0.7 ns against 0.04.
SCATTERED = 18
#: Columns up to which what follows a product is a visible share of the work. With more, larger
#: panels, which BLAS packs less often, gain as much as the cache does.
LIGHT = 300


@record
class Products:
    """Bytes that products make beside their result: per column of a tile (a row of Z that is
    centered, or made dense), per pair (a sparse result), and once for all of K. `by_blas`: whether
    BLAS makes them all. `tile`: rows and columns of a tile at most; none where it should be as
    large as memory allows."""

    per_column: int = 0
    per_pair: int = 0
    held: int = 0
    by_blas: bool = True
    tile: tuple[int, int] | None = None


NO_PRODUCTS = Products()


def scattered(x: Side, z: Side, rows: Input) -> bool:
    """Whether the compiled loop over sparse rows makes this product."""
    return is_sparse(x.matrices[rows]) and stays_sparse(z.matrices[rows]) and scatters()


def width(x: Side, z: Side, rows: Input) -> int:
    """Columns of dense rows whose product takes as long."""
    m, other = x.matrices[rows], z.matrices[rows]
    if not scattered(x, z, rows):
        return int(m.shape[1])
    return int(SCATTERED * (m.nnz / max(1, x.n)) * (other.nnz / max(1, z.n)) / m.shape[1]) + 1


def products_of(sources: tuple[Source, ...], x: Side, z: Side) -> Products:
    """What the products of these sources copy, and their tile."""
    inputs = {s.rows for s in sources if s.kind in ("product", "repaired")}
    black_box = any(s.kind == "opaque" for s in sources)  # it may be called as seldom as possible
    per_column = per_pair = held = 0
    for key, m in z.matrices.items():
        if scattered(x, z, key):
            size = z.bytes_by_column(key)
            held += size if z.keeps_columns(key) else 0
            per_column += 0 if z.keeps_columns(key) else 2 * size // max(1, z.n)
        elif stays_sparse(m):
            per_pair += 2 * z.dtype.itemsize + 8
        elif is_sparse(m) or (z.centers.get(key) is not None and key not in z.grids):
            per_column += m.shape[1] * m.dtype.itemsize
    by_blas = not any(key in z.grids or is_sparse(z.matrices[key]) for key in inputs)
    tile = None if black_box else _tile(inputs, x, z)
    return Products(per_column, per_pair, held, by_blas, tile)


def _tile(inputs: set[Input], x: Side, z: Side) -> tuple[int, int] | None:
    by_loop = {key for key in inputs if scattered(x, z, key)}
    for key in inputs - by_loop:
        sides = x.matrices[key], z.matrices[key]
        light = key in z.grids or sides[0].shape[1] <= LIGHT
        if not light or any(is_sparse(side) for side in sides):
            return None
    rows, columns = SCATTERED_TILE if by_loop else CACHE_TILE
    return rows, columns * 8 // z.dtype.itemsize
