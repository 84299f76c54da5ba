"""Several quadratic problems over one Gram: a thread each, or all threads for one.

One-against-one classification is K(K−1)/2 problems over pairs of classes. They share the Gram's
preparation and nothing else: on MNIST, rows over the two classes of a pair cost fewer operations
than rows over all of them, even though some are computed in several pairs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from mercer._config import get_config, show_bytes
from mercer.gram import Gram
from mercer.solvers.quadratic.duplicate_rows import merged_tasks
from mercer.solvers.quadratic.hard_margin import hard_margin, hard_tube
from mercer.solvers.quadratic.problem import Problems, Quadratic, Solution, Task, Tasks
from mercer.solvers.quadratic.row_sources import row_sources
from mercer.solvers.quadratic.small import is_small, solve_small
from mercer.solvers.quadratic.smo_on_demand import solve_on_demand
from mercer.tuning import PRODUCT_ROWS

if TYPE_CHECKING:
    from mercer.gram import HostGram

LOG = logging.getLogger("mercer")
#: Rows of K that a thread keeps at least: with fewer most steps would compute one.
LEAST_KEPT_ROWS = 256
_WITHOUT_SLACK: dict[str, Callable[..., tuple[Solution, bool]]] = {
    "hard margin": hard_margin,
    "hard tube": hard_tube,
}


def solve_all(
    gram: Gram, tasks: Sequence[Task], tol: float, max_iter: int, what: str
) -> tuple[Sequence[Solution], bool]:
    """Return the solutions, in the order of the tasks, and whether Ctrl-C cut them short.

    All of them have the same method. `tol` is LIBSVM's; `max_iter` counts steps of SMO for each
    problem (−1: no limit).
    """
    tasks = Tasks.of(tasks)
    if tasks.method in _WITHOUT_SLACK:
        return _without_slack(gram, tasks, tol, max_iter, what)
    if tasks.problem.has_separate_sides:
        apart = [Task(np.tile(t.rows, 2), t.problem.apart(), t.method) for t in tasks]
        each, interrupted = solve_all(gram, apart, tol, max_iter, what)
        return [_together(one) for one in each], interrupted
    here = cast("HostGram", gram)
    if (merged := merged_tasks(gram, tasks)) is not None:
        distinct = here.reordered(merged.distinct)
        each, interrupted = solve_all(distinct, merged.tasks, tol, max_iter, what)
        return merged.spread(each), interrupted
    few = is_small(gram.shape[0], tasks)
    if few and (small := solve_small(gram.dense(), tasks, tol, max_iter)) is not None:
        return small
    threads, memory = _share(gram, tasks.most, min(len(tasks), get_config().n_threads))
    told = (what, len(tasks), tasks.most, threads, memory / 1e6)
    LOG.info("%s: %d problem(s) of up to %d examples, %d at a time, %.3g MB each for K", *told)
    problems, sources = Problems(tasks, tol, max_iter), row_sources(here, tasks.most)
    cut_short = solve_on_demand(problems, sources, threads, memory, what)
    return problems.solutions(), cut_short


def _without_slack(
    gram: Gram, tasks: Sequence[Task], tol: float, max_iter: int, what: str
) -> tuple[list[Solution], bool]:
    """Solve problems of C = ∞, each by a few problems with bounds or a looser tolerance."""
    solutions, cut_short = [], False
    for task in tasks:

        def solve(problem: Quadratic, tol: float, task: Task = task) -> tuple[Solution, bool]:
            (found,), stopped = solve_all(gram, [Task(task.rows, problem)], tol, max_iter, what)
            return found, stopped

        diagonal = gram.diagonal()[task.rows]
        found, stopped = _WITHOUT_SLACK[task.method](solve, diagonal, task, tol)
        solutions.append(found)
        cut_short |= stopped
    return solutions, cut_short


def _together(solution: Solution) -> Solution:
    """The solution of a problem whose two sides were solved as variables of their own."""
    n = len(solution.image) // 2
    return replace(solution, a=solution.a.reshape(2, n), image=solution.image[:n])


def _share(gram: Gram, most: int, threads: int) -> tuple[int, int]:
    """Threads, and the bytes of each for rows of K, inside the memory limit."""
    item, limit = gram.dtype.itemsize, gram.limit_bytes
    wide = gram.bytes_per_row
    everything = most == gram.shape[0]
    # Beyond the rows: the columns of the problem side by side, its vectors, a tile, rows at hand.
    fixed = most * (0 if everything else wide) + 400 * most + 2 * PRODUCT_ROWS**2 * item
    fixed += PRODUCT_ROWS * wide
    least = LEAST_KEPT_ROWS * (most + LEAST_KEPT_ROWS) * item
    for count in range(threads, 0, -1):
        memory = int(0.9 * limit / count - fixed)
        if memory >= least:
            return count, memory
    need = (fixed + least) / 0.9
    raise MemoryError(
        f"a support vector machine on {most} examples needs {show_bytes(need)} for its rows of K, "
        f"but the memory limit is {show_bytes(limit)}. Raise it: mercer.set_config(memory=…)."
    )
