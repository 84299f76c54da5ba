"""A symmetric matrix from one of its triangles, with the diagonal set exactly."""

from __future__ import annotations

import numpy as np

from mercer._tiles import cut

#: Edge of the squares that are mirrored at a time.
MIRROR = 256


def set_diagonal(
    tile: np.ndarray, rows: slice, columns: slice, diagonal: np.ndarray | None
) -> None:
    if diagonal is None:
        return
    start, stop = max(rows.start, columns.start), min(rows.stop, columns.stop)
    if start < stop:
        at = np.arange(start, stop)
        tile[at - rows.start, at - columns.start] = diagonal[start:stop]


def mirror(out: np.ndarray, rows: slice, columns: slice) -> None:
    """Copy what is above the diagonal below it, in squares that fit the cache."""
    first = max(rows.start, columns.start)
    # The end of the panel is an edge: before it lie squares on the diagonal, behind it none.
    for part in cut(first, min(rows.stop, columns.stop), MIRROR):
        above = slice(rows.start, part.start)
        out[part, above] = out[above, part].T
        square = out[part, part]
        square[...] = np.triu(square) + np.triu(square, 1).T
    for part in cut(max(first, rows.stop), columns.stop, MIRROR):
        out[part, rows] = out[rows, part].T
