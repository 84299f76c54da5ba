"""All problems of a machine in flat arrays, for loops that take them in turn; what was found.

The constants say where numbers are in the arrays that these loops read and write.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.solvers.quadratic.problem import Solutions, Task, Tasks
from mercer.tuning import SVM_STEPS, SVM_STEPS_PER_ROW

#: Columns of the table of variables: linear terms on both sides of 0, bounds, value and F = K a.
PLUS, MINUS, LOWER, UPPER, A, IMAGE = range(6)
#: Entries of `found` per problem, and of each of its groups: the largest −f that may grow, the
#: least that may shrink, the sum and the number of those in between.
STEPS, COMPUTED, OBJECTIVE, GROUPS = range(4)
TOP, BOTTOM, SUM, FREE = range(4)
#: What stands for a curvature that is not positive (LIBSVM's value).
TAU = 1e-12
#: What a call of the compiled loop finds in its memory: nothing, the rows of the same problem, or
#: kept rows of K alone, because rows have left.
FRESH, SAME, FEWER = range(3)
#: The rounding of f, as a share of the tolerance, up to which float32 is enough. It is estimated as
#: ε ‖a‖ max k, which was at least 1.5 times the largest error of Gaussians and polynomials.
ROUNDING = 0.5


def masks(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the slope of every variable has beside F where it may grow, and shrink; or −∞."""
    a, plus, minus = flat[:, A], flat[:, PLUS], flat[:, MINUS]
    up = np.where(a < 0, -minus, np.where(a < flat[:, UPPER], -plus, -np.inf))
    low = np.where(a > 0, plus, np.where(a > flat[:, LOWER], minus, -np.inf))
    return up, low


class Problems:
    """The problems as flat arrays, one after the other, and what was found."""

    def __init__(self, tasks: Sequence[Task], tol: float, max_iter: int) -> None:
        self.tol, self.max_iter = tol, max_iter
        flat = Tasks.of(tasks)
        self.starts, self.rows = flat.starts, flat.rows.astype(np.int64, copy=False)
        self.sizes: np.ndarray = self.starts[1:] - self.starts[:-1]
        problem, self.sides = flat.problem, len(flat.problem.linear)
        # A variable with two sides is one with a kink at 0.
        self.variables = np.zeros((len(self.rows), 6))
        self.variables[:, PLUS], self.variables[:, MINUS] = problem.linear[0], problem.linear[-1]
        self.variables[:, LOWER], self.variables[:, UPPER] = problem.lower[-1], problem.upper[0]
        self.started = problem.start is not None
        if problem.start is not None:
            self.variables[:, A] = problem.start.sum(axis=0)
        self.groups, self.n_groups = np.zeros(len(self.rows), np.int8), 1
        if problem.groups is not None:
            self.groups[:] = problem.groups[0]
            self.n_groups = int(self.groups.max()) + 1
        self.found = np.zeros((len(flat), GROUPS + 4 * self.n_groups))
        limits = np.maximum(SVM_STEPS, SVM_STEPS_PER_ROW * self.sizes)
        self.limits = np.minimum(limits, max_iter) if max_iter >= 0 else limits
        self.taken = np.zeros(len(flat), dtype=np.int64)

    def measure(self) -> None:
        """The objective of every problem, and per group what its threshold is found from."""
        begins, flat, found = self.starts[:-1], self.variables, self.found
        a, F, (up, low) = flat[:, A], flat[:, IMAGE], masks(flat)
        linear = np.where(a > 0, flat[:, PLUS], flat[:, MINUS])
        found[:, OBJECTIVE] = np.add.reduceat(a * (0.5 * F + linear), begins)
        for g, ends in enumerate(self._per_group().transpose(1, 2, 0)):
            grows, shrinks = up - F, -low - F
            if self.n_groups > 1:
                grows[self.groups != g], shrinks[self.groups != g] = -np.inf, np.inf
            free = grows == shrinks  # not at a bound, and not at the kink
            ends[TOP] = np.maximum.reduceat(grows, begins)
            ends[BOTTOM] = np.minimum.reduceat(shrinks, begins)
            ends[SUM] = np.add.reduceat(np.where(free, grows, 0.0), begins)
            ends[FREE] = np.add.reduceat(free.astype(float), begins)

    def _per_group(self) -> np.ndarray:
        return self.found[:, GROUPS:].reshape(len(self.found), self.n_groups, 4)

    def gaps(self) -> np.ndarray:
        ends = self._per_group()
        return (ends[:, :, TOP] - ends[:, :, BOTTOM]).max(axis=1)

    def thresholds(self) -> np.ndarray:
        """The mean of −f over the variables in between, else the middle of what bounds leave."""
        top, bottom, total, free = self._per_group().transpose(2, 0, 1)
        if free.all():
            return total / free  # type: ignore[no-any-return]
        with np.errstate(invalid="ignore"):
            middle = np.where(np.isfinite(top) & np.isfinite(bottom), (top + bottom) / 2, 0.0)
            one = np.where(np.isfinite(top), top, np.where(np.isfinite(bottom), bottom, 0.0))
            both = np.isfinite(top + bottom)
            return np.where(free > 0, total / np.maximum(free, 1), np.where(both, middle, one))

    def rounded(self, rounding: float, diagonal: np.ndarray) -> np.ndarray:
        """Problems whose f may be wrong, by the rounding of K, by a share of the tolerance."""
        a = self.variables[:, A]
        length = np.sqrt(np.add.reduceat(a * a, self.starts[:-1]))
        error = rounding * float(np.abs(diagonal).max()) * length
        return np.flatnonzero(error > ROUNDING * self.tol)

    def unfinished(self) -> np.ndarray:
        """Problems that took all the steps they may take here, and may take more elsewhere."""
        if (self.taken < self.limits).all():
            return np.empty(0, dtype=np.intp)
        late = (self.gaps() > self.tol) & (self.taken >= self.limits)
        return np.flatnonzero(late & ((self.max_iter < 0) | (self.taken < self.max_iter)))

    def coefficients(self, p: int) -> np.ndarray:
        """(sides, rows) of one problem."""
        return self._sides(self.variables[self.starts[p] : self.starts[p + 1], A])

    def _sides(self, a: np.ndarray) -> np.ndarray:
        if self.sides == 1:
            return a[None].copy()
        return np.stack([np.maximum(a, 0.0), np.minimum(a, 0.0)])

    def solutions(self) -> Solutions:
        gaps = self.gaps()
        return Solutions(
            self.starts,
            self._sides(self.variables[:, A]),
            self.variables[:, IMAGE].copy(),
            self.found[:, OBJECTIVE],
            self.thresholds(),
            gaps,
            self.taken,
            gaps <= self.tol,
            self.found[:, COMPUTED],
        )
