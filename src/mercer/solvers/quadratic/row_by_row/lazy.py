"""All problems of a machine by the compiled loop of `lazy_smo`: flat arrays in, solutions out.

Each thread (`worker`) takes pieces from a queue, the largest first. Large problems shrink on the
way (`shrinking`). What takes very many steps is left for `mercer.solvers.quadratic.decomposition`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from mercer._machine.deadline import check_time, when_over
from mercer._machine.threads import interruptible, run_threads
from mercer._progress import progress
from mercer.gram.base import Gram
from mercer.gram.host import HostGram
from mercer.solvers.quadratic.problem import Quadratic, Solution, Task, Tasks
from mercer.solvers.quadratic.row_by_row.flat_problems import Problems
from mercer.solvers.quadratic.row_by_row.sources import Source, sources
from mercer.solvers.quadratic.row_by_row.worker import Stop, Worker
from mercer.solvers.quadratic.small import is_small, solve_small

#: Pieces of the queue per thread, so that all end at about the same time, and the rows of a piece
#: from which there are more of them.
PIECES, PIECE = 8, 8192
#: Rows of one problem that is as much work as many for which threads do not pay: it takes some
#: milliseconds. Up to SHORT rows the caller's thread takes part: it looks for Ctrl-C after some
#: thousand steps, and new threads would begin on one core, where two stay for milliseconds.
FEW, SHORT = 1000, 10_000


def _take(tasks: Sequence[Task]) -> bool:
    """Two sides must be one variable with a kink, which separate sums (ν) forbid."""
    some = [tasks] if isinstance(tasks, Tasks) else tasks
    kinds = {(t.method, len(t.problem.linear), t.problem.groups is None) for t in some}
    method, sides, one_sum = min(kinds)
    return len(kinds) == 1 and method in ("solve", "resume") and (sides == 1 or one_sum)


def _has_separate_sums(task: Task) -> bool:
    return len(task.problem.linear) == 2 and task.problem.groups is not None


def _apart(task: Task) -> Task:
    """Two sides with separate sums as variables of their own, over the same rows twice."""
    flat: dict[str, Any] = {
        f.name: None if (v := getattr(task.problem, f.name)) is None else v.reshape(1, -1)
        for f in fields(Quadratic)
    }
    return Task(np.tile(task.rows, 2), Quadratic(**flat), task.method)


def _together(found: Solution) -> Solution:
    """The solution of such a problem, with its two sides."""
    n = len(found.image) // 2
    return replace(found, a=found.a.reshape(2, n), image=found.image[:n])


def solve_lazily(
    gram: Gram,
    tasks: Sequence[Task],
    tol: float,
    max_iter: int,
    threads: int,
    memory: int,
    what: str,
) -> tuple[Sequence[Solution], list[int], bool] | None:
    """Solutions, the problems that are not finished, and whether Ctrl-C came; None: not for here.

    `memory`: bytes of each thread for rows of K.
    """
    if not isinstance(tasks, Tasks) and all(_has_separate_sums(task) for task in tasks):
        lazy = solve_lazily(
            gram, [_apart(task) for task in tasks], tol, max_iter, threads, memory, what
        )
        return None if lazy is None else ([_together(one) for one in lazy[0]], *lazy[1:])
    if not isinstance(gram, HostGram) or not gram.square or not _take(tasks):
        return None
    if is_small(gram.shape[0], tasks):
        small = solve_small(gram.dense(), tasks, tol, max_iter)
        if small is not None:
            return small[0], [], small[1]
    problems = Problems(tasks, tol, max_iter)
    interrupted = _solve_in_turn(problems, sources(gram, tasks), threads, memory, what)
    if interrupted is None:
        return None
    return problems.solutions(), problems.unfinished().tolist(), interrupted


def _solve_in_turn(
    problems: Problems, rows: Iterator[Source], threads: int, memory: int, what: str
) -> bool | None:
    """Solve the problems with the rows of K of one source after the other.

    Returns whether Ctrl-C came; None where there is no source.
    """
    interrupted = None
    todo = np.argsort(-problems.sizes, kind="stable") if len(problems.sizes) > 1 else np.arange(1)
    for source in rows:
        interrupted = _solve(problems, source, todo, threads, memory, what)
        problems.measure()
        if interrupted or source.dtype == np.float64:
            break
        todo = problems.rounded(source.rounding, source.diagonal)
        if not len(todo):
            break
    return interrupted


def _solve(
    problems: Problems,
    source: Source,
    todo: np.ndarray,
    threads: int,
    memory: int,
    what: str,
) -> bool:
    """Some of the problems, in place; whether Ctrl-C came."""
    stop, sizes = Stop(), problems.sizes[todo]
    most = int(sizes.max())
    work = float(sizes @ sizes)
    if (len(todo) == 1 and work <= SHORT**2) or work <= FEW**2:
        try:
            with when_over(stop.set):
                Worker(problems, source, most, memory).solve(todo, stop)
        except KeyboardInterrupt:  # it came while the loop ran, which has ended
            return True
        check_time()
        return False
    pieces = _pieces(todo, sizes, threads)
    queue, lock = iter(pieces), threading.Lock()
    # Here, and not in each thread: this one has memory that was touched before.
    workers = [Worker(problems, source, most, memory) for _ in range(min(threads, len(pieces)))]
    with progress(what, float(len(pieces))) as bar, when_over(stop.set):

        def take(thread: int) -> None:
            while True:
                with lock:
                    piece = next(queue, None)
                if piece is None:
                    return
                workers[thread].solve(piece, stop)
                bar.advance()

        if work > SHORT**2:
            return interruptible(take, len(workers), stop)
        try:
            run_threads(take, len(workers), stop)
        except KeyboardInterrupt:  # it came between two calls of the loop, and others have ended
            workers[0].solve(todo, stop)  # no step more: each problem is measured where it is
            return True
        return False


def _pieces(order: np.ndarray, sizes: np.ndarray, threads: int) -> list[np.ndarray]:
    """Cut so that every piece is about as much work; large problems stand alone."""
    work = np.cumsum(sizes**2)
    count = max(PIECES * threads, int(sizes.sum()) // PIECE)
    return np.split(order, np.flatnonzero(np.diff(work * count // work[-1])) + 1)
