"""SMO in NumPy: for the first problems of a process, and without Numba.

A step takes some fifteen calls of NumPy, 20 µs for hundreds of rows. Numba takes half a second to
be imported, and seconds to compile where no machine code is kept yet: a few thousand steps are
taken here first. The steps, the stopping rule and the tables are those of `lazy_smo`, without its
conjugate directions; what is not finished here goes on there, from where it is. Rows come from a K
that is there (`of_matrix`), or are made a few at a time when a step first needs one (`of_gram`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._machine.deadline import check_time
from mercer._machine.jit import compiles, is_imported, may_compile, patience
from mercer.gram.base import Gram
from mercer.solvers.quadratic.row_by_row.flat_problems import (
    BOTTOM,
    COMPUTED,
    FREE,
    GROUPS,
    IMAGE,
    MINUS,
    OBJECTIVE,
    PLUS,
    STEPS,
    SUM,
    TAU,
    TOP,
    A,
    Problems,
)  # fmt: skip

#: Steps of a process here, while Numba could still be imported: a tenth of a second, so that one
#: machine of some hundred rows needs no import, and a loop over many soon runs compiled; and two
#: seconds where no machine code is kept, less than half of what the compiler takes.
FEW_STEPS, COLD_STEPS = 5_000, 70_000
#: Rows of K for which this is soon done; and those where no machine code is kept, for which it
#: takes less than the 5 s in which the other solver is compiled.
FEW_ROWS, MOST_ROWS = 1000, 30_000
#: Rows up to which all of K is computed at once, and those where it has no rows one by one: they
#: are wide, or a black box makes them.
AT_ONCE, MOST_AT_ONCE, WIDE = 1000, 6000, 64
#: Rows from which a step counts by its rows: one of 6000 takes 2.4 times as long as one of 1000.
LONG = 2000
#: As many steps as are taken in the time in which a problem is begun; so many entries of K are made
#: in the time of a step (30 µs), and half as many of rows with so many columns. Without them a
#: hundred machines of 1000 rows with few steps each would take three times as long as compiled.
BEGIN, ENTRIES, COLUMNS = 10, 4000, 32
#: Entries of K that are made at a time: of shorter rows, several.
TOGETHER = 1 << 14
#: Bytes of rows that are kept: few are asked for again, and to make one of those takes no longer
#: than the system takes to provide fresh memory for it.
KEPT = 1 << 26
#: Steps between two looks at the time, and at what was spent.
PERIOD = 50

_taken = 0.0


def steps_left() -> float:
    """How many steps this process may still take here."""
    if not may_compile():
        if _taken > FEW_STEPS:
            compiles()  # says once that there is no Numba, where it begins to matter
        return math.inf
    return 0 if is_imported() else max(0, (FEW_STEPS if patience() == 1 else COLD_STEPS) - _taken)


def worth_it(rows: int) -> bool:
    """Whether problems over a K of so many rows begin here."""
    if not may_compile():
        return True
    return steps_left() > 0 and rows <= (FEW_ROWS if patience() == 1 else MOST_ROWS)


#: Rows of K between some examples: what a problem over them reads.
RowsOf = Callable[[np.ndarray], Any]


def of_matrix(K: np.ndarray) -> RowsOf:
    """From a K that is there, which was made for this."""
    global _taken
    _taken += len(K) ** 2 / ENTRIES
    return lambda examples: _Matrix(K, examples)


def of_gram(gram: Gram, memory: int) -> RowsOf:
    """As they are asked for; `memory`: the most bytes for those that are kept."""
    room = np.empty(min(memory, KEPT) // gram.dtype.itemsize, gram.dtype)
    return lambda examples: _OnDemand(gram, examples, room)


def solve_plainly(rows_of: RowsOf, problems: Problems, order: np.ndarray) -> bool:
    """Problems `order`, in place, as far as the steps go; whether Ctrl-C came."""
    global _taken
    problems.found[order, GROUPS + TOP] = np.inf  # none is solved yet
    try:
        for p in order:
            left = steps_left()
            if left <= 0:
                break
            one = _Problem(rows_of, problems, p)
            try:
                one.solve(problems.tol, problems.limits[p], left)
            finally:
                _taken += one.spent
                problems.taken[p] += one.steps
                one.measure(problems.found[p])
    except KeyboardInterrupt:
        return True
    return False


class _Problem:
    """One of them: masks say which variables may grow (`up`) and shrink (`low`), per group."""

    def __init__(self, rows_of: RowsOf, problems: Problems, p: int) -> None:
        part = slice(int(problems.starts[p]), int(problems.starts[p + 1]))
        self.variables, self.group = problems.variables[part], problems.groups[part]
        self.rows, self.steps, n = rows_of(problems.rows[part]), 0, len(self.variables)
        plus, minus, lower, upper, a, _ = self.variables.T
        self.F = self.rows.times(a) if a.any() else np.zeros(n)
        self.up, self.low = (np.full((problems.n_groups, n), -np.inf) for _ in range(2))
        each = self.group, np.arange(n)
        self.up[each] = np.where(a < 0, -minus, np.where(a < upper, -plus, -np.inf))
        self.low[each] = np.where(a > 0, plus, np.where(a > lower, minus, -np.inf))
        self._room = np.empty((3, n))
        self._rounding = float(np.finfo(self.rows.dtype).eps)

    @property
    def spent(self) -> float:
        """What all this took, as the number of short steps that take as long."""
        cost = max(1.0, len(self.F) / LONG)
        return BEGIN + cost * self.steps + self.rows.work / ENTRIES

    def solve(self, tol: float, limit: float, left: float) -> None:
        """At most `limit` steps, and what `left` short ones come to."""
        while self.steps < limit:
            if self.steps % PERIOD == 0:
                check_time()
                if self.spent >= left:
                    return
            pair = self._pair(tol)
            if pair is None or not self._step(*pair):
                return
            self.steps += 1

    def _pair(self, tol: float) -> tuple[int, int, float, float] | None:
        """The row that most wants to grow, its best partner, their slope and their curvature."""
        best, found = 0.0, None
        wish, slopes, curves = self._room
        diagonal = self.rows.diagonal
        for g, (up, low) in enumerate(zip(self.up, self.low, strict=True)):
            i = int(np.subtract(up, self.F, out=wish).argmax())
            np.add(low, self.F, out=slopes)
            slopes += wish[i]
            if not slopes.max() > tol:
                continue
            row, _ = self.rows.two(i, i, g, self)
            own = float(diagonal[i])
            np.multiply(row, -2.0, out=curves)
            curves += diagonal
            curves += own
            np.maximum(curves, max(TAU, self._rounding * own), out=curves)
            gains = np.maximum(slopes, 0.0, out=wish)
            gains *= gains
            gains /= curves
            j = int(gains.argmax())
            if gains[j] > best:
                best, found = float(gains[j]), (i, j, float(slopes[j]), float(curves[j]))
        return found

    def violators(self, g: int, besides: np.ndarray, half: int) -> np.ndarray:
        """Rows of a group that most want to grow, and that most want to shrink."""
        sides = (self.F - self.up[g], -self.low[g] - self.F)
        for side in sides:
            side[besides] = np.inf
        return np.concatenate([np.argpartition(side, half)[:half] for side in sides])

    def _step(self, i: int, j: int, slope: float, curve: float) -> bool:
        """aᵢ grows by as much as aⱼ shrinks, to a bound or the kink at 0; False if none moves."""
        _, _, _, upper, a, _ = self.variables[i].tolist()
        _, _, lower, _, b, _ = self.variables[j].tolist()
        end_a, end_b = 0.0 if a < 0 else upper, 0.0 if b > 0 else lower
        step = min(slope / curve, end_a - a, b - end_b)
        new_a = end_a if step == end_a - a else a + step
        new_b = end_b if step == b - end_b else b - step
        if new_a == a and new_b == b:
            return False
        row, other = self.rows.two(i, j, self.group[i], self)
        self.variables[i, A], self.variables[j, A] = new_a, new_b
        self._mark(i)
        self._mark(j)
        along = np.subtract(row, other, out=self._room[0])
        along *= step
        self.F += along
        return True

    def _mark(self, t: int) -> None:
        plus, minus, lower, upper, a, _ = self.variables[t].tolist()
        g = self.group[t]
        self.up[g, t] = -minus if a < 0 else -plus if a < upper else -np.inf
        self.low[g, t] = plus if a > 0 else minus if a > lower else -np.inf

    def measure(self, found: np.ndarray) -> None:
        """What `lazy_smo` tells of a solution."""
        v, F = self.variables, self.F
        v[:, IMAGE] = F
        linear = np.where(v[:, A] > 0, v[:, PLUS], v[:, MINUS])
        found[STEPS], found[COMPUTED] = self.steps, self.rows.computed
        found[OBJECTIVE] = v[:, A] @ (0.5 * F + linear)
        for g, (up, low) in enumerate(zip(self.up, self.low, strict=True)):
            grows, shrinks = up - F, -low - F
            free = grows[grows == shrinks]
            own = found[GROUPS + 4 * g : GROUPS + 4 * g + 4]
            own[TOP], own[BOTTOM] = grows.max(), shrinks.min()
            own[SUM], own[FREE] = free.sum(), len(free)


class _Matrix:
    """Rows of a K that is there."""

    def __init__(self, K: np.ndarray, examples: np.ndarray) -> None:
        whole = len(examples) == len(K) and bool((np.diff(examples) == 1).all())
        self.K = K if whole else K[np.ix_(examples, examples)]
        self.diagonal, self.dtype = self.K.diagonal().astype(np.float64), K.dtype
        self.work, self.computed = 0.0, len(self.K)

    def two(self, i: int, j: int, g: int, problem: _Problem) -> tuple[np.ndarray, np.ndarray]:
        """Rows i and j."""
        return self.K[i], self.K[j]

    def times(self, a: np.ndarray) -> np.ndarray:
        """K a."""
        return np.asarray(self.K @ a, dtype=np.float64)


class _OnDemand:
    """Rows of K that are made when they are first asked for, and kept in `room` for a while."""

    def __init__(self, gram: Gram, examples: np.ndarray, room: np.ndarray) -> None:
        n = len(examples)
        self._each = max(1, min(n - 1, TOGETHER // n))
        # Half of the kept rows may leave; of the others, two batches are there at once.
        capacity = max(len(room) // n, min(n, 4 * (self._each + 1)))
        room = room if len(room) >= capacity * n else np.empty(capacity * n, gram.dtype)
        rows = gram.rows_of_k(examples, compiled=False)
        self._rows, self._most = rows.with_room(room), capacity // 2
        self._recent, self._count = np.zeros(n, dtype=bool), 0
        self.diagonal, self.dtype = rows.diagonal.astype(np.float64), gram.dtype
        self._cost = 1 + gram.bytes_per_row / (gram.dtype.itemsize * COLUMNS)

    @property
    def computed(self) -> int:
        return int(self._rows.computed)

    @property
    def work(self) -> float:
        """How many entries of rows with few columns take as long as those that were made."""
        return self.computed * len(self.diagonal) * self._cost

    def two(self, i: int, j: int, g: int, problem: _Problem) -> tuple[np.ndarray, np.ndarray]:
        """Rows i and j of group g.

        Rows that are made together with a new one are those that violate the conditions most:
        nearly all of them are needed soon.
        """
        row, other = self._rows.kept_row(i), self._rows.kept_row(j)
        while row is None or other is None:
            self._load(i if row is None else j, g, problem)
            row, other = self._rows.kept_row(i), self._rows.kept_row(j)
        return row, other

    def _load(self, t: int, g: int, problem: _Problem) -> None:
        """Row t, and some that are likely to follow; those that came last stay where they are."""
        wanted = np.array([t])
        if self._each > 1:
            half = self._each // 2
            likely = problem.violators(g, self._rows.are_kept(), half)
            wanted = np.unique(np.append(t, likely))
        if self._count + len(wanted) > self._most:
            self._recent[:], self._count = False, 0
        self._rows.load(wanted, self._recent)
        self._recent[wanted] = True
        self._count += len(wanted)

    def times(self, a: np.ndarray) -> np.ndarray:
        """K a."""
        used, total = np.flatnonzero(a), np.zeros(len(a))
        for start in range(0, len(used), self._each):
            part = used[start : start + self._each]
            total += a[part] @ self._rows.rows(part)
        return total
