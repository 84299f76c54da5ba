"""SMO in NumPy on the whole of K: for the first small problems of a process, and without Numba.

A step takes ten calls of NumPy, some 20 µs for hundreds of rows. Numba takes half a second to be
imported, and seconds to compile where no machine code is kept yet: a few thousand steps are taken
here first. The steps, the stopping rule and the tables are those of `lazy_smo`, without its
conjugate directions; what is not finished here goes on there, from where it is.
"""

from __future__ import annotations

import math

import numpy as np

from mercer._machine.deadline import check_time
from mercer._machine.jit import compiles, is_imported, may_compile, patience
from mercer.solvers.quadratic.flat_problems import (
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
#: machine of some hundred rows needs no import, and a loop over many soon runs compiled; a second
#: where no machine code is kept.
FEW_STEPS = 5_000
#: Rows of the whole K that is computed for this; without Numba, or its machine code, so many: K of
#: 6000 rows takes 0.3 s, and to compile the other solver 3 s.
FEW_ROWS, MOST_ROWS = 1000, 6000
#: Rows from which a step counts by its rows: one of 6000 takes 2.4 times as long as one of 1000.
LONG = 2000
#: Entries of K that take as long as a step: without them a hundred machines of 1000 rows with few
#: steps each would all take three times as long as compiled.
ENTRIES = 2500
#: Steps between two looks at the time.
PERIOD = 500

_taken = 0.0


def steps_left() -> float:
    """How many steps this process may still take here."""
    if not may_compile():
        if _taken > FEW_STEPS:
            compiles()  # says once that there is no Numba, where it begins to matter
        return math.inf
    return 0 if is_imported() else max(0, FEW_STEPS * patience() - _taken)


def worth_it(rows: int) -> bool:
    """Whether problems over a K of so many rows begin here."""
    soon = may_compile() and patience() == 1
    return steps_left() > 0 and rows <= (FEW_ROWS if soon else MOST_ROWS)


def solve_plainly(K: np.ndarray, problems: Problems, order: np.ndarray) -> bool:
    """Problems `order`, in place, as far as the steps go; whether Ctrl-C came."""
    global _taken
    _taken += len(K) ** 2 / ENTRIES
    try:
        for p in order:
            one = _Problem(K, problems, p)
            cost = max(1.0, len(one.F) / LONG)
            try:
                one.solve(problems.tol, min(problems.limits[p], steps_left() / cost))
            finally:
                _taken += one.steps * cost
                problems.taken[p] += one.steps
                one.measure(problems.found[p])
    except KeyboardInterrupt:
        return True
    return False


class _Problem:
    """One of them: masks say which variables may grow (`up`) and shrink (`low`), per group."""

    def __init__(self, K: np.ndarray, problems: Problems, p: int) -> None:
        part = slice(int(problems.starts[p]), int(problems.starts[p + 1]))
        self.variables, self.group = problems.variables[part], problems.groups[part]
        rows, n = problems.rows[part], problems.starts[p + 1] - problems.starts[p]
        self.K = K if n == len(K) and (np.diff(rows) == 1).all() else K[np.ix_(rows, rows)]
        self.diagonal = self.K.diagonal().astype(np.float64)
        self.F, self.steps = self.K @ self.variables[:, A], 0
        self.up, self.low = (np.full((problems.n_groups, n), -np.inf) for _ in range(2))
        for t in range(n):
            self._mark(t)

    def _mark(self, t: int) -> None:
        plus, minus, lower, upper, a, _ = self.variables[t].tolist()
        g = self.group[t]
        self.up[g, t] = -minus if a < 0 else -plus if a < upper else -np.inf
        self.low[g, t] = plus if a > 0 else minus if a > lower else -np.inf

    def solve(self, tol: float, limit: float) -> None:
        while self.steps < limit:
            if self.steps % PERIOD == 0:
                check_time()
            pair = self._pair(tol)
            if pair is None or not self._step(*pair):
                return
            self.steps += 1

    def _pair(self, tol: float) -> tuple[int, int, float, float] | None:
        """The row that most wants to grow, its best partner, their slope and their curvature."""
        best, found = 0.0, None
        for up, low in zip(self.up, self.low, strict=True):
            wish = up - self.F
            i = int(wish.argmax())
            slopes = low + self.F
            slopes += wish[i]
            if not slopes.max() > tol:
                continue
            curves = self.K[i] * -2.0
            curves += self.diagonal
            curves += self.diagonal[i]
            np.maximum(curves, TAU, out=curves)
            gains = np.maximum(slopes, 0.0)
            gains *= gains
            gains /= curves
            j = int(gains.argmax())
            if gains[j] > best:
                best, found = gains[j], (i, j, float(slopes[j]), float(curves[j]))
        return found

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
        self.variables[i, A], self.variables[j, A] = new_a, new_b
        self._mark(i)
        self._mark(j)
        self.F += step * (self.K[i] - self.K[j])
        return True

    def measure(self, found: np.ndarray) -> None:
        """What `lazy_smo` tells of a solution."""
        v, F = self.variables, self.F
        v[:, IMAGE] = F
        linear = np.where(v[:, A] > 0, v[:, PLUS], v[:, MINUS])
        found[STEPS], found[COMPUTED] = self.steps, len(v)
        found[OBJECTIVE] = v[:, A] @ (0.5 * F + linear)
        for g, (up, low) in enumerate(zip(self.up, self.low, strict=True)):
            grows, shrinks = up - F, -low - F
            free = grows[grows == shrinks]
            own = found[GROUPS + 4 * g : GROUPS + 4 * g + 4]
            own[TOP], own[BOTTOM] = grows.max(), shrinks.min()
            own[SUM], own[FREE] = free.sum(), len(free)
