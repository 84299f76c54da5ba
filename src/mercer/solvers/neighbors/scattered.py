"""A search among sparse rows: the products of one query with all examples are one row of sums.

Each number of a query that is not 0 adds a column of Z, a few numbers, to that row, which stays in
a near cache; then it is looked through for the largest 2x·z − ‖z‖². In float64, so that only what
is far closer than the rows are long needs a second look.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.threads import threads_for
from mercer._tiles import Scratch, Tiling, sweep
from mercer.gram.rows.prepared import squared_norms

#: Scattered numbers of one call: what a core does in a fifth of a second, so that Ctrl-C is heard.
CALL = 2e8
#: Candidates beyond those asked for: hardly any distances are nearer than the rounding of float64.
SPARE = 2
#: What a scattered number costs, in the operations that `threads_for` counts.
COST = 10.0
DOUBLE = float(np.finfo(np.float64).eps)


def scattered(x: Any, z: Any, k: int, own: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Candidates of every query, a few more than k, and what no other squared distance is below."""
    from mercer.solvers.neighbors.scattered_loops import search_rows

    x, z = x.astype(np.float64, copy=False), z.astype(np.float64, copy=False)
    k = min(k + SPARE, z.shape[0] - (own is not None))
    lengths, norms, by_column = squared_norms(x), squared_norms(z), z.tocsc()
    # Without a sign, so that no index is counted from the end.
    places = by_column.indices.view(f"u{by_column.indices.itemsize}")
    columns = by_column.indptr, places, by_column.data
    n, work = x.shape[0], x.nnz * (z.nnz / max(1, z.shape[1])) + x.shape[0] * z.shape[0] / 16
    index, values = np.zeros((n, k), dtype=np.intp), np.full((n, k), -np.inf)
    mine = np.full(n, -1) if own is None else own
    threads = threads_for(COST * work)

    def body(rows: slice, _: slice, scratch: Scratch) -> None:
        begins = x.indptr[rows.start : rows.stop + 1]
        room = scratch.get("sums", (1, z.shape[0]), np.dtype(np.float64))
        some = mine[rows], values[rows], index[rows]
        search_rows((begins, x.indices, x.data), columns, -norms, room, *some)

    step = max(1, min(n // (8 if threads > 1 else 1), int(n * CALL / max(work, 1.0))))
    sweep(Tiling((n, 1), (step, 1), threads), body, "neighbors")
    error = 8.0 * DOUBLE * (np.sqrt(z.shape[1]) + 8.0) * (lengths + norms.max())
    bound = lengths - values[:, -1] - error
    return index, np.maximum(np.nan_to_num(bound, nan=0.0), 0.0)


def listed_distances(x: Any, z: Any, index: np.ndarray) -> np.ndarray:
    """‖xᵢ − z_p‖² for the p listed for each i, in float64 from the differences."""
    from mercer.solvers.neighbors.scattered_loops import distances_of_pairs

    out, sides = np.empty(index.shape), []
    for side in (x, z):
        if not side.has_canonical_format:
            side = side.copy()
            side.sum_duplicates()
        sides.append((side.indptr, side.indices, side.data))
    distances_of_pairs(*sides, index, out)
    return out
