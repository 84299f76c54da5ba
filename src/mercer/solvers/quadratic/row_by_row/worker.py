"""One thread of the compiled loop: its memory, which serves all problems that it takes."""

from __future__ import annotations

import threading

import numpy as np

from mercer._machine.deadline import check_time
from mercer.gram.rows.prepared import BLOCK, TOGETHER
from mercer.solvers.quadratic.row_by_row.flat_problems import (
    FRESH,
    IMAGE,
    STEPS,
    A,
    Problems,
)
from mercer.solvers.quadratic.row_by_row.returns import images
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
        #: K a, and with the direction p of the last step K p and p.
        self.F, self.Q, self.p = np.empty((3, padded))
        self.up, self.low = np.empty((2, groups, padded))
        self.diagonal = np.empty(padded, dtype)
        self.index = np.zeros((5, max(padded, loop.WIDEST + 2)), dtype=np.int64)
        self.cursor, self.ends = np.zeros(7, dtype=np.int64), np.zeros(groups + 1)
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

    def solve(self, order: np.ndarray, stop: Stop) -> None:
        """Solve the problems `order`, each from its present variables."""
        check_time()
        p = self.problems
        for one in order[p.started | (p.taken[order] > 0)].tolist():
            self._begin(one)
        small = order
        if p.sizes.max() >= SHRINK:
            large = p.sizes[order] >= SHRINK
            for one in order[large].tolist():
                Shrinking(self, one).solve(stop)
            small = order[~large]
        if len(small):
            arrays = (small, p.starts, p.variables, self.rows, p.groups)
            self.run(*arrays, p.found, p.tol, p.limits - p.taken, FRESH, stop)
            p.taken[small] += p.found[small, STEPS].astype(np.int64)

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
            self.addresses, self.shape, self.Z, self.F, self.Q, self.p, self.up, self.low,
            self.diagonal, self.index, self.cursor, self.wanted, self.ends, self.table, found, tol,
            self.source.rounding, limits, keep, stop.cell,
        )  # fmt: skip

    def _begin(self, one: int) -> None:
        """F = K a of a problem that does not start at 0."""
        p = self.problems
        part = slice(int(p.starts[one]), int(p.starts[one + 1]))
        a, rows = p.variables[part, A], self.rows[part]
        moved = np.flatnonzero(a)
        p.variables[part, IMAGE] = images(self, rows, rows[moved], a[moved], moved)
