"""All problems of a machine by the compiled loop of `smo_loop`: flat arrays in, solutions out.

Threads take chunks of problems from a queue, the largest first. Large ones shrink (`Shrinking`).
What takes very many steps goes on with Newton steps in between (`free_newton`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from mercer._machine.deadline import check_time, when_over
from mercer._machine.threads import interruptible, run_threads
from mercer._progress import progress
from mercer._tiles import cut
from mercer.gram.rows import BLOCK, TOGETHER
from mercer.solvers.quadratic.free_newton import newton
from mercer.solvers.quadratic.problem import FEWER, FRESH, IMAGE, SAME, A, Problems
from mercer.tuning import (
    PANEL_ROWS,
    SMALL_BLOCK_ROWS,
    SVM_BURST,
    SVM_CHUNK_ROWS,
    SVM_CHUNKS,
    SVM_NEWTON_OPERATIONS,
    SVM_ONE_THREAD,
    SVM_SHORT_ROWS,
    SVM_SHRINK_PERIOD,
    SVM_SHRINK_ROWS,
    SVM_STEPS,
)

if TYPE_CHECKING:
    from mercer.gram import HostGram
    from mercer.solvers.quadratic.row_sources import Source


#: Roundings of Σ|a| max k up to which a gap counts as rounding of f, once it no longer falls.
GAP_ROUNDINGS = 4.0
#: Steps of plain SMO before the first conjugate direction: one per row, within these. Until then
#: bounds are in the way of most steps. `ALWAYS`: no conjugate directions at all.
FEWEST_PLAIN, MOST_PLAIN, ALWAYS = 128, 512, np.iinfo(np.int64).max
#: Steps, or steps per row, after which a problem without a limit ends. Standardized tables took a
#: third of them at most (cubic kernels, C = 1,000); a cubic kernel of data in hundreds never ends.
LAST_STEP, MOST_STEPS_PER_ROW = 8_000_000, 100


#: Variables, rows and groups of a problem, or of some of its rows.
Part = tuple[np.ndarray, np.ndarray, np.ndarray]


class Stop(threading.Event):
    """An event that compiled code can read."""

    def __init__(self) -> None:
        super().__init__()
        self.cell: np.ndarray = np.zeros(1, dtype=np.int64)

    def set(self) -> None:
        self.cell[0] = 1
        super().set()


class Worker:
    """The arrays of one thread, for problems of up to `most` rows; `table` holds rows of K."""

    def __init__(self, source: Source, groups: int, most: int, table: np.ndarray) -> None:
        from mercer.solvers.quadratic import smo_loop

        self.source: Source = source
        #: The loop stops where a row is missing, and the Gram of the source computes it.
        self.by_blocks: bool = source.function is None and source.K is None
        self.table: np.ndarray = table
        self.loop = smo_loop
        dtype, function = source.dtype, source.function
        padded = -(-most // BLOCK) * BLOCK
        #: K a, and with the direction p of the last step K p and p.
        self.F, self.Q, self.p = np.empty((3, padded))
        self.up, self.low = np.empty((2, groups, padded))
        self.diagonal: np.ndarray = np.empty(padded, dtype)
        self.index: np.ndarray = np.zeros(
            (4, max(padded, smo_loop.WIDEST_DIRECTION + 2)), dtype=np.int64
        )
        self.cursor: np.ndarray = np.zeros(8, dtype=np.int64)
        self.ends: np.ndarray = np.zeros(groups + 1)
        none = np.empty((0, 0), dtype)
        self.K = none if source.K is None else source.K
        self.right = (
            np.empty((len(source.diagonal), 0), dtype) if function is None else function.right
        )
        self.Z = np.empty(padded * self.right.shape[1], dtype)
        widths = () if function is None else function.widths
        self.shape: np.ndarray = np.array([0, self.right.shape[1], *widths], dtype=np.int64)
        # Rows to compute, how many, and where each begins in x and in the table.
        self.wanted: np.ndarray = np.zeros(3 * TOGETHER + 1, dtype=np.int64)
        self.addresses: np.ndarray = np.zeros(9, dtype=np.int64)
        self.among: HostGram | None = None  # K with a column per row of the present problem
        #: What the machine code of rows of K takes.
        self.given: tuple[np.ndarray, ...] = ()
        if function is not None:
            x, chosen = function.left, self.wanted[TOGETHER:]
            self.given = (function.numbers, x, self.Z, self.shape, table, chosen)
            addresses = (array.ctypes.data for array in self.given)
            self.addresses[:] = function.address, *addresses, x.shape[1], function.together

    def run(self, part: Part, tol: float, limit: int, keep: int, stop: Stop) -> tuple[int, int]:
        """Solve one problem by the compiled loop, called again with the rows that it waits for.

        Returns the steps that were taken, and the rows of K that were computed.
        """
        variables, rows, groups = part
        if keep != SAME:
            self._start(variables, rows, keep)
        steps = computed = 0
        while True:
            steps += self.loop.solve_problem(
                variables, rows, groups, self.K, self.addresses, self.F, self.Q, self.p, self.up,
                self.low, self.diagonal, self.index, self.cursor, self.wanted, self.ends,
                self.table, int(self.shape[0]), tol, self.source.rounding, limit - steps, stop.cell,
            )  # fmt: skip
            computed += int(self.cursor[self.loop.MADE])
            if not (self.by_blocks and self.wanted[TOGETHER]):
                break
            check_time()
            try:
                computed += self._fill(rows, tol)
            except KeyboardInterrupt:  # in a function of the user's, say
                stop.set()
                break
        variables[:, IMAGE] = self.F[: len(rows)]
        return steps, computed

    def _start(self, variables: np.ndarray, rows: np.ndarray, keep: int) -> None:
        """F, empty masks, the diagonal and the panels of a problem, padded to a multiple of BLOCK.

        What FRESH memory holds is forgotten; else rows of K are kept.
        """
        loop, n, cursor = self.loop, len(rows), self.cursor
        stride = -(-n // BLOCK) * BLOCK
        if keep == FRESH:
            cursor[: loop.PLAIN] = self.ends[-1] = 0
            self.index[loop.SLOT, :stride] = -1
            # The first pass adds row 0 of the table, 0 times.
            self.Q[:stride] = self.p[:stride] = self.table[:stride] = 0.0
        self.among = None
        cursor[loop.CAPACITY], cursor[loop.PITCH] = len(self.table) // stride, stride
        if cursor[loop.PLAIN] != ALWAYS:
            cursor[loop.PLAIN] = min(max(n, FEWEST_PLAIN), MOST_PLAIN)
        self.up[:, :stride] = self.low[:, :stride] = -np.inf  # until the loop marks the variables
        self.F[:stride], self.diagonal[:stride] = 0.0, 1.0
        self.F[:n], self.diagonal[:n] = variables[:, IMAGE], self.source.diagonal[rows]
        self._lay_out(rows, stride)

    def _fill(self, rows: np.ndarray, tol: float) -> int:
        """Compute the row that the loop waits for, and those that violate the conditions most.

        Nearly all of these are needed soon, and a block takes a Gram less time than its rows one
        by one. Returns how many there were.
        """
        n, index, cursor, loop = len(rows), self.index, self.cursor, self.loop
        if self.among is None:
            whole = n == len(self.source.diagonal) and (np.diff(rows) == 1).all()
            self.among = self.source.gram if whole else self.source.gram.take(columns=rows)
        chosen = self.wanted[:1]
        grows, shrinks = ((self.up - self.F).max(axis=0)[:n], (self.low + self.F).max(axis=0)[:n])
        # At first all rows violate them, and those that matter are not known yet.
        block = min(SMALL_BLOCK_ROWS, int(cursor[loop.USED]) // 4)
        for wish, other in ((grows, shrinks), (shrinks, grows)):
            used = int(cursor[loop.USED])
            most = min(int(cursor[loop.CAPACITY]) - used, block // 2)
            missing = np.flatnonzero((index[loop.SLOT, :n] < 0) & (wish + other.max() > tol))
            new = missing[np.argsort(-wish[missing], kind="stable")[:most]]
            index[loop.SLOT, new] = np.arange(used, used + len(new))
            index[loop.OWNER, used : used + len(new)] = new
            cursor[loop.USED] += len(new)
            chosen = np.concatenate([chosen, new])
        new_rows = self.among.take(rows=rows[chosen]).dense()
        new_rows[np.arange(len(chosen)), chosen] = self.source.diagonal[rows[chosen]]
        pitch = int(cursor[loop.PITCH])
        table = self.table[: len(self.table) // pitch * pitch].reshape(-1, pitch)
        table[index[loop.SLOT, chosen], :n] = new_rows
        table[index[loop.SLOT, chosen], n:] = 0
        return len(chosen) - 1

    def images(
        self, rows: np.ndarray, moved: np.ndarray, by: np.ndarray, place: np.ndarray
    ) -> np.ndarray:
        """Σ by_c k(x_c, x_t) over the examples c in `moved`, for every example t in `rows`.

        `place`: the index of each of `moved` in `rows`, or −1.
        """
        if self.by_blocks:
            return np.asarray(self.source.gram.take(rows, moved) @ by, dtype=np.float64)
        n, total = len(rows), np.zeros(len(rows))
        stride = -(-n // BLOCK) * BLOCK
        if n and self.source.K is None:
            self._lay_out(rows, stride)
        for part in cut(0, len(moved), min(BLOCK, len(self.table) // max(stride, 1))) if n else ():
            made = self._make(moved[part], rows, stride)
            here = np.flatnonzero(place[part] >= 0)
            made[here, place[part][here]] = self.source.diagonal[moved[part][here]]
            total += by[part] @ made
        return total

    def _lay_out(self, rows: np.ndarray, stride: int) -> None:
        """Put these rows of z in panels, padded with the first one, as the loop does."""
        width, self.shape[0] = self.right.shape[1], stride
        padded = np.append(rows, np.full(stride - len(rows), rows[0]))
        for begin in range(0, stride if width else 0, PANEL_ROWS):
            here = self.right.take(padded[begin : begin + PANEL_ROWS], axis=0)
            panels = self.Z[begin * width : begin * width + here.size].reshape(-1, width, BLOCK)
            panels[:] = here.reshape(-1, BLOCK, width).swapaxes(1, 2)

    def _make(self, some: np.ndarray, rows: np.ndarray, stride: int) -> np.ndarray:
        """K between a few examples and `rows`, which are laid out; it overwrites the table."""
        if self.source.K is not None:
            return np.asarray(self.source.K[np.ix_(some, rows)])
        chosen, row_length = self.wanted[TOGETHER:], self.addresses[self.loop.ROW_LENGTH]
        make = self.source.function.module.rows.ctypes
        pairs = zip(self.given, make.argtypes, strict=True)
        given = [array.ctypes.data_as(kind) for array, kind in pairs]
        for begin in range(0, len(some), TOGETHER):
            here = some[begin : begin + TOGETHER]
            chosen[0] = count = len(here)
            chosen[1 : 1 + count] = here * row_length
            chosen[1 + TOGETHER : 1 + TOGETHER + count] = (begin + np.arange(count)) * stride
            make(*given)
        return self.table[: len(some) * stride].reshape(len(some), stride)[:, : len(rows)]

    def solve(self, p: Problems, order: np.ndarray, stop: Stop) -> None:
        """Solve the problems `order`, each from its present variables."""
        check_time()
        for one in order[p.started | (p.taken[order] > 0)].tolist():
            part = slice(int(p.starts[one]), int(p.starts[one + 1]))
            a, rows = p.variables[part, A], p.rows[part]
            moved = np.flatnonzero(a)
            p.variables[part, IMAGE] = self.images(rows, rows[moved], a[moved], moved)
        large = (p.sizes[order] >= SVM_SHRINK_ROWS) | self.by_blocks
        for one in order[large].tolist():
            Shrinking(self, p.alone(one)).solve(stop)
        for one in order[~large].tolist():
            here, limit = slice(p.starts[one], p.starts[one + 1]), p.limits[one] - p.taken[one]
            arrays = p.variables[here], p.rows[here], p.groups[here]
            steps, p.computed[one] = self.run(arrays, p.tol, int(limit), FRESH, stop)
            p.taken[one] += steps
        for one in np.intersect1d(order, p.late()).tolist() if self.source.last else ():
            self._finish(p.alone(one), stop)

    def _finish(self, one: Problems, stop: Stop) -> None:
        """Take Newton steps on the free variables and steps of SMO in turn.

        In a long narrow valley SMO alone would zigzag through millions of steps.
        """
        end = max(LAST_STEP, MOST_STEPS_PER_ROW * len(one.rows))
        end, started = end if one.max_iter < 0 else one.max_iter, int(one.taken[0])
        best = np.inf, started  # the least gap, by halves, and the steps until then
        unit = self.source.rounding * float(np.abs(self.source.diagonal).max())
        # Where K is ill-conditioned to its rounding, conjugate directions come to no end.
        self.cursor[self.loop.PLAIN] = ALWAYS
        while True:
            one.measure()
            gap, taken = float(one.gap[0]), int(one.taken[0])
            best = (gap, taken) if gap < 0.5 * best[0] else best
            at_rounding = gap <= GAP_ROUNDINGS * unit * float(np.abs(one.variables[:, A]).sum())
            idle = at_rounding and taken - best[1] >= SVM_STEPS
            if gap <= one.tol or taken >= end or idle or stop.is_set():
                break
            check_time()
            moved = newton(self.source.gram, one, SVM_NEWTON_OPERATIONS * SVM_BURST * len(one.rows))
            one.limits[0] = min(taken + SVM_BURST, end)
            Shrinking(self, one).solve(stop)
            if not moved and one.taken[0] == taken:
                break  # neither can take a step: the gap is at the rounding of K
        self.cursor[self.loop.PLAIN] = 0


class Shrinking:
    """One problem on the rows that can still move, from where it is, with the arrays of a worker.

        ┌─► `SVM_SHRINK_PERIOD` steps on the active rows           compiled: `smo_loop`
        │   rows leave that rest at a bound, beyond what any pair can want
        │   columns, masks and kept rows of K of the others move together
        └── until the gap over the active rows is closed
            then all rows return: those that had left get F = K a from what has changed since,
            and the gap is closed over all

    Only what is left between two calls is done here, a few times per second.
    """

    def __init__(self, worker: Worker, one: Problems) -> None:
        self.worker, self.one = worker, one
        self.variables, self.rows, self.groups = one.variables, one.rows, one.groups
        self.active: np.ndarray = np.arange(len(self.rows))
        self.left: int = int(one.limits[0] - one.taken[0])
        self.computed, self.kept = 0, FRESH
        #: All variables when the first rows left.
        self.before: np.ndarray = self.variables

    def solve(self, stop: Stop) -> None:
        """Take steps until the gap is closed over all rows, or the limit or the caller ends it."""
        limit = self.left
        while True:
            burst = min(SVM_SHRINK_PERIOD, self.left)
            # Without copies where all rows are active: most problems end so.
            some = self.active if len(self.active) < len(self.rows) else slice(None)
            part = self.variables[some], self.rows[some], self.groups[some]
            steps, computed = self.worker.run(part, self.one.tol, burst, self.kept, stop)
            self.variables[some], self.kept = part[0], SAME
            self.computed, self.left = self.computed + computed, self.left - steps
            if steps == burst and not stop.is_set() and self.left > 0:
                self._leave(limit - self.left)
            elif len(self.active) < len(self.rows):
                self._return()
            else:
                break
        self.one.computed[0] = self.computed
        self.one.taken[0] += limit - self.left

    def _leave(self, steps: int) -> None:
        """Keep the rows that may still form a pair that violates the conditions.

        Provided that copying the others takes less than it saves in as many steps.
        """
        worker, m = self.worker, len(self.active)
        if steps < len(self.rows):
            return
        # The masks and F of the last call are still in the arrays of the worker.
        g, every, F = self.groups[self.active], np.arange(m), worker.F[:m]
        grows, shrinks = worker.up[g, every] - F, -worker.low[g, every] - F
        top, bottom = np.empty(m), np.empty(m)
        for one in range(len(worker.up)):
            here = g == one
            top[here] = grows.max(where=here, initial=-np.inf)
            bottom[here] = shrinks.min(where=here, initial=np.inf)
        stay = np.flatnonzero((grows >= bottom) | (shrinks <= top))
        used, gone = int(worker.cursor[worker.loop.USED]), m - len(stay)
        if gone * steps < used * len(stay):
            return
        if m == len(self.rows):
            self.before = self.variables.copy()
        # Kept rows of K, without the columns that leave.
        old, stride = (-(-size // BLOCK) * BLOCK for size in (m, len(stay)))
        new = np.full(m, -1)
        new[stay] = np.arange(len(stay))
        owner = new[worker.index[worker.loop.OWNER, :used]]
        slots = np.flatnonzero(owner >= 0)
        table, whole = worker.table, len(worker.table) // old * old
        for part in cut(0, len(slots), PANEL_ROWS):  # in place: no row ever moves up
            kept = table[:whole].reshape(-1, old).take(slots[part], axis=0).take(stay, axis=1)
            here = table[part.start * stride : part.stop * stride].reshape(-1, stride)
            here[:, : len(stay)], here[:, len(stay) :] = kept, 0
        self._keep(slots, owner[slots])
        self.active = self.active[stay]

    def _return(self) -> None:
        """Make all rows active again; no row of K is kept, since all of them have become longer."""
        n = len(self.rows)
        away = np.setdiff1d(np.arange(n), self.active, assume_unique=True)
        by = self.variables[:, A] - self.before[:, A]
        moved = np.flatnonzero(by)
        place = np.full(n, -1)
        place[away] = np.arange(len(away))
        more = self.worker.images(self.rows[away], self.rows[moved], by[moved], place[moved])
        self.variables[away, IMAGE] = self.before[away, IMAGE] + more
        self.computed += len(moved) * len(away) // n
        none = np.empty(0, dtype=np.intp)
        self._keep(none, none)
        self.active = np.arange(n)

    def _keep(self, slots: np.ndarray, owners: np.ndarray) -> None:
        """Keep these slots, which are the first ones now, and the rows that are in them."""
        worker, loop, count = self.worker, self.worker.loop, len(slots)
        index = worker.index
        index[loop.RECENT, :count] = index[loop.RECENT, slots]
        index[loop.OWNER, :count] = owners
        index[loop.SLOT] = -1
        index[loop.SLOT, owners] = np.arange(count)
        worker.cursor[loop.USED], worker.cursor[loop.NEXT] = count, 0
        # The direction of the last step had other rows: a new one begins.
        worker.Q[:] = worker.p[:] = 0.0
        worker.cursor[loop.WIDTH], worker.ends[-1] = 0, 0.0
        self.kept = FEWER


def solve_on_demand(
    problems: Problems, sources: Iterator[Source], threads: int, memory: int, what: str
) -> bool:
    """Solve the problems in place, with the rows of K of one source after the other.

    `memory`: bytes of each thread for rows of K. Returns whether Ctrl-C came.
    """
    order = np.argsort(-problems.sizes, kind="stable")
    for source in sources:
        interrupted = _solve(problems, source, order, threads, memory, what)
        problems.measure()
        if interrupted or source.last:
            break
        again = np.union1d(problems.rounded(source.rounding, source.diagonal), problems.late())
        order = again[np.argsort(-problems.sizes[again], kind="stable")]
        if not len(order):
            break
    return interrupted


def _solve(
    problems: Problems, source: Source, order: np.ndarray, threads: int, memory: int, what: str
) -> bool:
    """Solve some of the problems, in place; returns whether Ctrl-C came."""
    stop, sizes = Stop(), problems.sizes[order]
    most, work = int(sizes.max()), float(sizes @ sizes)
    padded = -(-most // BLOCK) * BLOCK
    entries = max(TOGETHER * padded, min(padded * most, memory // source.dtype.itemsize))
    if source.gram.program.opaque:  # a black box may not bear calls from several threads
        threads = 1
    one = Worker(source, problems.n_groups, most, np.empty(entries, source.dtype))
    if (len(order) == 1 and most <= SVM_SHORT_ROWS) or work <= SVM_ONE_THREAD:
        try:
            with when_over(stop.set):
                one.solve(problems, order, stop)
        except KeyboardInterrupt:  # it came while the loop ran, which has ended
            return True
        check_time()
        return stop.is_set()
    chunks = _chunks(order, sizes, threads)
    queue, lock = iter(chunks), threading.Lock()
    # Here, and not in each thread: the memory of this thread was touched before.
    workers = [one] + [
        Worker(source, problems.n_groups, most, np.empty(entries, source.dtype))
        for _ in range(1, min(threads, len(chunks)))
    ]
    with progress(what, float(len(chunks))) as bar, when_over(stop.set):

        def take(thread: int) -> None:
            while True:
                with lock:
                    chunk = next(queue, None)
                if chunk is None:
                    return
                workers[thread].solve(problems, chunk, stop)
                bar.advance()

        if work > SVM_SHORT_ROWS**2:
            return interruptible(take, len(workers), stop)
        try:
            run_threads(take, len(workers), stop)
        except KeyboardInterrupt:  # it came between two calls of the loop, and others have ended
            workers[0].solve(problems, order, stop)  # no step more: F is measured where it is
            return True
        check_time()
        return stop.is_set()


def _chunks(order: np.ndarray, sizes: np.ndarray, threads: int) -> list[np.ndarray]:
    """Cut the queue so that every chunk is about as much work; large problems stand alone."""
    work = np.cumsum(sizes**2)
    count = max(SVM_CHUNKS * threads, int(sizes.sum()) // SVM_CHUNK_ROWS)
    return np.split(order, np.flatnonzero(np.diff(work * count // work[-1])) + 1)
