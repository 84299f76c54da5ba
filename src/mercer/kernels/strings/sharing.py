"""A block whose pairs are expensive: rows shared among threads, one triangle where X is Z."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer._config import get_config

#: Operations below which starting threads costs more than it saves.
THREAD_WORK = 5e6
#: Operations between two looks at Ctrl-C and the progress bar.
PANEL_WORK = 1e8

PairBody = Callable[[slice, slice, np.ndarray], None]


def over_pairs(shape: tuple[int, int], body: PairBody, work: float, symmetric: bool) -> np.ndarray:
    """The matrix that ``body(rows, columns, out)`` fills panel by panel.

    `work` is the number of operations a pair costs. The planner above knows nothing of it and
    would give such a kernel one thread and one large tile.
    """
    from mercer._tiles import Scratch, Tiling, sweep

    out = np.zeros(shape)
    n, m = shape
    threads = get_config().n_threads if n * m * work >= THREAD_WORK else 1
    # Many panels, so that the last one to finish does not keep the others waiting.
    height = max(1, min(-(-n // (16 * threads)), int(PANEL_WORK / max(m * work, 1.0))))

    def tile(rows: slice, columns: slice, scratch: Scratch) -> None:
        body(rows, columns, out[rows, columns])
        if symmetric:
            out[rows.stop : columns.stop, rows] = out[rows, rows.stop : columns.stop].T

    sweep(Tiling(shape, (height if threads > 1 or symmetric else n, m), threads, symmetric), tile)
    return out
