"""SMO on small problems whose answer is known, or checked by the optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.kernels import Gaussian, Linear, Precomputed
from mercer.solvers.quadratic.problem import (
    Problems,
    Task,
    c_svc,
    epsilon_svr,
    nearest_points,
    nu_svc,
    nu_svr,
    one_class,
)
from mercer.solvers.quadratic.row_sources import Source
from mercer.solvers.quadratic.smo_on_demand import Stop, Worker


def run(K, problem, tol=1e-9, limit=10**6):
    """SMO on the whole of a problem; gives (a, steps, gap)."""
    n = problem.n
    if problem.has_separate_sides:
        a, steps, gap = run(np.tile(K, (2, 2)), problem.apart(), tol, limit)
        return a.reshape(2, n), steps, gap
    problems = Problems([Task(np.arange(n), problem)], tol, limit)
    problems.limits[:] = limit
    table = np.empty(n * (n + 64), K.dtype)
    source = Source(Precomputed().gram(K), K.dtype, np.diag(K), K=K)
    worker = Worker(source, problems.n_groups, n, table)
    worker.solve(problems, np.array([0]), Stop())
    problems.measure()
    (found,) = problems.solutions()
    return found.a, found.n_iter, found.gap


def generic(K, problem):
    """The same problem by SciPy."""
    shape = problem.linear.shape
    start = np.zeros(shape) if problem.start is None else problem.start
    bounds = [
        (low, None if high == np.inf else high)
        for low, high in zip(problem.lower.ravel(), problem.upper.ravel(), strict=True)
    ]
    bounds = [(None if low == -np.inf else low, high) for low, high in bounds]
    constraints = []
    for members in problem.members():
        mask = members.ravel().astype(float)
        total = float(start.ravel() @ mask)
        constraints.append(
            {"type": "eq", "fun": lambda v, m=mask, t=total: m @ v - t, "jac": lambda v, m=mask: m}
        )

    def value(v):
        net = v.reshape(shape).sum(axis=0)
        return 0.5 * net @ K @ net + problem.linear.ravel() @ v

    def slope(v):
        net = v.reshape(shape).sum(axis=0)
        return (K @ net + problem.linear).ravel()

    found = minimize(
        value, start.ravel(), jac=slope, bounds=bounds, constraints=constraints, method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )  # fmt: skip
    return found.fun, value


PROBLEMS = {
    "C-SVC": lambda y, s: c_svc(s, np.full(len(s), 2.0)),
    "C-SVC, weights": lambda y, s: c_svc(s, np.linspace(0.1, 3.0, len(s))),
    "eps-SVR": lambda y, s: epsilon_svr(y, np.full(len(y), 5.0), 0.1),
    "nu-SVC": lambda y, s: nu_svc(s, np.ones(len(s)), 0.4),
    "nu-SVR": lambda y, s: nu_svr(y, np.full(len(y), 3.0), 0.5),
    "one class": lambda y, s: one_class(np.ones(len(y)), 0.3),
    "nearest points": lambda y, s: nearest_points(s),
}


@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_formulation_reaches_the_optimum_of_a_generic_solver(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(25, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=25)
    signs = np.where(X[:, 1] + 0.3 * rng.normal(size=25) > 0, 1, -1)
    K = Gaussian(0.7)(X)
    problem = PROBLEMS[kind](y, signs)
    a, steps, gap = run(K, problem)
    best, value = generic(K, problem)
    assert steps > 0
    assert gap <= 1e-9
    assert value(a.ravel()) == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert (a >= problem.lower - 1e-15).all()
    assert (a <= problem.upper + 1e-15).all()
    start = np.zeros(a.shape) if problem.start is None else problem.start
    for members in problem.members():
        assert a[members].sum() == pytest.approx(start[members].sum(), abs=1e-12)


def test_two_points_by_hand():
    """x = 0 and 1: w = 2, b = −1, α = 2 for both, in one step."""
    K = Linear()(np.array([[0.0], [1.0]]))
    a, steps, _ = run(K, c_svc(np.array([-1, 1]), np.array([9.0, 9.0])))
    np.testing.assert_allclose(a, [[-2.0, 2.0]], rtol=1e-12)
    assert steps == 1
    a, _, _ = run(K, c_svc(np.array([-1, 1]), np.array([0.5, 0.5])))
    np.testing.assert_array_equal(a, [[-0.5, 0.5]])  # at the bound exactly


def test_float32_and_many_coordinates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(389, 3))
    signs = np.where(X[:, 0] > 0.1, 1, -1)
    K = Gaussian(1.0)(X)
    problem = c_svc(signs, np.full(len(signs), 1.0))
    a, _, gap = run(K, problem, tol=1e-6)
    b, _, _ = run(K.astype(np.float32), problem, tol=1e-6)
    f = K @ a[0] - signs
    free = (np.abs(a[0]) > 0) & (np.abs(a[0]) < 1)
    assert gap <= 1e-6
    assert np.ptp(f[free]) <= 2e-6
    np.testing.assert_allclose(a, b, atol=1e-3)


def test_the_limit_ends_it_and_a_solved_problem_takes_no_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    signs = np.where(X[:, 0] > 0, 1, -1)
    K = Gaussian()(X)
    problem = c_svc(signs, np.full(40, 10.0))
    _, steps, gap = run(K, problem, limit=3)
    assert steps == 3
    assert gap > 1e-3
    a, _, _ = run(K, problem, tol=1e-6)
    assert run(K, problem.starting(a), tol=1e-5)[1] == 0


def test_a_tolerance_below_rounding_still_ends():
    X = np.random.default_rng(1).normal(size=(60, 2)) * 1e3
    signs = np.where(X[:, 0] > 0, 1, -1)
    _, steps, gap = run(Linear()(X), c_svc(signs, np.full(60, 1e3)), tol=0.0, limit=200_000)
    assert steps < 200_000 or gap < 1e-3


def test_one_sign_alone_is_solved_by_zero():
    a, steps, gap = run(np.eye(3), c_svc(np.ones(3), np.ones(3)))
    assert (a == 0).all()
    assert steps == 0
    assert gap == -np.inf
