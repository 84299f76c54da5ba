"""Several quadratic problems over one Gram: a thread each, or all threads for one.

One-against-one classification is K(K−1)/2 problems over pairs of classes. They share the Gram's
preparation and nothing else: on MNIST, rows over the two classes of a pair cost fewer operations
than rows over all of them, even though some are computed in several pairs.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from mercer._config import get_config, show_bytes
from mercer._machine.deadline import check_time
from mercer._machine.threads import interruptible
from mercer._progress import progress
from mercer.gram.base import Gram
from mercer.gram.rows_of_k import HEIGHT, WIDTH
from mercer.solvers.quadratic.merged import merged_tasks
from mercer.solvers.quadratic.problem import Solution, Task, Tasks
from mercer.solvers.quadratic.row_by_row.lazy import solve_lazily

if TYPE_CHECKING:
    from mercer.gram.host import HostGram

#: Rows of the smallest working set that makes sense, and the fewest rows of K to be kept.
LEAST = 256
#: Operations per entry of K above which computed rows are kept in all the memory there is. A
#: cheaper entry is computed again faster than the system provides a fresh page to keep it in.
EXPENSIVE = 500
#: Bytes of rows that a cheaper kernel keeps: what the last-level cache and fast reuse can gain.
CHEAP_BYTES = 256_000_000
#: Problems of so few rows are not worth a look at what else they need, where so much is free.
SMALL, FREE_BYTES = 500, 1_000_000_000
#: Rows from which one problem is worth several threads.
ALONE = 2000


def solve_all(
    gram: Gram, tasks: Sequence[Task], tol: float, max_iter: int, what: str
) -> tuple[Sequence[Solution], bool]:
    """The solutions, in the order of the tasks, and whether Ctrl-C cut them short.

    `tol` is LIBSVM's; `max_iter` counts steps of SMO for each problem (−1: no limit).
    """
    merged = merged_tasks(gram, tasks)
    if merged is not None:
        gram = cast("HostGram", gram).reordered(merged.distinct)
        found, interrupted = solve_all(gram, merged.tasks, tol, max_iter, what)
        return merged.spread(found), interrupted
    most = Tasks.of(tasks).most if isinstance(tasks, Tasks) else max(len(t.rows) for t in tasks)
    threads, memory = _share(gram, most, min(len(tasks), get_config().n_threads))
    lazy = solve_lazily(gram, tasks, tol, max_iter, threads, memory, what)
    if lazy is None:
        return _decomposed(gram, tasks, tol, max_iter, threads, memory, what)
    solutions: Sequence[Solution]
    solutions, late, interrupted = lazy
    if late and not interrupted:
        solutions = list(solutions)
        # Many steps in a long narrow valley: there Newton steps on free variables are faster.
        rest = [
            Task(tasks[i].rows, tasks[i].problem.starting(solutions[i].a), "resume") for i in late
        ]
        spent = max(solutions[i].n_iter for i in late)
        left = max_iter if max_iter < 0 else max(0, max_iter - spent)
        found, interrupted = _decomposed(gram, rest, tol, left, threads, memory, what)
        for i, more in zip(late, found, strict=True):
            solutions[i] = replace(more, n_iter=more.n_iter + solutions[i].n_iter)
    return solutions, interrupted


def _decomposed(
    gram: Gram,
    tasks: Sequence[Task],
    tol: float,
    max_iter: int,
    threads: int,
    memory: int,
    what: str,
) -> tuple[list[Solution], bool]:
    """By working sets, over rows of K that matrix products compute."""
    # Imported here, because that imports Numba.
    from mercer.solvers.quadratic.decomposition import Options, resume, solve
    from mercer.solvers.quadratic.hard_margin import hard_margin, hard_tube
    from mercer.solvers.quadratic.working_block import Workspace

    methods: dict[str, Callable[..., Solution]] = {
        "solve": solve,
        "resume": resume,
        "hard margin": hard_margin,
        "hard tube": hard_tube,
    }
    settings, most = get_config(), max(len(task.rows) for task in tasks)
    threads = min(threads, len(tasks))
    each = settings.n_threads if threads == 1 and most >= ALONE else 1
    # The largest first, so that no thread is left alone with it at the end.
    queue = iter(sorted(range(len(tasks)), key=lambda i: -len(tasks[i].rows)))
    solutions: list[Any] = [None] * len(tasks)
    stop, lock = threading.Event(), threading.Lock()
    gram.prepare_tiles()

    def stopped() -> bool:
        check_time()  # steps that close no gap show no progress
        return stop.is_set()

    with progress(what, float(len(tasks))) as bar:

        def work(thread: int) -> None:
            workspace = Workspace(memory)
            while True:
                with lock:
                    index = next(queue, None)
                if index is None:
                    return
                task, note = tasks[index], GapProgress(bar.advance, tol)
                options = Options(tol, max_iter, memory, stopped, note)
                rows = gram.rows_of_k(task.rows, threads=each)
                method = methods[task.method]
                solutions[index] = method(rows, task.problem, options, workspace)
                note.finish()

        return solutions, interruptible(work, threads, stop)


def _share(gram: Gram, most: int, threads: int) -> tuple[int, int]:
    """Threads, and the bytes of each for rows of K and K[W, W], inside the memory limit."""
    item, limit = gram.dtype.itemsize, gram.limit_bytes
    if most <= SMALL and limit >= FREE_BYTES:
        return threads, SMALL * SMALL * item
    wide = gram.bytes_per_row
    everything = most == gram.shape[0]
    # Beyond the rows: the columns of the problem side by side, its vectors, a tile, rows at hand.
    fixed = most * (0 if everything else wide) + 400 * most + 2 * HEIGHT * WIDTH * item
    fixed += HEIGHT * wide
    least = LEAST * (most + LEAST) * item
    # Where all rows fit several times over, none is ever computed again.
    cheap = 4 * most**2 * item <= CHEAP_BYTES or _is_cheap(gram)
    for count in range(threads, 0, -1):
        memory = int(0.9 * limit / count - fixed)
        if memory >= least:
            return count, max(least, min(memory, CHEAP_BYTES)) if cheap else memory
    need = (fixed + least) / 0.9
    raise MemoryError(
        f"a support vector machine on {most} examples needs {show_bytes(need)} for its working "
        f"set, but the memory limit is {show_bytes(limit)}. Raise it: mercer.set_config(memory=…)."
    )


def _is_cheap(gram: Gram) -> bool:
    work = gram.cost
    return bool(work.flops + 10 * work.pair_operations < EXPENSIVE * gram.shape[0] ** 2)


class GapProgress:
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
