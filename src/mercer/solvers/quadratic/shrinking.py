"""Shrinking: a large problem is solved on the rows that can still move.

    ┌─► `SVM_SHRINK_PERIOD` steps on the active rows           compiled: `smo_loop`
    │   rows leave that rest at a bound, beyond what any pair can want
    │   columns, masks and kept rows of K of the others move together
    └── until the gap over the active rows is closed
        then all rows return: those that had left get F = K a from what has changed since,
        and the gap is closed over all

Only what is left between two calls is done here, a few times per second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer.gram.operand import BLOCK
from mercer.solvers.quadratic.flat_problems import (
    COMPUTED,
    FEWER,
    FRESH,
    IMAGE,
    SAME,
    STEPS,
    A,
    Problems,
)
from mercer.tuning import SVM_SHRINK_PERIOD

if TYPE_CHECKING:
    from mercer.solvers.quadratic.smo_on_demand import Stop, Worker


class Shrinking:
    """One problem, from where it is, with the arrays of a worker."""

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
            steps = self._advance(self.one.tol, burst, stop)
            if steps == burst and not stop.is_set() and self.left > 0:
                self._leave(limit - self.left)
            elif len(self.active) < len(self.rows):
                self._return()
            else:
                break
        self.one.found[0, COMPUTED] = self.computed
        self.one.taken[0] += limit - self.left

    def _advance(self, tol: float, limit: int, stop: Stop) -> int:
        # Without copies where all rows are active: most problems end so.
        some = self.active if len(self.active) < len(self.rows) else slice(None)
        variables, rows, groups = self.variables[some], self.rows[some], self.groups[some]
        ends, limits = np.array([0, len(variables)]), np.array([limit])
        arrays = (np.zeros(1, np.int64), ends, variables, rows, groups, self.one.found)
        self.worker.run(*arrays, tol, limits, self.kept, stop)
        self.variables[some] = variables
        self.kept = SAME
        self.computed += int(self.one.found[0, COMPUTED])
        steps = int(self.one.found[0, STEPS])
        self.left -= steps
        return steps

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
        worker.loop.compact(worker.table, slots, stay, old, stride)
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
