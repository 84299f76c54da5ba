"""The one loop over tiles.

Every sum over pairs in the library is a body for this loop: it cuts the matrix into panels of rows,
a panel into tiles, hands panels to threads, shows progress, and stops on Ctrl-C.

        columns →
      ┌───────┬───────┬──
 rows │ tile  │ tile  │   panel 0 → thread 0
   ↓  ├───────┼───────┼──
      │       │       │   panel 1 → thread 1   …
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mercer._machine.deadline import check_time
from mercer._machine.threads import run_threads, threads_for
from mercer._progress import progress


@dataclass
class Scratch:
    """Buffers of one thread, allocated once and used for every tile."""

    thread: int
    _buffers: dict[object, np.ndarray] = field(default_factory=dict)

    def get(self, key: object, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        size = int(np.prod(shape))
        buffer = self._buffers.get(key)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            buffer = self._buffers[key] = np.empty(size, dtype=dtype)
        return buffer[:size].reshape(shape)


Body = Callable[[slice, slice, Scratch], None]


class Tiling(NamedTuple):
    """How a matrix is cut: the shape of a tile, and how many threads share the panels.

    `triangle`: only tiles on or above the diagonal. `fixed`: panel i always goes to thread
    i mod threads, so that sums collected per thread come out the same every time. `runs`: the
    columns of the tiles of each panel, where not all of them are wanted.
    """

    shape: tuple[int, int]
    tile: tuple[int, int]
    threads: int
    triangle: bool = False
    fixed: bool = False
    runs: tuple[list[slice], ...] = ()


def cut(start: int, stop: int, step: int) -> Iterator[slice]:
    """Slices of `step`, the last one shorter, from start to stop."""
    for at in range(start, stop, step):
        yield slice(at, min(at + step, stop))


def sweep(tiling: Tiling, body: Body, what: str = "kernel") -> None:
    """Call ``body(rows, columns, scratch)`` for every tile."""
    (n, m), (height, width) = tiling.shape, tiling.tile
    panels = list(cut(0, n, height))
    if not panels:
        return
    threads = min(tiling.threads, len(panels))
    lock = threading.Lock()
    stop = threading.Event()
    queue = iter(panels)

    with progress(what, len(panels)) as bar:

        def work(thread: int) -> None:
            scratch = Scratch(thread)
            mine = iter(panels[thread::threads]) if tiling.fixed else queue
            while not stop.is_set():
                with lock:
                    panel = next(mine, None)
                if panel is None:
                    return
                every = cut(panel.start if tiling.triangle else 0, m, width)
                for columns in tiling.runs[panel.start // height] if tiling.runs else every:
                    if stop.is_set():
                        return
                    check_time()
                    body(panel, columns, scratch)
                bar.advance()

        run_threads(work, threads, stop)


def stretch(index: slice, n: int) -> slice:
    """A slice with both its ends, as loops over tiles want it."""
    start, stop, step = index.indices(n)
    if step != 1:
        raise IndexError(f"a tile is a stretch of rows and columns, not {index}")
    return slice(start, max(start, stop))


def whole_rows(out: np.ndarray) -> np.ndarray:
    """A slice of columns seen as rows of the full length: loops over it are then contiguous.

    What lies beyond the slice is never touched; the view only shows the compiler that neighbors in
    a row are neighbors in memory.
    """
    if out.flags.c_contiguous or out.strides[1] != out.itemsize or out.strides[0] % out.itemsize:
        return out
    length = out.strides[0] // out.itemsize
    return np.lib.stride_tricks.as_strided(out, (out.shape[0], length), out.strides)


#: Edge of the squares that are mirrored at a time: 64 rows of two squares fit the first cache.
MIRROR = 64
_BELOW = np.tri(MIRROR, k=-1, dtype=bool)


def set_diagonal(tile: np.ndarray, rows: slice, columns: slice, diagonal: np.ndarray) -> None:
    """Write k(x, x) where a tile crosses the diagonal."""
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
        np.copyto(square, square.T, where=_BELOW[: len(square), : len(square)])
    for part in cut(max(first, rows.stop), columns.stop, MIRROR):
        out[part, rows] = out[rows, part].T


# --- A block whose pairs are expensive: rows shared among threads, one triangle where X is Z ------


#: Operations between two looks at Ctrl-C and the progress bar.
PANEL_WORK = 1e8

PairBody = Callable[[slice, slice, np.ndarray], None]


def over_pairs(shape: tuple[int, int], body: PairBody, work: float, symmetric: bool) -> np.ndarray:
    """The matrix that ``body(rows, columns, out)`` fills panel by panel.

    `work` is the number of operations a pair costs. The planner above knows nothing of it and
    would give such a kernel one thread and one large tile.
    """
    out = np.zeros(shape)
    n, m = shape
    threads = threads_for(4.0 * n * m * work)  # a step of these loops takes as long as four flops
    # Many panels, so that the last one to finish does not keep the others waiting.
    height = max(1, min(-(-n // (16 * threads)), int(PANEL_WORK / max(m * work, 1.0))))

    def tile(rows: slice, columns: slice, scratch: Scratch) -> None:
        body(rows, columns, out[rows, columns])
        if symmetric:
            out[rows.stop : columns.stop, rows] = out[rows, rows.stop : columns.stop].T

    sweep(Tiling(shape, (height if threads > 1 or symmetric else n, m), threads, symmetric), tile)
    return out
