"""Shrinking: a large problem is solved on the rows that can still move.

    ┌─► `PERIOD` steps on the active rows                      compiled: `lazy_smo`
    │   rows leave that rest at a bound, beyond what any pair can want
    │   columns, masks and kept rows of K of the others move together
    └── until the gap over the active rows is closed, at first only to LOOSE · tol
        then all rows return: those that had left get F = K a from what has changed since
        (`mercer.solvers.quadratic.row_by_row.returns`), and the gap is closed over all

Only what is left between two calls is done here, a few times per second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer.gram.rows.prepared import BLOCK
from mercer.solvers.quadratic.row_by_row.flat_problems import (
    COMPUTED,
    FEWER,
    FRESH,
    IMAGE,
    SAME,
    STEPS,
    A,
)
from mercer.solvers.quadratic.row_by_row.returns import images

if TYPE_CHECKING:
    from mercer.solvers.quadratic.row_by_row.worker import Stop, Worker

#: Problems of so many rows shrink, and those of so many as soon as it pays.
SHRINK, LARGE = 500, 4000
#: A smaller problem shrinks when its steps took so many times as long as its rows of K, which are
#: made again when all rows return. An entry of K with `COLUMNS` columns takes as long as the part
#: of a step that belongs to one row.
PAYS, COLUMNS = 4.0, 16
#: Steps per row before a problem shrinks, and before a large one does whose rows of K took no
#: longer than its steps.
START, EARLY = 1.0, 0.25
#: Steps between two looks at which rows could leave.
PERIOD = 1000
#: The share of the active rows that must leave for moving the others to pay.
LEAVE = 0.1
#: Moving an entry of K takes so many times as long as the part of a step that belongs to one row.
MOVING = 1.0
#: How many times the tolerance is good enough before all rows return for the first time.
LOOSE = 10.0


class Shrinking:
    """Problem p of a worker's problems, from where it is."""

    def __init__(self, worker: Worker, p: int) -> None:
        problems = worker.problems
        part = slice(int(problems.starts[p]), int(problems.starts[p + 1]))
        self.worker, self.loop, self.p = worker, worker.loop, p
        self.variables, self.rows = problems.variables[part], worker.rows[part]
        self.groups, self.found = problems.groups[part], problems.found[p : p + 1]
        self.active = np.arange(len(self.rows))
        self.left = int(problems.limits[p] - problems.taken[p])
        self.computed, self.kept = 0, FRESH
        #: All variables when the first rows left.
        self.before = self.variables

    def solve(self, stop: Stop) -> None:
        problems, n = self.worker.problems, len(self.rows)
        before, tol = self.left, LOOSE * problems.tol
        while True:
            burst = min(PERIOD, self.left)
            steps = self._advance(tol, burst, stop)
            over = stop.is_set() or self.left <= 0
            if steps == burst and not over:
                if self._pays(before - self.left):
                    self._leave(before - self.left)
            elif len(self.active) < n:
                self._return()
                tol = problems.tol
            elif over or tol == problems.tol:
                break
            else:
                tol = problems.tol
        self.found[0, COMPUTED] = self.computed
        problems.taken[self.p] += before - self.left

    def _pays(self, steps: int) -> bool:
        """Whether steps on fewer rows will gain more than the return of all rows costs."""
        n, columns = len(self.rows), self.worker.right.shape[1]
        rows = self.computed * (1 + columns / COLUMNS)
        if n >= LARGE:
            # What shrinking costs are rows of K, unless there is no room for all of them anyway.
            crowded = len(self.worker.table) < n * n
            return (steps >= START * n and crowded) or (steps >= EARLY * n and steps >= rows)
        return steps >= START * n and steps >= PAYS * rows

    def _advance(self, tol: float, limit: int, stop: Stop) -> int:
        # Without copies where all rows are active: most problems end so.
        some = self.active if len(self.active) < len(self.rows) else slice(None)
        variables, rows, groups = self.variables[some], self.rows[some], self.groups[some]
        ends, limits = np.array([0, len(variables)]), np.array([limit])
        arrays = (np.zeros(1, np.int64), ends, variables, rows, groups)
        self.worker.run(*arrays, self.found, tol, limits, self.kept, stop)
        self.variables[some] = variables
        self.kept = SAME
        self.computed += int(self.found[0, COMPUTED])
        steps = int(self.found[0, STEPS])
        self.left -= steps
        return steps

    def _leave(self, steps: int) -> None:
        """Keep the rows that may still form a pair that violates the conditions.

        Provided that moving the others takes less than it saves in as many steps as there were.
        """
        m, g = len(self.active), self.groups[self.active]
        # The masks and F of the last call are still in the memory of the worker.
        worker, every = self.worker, np.arange(m)
        F = worker.F[:m]
        grows, shrinks = worker.up[g, every] - F, -worker.low[g, every] - F
        top, bottom = np.empty(m), np.empty(m)
        for one in range(len(worker.up)):
            here = g == one
            top[here], bottom[here] = (
                grows.max(where=here, initial=-np.inf),
                shrinks.min(where=here, initial=np.inf),
            )
        stay = np.flatnonzero((grows >= bottom) | (shrinks <= top))
        used = int(worker.cursor[self.loop.USED])
        if len(stay) > (1 - LEAVE) * m or (m - len(stay)) * steps < MOVING * used * len(stay):
            return
        if m == len(self.rows):
            self.before = self.variables.copy()
        self._move_together(stay, m)
        self.active, self.kept = self.active[stay], FEWER

    def _return(self) -> None:
        """All rows are active again; no row of K is kept, since all of them have become longer."""
        n = len(self.rows)
        away = np.setdiff1d(np.arange(n), self.active, assume_unique=True)
        by = self.variables[:, A] - self.before[:, A]
        moved = np.flatnonzero(by)
        place = np.full(n, -1)
        place[away] = np.arange(len(away))
        more = images(self.worker, self.rows[away], self.rows[moved], by[moved], place[moved])
        self.variables[away, IMAGE] = self.before[away, IMAGE] + more
        self.computed += len(moved) * len(away) // n
        none = np.empty(0, dtype=np.intp)
        self._keep(none, none)
        self.active, self.kept = np.arange(n), FEWER

    def _move_together(self, stay: np.ndarray, m: int) -> None:
        """Kept rows of K, without the columns that leave."""
        worker, loop = self.worker, self.loop
        table, index, used = worker.table, worker.index, int(worker.cursor[loop.USED])
        old, stride = (-(-size // BLOCK) * BLOCK for size in (m, len(stay)))
        new = np.full(m, -1)
        new[stay] = np.arange(len(stay))
        owner = new[index[loop.OWNER, :used]]
        slots = np.flatnonzero(owner >= 0)
        loop.move_together(table, slots, stay, old, stride)
        self._keep(slots, owner[slots])

    def _keep(self, slots: np.ndarray, owners: np.ndarray) -> None:
        """These slots, which are the first ones now, and the rows that are in them."""
        worker, loop, count = self.worker, self.loop, len(slots)
        index = worker.index
        index[loop.RECENT, :count] = index[loop.RECENT, slots]
        index[loop.OWNER, :count] = owners
        index[loop.SLOT] = -1
        index[loop.SLOT, owners] = np.arange(count)
        worker.cursor[loop.USED], worker.cursor[loop.NEXT] = count, 0
        # The direction of the last step had other rows: a new one begins.
        worker.Q[:] = worker.p[:] = 0.0
        worker.cursor[loop.WIDTH], worker.ends[-1] = 0, 0.0
