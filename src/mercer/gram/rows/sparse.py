"""How sparse rows are multiplied: as they are, against a dense copy of Z, or as dense copies.

Where a share s of the numbers is not 0, two rows of D columns have about D s² columns in common.
Nanoseconds per pair on one core, measured with 30 to 20,000 columns:

    dense rows             0.04 D       a matrix product
    compiled loops         0.7 D s²     or 0.1 D s, see `mercer.gram.sparse_products`
    SciPy, both sparse     5 D s²       and more for the sparse matrix that it makes
    SciPy, one side dense  0.25 D s

So the loops are ahead of dense rows below a fifth. Without them both sides stay sparse below a
twentieth, and one does below 15 %. Fuller rows are made dense once, and then take every path that
arrays take. Copies are made where they are small beside the memory limit; else tiles are made dense
one by one, under the product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer._machine.jit import may_compile
from mercer.formula.nodes import Input
from mercer.gram.plan.accuracy import SMALL_WORK
from mercer.gram.rows.columns import ROOM

if TYPE_CHECKING:
    from mercer.gram.rows.examples import Rows

#: Shares of numbers other than 0 below which both sides stay sparse: with a compiled loop, without;
#: and below which one side does.
LOOP, BOTH, ONE = 0.2, 0.05, 0.15
#: Columns from which on both stay sparse: dense tiles are far larger than the tiles of K over them.
WIDEST = 4096
#: Multiplications from which a compiled loop makes the product: SciPy takes 1 ms for them.
COMPILED = 2e5


def scatters(x: Any, z: Any) -> bool:
    """Whether a compiled loop multiplies these two sparse matrices."""
    return may_compile() and _count(x) * _count(z) / max(1, x.shape[1]) >= COMPILED


def stays_sparse(rows: Any, others: Any) -> bool:
    """Whether a product with `others` takes `rows` as a sparse matrix."""
    most = LOOP if scatters(rows, others) else BOTH
    return is_sparse(rows) and (rows.shape[1] > WIDEST or _share(rows) < most)


def made_dense(
    X: Rows, Z: Rows, left: dict[Input, Any], right: dict[Input, Any]
) -> tuple[dict[Input, Any], dict[Input, Any]]:
    """The numbers of both operands, sparse ones dense where they are better multiplied so."""
    same = right is left
    for key in left:
        x, z = left[key], right[key]
        few = x.shape[0] * z.shape[0] * x.shape[1] <= SMALL_WORK
        if not few and not _are_better_dense(x, z):
            continue
        both = few or _share(x) >= ONE
        copies = [z] if same or not both else [x, z]
        if sum(map(dense_bytes, copies)) > ROOM * get_config().memory_bytes:
            continue
        right = {**right, key: Z.dense(z)}
        if same:
            left = right
        elif both:
            left = {**left, key: X.dense(x)}
    return left, right


def _are_better_dense(x: Any, z: Any) -> bool:
    """Whether these two sparse matrices are multiplied faster as dense ones."""
    both = is_sparse(x) and is_sparse(z)
    return both and not stays_sparse(x, z) and not stays_sparse(z, x)


def dense_bytes(rows: Any) -> int:
    """Bytes of a dense copy."""
    return int(rows.shape[0] * rows.shape[1] * rows.dtype.itemsize)


def _count(rows: Any) -> int:
    """Numbers that are stored."""
    return int(rows.nnz if is_sparse(rows) else rows.shape[0] * rows.shape[1])


def _share(rows: Any) -> float:
    return float(_count(rows) / max(1, rows.shape[0] * rows.shape[1]))
