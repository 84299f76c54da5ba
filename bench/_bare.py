"""The matrix products that any method needs, and nothing else: the floor beside a time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from _harness import all_cores, cores, timed
from threadpoolctl import threadpool_limits

#: Rows of a panel, as Mercer's own plans have them.
PANEL = 1024


def on_every_core(work: Callable[[int], Any]) -> None:
    """`work(thread)` for each of as many threads as cores, each with a BLAS of its own."""
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(cores()) as pool:
        list(pool.map(work, range(cores())))


class Panels:
    """Products in panels of rows, into buffers made once; a subclass says what is multiplied."""

    def __init__(self, X: np.ndarray, width: int) -> None:
        self.X = X
        self.starts = range(0, len(X), PANEL)
        self.buffers = [np.empty((PANEL, width), X.dtype) for _ in range(cores())]

    def panel(self, start: int, buffer: np.ndarray) -> None:
        """The products of the rows that begin there."""
        raise NotImplementedError

    def threaded_blas(self) -> None:
        for start in self.starts:
            self.panel(start, self.buffers[0])

    def thread_a_panel(self) -> None:
        def share(worker: int) -> None:
            for start in self.starts[worker :: cores()]:
                self.panel(start, self.buffers[worker])

        on_every_core(share)

    def fastest(self) -> Callable[[], None]:
        """The faster of the two ways a careful author would write it."""
        with all_cores():
            ways = (self.threaded_blas, self.thread_a_panel)
            return min(ways, key=lambda way: min(timed(way), timed(way)))
