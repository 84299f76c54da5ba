"""Sequential minimal optimization in NumPy over a K in memory: small problems, and `steps()`.

The steps and the stopping rule are LIBSVM's: the variable that most wants to grow, and the partner
whose decrease by the same amount gains most by the second order of the objective. A step takes some
fifteen calls of NumPy, 20 µs for hundreds of rows. `lazy_smo` is the compiled form.
"""

from __future__ import annotations

import numpy as np

from mercer._machine.deadline import check_time
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
)

#: Steps between two looks at the clock.
PERIOD = 50


class PlainProblem:
    """Problem `p` over K of its rows; masks say which variables may grow (`up`) and shrink (`low`).

    The numbers of `problems` are changed in place.
    """

    def __init__(self, K: np.ndarray, problems: Problems, p: int) -> None:
        part = slice(int(problems.starts[p]), int(problems.starts[p + 1]))
        self.variables, self.group = problems.variables[part], problems.groups[part]
        self.K, self.steps, n = K, 0, len(self.variables)
        self.diagonal = K.diagonal().astype(np.float64)
        self._rounding = float(np.finfo(K.dtype).eps)
        self._buffer, self.groups = np.empty((3, n)), problems.n_groups
        self.start()

    def start(self) -> None:
        """Compute F = K a and the masks from the present values a."""
        plus, minus, lower, upper, a, _ = self.variables.T
        n = len(a)
        self.F = np.asarray(self.K @ a, dtype=np.float64) if a.any() else np.zeros(n)
        self.up, self.low = (np.full((self.groups, n), -np.inf) for _ in range(2))
        each = self.group, np.arange(n)
        self.up[each] = np.where(a < 0, -minus, np.where(a < upper, -plus, -np.inf))
        self.low[each] = np.where(a > 0, plus, np.where(a > lower, minus, -np.inf))

    def solve(self, tol: float, limit: float) -> None:
        """Take steps to a gap of `tol`, at most `limit` of them."""
        while self.steps < limit:
            if self.steps % PERIOD == 0:
                check_time()
            if not self.step(tol):
                return

    def step(self, tol: float) -> tuple[int, int] | None:
        """Take one step; returns the variables that grew and shrank, None at the end."""
        best = self._best_pair(tol)
        if best is None or not self._move(*best):
            return None
        self.steps += 1
        return best[:2]

    def _best_pair(self, tol: float) -> tuple[int, int, float, float] | None:
        """The variable that most wants to grow, its best partner, their slope and curvature."""
        best, chosen = 0.0, None
        wish, slopes, curves = self._buffer
        for up, low in zip(self.up, self.low, strict=True):
            i = int(np.subtract(up, self.F, out=wish).argmax())
            np.add(low, self.F, out=slopes)
            slopes += wish[i]
            if not slopes.max() > tol:
                continue
            k_ii = float(self.diagonal[i])
            np.multiply(self.K[i], -2.0, out=curves)
            curves += self.diagonal
            curves += k_ii
            np.maximum(curves, max(TAU, self._rounding * k_ii), out=curves)
            gains = np.maximum(slopes, 0.0, out=wish)
            gains *= gains
            gains /= curves
            j = int(gains.argmax())
            if gains[j] > best:
                best, chosen = float(gains[j]), (i, j, float(slopes[j]), float(curves[j]))
        return chosen

    def _move(self, i: int, j: int, slope: float, curve: float) -> bool:
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
        along = np.subtract(self.K[i], self.K[j], out=self._buffer[0])
        along *= step
        self.F += along
        return True

    def _mark(self, t: int) -> None:
        plus, minus, lower, upper, a, _ = self.variables[t].tolist()
        g = self.group[t]
        self.up[g, t] = -minus if a < 0 else -plus if a < upper else -np.inf
        self.low[g, t] = plus if a > 0 else minus if a > lower else -np.inf

    def measure(self, found: np.ndarray) -> None:
        """Write the steps, the objective and the ends of −f per group, as `lazy_smo` does."""
        v, F = self.variables, self.F
        v[:, IMAGE] = F
        linear = np.where(v[:, A] > 0, v[:, PLUS], v[:, MINUS])
        found[STEPS], found[COMPUTED] = self.steps, len(self.K)
        found[OBJECTIVE] = v[:, A] @ (0.5 * F + linear)
        for g, (up, low) in enumerate(zip(self.up, self.low, strict=True)):
            grows, shrinks = up - F, -low - F
            free = grows[grows == shrinks]
            ends = found[GROUPS + 4 * g : GROUPS + 4 * g + 4]
            ends[TOP], ends[BOTTOM] = grows.max(), shrinks.min()
            ends[SUM], ends[FREE] = free.sum(), len(free)
