"""Rows of K that a Gram computes in blocks: the same optimum with any memory, start and limit."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.kernels import Gaussian, Precomputed
from mercer.solvers.quadratic import parallel as many
from mercer.solvers.quadratic import smo_on_demand
from mercer.solvers.quadratic.hard_margin import NotSeparableError
from mercer.solvers.quadratic.parallel import solve_all
from mercer.solvers.quadratic.problem import (
    Problems,
    Task,
    c_svc,
    epsilon_svr,
    nearest_points,
    nu_svc,
    one_class,
)
from mercer.solvers.quadratic.row_sources import Source
from mercer.solvers.quadratic.smo_on_demand import solve_on_demand


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1500, 5))
    t = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=1500)
    return X, t, np.where(t + 0.3 * rng.normal(size=1500) > 0, 1, -1)


PROBLEMS = {
    "C-SVC": lambda t, s: c_svc(s, np.full(len(s), 3.0)),
    "eps-SVR": lambda t, s: epsilon_svr(t, np.full(len(t), 2.0), 0.1),
    "nu-SVC": lambda t, s: nu_svc(s, np.ones(len(s)), 0.3),
    "one class": lambda t, s: one_class(np.linspace(0.5, 1.5, len(t)), 0.2),
}


def gap_of(problem, a, K):
    """LIBSVM's gap from scratch."""
    values = -(K @ a.sum(axis=0) + problem.linear)
    gaps = []
    for members in problem.members():
        up, low = members & (a < problem.upper), members & (a > problem.lower)
        gaps.append(values[up].max() - values[low].min())
    return max(gaps)


def solve(gram, problem, tol=1e-3, max_iter=-1, memory=1 << 26, rows=None):
    """The solution over rows that the Gram computes."""
    rows = np.arange(problem.n) if rows is None else rows
    problems = Problems([Task(rows, problem)], tol, max_iter)
    source = Source(gram, gram.dtype, gram.diagonal())
    assert (source.function, source.K) == (None, None)
    solve_on_demand(problems, iter([source]), 1, memory, "test")
    return problems.solutions()[0]


@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_gap_over_all_rows_is_closed(kind, noisy):
    X, t, signs = noisy
    K, problem = Gaussian(1.5)(X), PROBLEMS[kind](t, signs)
    found = solve(Gaussian(1.5).gram(X), problem, tol=1e-4)
    assert found.converged
    assert gap_of(problem, found.a, K) <= 1.01e-4
    np.testing.assert_allclose(found.image, K @ found.a.sum(axis=0), atol=1e-8)
    net = found.a.sum(axis=0)
    value = 0.5 * net @ K @ net + (found.a * problem.linear).sum()
    assert found.objective == pytest.approx(value, rel=1e-10)
    assert (found.a >= problem.lower).all()
    assert (found.a <= problem.upper).all()


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("kept", [100, 0])
def test_little_memory_gives_the_same_optimum(kind, kept, noisy):
    """Room for 100 rows of K, or for as few as four: rows come, go and come again."""
    X, t, signs = noisy
    problem, gram = PROBLEMS[kind](t[:600], signs[:600]), Gaussian(1.5).gram(X[:600])
    free = solve(gram, problem)
    tight = solve(gram, problem, memory=8 * 640 * kept)
    assert tight.converged
    assert tight.objective == pytest.approx(free.objective, rel=1e-4)
    assert tight.rows_computed > (2 * kept or free.rows_computed)


def test_rows_of_some_examples(noisy):
    X, _, signs = noisy
    rows = np.random.default_rng(0).permutation(1500)[:700]
    problem = c_svc(signs[rows], np.ones(700))
    found = solve(Gaussian(1.5).gram(X), problem, rows=rows)
    alone = solve(Gaussian(1.5).gram(X[rows]), problem)
    np.testing.assert_allclose(found.a, alone.a, atol=1e-9)


def test_few_rows_of_k_are_computed(noisy):
    """Rows of K that never look like support vectors are never computed."""
    X, _, _ = noisy
    easy = np.where(X[:, 0] > 0, 1, -1)
    found = solve(Gaussian(2.0).gram(X), c_svc(easy, np.full(1500, 10.0)))
    assert 0 < found.rows_computed < 750


def test_a_solution_resumes_without_a_step(noisy):
    X, _, signs = noisy
    problem, gram = c_svc(signs, np.ones(1500)), Gaussian(1.5).gram(X)
    found = solve(gram, problem)
    again = solve(gram, problem.starting(found.a))
    assert again.n_iter == 0
    assert again.objective == pytest.approx(found.objective, rel=1e-12)


def test_steps_are_limited(noisy):
    X, _, signs = noisy
    problem, gram = c_svc(signs, np.ones(1500)), Gaussian(1.5).gram(X)
    for limit in (1, 50, 400):
        found = solve(gram, problem, max_iter=limit)
        assert found.n_iter == limit
        assert not found.converged


def test_rounding_ends_a_float32_problem(noisy):
    X, _, signs = noisy
    gram = Gaussian(1.5).gram(X.astype(np.float32))
    found = solve(gram, c_svc(signs, np.full(1500, 100.0)), tol=1e-14, max_iter=10**6)
    assert found.gap < 1e-2


