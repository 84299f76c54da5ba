"""The k nearest by a compiled search: scores in float32, each list made certain in float64.

Examples are packed into panels, whose columns are vectors; a small tile of scores between a few
queries and a panel never leaves the registers, and only what beats the worst of a list is looked
at. With many columns a score is x·z − ‖z‖²/2, a matrix product. With few it is −‖x − z‖², examples
and queries are put in an order in which neighbors are close together, and panels whose box is too
far off are passed over, as in a tree.

A few more are listed than asked for, and measured again from x − z. Where rounding could still hide
a nearer one, all examples with a score that could be near enough are measured. Numbers are centered
and scaled by a power of two where that keeps digits; whole numbers stay as they are, and leave no
doubt.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._lazy import record
from mercer._machine.threads import threads_for
from mercer._tiles import Scratch, Tiling, sweep

#: Columns up to which panels too far off are looked for.
NEAR_COLUMNS = 20
#: Queries × columns, per halving of the examples, from which on an order of them pays. Estimated:
#: a number takes 8 ns to be put into one half, and a query 0.05 ns per number of an example.
ORDER = 100
#: Numbers of a block of queries, which stays in the second cache beside a panel, and multiply-adds
#: of one call: what a core does in a fifth of a second, so that Ctrl-C is heard.
BLOCK, CALL = 1 << 17, 1e10
#: What a multiply-add costs here, packing a number, and putting it into one half of the rows, in
#: operations that `threads_for` counts.
WORTH, PACKING, HALVING = 0.4, 10.0, 100.0
#: Magnitudes within which squares are far from the ends of float32.
MODERATE = 2.0**-40, 2.0**40
#: Rows that are looked at for the center, and whether numbers are whole.
SAMPLE = 64
DOUBLE = float(np.finfo(np.float64).eps)


@record
class Examples:
    """Rows in panels. `scale` · x − `center` is what they hold; `lost`: digits lost by that, per
    number; `largest`: the largest ‖z‖²; `boxes`: the least and largest number of every column and
    panel, empty where scores are products."""

    panels: np.ndarray
    ids: np.ndarray
    center: np.ndarray
    scale: float
    lost: float
    largest: float
    whole: bool
    boxes: tuple[np.ndarray, np.ndarray]

    @property
    def parts(self) -> tuple[Any, Any, Any]:
        """As `panel_loops.search_block` takes them."""
        moved = self.center, self.scale, self.lost
        return (self.panels, *self.boxes, self.ids), moved, (self.largest, self.whole)


def search_panels(
    x: np.ndarray, z: np.ndarray, k: int, own: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Indices and squared distances of the k nearest of z for each of x, nearest first.

    `own[i]` is an index that does not count for query i.
    """
    from mercer.solvers.neighbors.panel_loops import ROWS, search_block

    kind = np.result_type(x, z)
    x, z = (np.ascontiguousarray(side, dtype=kind) for side in (x, z))
    (examples, order), columns = _packed(x, z), x.shape[1]
    mine = np.full(len(x), -1) if own is None else own.astype(np.int64, copy=False)
    index, distance = np.empty((len(x), k), dtype=np.intp), np.empty((len(x), k))
    threads = threads_for(WORTH * x.size * len(z))
    step = min(BLOCK // columns, int(CALL / z.size), len(x) // (8 if threads > 1 else 1))
    step = -(-max(1, step) // ROWS) * ROWS

    def body(rows: slice, _: slice, scratch: Scratch) -> None:
        search_block(x, order[rows], z, mine, *examples.parts, distance, index)

    sweep(Tiling((len(x), 1), (step, 1), threads), body, "neighbors")
    return index, distance


def _packed(x: np.ndarray, z: np.ndarray) -> tuple[Examples, np.ndarray]:
    """The examples in panels, and the order in which queries are asked."""
    from mercer.solvers.neighbors.packing import COLUMNS, boxes_of, pack_panels

    (n, columns), some = z.shape, z[:: max(1, len(z) // SAMPLE)]
    ends = [float(v) for side in (x, z) for v in (side.min(), side.max())]
    high = max(map(abs, ends))
    moderate = high == 0 or MODERATE[0] < high < MODERATE[1]
    scale = 1.0 if moderate else 2.0 ** -np.ceil(np.log2(high))
    whole = moderate and np.array_equal(some, np.rint(some))
    center = np.zeros(columns) if whole else (some * scale).mean(axis=0, dtype=np.float64)
    count = -(-n // COLUMNS)
    near = columns <= NEAR_COLUMNS and x.size >= ORDER * np.log2(max(2, count))
    ids, order = np.arange(n, dtype=np.int32), np.arange(len(x), dtype=np.int32)
    if near:
        ids, order = _orders(z, x, center, scale)
    panels = np.zeros((count, columns + (not near), COLUMNS), dtype=np.float32)
    norms = np.zeros(n)
    threads = threads_for(PACKING * z.size)
    exact = np.ones(count, dtype=bool)

    def body(rows: slice, _: slice, scratch: Scratch) -> None:
        exact[rows] = pack_panels(z, ids, center, scale, rows.start, rows.stop, panels, norms)

    sweep(Tiling((count, 1), (-(-count // threads), 1), threads), body, "neighbors")
    shape = (near * columns, count)
    boxes = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
    boxes_of(panels, *boxes)
    lost = 0.0 if whole else 4.0 * DOUBLE * high * scale * np.sqrt(columns)
    whole = whole and bool(exact.all())
    largest = float(norms.max())
    return Examples(panels, ids, center, scale, lost, largest, whole, boxes), order


def _orders(z: np.ndarray, x: np.ndarray, center: np.ndarray, scale: float) -> list[np.ndarray]:
    """Indices of examples and of queries in which neighbors are close together."""
    from mercer.solvers.neighbors.packing import COLUMNS, ROWS, in_order

    sides, found = ((z, COLUMNS), (x, ROWS)), [np.empty(0), np.empty(0)]

    def body(which: slice, _: slice, scratch: Scratch) -> None:
        rows, size = sides[which.start]
        found[which.start] = in_order(_moved(rows, center, scale), size)

    threads = threads_for(HALVING * (x.size + z.size) * np.log2(len(z)))
    sweep(Tiling((2, 1), (1, 1), threads), body, "neighbors")
    return found


def _moved(rows: np.ndarray, center: np.ndarray, scale: float) -> np.ndarray:
    """What panels hold of these rows."""
    return (rows * scale - center).astype(np.float32)
