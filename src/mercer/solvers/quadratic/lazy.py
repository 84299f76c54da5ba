"""All problems of a machine by the compiled loop of `lazy_smo`: flat arrays in, solutions out.

Rows of K come from the kernel's own machine code where few columns make that the fastest way
(`mercer.gram.cpu.row_function`), in float32 at first: LIBSVM keeps them so, too. A problem whose
solution is too large for the digits of float32 is taken up again in float64. For other kernels all
of K is computed, where it is small.

Each thread takes pieces from a queue, the largest first, and its memory serves all of them. Large
problems shrink on the way (`mercer.solvers.quadratic.shrinking`). What takes very many steps is
left for `mercer.solvers.quadratic.decomposition`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._machine.deadline import check_time, when_over
from mercer._machine.jit import compiles
from mercer._machine.threads import interruptible, run_threads
from mercer._progress import progress
from mercer._steps import Listener, PairStep, listener
from mercer.gram.base import Gram
from mercer.gram.host import HostGram
from mercer.gram.rows.prepared import BLOCK, TOGETHER
from mercer.solvers.quadratic.flat_problems import FRESH, SAME, STEPS, Problems
from mercer.solvers.quadratic.plain_smo import (
    AT_ONCE,
    MOST_AT_ONCE,
    WIDE,
    RowsOf,
    of_gram,
    of_matrix,
    solve_plainly,
    worth_it,
)
from mercer.solvers.quadratic.problem import Quadratic, Solution, Task, Tasks
from mercer.solvers.quadratic.shrinking import SHRINK, Shrinking

#: Rows of the largest problem times columns (at least FEW_COLUMNS) from which float32 pays; below,
#: rows of K are the smaller part.
SINGLE, FEW_COLUMNS = 32_000, 32
#: Columns up to which a row by its function is no slower than by a matrix product, and the bytes of
#: a problem's rows up to which it is not much slower: they stay in the cache from row to row.
COLUMNS, BYTES = 128, 8_000_000
#: Rows up to which all of K is computed: for any kernel, and for several problems by a formula.
FEW_ROWS, WHOLE = 500, 3000
#: So many problems share rows of K, and those of so few rows rather read than make them; with many
#: columns those of more, too. The more examples there are, the fewer of them support the machine.
MANY, SMALL, MEDIUM = 6, 256, 800
#: All of them together may have so many times as many entries as K.
OFTEN = 4
#: Columns up to which making a row takes no longer than reading it from a K beyond the cache.
NARROW = 24
#: Pieces of the queue per thread, so that all end at about the same time, and the rows of a piece
#: from which there are more of them.
PIECES, PIECE = 8, 8192
#: Rows of one problem that is as much work as many for which threads do not pay: it takes some
#: milliseconds. Up to SHORT rows the caller's thread takes part: it looks for Ctrl-C after some
#: thousand steps, and new threads would begin on one core, where two stay for milliseconds.
FEW, SHORT = 1000, 10_000


@dataclass(frozen=True)
class Source:
    """Where rows of K come from: a row function, or all of K; `place`: where examples are in it."""

    dtype: np.dtype
    diagonal: np.ndarray
    function: Any = None
    K: Any = None
    place: Any = None

    @cached_property
    def rounding(self) -> float:
        return float(np.finfo(self.dtype).eps)


def sources(gram: HostGram, tasks: Sequence[Task]) -> Iterator[Source]:
    """What to begin with, then what has more digits; nothing for problems of another kind."""
    if not compiles():
        return
    from mercer.gram.cpu.row_function import columns, loop_program

    program, flat = loop_program(gram), Tasks.of(tasks)
    most, width = flat.most, 0 if program is None else columns(gram, program)
    # Most examples of a regression are support vectors.
    dense = len(flat.problem.linear) == 2 and width > COLUMNS
    whole = _whole(gram, len(tasks), most, dense)
    rows = program is not None and _lazily(width, flat, whole, gram.shape[0])
    if rows and not (dense and whole):
        yield from _by_rows(gram, program, most)
    elif whole:
        yield from _at_once(gram, flat)


def _by_rows(gram: HostGram, program: Any, most: int) -> Iterator[Source]:
    from mercer.gram.cpu.row_function import byte_function, columns, row_function
    from mercer.gram.cpu.single_precision import is_far, suffices

    narrow = gram.dtype == np.float32
    if most * max(columns(gram, program), FEW_COLUMNS) >= SINGLE:
        as_they_are = narrow or (not is_far(gram) and suffices(gram))
        single = byte_function(gram, program) if as_they_are else None
        if single is None and not narrow and (as_they_are or suffices(gram, centered=True)):
            single = row_function(gram, program, single=True, centered=not as_they_are)
        if single is not None:
            yield Source(single.dtype, gram.diagonal(), single)
            if narrow:
                return
    exact = row_function(gram, program, single=False)
    yield Source(exact.dtype, gram.diagonal(), exact)


def _given(K: np.ndarray) -> Iterator[Source]:
    if compiles():
        yield Source(K.dtype, K.diagonal(), K=K)


def _at_once(gram: HostGram, tasks: Tasks) -> Iterator[Source]:
    from mercer.gram.cpu.single_precision import narrowed

    if gram.shape[0] < FEW_ROWS:
        yield from _given(gram.dense())
        return
    apart = len(tasks) > 1 and not _opaque(gram)
    order = _side_by_side(gram.shape[0], tasks) if apart else None
    place = None if order is None else np.argsort(order)
    single = narrowed(gram, order)
    if single is not None:
        yield Source(single.dtype, single.diagonal(), K=single.dense(), place=place)
    exact = gram if order is None else gram.reordered(order)
    yield Source(exact.dtype, exact.diagonal(), K=exact.dense(), place=place)


def _side_by_side(n: int, tasks: Tasks) -> np.ndarray:
    """An order in which examples of the same problems are neighbors.

    A problem of two classes then reads two stretches of a row of K, not an entry here and there.
    """
    number = np.repeat(np.arange(len(tasks)), np.diff(tasks.starts))
    first, last = np.zeros(n, np.intp), np.zeros(n, np.intp)
    first[tasks.rows[::-1]], last[tasks.rows] = number[::-1], number
    return np.lexsort((last, first))


def _opaque(gram: HostGram) -> bool:
    return any(source.kind == "opaque" for source in gram.program.sources)


def _lazily(width: int, tasks: Tasks, whole: bool, n: int) -> bool:
    """Whether rows of K of so many columns are made as they are asked for, by each problem."""
    most, sizes = tasks.most, np.diff(tasks.starts)
    if width <= COLUMNS:
        return width <= NARROW or most > SMALL or not whole or len(tasks) < MANY
    if len(tasks) >= MANY and (not whole or most <= MEDIUM or sizes @ sizes > OFTEN * n * n):
        return False  # many examples: matrix products of bytes, and working sets
    return 4 * width * most <= BYTES


def _whole(gram: HostGram, tasks: int, most: int, dense: bool) -> bool:
    """Whether all of K is computed: it is small, and most of it will be asked for."""
    n = gram.shape[0]
    if not _has_room(gram):
        return False
    if tasks >= MANY and most <= SMALL:
        return True
    return n <= FEW_ROWS or (n <= WHOLE and not _opaque(gram) and (dense or tasks >= MANY))


def _has_room(gram: Gram) -> bool:
    return 4 * gram.shape[0] ** 2 * gram.dtype.itemsize <= gram.limit_bytes


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


class Stop(threading.Event):
    """An event that compiled code can look at."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = np.zeros(1, dtype=np.int64)

    def set(self) -> None:
        self.cell[0] = 1
        super().set()


