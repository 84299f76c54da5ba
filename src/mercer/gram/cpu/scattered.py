"""X Zᵀ of sparse rows, straight into a dense array.

A row of the product is a sum of columns of Z, one per number of a row of X that is not 0; each adds
to a few places of a row that stays in the nearest cache. SciPy makes a sparse matrix of the result
first, which costs four times as much and more; with one side dense every number of X goes over all
rows of Z. Below a share of `mercer.gram.rows.sparse.ONE` this loop is the fastest of all ways.
"""

from __future__ import annotations

from typing import Any

from mercer._machine.jit import njit


def multiply(x: Any, z: Any, out: Any) -> None:
    """out ← x zᵀ for CSR matrices."""
    columns = z.tocsc()
    _scatter((x.indptr, x.indices, x.data), (columns.indptr, columns.indices, columns.data), out)


@njit(nogil=True)
def _scatter(x: Any, columns: Any, out: Any) -> None:
    starts, places, values = x
    begins, rows, numbers = columns
    for i in range(out.shape[0]):
        row = out[i]
        row[:] = 0
        for at in range(starts[i], starts[i + 1]):
            value, j = values[at], places[at]
            for other in range(begins[j], begins[j + 1]):
                row[rows[other]] += value * numbers[other]
