"""Small support vector machines, and those of machines without Numba: LIBSVM over K in memory.

scikit-learn's LIBSVM solves the problems of C-SVC and ε-SVR. It keeps rows of K in float32; steps
in double precision (`plain_smo`) close what is left of the gap. Other problems take only these.
The numbers of rows and of problems decide, and nothing else: compiled loops are faster, but their
first use in a process imports Numba, which takes half a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn import config_context

from mercer._machine.jit import compiles, may_compile
from mercer._steps import Listener, PairStep, listener
from mercer.solvers.quadratic.problem import Solution, Task
from mercer.solvers.quadratic.row_by_row.flat_problems import (
    LOWER,
    MINUS,
    MOST_STEPS,
    PLUS,
    UPPER,
    A,
    Problems,
)
from mercer.solvers.quadratic.row_by_row.plain_smo import PlainProblem

#: Rows, and problems over them, up to which LIBSVM is called: 0.3 ms for 50 rows, 0.5 ms for 200.
ROWS, PROBLEMS = 200, 6
#: Steps in NumPy, 20 µs each, after which compiled loops take over.
STEPS = 2000


def is_small(rows: int, tasks: Sequence[Task]) -> bool:
    """Whether problems over so many rows of K are solved here: without Numba, all of them."""
    if listener() is not None:
        return True
    if may_compile():
        return rows <= ROWS and len(tasks) <= PROBLEMS
    if rows > ROWS:
        compiles()  # warns once that there is no Numba
    return True


def solve_small(
    K: np.ndarray, tasks: Sequence[Task], tol: float, max_iter: int
) -> tuple[Sequence[Solution], bool] | None:
    """Solutions over K, and whether Ctrl-C came; None where compiled loops have to go on."""
    problems, interrupted = Problems(tasks, tol, max_iter), False
    for p in range(len(problems.sizes)):
        rows = problems.rows[problems.starts[p] : problems.starts[p + 1]]
        whole = len(rows) == len(K) and bool((np.diff(rows) == 1).all())
        one = PlainProblem(K if whole else K[np.ix_(rows, rows)], problems, p)
        try:
            if not interrupted:
                _solve_one(one, problems, p)
        except KeyboardInterrupt:
            interrupted = True
        problems.taken[p] = one.steps
        one.measure(problems.found[p])
    if may_compile() and max_iter < 0 and not interrupted and (problems.gaps() > tol).any():
        return None
    return problems.solutions(), interrupted


def _solve_one(one: PlainProblem, problems: Problems, p: int) -> None:
    tell, limit = listener(), problems.limits[p]
    if tell is not None:
        _tell_steps(one, problems, p, tell)
        return
    if problems.max_iter < 0:  # scikit-learn would warn of a limit in its own words
        _by_libsvm(one, problems)
        limit = one.steps + STEPS if may_compile() else limit
    one.solve(problems.tol, limit)


def _by_libsvm(one: PlainProblem, problems: Problems) -> None:
    """Set the variables of a C-SVC or ε-SVR to LIBSVM's solution; leave those of others."""
    from sklearn.svm import SVC, SVR

    v = one.variables
    bounds = np.maximum(v[:, UPPER], -v[:, LOWER])
    machine: SVC | SVR
    options: Any = {"kernel": "precomputed", "shrinking": False}
    options |= {"tol": problems.tol, "max_iter": MOST_STEPS}
    if problems.n_groups > 1 or not bounds.any():
        return
    if problems.sides == 2 and (v[:, UPPER] == -v[:, LOWER]).all():
        y, epsilon = -(v[:, PLUS] + v[:, MINUS]) / 2, (v[:, PLUS] - v[:, MINUS]) / 2
        machine = SVR(epsilon=max(0.0, float(np.median(epsilon))), **options)
    elif problems.sides == 1 and _is_c_svc(v, bounds):
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


def _tell_steps(one: PlainProblem, problems: Problems, p: int, tell: Listener) -> None:
    """Take steps in NumPy alone, and tell the listener about each."""
    while one.steps < problems.limits[p] and (pair := one.step(problems.tol)) is not None:
        one.measure(problems.found[p])
        threshold, gap = problems.thresholds()[p], float(problems.gaps()[p])
        tell(PairStep(one.steps, problems.coefficients(p), threshold, pair, gap))