def test_which_kernels_are_asked_for_blocks(noisy, monkeypatch):
    """A given matrix is not copied; answers are those of the compiled rows."""
    asked = []
    fill = smo_on_demand.Worker._fill
    monkeypatch.setattr(
        smo_on_demand.Worker, "_fill", lambda self, *given: [asked.append(1), fill(self, *given)][1]
    )
    X, _, signs = noisy
    tasks = [Task(np.arange(1500), c_svc(signs, np.ones(1500)))]
    (given,), _ = solve_all(Precomputed().gram(Gaussian(1.5)(X)), tasks, 1e-6, -1, "test")
    assert asked
    asked.clear()
    (compiled,), _ = solve_all(Gaussian(1.5).gram(X), tasks, 1e-6, -1, "test")
    assert not asked
    np.testing.assert_allclose(given.a, compiled.a, atol=1e-4)


def test_an_error_in_one_problem_ends_all(noisy, monkeypatch):
    X, _, signs = noisy

    def broken(*given):
        raise ZeroDivisionError("broken")

    monkeypatch.setattr(smo_on_demand.Worker, "solve", broken)
    tasks = [Task(np.arange(300), c_svc(signs[:300], np.ones(300))) for _ in range(4)]
    with pytest.raises(ZeroDivisionError):
        solve_all(Gaussian().gram(X), tasks, 1e-3, -1, "test")


def test_too_little_memory_says_how_much_is_needed(noisy):
    X, _, signs = noisy
    tasks = [Task(np.arange(1500), c_svc(signs, np.ones(1500)))]
    with mercer.config(memory="1MB"), pytest.raises(MemoryError, match=r"needs .* MB"):
        solve_all(Gaussian().gram(X), tasks, 1e-3, -1, "test")


@pytest.mark.parametrize("copies", [1, 80])  # by steps in NumPy, and by the compiled loop
def test_the_nearest_points_of_two_hulls_by_hand(copies):
    X = np.array([[0.0, 1.0], [-1.0, 0.0], [1.0, 0.0], *[[0.0, 5.0]] * copies, [3.0, 6.0]])
    signs = np.array([1, -1, -1, *[1] * copies, 1])
    task = Task(np.arange(len(X)), nearest_points(signs), "hard margin")
    (found,), _ = solve_all(mercer.Linear().gram(X), [task], 1e-8, -1, "test")
    np.testing.assert_allclose(found.a[0, :3], [1.0, -0.5, -0.5], atol=1e-9)
    np.testing.assert_allclose(found.a[0, 3:], 0.0, atol=1e-9)


@pytest.mark.parametrize("copies", [1, 300])
def test_the_certificate_is_checked_by_hand(copies):
    """(0, 0) of one class lies between (−1, 0) and (1, 0) of the other."""
    X = np.array([[0.0, 0.0], [-1.0, 0.0], [1.0, 0.0], *[[0.0, 3.0]] * copies])
    signs = np.array([1, -1, -1, *[1] * copies])
    task = Task(np.arange(len(X)), nearest_points(signs), "hard margin")
    with pytest.raises(NotSeparableError, match="Certificate") as caught:
        solve_all(mercer.Linear().gram(X), [task], 1e-3, -1, "test")
    error = caught.value
    weights = np.zeros(len(X))
    weights[error.rows] = error.weights
    assert weights[signs > 0].sum() == pytest.approx(1.0)
    assert weights[signs < 0].sum() == pytest.approx(-1.0)
    assert np.linalg.norm(weights @ X) == pytest.approx(error.distance, abs=1e-6)
    assert error.distance < 1e-5


def test_newton_steps_on_free_variables_spare_steps_of_smo(monkeypatch):
    """A long narrow valley: few features, a large C."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    signs = np.where(X[:, 0] + rng.normal(size=400) > 0, 1, -1)
    problem, gram = c_svc(signs, np.full(400, 300.0)), mercer.Linear().gram(X)
    monkeypatch.setattr("mercer.solvers.quadratic.problem.SVM_STEPS", 500)
    monkeypatch.setattr("mercer.solvers.quadratic.problem.SVM_STEPS_PER_ROW", 1)
    found = solve(gram, problem, tol=1e-6)
    monkeypatch.setattr(smo_on_demand, "SVM_NEWTON_OPERATIONS", 0)
    plain = solve(gram, problem, tol=1e-6)
    assert found.converged
    assert found.objective == pytest.approx(plain.objective, rel=1e-7)
    assert found.n_iter < plain.n_iter / 2
    np.testing.assert_allclose(found.a.sum(), 0.0, atol=1e-8)


def test_newton_steps_with_a_kink_and_groups(monkeypatch, noisy):
    monkeypatch.setattr("mercer.solvers.quadratic.problem.SVM_STEPS", 200)
    monkeypatch.setattr("mercer.solvers.quadratic.problem.SVM_STEPS_PER_ROW", 0)
    monkeypatch.setattr(smo_on_demand, "SVM_BURST", 200)
    monkeypatch.setattr(smo_on_demand, "SVM_NEWTON_OPERATIONS", 1e6)
    X, t, signs = noisy
    for kind in PROBLEMS:
        problem = PROBLEMS[kind](t[:300], signs[:300])
        found = solve(Gaussian(1.5).gram(X[:300]), problem, tol=1e-6)
        assert found.converged
        assert gap_of(problem, found.a, Gaussian(1.5)(X[:300])) <= 1.01e-6
        start = np.zeros(found.a.shape) if problem.start is None else problem.start
        for members in problem.members():
            assert found.a[members].sum() == pytest.approx(start[members].sum(), abs=1e-9)


def test_threads_share_the_memory_limit():
    with mercer.config(memory="2GB"):
        threads, memory = many._share(Gaussian().gram(np.zeros((3000, 3))), 3000, 2)
    assert threads == 2
    assert 0.8e9 < memory < 1e9
    with mercer.config(memory="40MB"):
        threads, memory = many._share(Gaussian().gram(np.zeros((4000, 3))), 4000, 2)
    assert threads == 1
    assert memory < 40e6
