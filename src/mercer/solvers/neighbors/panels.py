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

from typing import Any, Final

import numpy as np

import mercer.tuning as tuning
from mercer._lazy import record
from mercer._machine.threads import threads_for
from mercer._tiles import Scratch, Tiling, sweep

DOUBLE = float(np.finfo(np.float64).eps)
SINGLE, TINY = np.finfo(np.float32).eps, np.finfo(np.float32).tiny
#: Squared norms up to which sums of products of whole numbers are exact in float32.
EXACT_SINGLE: Final = float(1 << 22)


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


def search_panels(
    x: np.ndarray, z: np.ndarray, k: int, own: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Indices and squared distances of the k nearest of z for each of x, nearest first.

    `own[i]` is an index that does not count for query i.
    """
    from mercer.solvers.neighbors.panel_loops import ROWS

    kind = np.result_type(x, z)
    x, z = (np.ascontiguousarray(side, dtype=kind) for side in (x, z))
    (examples, order), columns = _packed(x, z), x.shape[1]
    mine = np.full(len(x), -1) if own is None else own.astype(np.int64, copy=False)
    index, distance = np.empty((len(x), k), dtype=np.intp), np.empty((len(x), k))
    threads = threads_for(tuning.PANEL_FLOP_COST * x.size * len(z))
    step = min(
        tuning.CACHE_ELEMENTS // columns,
        int(tuning.QUERY_FLOPS / z.size),
        len(x) // (8 if threads > 1 else 1),
    )
    step = -(-max(1, step) // ROWS) * ROWS

    def body(rows: slice, _: slice, scratch: Scratch) -> None:
        _Block(x, order[rows], z, mine[order[rows]], examples).search(distance, index)

    sweep(Tiling((len(x), 1), (step, 1), threads), body, "neighbors")
    return index, distance


class _Block:
    """A block of packed queries, and the buffers of their search."""

    def __init__(self, x: Any, rows: np.ndarray, z: Any, own: np.ndarray, e: Examples) -> None:
        from mercer.solvers.neighbors.panel_loops import COLUMNS, ROWS, pack_queries

        self.x, self.rows, self.z, self.examples = x, rows, z, e
        padded, shape = -(-len(rows) // ROWS) * ROWS, (ROWS, COLUMNS)
        self.packed = np.empty((padded, e.panels.shape[1]), np.float32)
        self.norms, self.own = np.empty(padded), np.full(padded, own[-1])
        self.own[: len(own)] = own
        self.scores, self.least = np.empty(shape, np.float32), np.full(ROWS, -np.inf, np.float32)
        self.gaps = np.empty(len(e.panels), np.float32)
        whole = pack_queries(x, rows, e.center, e.scale, self.packed, self.norms)
        self.exact = e.whole and whole and max(e.largest, self.norms.max()) <= EXACT_SINGLE
        self.near = len(e.boxes[0]) > 0

    def search(self, distance: np.ndarray, index: np.ndarray) -> None:
        """distance[rows], index[rows] ← the k nearest of z, nearest first."""
        from mercer.solvers.neighbors import panel_loops as loops

        e, n, k = self.examples, len(self.rows), index.shape[1]
        others = len(self.z) - int(self.own.max() >= 0)
        # Of equally near ones the first count. One after the other they are listed so; in any
        # order one more is listed, which tells whether the last has its like among those left out.
        spare = tuning.SPARE if self.near or not self.exact else 0
        some = min(k + spare, others)
        places = np.zeros((len(self.packed), max(some, loops.LISTED)), np.int32)
        values = np.full(places.shape, -np.inf, np.float32)
        lists = (e.ids, self.own, some, values, places, self.scores, self.least)
        if self.near:
            loops.list_near(self.packed, e.panels, *e.boxes, *lists, self.gaps)
        else:
            loops.list_all(self.packed, e.panels, *lists)
        loops.measure_listed(self.x, self.rows, self.z, e.ids, places, some, distance, index)
        if some < others and (self.near or not self.exact):
            farthest = distance[self.rows, k - 1] / e.scale**-2
            least = self._as_near(farthest, values[:n, some - 1].astype(np.float64))
            self._again(np.flatnonzero(least < np.inf), least, distance, index)

    def _again(self, which: np.ndarray, least: np.ndarray, distance: Any, index: Any) -> None:
        """All examples that may be as near as the farthest one listed, for these queries."""
        from mercer.solvers.neighbors.panel_loops import ROWS, search_again

        if not len(which):
            return
        e, padded = self.examples, np.resize(which, -(-len(which) // ROWS) * ROWS)
        search_again(
            self.x, self.rows[which], self.z, self.packed[padded], e.panels, *e.boxes, e.ids,
            self.own[padded], least[padded], distance, index, self.scores, self.gaps,
        )  # fmt: skip

    def _as_near(self, farthest: np.ndarray, last: np.ndarray) -> np.ndarray:
        """What the score of an example exceeds that may be as near as the farthest one of a list.

        `last`: the score that each list ends with; infinity where all others are certainly farther.
        """
        norm = self.norms[: len(last)]
        share, part, rest = self._error(norm)
        end = np.maximum(-last if self.near else norm - 2.0 * last, 0.0)
        limit = farthest + share * farthest + part * np.sqrt(farthest) + rest
        least = (-limit if self.near else 0.5 * (norm - limit)).astype(np.float32)
        least -= np.maximum(np.abs(least) * SINGLE, TINY)  # smaller, by little
        least[end - (share * end + part * np.sqrt(end) + rest) > farthest] = np.inf
        return least

    def _error(self, norm: np.ndarray) -> tuple[Any, Any, Any]:
        """What a squared distance d² may be off by: shares of d² and d, and a constant."""
        e, columns = self.examples, self.x.shape[1]
        if self.exact:
            return 0.0, 0.0, 0.0
        length, least = np.sqrt(norm) + np.sqrt(e.largest), 2.0 * columns * float(TINY)
        if self.near:
            moved = float(SINGLE) * length + e.lost
            return 2.0 * (columns + 4) * float(SINGLE), 2.0 * moved, least + moved * moved
        share = 2.0 * float(SINGLE) * (4.0 * np.sqrt(columns) + 8.0)
        return 0.0, 0.0, least + share * (norm + e.largest) + 4.0 * length * e.lost


def _packed(x: np.ndarray, z: np.ndarray) -> tuple[Examples, np.ndarray]:
    """The examples in panels, and the order in which queries are asked."""
    from mercer.solvers.neighbors.panel_loops import COLUMNS, pack_panels

    (n, columns), some = z.shape, z[:: max(1, len(z) // tuning.SAMPLE_ROWS)]
    ends = [float(v) for side in (x, z) for v in (side.min(), side.max())]
    high = max(map(abs, ends))
    moderate = high == 0 or tuning.UNSCALED_RANGE[0] < high < tuning.UNSCALED_RANGE[1]
    scale = 1.0 if moderate else 2.0 ** -np.ceil(np.log2(high))
    whole = moderate and np.array_equal(some, np.rint(some))
    center = np.zeros(columns) if whole else (some * scale).mean(axis=0, dtype=np.float64)
    count = -(-n // COLUMNS)
    near = columns <= tuning.NEAR_COLUMNS and x.size >= tuning.ORDERED_NUMBERS * np.log2(
        max(2, count)
    )
    ids, order = np.arange(n, dtype=np.int32), np.arange(len(x), dtype=np.int32)
    if near:
        ids, order = _orders(z, x, center, scale)
    panels = np.zeros((count, columns + (not near), COLUMNS), dtype=np.float32)
    norms = np.zeros(n)
    threads = threads_for(tuning.PACKING_COST * z.size)
    exact = np.ones(count, dtype=bool)

    def body(rows: slice, _: slice, scratch: Scratch) -> None:
        buffer, ends = np.empty((COLUMNS, columns), np.float32), (rows.start, rows.stop)
        exact[rows] = pack_panels(z, ids, center, scale, *ends, panels, norms, buffer)

    sweep(Tiling((count, 1), (-(-count // threads), 1), threads), body, "neighbors")
    boxes = np.empty((0, count), np.float32), np.empty((0, count), np.float32)
    if near:
        real = np.isfinite(panels)
        least = panels.min(axis=2, where=real, initial=np.inf)
        boxes = least.T.copy(), panels.max(axis=2, where=real, initial=-np.inf).T.copy()
    lost = 0.0 if whole else 4.0 * DOUBLE * high * scale * np.sqrt(columns)
    whole = whole and bool(exact.all())
    largest = float(norms.max())
    return Examples(panels, ids, center, scale, lost, largest, whole, boxes), order


def _orders(z: np.ndarray, x: np.ndarray, center: np.ndarray, scale: float) -> list[np.ndarray]:
    """Indices of examples and of queries in which neighbors are close together."""
    from mercer.solvers.neighbors.panel_loops import COLUMNS, ROWS, put_in_order

    sides, found = ((z, COLUMNS), (x, ROWS)), [np.empty(0), np.empty(0)]

    def body(which: slice, _: slice, scratch: Scratch) -> None:
        rows, size = sides[which.start]
        moved, index = _moved(rows, center, scale), np.arange(len(rows), dtype=np.int32)
        buffers = np.empty(len(rows), np.int64), np.empty((128, 2), np.int64)
        put_in_order(index, moved, moved.view(np.int32), *buffers, size)
        found[which.start] = index

    threads = threads_for(tuning.HALVING_COST * (x.size + z.size) * np.log2(len(z)))
    sweep(Tiling((2, 1), (1, 1), threads), body, "neighbors")
    return found


def _moved(rows: np.ndarray, center: np.ndarray, scale: float) -> np.ndarray:
    """What panels hold of these rows."""
    return (rows * scale - center).astype(np.float32)
