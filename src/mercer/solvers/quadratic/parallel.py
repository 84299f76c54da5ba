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

import numpy as np

from mercer._config import get_config, show_bytes
from mercer._machine.deadline import check_time
from mercer._machine.threads import interruptible
from mercer._progress import progress
from mercer.gram.base import Gram
from mercer.solvers.quadratic.decomposition import Options, solve
from mercer.solvers.quadratic.duplicate_rows import merged_tasks
from mercer.solvers.quadratic.flat_problems import Problems
from mercer.solvers.quadratic.hard_margin import hard_margin, hard_tube
from mercer.solvers.quadratic.problem import Solution, Task, Tasks
from mercer.solvers.quadratic.row_sources import row_sources
from mercer.solvers.quadratic.small import is_small, solve_small
from mercer.solvers.quadratic.smo_on_demand import solve_on_demand
from mercer.tuning import PRODUCT_ROWS, ROW_TILE_COLUMNS, SVM_THREADED_ROWS

if TYPE_CHECKING:
    from mercer.gram.host import HostGram

#: Rows of the smallest working set that makes sense, and the fewest rows of K to be kept.
LEAST_SET_ROWS = 256
_METHODS: dict[str, Callable[..., Solution]] = {
    "solve": solve,
    "resume": solve,
    "hard margin": hard_margin,
    "hard tube": hard_tube,
}


def solve_all(
    gram: Gram, tasks: Sequence[Task], tol: float, max_iter: int, what: str
) -> tuple[Sequence[Solution], bool]:
    """Return the solutions, in the order of the tasks, and whether Ctrl-C cut them short.

    `tol` is LIBSVM's; `max_iter` counts steps of SMO for each problem (−1: no limit).
    """
    if not isinstance(tasks, Tasks) and any(task.problem.has_separate_sides for task in tasks):
        apart = [Task(np.tile(t.rows, 2), t.problem.apart(), t.method) for t in tasks]
        each, interrupted = solve_all(gram, apart, tol, max_iter, what)
        return [_together(one) for one in each], interrupted
    merged = merged_tasks(gram, tasks)
    if merged is not None:
        gram = cast("HostGram", gram).reordered(merged.distinct)
        each, interrupted = solve_all(gram, merged.tasks, tol, max_iter, what)
        return merged.spread(each), interrupted
    most = tasks.most if isinstance(tasks, Tasks) else max(len(t.rows) for t in tasks)
    threads, memory = _share(gram, most, min(len(tasks), get_config().n_threads))
    methods = {tasks.method} if isinstance(tasks, Tasks) else {task.method for task in tasks}
    if gram.engine == "cpu" and gram.square and methods <= {"solve", "resume"}:
        solved = _by_smo(cast("HostGram", gram), tasks, tol, max_iter, threads, memory, what)
        if solved is not None:
            return solved
    return _decomposed(gram, tasks, tol, max_iter, threads, memory, what)


def _by_smo(
    gram: HostGram,
    tasks: Sequence[Task],
    tol: float,
    max_iter: int,
    threads: int,
    memory: int,
    what: str,
) -> tuple[Sequence[Solution], bool] | None:
    """Solve over K in memory, or rows of K on demand; None where rows have no source."""
    if is_small(gram.shape[0], tasks):
        small = solve_small(gram.dense(), tasks, tol, max_iter)
        if small is not None:
            return small
    problems, sources = Problems(tasks, tol, max_iter), row_sources(gram, tasks)
    cut_short = solve_on_demand(problems, sources, threads, memory, what)
    if cut_short is None:
        return None
    late = problems.unfinished().tolist()
    if cut_short or not late:
        return problems.solutions(), cut_short
    # Many steps in a long narrow valley: there Newton steps on free variables are faster.
    solutions = list(problems.solutions())
    rest = [Task(tasks[i].rows, tasks[i].problem.starting(solutions[i].a), "resume") for i in late]
    left = max_iter if max_iter < 0 else max(0, max_iter - int(problems.taken[late].max()))
    each, cut_short = _decomposed(gram, rest, tol, left, threads, memory, what)
    for i, more in zip(late, each, strict=True):
        solutions[i] = replace(more, n_iter=more.n_iter + solutions[i].n_iter)
    return solutions, cut_short


def _together(solution: Solution) -> Solution:
    """The solution of a problem whose two sides were solved as variables of their own."""
    n = len(solution.image) // 2
    return replace(solution, a=solution.a.reshape(2, n), image=solution.image[:n])


def _decomposed(
    gram: Gram,
    tasks: Sequence[Task],
    tol: float,
    max_iter: int,
    threads: int,
    memory: int,
    what: str,
) -> tuple[list[Solution], bool]:
    """Solve by working sets, over rows of K that matrix products compute."""
    settings, most = get_config(), max(len(task.rows) for task in tasks)
    threads = min(threads, len(tasks))
    each = settings.n_threads if threads == 1 and most >= SVM_THREADED_ROWS else 1
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
            while True:
                with lock:
                    index = next(queue, None)
                if index is None:
                    return
                task, note = tasks[index], GapProgress(bar.advance, tol)
                options = Options(tol, max_iter, memory, stopped, note)
                rows = gram.rows_of_k(task.rows, threads=each)
                method = _METHODS[task.method]
                solutions[index] = method(rows, task.problem, options)
                note.finish()

        return solutions, interruptible(work, threads, stop)


def _share(gram: Gram, most: int, threads: int) -> tuple[int, int]:
    """Threads, and the bytes of each for rows of K and K[W, W], inside the memory limit."""
    item, limit = gram.dtype.itemsize, gram.limit_bytes
    wide = gram.bytes_per_row
    everything = most == gram.shape[0]
    # Beyond the rows: the columns of the problem side by side, its vectors, a tile, rows at hand.
    fixed = (
        most * (0 if everything else wide) + 400 * most + 2 * PRODUCT_ROWS * ROW_TILE_COLUMNS * item
    )
    fixed += PRODUCT_ROWS * wide
    least = LEAST_SET_ROWS * (most + LEAST_SET_ROWS) * item
    for count in range(threads, 0, -1):
        memory = int(0.9 * limit / count - fixed)
        if memory >= least:
            return count, memory
    need = (fixed + least) / 0.9
    raise MemoryError(
        f"a support vector machine on {most} examples needs {show_bytes(need)} for its working "
        f"set, but the memory limit is {show_bytes(limit)}. Raise it: mercer.set_config(memory=…)."
    )


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
