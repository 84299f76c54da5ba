"""Long work in threads while the main one waits: Ctrl-C asks it to end, and a bar shows how far."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context


def attended(work: Callable[[], None], threads: int, stop: threading.Event) -> bool:
    """Workers compute and this thread waits: Ctrl-C reaches it, and never a half-made step.

    Gives whether it came. `stop` is then set, and `work` ends at its next look at it.
    """
    interrupted = False
    pool = ThreadPoolExecutor(threads)
    try:
        jobs = [pool.submit(copy_context().run, work) for _ in range(threads)]
        while True:
            try:
                # Short waits: a signal is dealt with when this thread runs.
                while wait(jobs, timeout=0.2).not_done:
                    pass
                break
            except KeyboardInterrupt:
                if interrupted:
                    raise  # asked twice: leave at once
                interrupted = True
                stop.set()
    finally:
        stop.set()
        pool.shutdown(wait=False)
    for job in jobs:
        job.result()
    return interrupted


class Share:
    """One problem's share of a progress bar: how far the logarithm of its gap has come."""

    def __init__(self, advance: Callable[[float], None], tol: float) -> None:
        self._advance, self._tol = advance, tol
        self._first: float | None = None
        self._done = 0.0

    def __call__(self, gap: float) -> None:
        if not gap > self._tol or not math.isfinite(gap):
            return
        self._first = gap if self._first is None else max(gap, self._first)
        whole = math.log(2 * self._first / self._tol)
        self._move(min(0.99, math.log(2 * self._first / gap) / whole))

    def finish(self) -> None:
        self._move(1.0)

    def _move(self, done: float) -> None:
        if done > self._done:
            self._advance(done - self._done)
            self._done = done