class Worker:
    """The memory of one thread, for problems of up to `most` rows."""

    def __init__(self, problems: Problems, source: Source, most: int, memory: int) -> None:
        from mercer.solvers.quadratic import lazy_smo as loop

        self.problems, self.source, self.loop = problems, source, loop
        self.rows = problems.rows if source.place is None else source.place[problems.rows]
        dtype, groups = source.dtype, problems.n_groups
        padded = -(-most // BLOCK) * BLOCK
        self.vectors, self.up, self.low = (np.empty((k, padded)) for k in (3, groups, groups))
        self.diagonal = np.empty(padded, dtype)
        self.index = np.zeros((5, max(padded, loop.WIDEST + 2)), dtype=np.int64)
        self.cursor, self.ends = np.zeros(5, dtype=np.int64), np.zeros(groups + 1)
        size = max(2 * padded, min(padded * most, memory // dtype.itemsize))
        self.table = np.empty(size, dtype)
        given = source.function
        right = np.empty((len(source.diagonal), 0), dtype) if given is None else given.right
        self.right, self.K = right, np.empty((0, 0), dtype) if source.K is None else source.K
        self.Z = np.empty(padded * right.shape[1], dtype)
        widths = () if given is None else given.widths
        self.shape = np.array([0, right.shape[1], *widths], dtype=np.int64)
        # Rows that are wanted, and where they begin in x and in the table.
        self.wanted = np.zeros(3 * TOGETHER + 1, dtype=np.int64)
        self.violation, self.violator = (
            np.zeros((2, loop.LANES)),
            np.zeros((2, loop.LANES), np.int64),
        )
        self.addresses = np.zeros(9, dtype=np.int64)
        if given is not None:
            arrays = (
                given.numbers,
                given.left,
                self.Z,
                self.shape,
                self.table,
                self.wanted[TOGETHER:],
            )
            places = (array.ctypes.data for array in arrays)
            self.addresses[:] = given.address, *places, given.left.shape[1], given.together

    def solve(self, order: np.ndarray, stop: Stop, limit: int | None = None) -> None:
        """Problems `order` from where they are; with `limit` one more time, for so many steps."""
        check_time()
        p = self.problems
        if limit is None and p.sizes.max() >= SHRINK:
            large = p.sizes[order] >= SHRINK
            for one in order[large].tolist():
                Shrinking(self, one).solve(stop)
            order = order[~large]
            if not len(order):
                return
        limits = p.limits - p.taken if limit is None else np.full(len(p.limits), limit)
        arrays = (order, p.starts, p.variables, self.rows, p.groups)
        self.run(*arrays, p.found, p.tol, limits, FRESH if limit is None else SAME, stop)
        p.taken[order] += p.found[order, STEPS].astype(np.int64)

    def run(
        self,
        order: np.ndarray,
        starts: np.ndarray,
        variables: np.ndarray,
        rows: np.ndarray,
        groups: np.ndarray,
        found: np.ndarray,
        tol: float,
        limits: np.ndarray,
        keep: int,
        stop: Stop,
    ) -> None:
        """One call of the compiled loop, in the memory of this thread."""
        self.loop.solve_problems(
            order, starts, variables, rows, groups, self.source.diagonal, self.K, self.right,
            self.addresses, self.shape, self.Z, self.vectors, self.up, self.low, self.diagonal,
            self.index, self.cursor, self.wanted, self.violation, self.violator, self.ends,
            self.table, found, tol, self.source.rounding, limits, keep, stop.cell,
        )  # fmt: skip

    def tell(self, order: np.ndarray, stop: Stop, to: Listener) -> None:
        """The same step by step; the last step is told with the threshold of the solution."""
        p, one = self.problems, order[0]
        limits, p.limits = p.limits, p.taken.copy()
        self.solve(order, stop)  # no step: F and the gap
        p.limits, last = limits, None
        while p.gaps()[one] > p.tol and p.taken[one] < limits[one]:
            before, taken = p.coefficients(one), p.taken[one]
            self.solve(order, stop, limit=1)
            if p.taken[one] == taken:
                break
            moved = (p.coefficients(one) - before).sum(axis=0)
            alone = np.count_nonzero(moved) == 2
            pair = (int(moved.argmax()), int(moved.argmin())) if alone else ()
            b, gap = p.thresholds()[one], float(p.gaps()[one])
            if last is not None:
                to(last)
            last = PairStep(int(p.taken[one]), p.coefficients(one), b, pair, gap)
        if last is not None:
            to(last)


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
    problems = Problems(tasks, tol, max_iter)
    plain = _plain_rows(gram, memory)
    interrupted = _solve_in_turn(problems, plain, sources(gram, tasks), threads, memory, what)
    if interrupted is None:
        return None
    return problems.solutions(), problems.unfinished().tolist(), interrupted


def _plain_rows(gram: HostGram, memory: int) -> RowsOf | None:
    """Rows of K for NumPy, where that begins; all of K where it is little, or there is no way."""
    n = gram.shape[0]
    if listener() is not None or not worth_it(n):
        return None
    room = _has_room(gram)
    matrices = gram.sides()[0].matrices.values()
    columns = math.inf if any(map(is_sparse, matrices)) else sum(m.shape[1] for m in matrices)
    if not _opaque(gram) and columns <= WIDE and not (room and n <= AT_ONCE):
        return of_gram(gram, memory)
    return of_matrix(gram.dense()) if room and n <= MOST_AT_ONCE else None


def solve_small(
    K: np.ndarray, tasks: Sequence[Task], tol: float, max_iter: int, what: str
) -> tuple[Sequence[Solution], bool] | None:
    """Solutions over a small K that is there, and whether Ctrl-C came; None: not for here."""
    if not _take(tasks):
        return None
    problems = Problems(tasks, tol, max_iter)
    plain = of_matrix(K) if listener() is None and worth_it(len(K)) else None
    interrupted = _solve_in_turn(problems, plain, _given(K), 1, 2 * K.nbytes, what)
    if interrupted is None or len(problems.unfinished()):
        return None
    return problems.solutions(), interrupted


def _solve_in_turn(
    problems: Problems,
    plain: RowsOf | None,
    rows: Iterator[Source],
    threads: int,
    memory: int,
    what: str,
) -> bool | None:
    """In NumPy with rows of K by `plain`, if any, then with those of one source after the other.

    Gives whether Ctrl-C came; None: there is no source.
    """
    tell, interrupted = listener(), None
    todo = np.argsort(-problems.sizes, kind="stable") if len(problems.sizes) > 1 else np.arange(1)
    if plain is not None:
        interrupted = solve_plainly(plain, problems, todo)
        todo = problems.open()
    for source in rows if len(todo) and not interrupted else ():
        interrupted = _solve(problems, source, todo, threads, memory, what, tell)
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
    tell: Listener | None,
) -> bool:
    """Some of the problems, in place; whether Ctrl-C came."""
    stop, sizes = Stop(), problems.sizes[todo]
    most = int(sizes.max())
    if tell is not None:
        Worker(problems, source, most, memory).tell(todo, stop, tell)
        return False
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
