"""Several quadratic problems over one Gram: a thread each, or all threads for one.

One-against-one classification is K(K−1)/2 problems over pairs of classes. They share the Gram's
preparation and nothing else: on MNIST, rows over the two classes of a pair cost fewer operations
than rows over all of them, even though some are computed in several pairs.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from mercer._config import get_config, show_bytes
from mercer._progress import progress
from mercer._threads import single_threaded_blas
from mercer.gram.host import HostGram
from mercer.gram.panels import HEIGHT, WIDTH, RowPanels
from mercer.solvers.quadratic.attended import Share, attended
from mercer.solvers.quadratic.decomposition import Options
from mercer.solvers.quadratic.row_cache import Workspace
from mercer.solvers.quadratic.tasks import Solution, Task

#: Working sets smaller than this make no sense; nor do fewer rows kept.
LEAST = 256
#: Operations a pair from which rows of K are worth all the memory there is, …
DEAR = 500
#: … and the bytes they get otherwise.
MODEST = 256_000_000
#: Rows from which one problem is worth several threads.
ALONE = 2000


def solve_all(
    gram: HostGram, tasks: Sequence[Task], tol: float, max_iter: int, what: str
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
    gram.prepare_tiles()

    with progress(what, float(len(tasks))) as bar:

        def work() -> None:
            workspace = Workspace(memory)
            try:
                while True:
                    with lock:
                        index = next(queue, None)
                    if index is None:
                        return
                    note = Share(bar.advance, tol)
                    options = Options(tol, max_iter, each, memory, stop.is_set, note)
                    task = tasks[index]
                    panels = RowPanels(gram, task.rows)
                    solutions[index] = task.run(panels, options, workspace)
                    note.finish()
            except BaseException:
                stop.set()
                raise

        with single_threaded_blas():
            return solutions, attended(work, threads, stop)


def _share(gram: HostGram, most: int, threads: int) -> tuple[int, int]:
    """Threads, and the bytes of each for rows of K and K[W, W], inside the memory limit."""
    limit = get_config().memory_bytes
    item = gram.dtype.itemsize
    wide = gram.bytes_per_row
    everything = most == gram.shape[0]
    # Beyond the rows: the columns of the problem side by side, its vectors, a tile, rows at hand.
    fixed = most * (0 if everything else wide) + 400 * most + 2 * HEIGHT * WIDTH * item
    fixed += HEIGHT * wide
    least = LEAST * (most + LEAST) * item
    # A page touched for the first time costs more than computing what goes there, if k is cheap.
    work = gram.cost
    cheap = work.flops + 10 * work.pair_operations < DEAR * gram.shape[0] ** 2
    for count in range(threads, 0, -1):
        memory = int(0.9 * limit / count - fixed)
        if memory >= least:
            return count, max(least, min(memory, MODEST)) if cheap else memory
    need = (fixed + least) / 0.9
    raise MemoryError(
        f"a support vector machine on {most} examples needs {show_bytes(need)} for its working "
        f"set, but the memory limit is {show_bytes(limit)}. Raise it: mercer.set_config(memory=…)."
    )
