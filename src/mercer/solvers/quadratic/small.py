"""Small support vector machines, and those of machines without Numba: LIBSVM over K in memory.

scikit-learn's LIBSVM solves the problems of C-SVC and ε-SVR. It keeps rows of K in float32; steps
in double precision (`PlainProblem`) close what is left of the gap. Other problems take only these.
The numbers of rows and of problems decide, and nothing else: compiled loops are faster, but their
first use in a process imports Numba, which takes half a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn import config_context

from mercer._machine.deadline import check_time
from mercer._machine.jit import compiles, may_compile
from mercer._steps import Listener, PairStep, listener
from mercer.solvers.quadratic.problem import (
    IMAGE,
    LOWER,
    MINUS,
    PLUS,
    TAU,
    UPPER,
    A,
    Problems,
    Solution,
    Task,
    masks,
)
from mercer.tuning import PLAIN_STEPS, SVM_SMALL_PROBLEMS, SVM_SMALL_ROWS, SVM_STEPS


def is_small(rows: int, tasks: Sequence[Task]) -> bool:
    """Whether problems over so many rows of K are solved here: without Numba, all of them."""
    if listener() is not None:
        return True
    if may_compile():
        return rows <= SVM_SMALL_ROWS and len(tasks) <= SVM_SMALL_PROBLEMS
    if rows > SVM_SMALL_ROWS:
        compiles()  # warns once that there is no Numba
    return True


def solve_small(
    K: np.ndarray, tasks: Sequence[Task], tol: float, max_iter: int
) -> tuple[Sequence[Solution], bool] | None:
    """Solutions over K, and whether Ctrl-C came; None where compiled loops have to go on."""
    problems, interrupted = Problems(tasks, tol, max_iter), False
    for p in range(len(problems.sizes)):
        problem = problems.alone(p)
        rows = problem.rows
        whole = len(rows) == len(K) and bool((np.diff(rows) == 1).all())
        one = PlainProblem(K if whole else K[np.ix_(rows, rows)], problem)
        try:
            if not interrupted:
                _solve_one(one, problem)
        except KeyboardInterrupt:
            interrupted = True
        problem.taken[0], problem.computed[0] = one.steps, len(rows)
        problem.variables[:, IMAGE] = one.F
    problems.measure()
    if may_compile() and max_iter < 0 and not interrupted and (problems.gap > tol).any():
        return None
    return problems.solutions(), interrupted


def _solve_one(one: PlainProblem, problem: Problems) -> None:
    tell, limit = listener(), problem.limits[0]
    if tell is not None:
        _tell_steps(one, problem, tell)
        return
    if problem.max_iter < 0:  # scikit-learn would warn of a limit in its own words
        _by_libsvm(one, problem)
        limit = one.steps + PLAIN_STEPS if may_compile() else limit
    one.solve(problem.tol, limit)


def _by_libsvm(one: PlainProblem, problem: Problems) -> None:
    """Set the variables of a C-SVC or ε-SVR to LIBSVM's solution; leave those of others."""
    from sklearn.svm import SVC, SVR

    v = one.variables
    bounds = np.maximum(v[:, UPPER], -v[:, LOWER])
    machine: SVC | SVR
    options: Any = {"kernel": "precomputed", "shrinking": False}
    options |= {"tol": problem.tol, "max_iter": SVM_STEPS}
    if problem.n_groups > 1 or not bounds.any():
        return
    if problem.sides == 2 and (v[:, UPPER] == -v[:, LOWER]).all():
        y, epsilon = -(v[:, PLUS] + v[:, MINUS]) / 2, (v[:, PLUS] - v[:, MINUS]) / 2
        machine = SVR(epsilon=max(0.0, float(np.median(epsilon))), **options)
    elif problem.sides == 1 and _is_c_svc(v, bounds):
        y, machine = -v[:, PLUS], SVC(**options)
    else:
        return
    with config_context(assume_finite=True, skip_parameter_validation=True):
        counted = np.flatnonzero(bounds)
        K = one.K if len(counted) == len(y) else one.K[np.ix_(counted, counted)]
        machine.fit(K, y[counted], sample_weight=bounds[counted])
    v[:, A] = 0.0
    v[counted[machine.support_], A] = machine.dual_coef_[0]
    np.clip(v[:, A], v[:, LOWER], v[:, UPPER], out=v[:, A])
    one.steps = int(np.max(machine.n_iter_))
    one.start()


def _is_c_svc(v: np.ndarray, bounds: np.ndarray) -> bool:
    """Whether linear terms are −1 and +1, and every variable has the opposite sign."""
    signs = -v[:, PLUS]
    other_end = np.where(signs > 0, v[:, LOWER], v[:, UPPER])
    return bool(
        (np.abs(signs) == 1.0).all() and not other_end.any() and np.ptp(signs[bounds > 0]) > 0
    )


def _tell_steps(one: PlainProblem, problem: Problems, tell: Listener) -> None:
    """Take steps in NumPy alone, and tell the listener about each."""
    while one.steps < problem.limits[0] and (pair := one.step(problem.tol)) is not None:
        one.variables[:, IMAGE] = one.F
        problem.measure()
        a, threshold, gap = problem.solutions()[0].a, problem.thresholds[0], problem.gap[0]
        tell(PairStep(one.steps, a, threshold, pair, float(gap)))


class PlainProblem:
    """SMO in NumPy on a single problem, over K of its rows: LIBSVM's steps and its stopping rule.

    A step takes the variable that most wants to grow, and the partner whose decrease by the same
    amount gains most by the second order of the objective: some fifteen calls of NumPy, 20 µs for
    hundreds of rows. `up` and `low` say which variables may grow and shrink. The numbers of
    `problem` are changed in place. `smo_loop` is the compiled form.
    """

    def __init__(self, K: np.ndarray, problem: Problems) -> None:
        self.variables, self.group = problem.variables, problem.groups
        self.K, self.steps, n = K, 0, len(self.variables)
        self.diagonal: np.ndarray = K.diagonal().astype(np.float64)
        self._rounding = float(np.finfo(K.dtype).eps)
        self._buffer, self.groups = np.empty((3, n)), problem.n_groups
        self.start()

    def start(self) -> None:
        """Compute F = K a and the masks from the present values a."""
        a, n = self.variables[:, A], len(self.variables)
        self.F = np.asarray(self.K @ a, dtype=np.float64) if a.any() else np.zeros(n)
        self.up, self.low = (np.full((self.groups, n), -np.inf) for _ in range(2))
        each = self.group, np.arange(n)
        self.up[each], self.low[each] = masks(self.variables)

    def solve(self, tol: float, limit: float) -> None:
        """Take steps to a gap of `tol`, at most `limit` of them."""
        while self.steps < limit and self.step(tol):
            if self.steps % 50 == 0:
                check_time()

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
        for t in (i, j):
            plus, minus, lower, upper, a, _ = self.variables[t].tolist()
            g = self.group[t]
            self.up[g, t] = -minus if a < 0 else -plus if a < upper else -np.inf
            self.low[g, t] = plus if a > 0 else minus if a > lower else -np.inf
        along = np.subtract(self.K[i], self.K[j], out=self._buffer[0])
        along *= step
        self.F += along
        return True
