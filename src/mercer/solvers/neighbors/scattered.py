"""A search among sparse rows: products by scattering (`mercer.gram.sparse_products.scattered`), a
few rows at a time, which are then looked through for the largest 2x·z − ‖z‖².

In float64, so that only what is far closer than the rows are long needs a second look.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.threads import threads_for
from mercer._tiles import Scratch, Tiling, sweep
from mercer.gram.rows.prepared import squared_norms

#: Queries whose products are made at a time: with as many examples as are scattered together they
#: are 1 MB, which stays in the second-level cache.
ROWS = 32
#: Candidates beyond those asked for: hardly any distances are nearer than the rounding of float64.
SPARE = 2
#: What a scattered number costs, in the operations that `threads_for` counts.
COST = 10.0
DOUBLE = float(np.finfo(np.float64).eps)


def scattered(x: Any, z: Any, k: int, own: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Candidates of every query, a few more than k, and what no other squared distance is below."""
    from mercer.gram.sparse_products.scattered import WIDTH, columns_of, multiply
    from mercer.solvers.neighbors.loops import keep_largest

    x, z = x.astype(np.float64, copy=False), z.astype(np.float64, copy=False)
    k = min(k + SPARE, z.shape[0] - (own is not None))
    lengths, norms, columns = squared_norms(x), squared_norms(z), columns_of(z)
    offset = -norms
    (n, width), m = x.shape, z.shape[0]
    index, values = np.zeros((n, k), dtype=np.intp), np.full((n, k), -np.inf)
    mine = np.full(n, -1) if own is None else own
    threads = threads_for(COST * (x.nnz * (z.nnz / max(1, width)) + n * m / 16))

    def body(rows: slice, others: slice, scratch: Scratch) -> None:
        shape = rows.stop - rows.start, others.stop - others.start
        products = scratch.get("products", shape, np.dtype(np.float64))
        multiply(x, rows, columns, others, products)
        some = mine[rows], values[rows], index[rows]
        keep_largest(products, others.start, 2.0, offset[others], *some)

    step = max(1, min(n // (8 if threads > 1 else 1), ROWS))
    sweep(Tiling((n, m), (step, min(m, WIDTH)), threads), body, "neighbors")
    error = 8.0 * DOUBLE * (np.sqrt(z.shape[1]) + 8.0) * (lengths + norms.max())
    bound = lengths - values[:, -1] - error
    return index, np.maximum(np.nan_to_num(bound, nan=0.0), 0.0)


def listed_distances(x: Any, z: Any, index: np.ndarray) -> np.ndarray:
    """‖xᵢ − z_p‖² for the p listed for each i, in float64 from the differences."""
    from mercer.solvers.neighbors.loops import distances_of_pairs

    out, sides = np.empty(index.shape), []
    for side in (x, z):
        if not side.has_canonical_format:
            side = side.copy()
            side.sum_duplicates()
        sides.append((side.indptr, side.indices, side.data))
    distances_of_pairs(*sides, index, out)
    return out
