"""One thread of the compiled loop: its memory, which serves all problems that it takes."""

from __future__ import annotations

import threading

import numpy as np

from mercer._machine.deadline import check_time
from mercer._steps import Listener, PairStep
from mercer.gram.rows.prepared import BLOCK, TOGETHER
from mercer.solvers.quadratic.row_by_row.flat_problems import FRESH, SAME, STEPS, Problems
from mercer.solvers.quadratic.row_by_row.shrinking import SHRINK, Shrinking
from mercer.solvers.quadratic.row_by_row.sources import Source


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
        from mercer.solvers.quadratic.row_by_row import lazy_smo as loop

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
