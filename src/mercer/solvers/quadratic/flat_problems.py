"""All problems of a machine in flat arrays, for loops that solve one after the other.

The constants say where numbers are in the arrays that these loops read and write.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Final

import numpy as np

from mercer.solvers.quadratic.problem import Solutions, Task, Tasks
from mercer.tuning import SVM_STEPS, SVM_STEPS_PER_ROW

#: Columns of the table of variables: linear terms on both sides of 0, bounds, value and F = K a.
PLUS, MINUS, LOWER, UPPER, A, IMAGE = range(6)
#: Entries of `found` per problem: steps taken, and rows of K computed.
STEPS, COMPUTED = range(2)
#: What stands for a curvature that is not positive (LIBSVM's value).
TAU: Final = 1e-12
#: What a call of the compiled loop finds in its memory: nothing, the rows of the same problem, or
#: kept rows of K alone, because rows have left.
FRESH, SAME, FEWER = range(3)
#: The rounding of f, as a share of the tolerance, up to which float32 is enough. It is estimated as
#: ε ‖a‖ max k, which was at least 1.5 times the largest error of Gaussians and polynomials.
SINGLE_SHARE = 0.5


def masks(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The part of −f beside −F where a variable may grow, and of f where it may shrink; or −∞."""
    a, plus, minus = flat[:, A], flat[:, PLUS], flat[:, MINUS]
    up = np.where(a < 0, -minus, np.where(a < flat[:, UPPER], -plus, -np.inf))
    low = np.where(a > 0, plus, np.where(a > flat[:, LOWER], minus, -np.inf))
    return up, low


def split(a: np.ndarray, sides: int) -> np.ndarray:
    """(sides, variables): a itself, or its positive and its negative part."""
    return a[None].copy() if sides == 1 else np.stack([np.maximum(a, 0.0), np.minimum(a, 0.0)])


class Problems:
    """The problems as flat arrays, one after the other, with their present values."""

    def __init__(self, tasks: Sequence[Task], tol: float, max_iter: int) -> None:
        self.tol: float = tol
        self.max_iter: int = max_iter
        flat = Tasks.of(tasks)
        self.starts: np.ndarray = flat.starts
        self.rows: np.ndarray = flat.rows.astype(np.int64, copy=False)
        self.sizes: np.ndarray = self.starts[1:] - self.starts[:-1]
        self.sides: int = len(flat.problem.linear)
        problem = flat.problem
        # A variable with two sides is one with a kink at 0.
        self.variables: np.ndarray = np.zeros((len(self.rows), 6))
        self.variables[:, PLUS], self.variables[:, MINUS] = problem.linear[0], problem.linear[-1]
        self.variables[:, LOWER], self.variables[:, UPPER] = problem.lower[-1], problem.upper[0]
        self.started: bool = problem.start is not None
        if problem.start is not None:
            self.variables[:, A] = problem.start.sum(axis=0)
        self.groups: np.ndarray = np.zeros(len(self.rows), np.int8)
        self.n_groups: int = 1
        if problem.groups is not None:
            self.groups[:] = problem.groups[0]
            self.n_groups = int(self.groups.max()) + 1
        self.found: np.ndarray = np.zeros((len(flat), 2))
        limits = np.maximum(SVM_STEPS, SVM_STEPS_PER_ROW * self.sizes)
        self.limits: np.ndarray = np.minimum(limits, max_iter) if max_iter >= 0 else limits
        self.taken: np.ndarray = np.zeros(len(flat), dtype=np.int64)

    def measure(self) -> None:
        """Compute the `objective`, the `gap` and the `thresholds` of every problem.

        The threshold of a group is the mean of −f over its variables that may grow and shrink, else
        the middle of what the variables at their bounds leave.
        """
        begins, flat = self.starts[:-1], self.variables
        a, F, (up, low) = flat[:, A], flat[:, IMAGE], masks(flat)
        linear = np.where(a > 0, flat[:, PLUS], flat[:, MINUS])
        self.objective: np.ndarray = np.add.reduceat(a * (0.5 * F + linear), begins)
        self.gap: np.ndarray = np.full(len(begins), -np.inf)
        self.thresholds: np.ndarray = np.empty((len(begins), self.n_groups))
        for g in range(self.n_groups):
            grows, shrinks = up - F, -low - F
            if self.n_groups > 1:
                grows[self.groups != g], shrinks[self.groups != g] = -np.inf, np.inf
            free = grows == shrinks  # not at a bound, and not at the kink
            top, bottom = np.maximum.reduceat(grows, begins), np.minimum.reduceat(shrinks, begins)
            self.gap = np.maximum(self.gap, top - bottom)
            total = np.add.reduceat(np.where(free, grows, 0.0), begins)
            count = np.add.reduceat(free.astype(float), begins)
            top = np.where(np.isfinite(top), top, bottom)
            bottom = np.where(np.isfinite(bottom), bottom, top)
            middle = np.where(np.isfinite(top), (top + bottom) / 2, 0.0)
            self.thresholds[:, g] = np.where(count > 0, total / np.maximum(count, 1), middle)

    def rounded(self, rounding: float, diagonal: np.ndarray) -> np.ndarray:
        """Problems whose f may be wrong, by the rounding of K, by a share of the tolerance."""
        a = self.variables[:, A]
        length = np.sqrt(np.add.reduceat(a * a, self.starts[:-1]))
        error = rounding * float(np.abs(diagonal).max()) * length
        return np.flatnonzero(error > SINGLE_SHARE * self.tol)

    def alone(self, p: int) -> Problems:
        """Problem `p` by itself, in the same memory."""
        one, part = copy(self), slice(int(self.starts[p]), int(self.starts[p + 1]))
        one.starts, one.sizes = self.starts[p : p + 2] - part.start, self.sizes[p : p + 1]
        for name in ("rows", "variables", "groups"):
            setattr(one, name, getattr(self, name)[part])
        for name in ("found", "limits", "taken"):
            setattr(one, name, getattr(self, name)[p : p + 1])
        return one

    def late(self) -> np.ndarray:
        """Problems that took all steps before Newton's help, and may take more."""
        late = self.taken >= self.limits
        return np.flatnonzero(late & ((self.max_iter < 0) | (self.taken < self.max_iter)))

    def solutions(self) -> Solutions:
        return Solutions(
            self.starts,
            split(self.variables[:, A], self.sides),
            self.variables[:, IMAGE].copy(),
            self.objective,
            self.thresholds,
            self.gap,
            self.taken,
            self.gap <= self.tol,
            self.found[:, COMPUTED],
        )
