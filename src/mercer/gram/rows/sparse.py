"""How sparse rows are multiplied: as they are, against a dense copy of Z, or as dense copies.

SciPy's product of two sparse matrices makes few multiplications, each at a hundredth of the speed
of a dense product: it wins where less than a twentieth of the numbers is not 0. With one side dense
the multiplications of the sparse rows remain, at a sixth of that speed. Where Numba is loaded,
loops (`mercer.gram.cpu.scattered`) are ahead of both, up to the second share. Fuller rows are made
dense once, and then take every path that arrays take. Copies are made where they are small beside
the memory limit; else tiles are made dense one by one, under the product.
"""

from __future__ import annotations

import sys
from typing import Any

from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer._machine.jit import may_compile
from mercer.formula.nodes import Input
from mercer.gram.rows.columns import ROOM

#: Shares of numbers other than 0: below the first both sides stay sparse, below the second one
#: does. Measured on one core with 30 to 3000 columns: 784 columns take 36, 19 and 36 ns a pair
#: (sparse, one side dense, dense) where a tenth is not 0, and 22, 10 and 35 ns at a twentieth.
BOTH, ONE = 0.05, 0.15
#: The share from which on a compiled loop takes Z in dense strips, and the rows of X that are worth
#: making them.
STRIPS, STRIPS_ROWS = 0.02, 64
#: Columns from which on both stay sparse: dense tiles are far larger than the tiles of K over them.
WIDEST = 4096


def scatters() -> bool:
    """Whether a compiled loop multiplies two sparse matrices; Numba is not imported for that."""
    return "numba" in sys.modules and may_compile()


def stays_sparse(rows: Any) -> bool:
    """Whether a product takes both sides as sparse matrices."""
    most = ONE if scatters() else BOTH
    return is_sparse(rows) and (rows.shape[1] > WIDEST or _share(rows) < most)


def takes_strips(n: int, z: Any) -> bool:
    """Whether n sparse rows are multiplied with z in strips (`mercer.gram.cpu.scattered`)."""
    if n < STRIPS_ROWS or not scatters() or not stays_sparse(z) or z.shape[1] > WIDEST:
        return False
    return _share(z) >= STRIPS and dense_bytes(z) <= ROOM * get_config().memory_bytes


def made_dense(left: dict[Input, Any], right: dict[Input, Any]) -> None:
    """Dense copies of rows that are better multiplied so, in place; the two sides may be one."""
    for key in left:
        x, z = left[key], right[key]
        if not (is_sparse(x) and is_sparse(z)) or stays_sparse(x) or stays_sparse(z):
            continue
        sides = [right] if right is left or _share(x) < ONE else [left, right]
        if sum(dense_bytes(side[key]) for side in sides) <= ROOM * get_config().memory_bytes:
            for side in sides:
                side[key] = side[key].toarray()


def dense_bytes(rows: Any) -> int:
    """Bytes of a dense copy."""
    return int(rows.shape[0] * rows.shape[1] * rows.dtype.itemsize)


def _share(rows: Any) -> float:
    return float(rows.nnz / max(1, rows.shape[0] * rows.shape[1]))
