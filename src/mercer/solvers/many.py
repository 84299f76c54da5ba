"""Several quadratic problems over one Gram: a thread each, or all threads for one.

One-against-one classification is K(K−1)/2 problems over pairs of classes. They share the Gram's
preparation and nothing else: on MNIST, rows over the two classes of a pair cost fewer operations
than rows over all of them, even though some are computed in several pairs.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._config import get_config, show_bytes
from mercer._progress import progress
from mercer.formula.inputs import is_sparse
from mercer.gram.operator import Gram
from mercer.gram.panels import HEIGHT, WIDTH, RowPanels
from mercer.gram.threads import single_threaded_blas
from mercer.solvers.row_cache import Workspace
from mercer.solvers.working_set import Options, Solution

#: Working sets smaller than this make no sense; nor do fewer rows kept.
LEAST = 256
#: Operations a pair from which rows of K are worth all the memory there is, …
DEAR = 500
#: … and the bytes they get otherwise.
MODEST = 256_000_000
#: Rows from which one problem is worth several threads.
ALONE = 2000


@dataclass(frozen=True)
class Task:
    """One problem: the rows of the Gram it is about, and how it is solved over them."""

    rows: np.ndarray
    run: Callable[[RowPanels, Options, Workspace], Solution]


def solve_all(
    gram: Gram, tasks: Sequence[Task], tol: float, max_iter: int, what: str
) -> tuple[list[Solution], bool]:
    """The solutions, in the order of the tasks, and whether Ctrl-C cut them short."""
    settings = get_config()
    most = max(len(task.rows) for task in tasks)
    threads, memory = _share(gram, most, min(len(tasks), settings.n_threads))
    each = settings.n_threads if threads == 1 and most >= ALONE else 1
    # The largest first, so that no thread is left alone with it at the end.
    queue = iter(sorted(range(len(tasks)), key=lambda i: -len(tasks[i].rows)))
    solutions: list[Any] = [None] * len(tasks)
    stop, lock = threading.Event(), threading.Lock()
    gram._walker  # noqa: B018 - compiled now, before several threads ask for it

    with progress(what, float(len(tasks))) as bar:

        def work() -> None:
            workspace = Workspace(memory)
            try:
                while True:
                    with lock:
                        index = next(queue, None)
                    if index is None:
                        return
                    note = _Share(bar.advance, tol)
                    options = Options(tol, max_iter, each, memory, stop.is_set, note)
                    task = tasks[index]
                    panels = RowPanels(gram, task.rows)
                    solutions[index] = task.run(panels, options, workspace)
                    note.finish()
            except BaseException:
                stop.set()
                raise

        with single_threaded_blas():
            return solutions, _wait(work, threads, stop)


def _wait(work: Callable[[], None], threads: int, stop: threading.Event) -> bool:
    """Workers compute and this thread waits: Ctrl-C reaches it, and never a half-made step."""
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


class _Share:
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


def _share(gram: Gram, most: int, threads: int) -> tuple[int, int]:
    """Threads, and the bytes of each for rows of K and K[W, W], inside the memory limit."""
    limit = get_config().memory_bytes
    item = gram.dtype.itemsize
    wide = sum(_bytes_a_row(m) for m in gram._z.matrices.values())
    everything = most == gram.shape[0]
    # Beyond the rows: the columns of the problem side by side, its vectors, a tile, rows at hand.
    fixed = most * (0 if everything else wide) + 400 * most + 2 * HEIGHT * WIDTH * item
    fixed += HEIGHT * wide
    least = LEAST * (most + LEAST) * item
    # A page touched for the first time costs more than computing what goes there, if k is cheap.
    work = gram._plan().cost
    cheap = work.flops + 10 * work.pair_operations < DEAR * gram.shape[0] ** 2
    for count in range(threads, 0, -1):
        memory = int(0.9 * limit / count - fixed)
        if memory >= least:
            return count, max(least, min(memory, MODEST)) if cheap else memory
    need = (fixed + least) / 0.9
    raise MemoryError(
        f"a support vector machine on {most} examples needs {show_bytes(need)} for its working "
        f"set, but the memory limit is {show_bytes(limit)}. Raise it with mercer.config(memory=…)."
    )


def _bytes_a_row(matrix: Any) -> int:
    if is_sparse(matrix):
        return int((matrix.data.nbytes + matrix.indices.nbytes) // max(1, matrix.shape[0])) + 8
    return int(matrix.shape[1] * matrix.dtype.itemsize)
