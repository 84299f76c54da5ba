"""Small support vector machines: LIBSVM over K, and steps in NumPy, at the optimum."""

from __future__ import annotations

import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.svm import SVC

from mercer._steps import recorded
from mercer.kernels import Gaussian
from mercer.learners import KernelSVC
from mercer.solvers.quadratic import small
from mercer.solvers.quadratic.problem import Task, c_svc, pinball
from mercer.solvers.quadratic.small import is_small, solve_small

from .test_smo_on_demand import PROBLEMS, check


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 5))
    X[100:120] = X[:20]  # duplicates, some with another target
    t = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=150)
    return X, t, np.where(t + 0.3 * rng.normal(size=150) > 0, 1, -1)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("kind", [name for name in PROBLEMS if name != "nu-SVR"])
def test_the_optimum_of_every_formulation(kind, tol, noisy):
    X, t, signs = noisy
    problem, K = PROBLEMS[kind](t, signs), Gaussian(1.5)(X)
    (found,), interrupted = solve_small(K, [Task(np.arange(150), problem)], tol, -1)
    assert (found.converged, interrupted) == (True, False)
    check(found, problem, K, tol)


def test_a_quantile_is_solved_by_steps_in_numpy(noisy):
    X, t, _ = noisy
    problem, K = pinball(t, np.full(150, 2.0), 0.3), Gaussian(1.5)(X)
    (found,), _ = solve_small(K, [Task(np.arange(150), problem)], 1e-3, -1)
    check(found, problem, K, 1e-3)


def test_some_rows_of_k_and_a_limit_on_steps(noisy):
    X, _, signs = noisy
    rows, K = np.arange(0, 150, 2), Gaussian(1.5)(X)
    problem = c_svc(signs[rows], np.full(75, 9.0))
    (found,), _ = solve_small(K, [Task(rows, problem)], 1e-4, -1)
    check(found, problem, K[np.ix_(rows, rows)], 1e-4)
    (few,), _ = solve_small(K, [Task(rows, problem)], 1e-4, 5)
    assert (few.n_iter, few.converged) == (5, False)


def test_compiled_loops_take_over_after_many_steps(noisy, monkeypatch):
    X, t, _ = noisy
    monkeypatch.setattr(small, "PLAIN_STEPS", 3)
    task = Task(np.arange(150), pinball(t, np.full(150, 2.0), 0.3))
    assert solve_small(Gaussian(1.5)(X), [task], 1e-3, -1) is None


def test_numbers_of_rows_and_problems_decide(monkeypatch):
    task = Task(np.arange(2), c_svc(np.array([1, -1]), np.ones(2)))
    assert is_small(small.SVM_SMALL_ROWS, [task] * small.SVM_SMALL_PROBLEMS)
    assert not is_small(small.SVM_SMALL_ROWS + 1, [task])
    assert not is_small(2, [task] * (small.SVM_SMALL_PROBLEMS + 1))
    monkeypatch.setattr(small, "may_compile", lambda: False)
    monkeypatch.setattr(small, "compiles", lambda: False)
    assert is_small(10**6, [task] * 100)


def test_ctrl_c_leaves_what_was_found(noisy, monkeypatch):
    X, t, _ = noisy
    move, taken = small.PlainProblem._move, []

    def interrupted(self, *given):
        taken.append(0)
        if len(taken) > 10:
            raise KeyboardInterrupt
        return move(self, *given)

    monkeypatch.setattr(small.PlainProblem, "_move", interrupted)
    K, task = Gaussian()(X), Task(np.arange(150), pinball(t, np.full(150, 2.0), 0.3))
    (found,), stopped = solve_small(K, [task], 1e-3, -1)
    assert (found.n_iter, found.converged, stopped) == (10, False, True)
    np.testing.assert_allclose(found.image, K @ found.a[0], atol=1e-12)


def test_steps_end_where_libsvm_does(noisy):
    X, _, signs = noisy
    K, task = Gaussian(1.5)(X), Task(np.arange(150), c_svc(signs, np.full(150, 3.0)))
    steps = recorded(lambda: solve_small(K, [task], 1e-5, -1))
    theirs = SVC(kernel="precomputed", C=3.0, tol=1e-5).fit(K, signs)
    f = K @ steps[-1].coef[0] + steps[-1].intercept[0]
    np.testing.assert_allclose(f, theirs.decision_function(K), atol=1e-4)
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert all(step.gap > 1e-5 for step in steps[:-1])


def test_small_machines_do_not_import_numba():
    program = (
        "import sys, numpy as np, mercer; X = np.random.default_rng(0).normal(size=(100, 4)); "
        "m = mercer.KernelSVC().fit(X, X[:, 0] > 0); assert m.score(X, X[:, 0] > 0) > 0.9; "
        "mercer.KernelSVR().fit(X, X[:, 0]).predict(X); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_the_first_machine_of_a_process_is_trained():
    """A given matrix, whose rows no compiled loop makes, between 500 and 1000 rows."""
    program = (
        "import numpy as np, mercer; X = np.random.default_rng(0).normal(size=(600, 4)); "
        "y = X[:, 0] * X[:, 1] > 0; K = mercer.Gaussian(1.0)(X); "
        "print(mercer.KernelSVC('precomputed').fit(K, y).score(K, y))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = X[:, 0] * X[:, 1] > 0
    K = Gaussian(1.0)(X)
    again = KernelSVC("precomputed").fit(K, y).score(K, y)
    assert float(done.stdout) == again > 0.9, done.stderr


def test_threads_that_fit_leave_the_filters_of_warnings_alone(noisy):
    X, _, signs = noisy
    before = list(warnings.filters)
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(lambda C: KernelSVC(Gaussian(1.5), C=C).fit(X, signs), np.logspace(-1, 2, 60))
        )
    assert list(warnings.filters) == before
