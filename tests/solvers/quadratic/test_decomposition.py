"""The decomposition: the same optimum with any working set, budget, start and thread count."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.gram.rows_of_k import RowsOfK
from mercer.kernels import Gaussian
from mercer.solvers.quadratic import decomposition as working_set
from mercer.solvers.quadratic import parallel as many
from mercer.solvers.quadratic.decomposition import Options, solve
from mercer.solvers.quadratic.hard_margin import NotSeparableError, hard_margin
from mercer.solvers.quadratic.parallel import GapProgress, solve_all
from mercer.solvers.quadratic.problem import (
    Task,
    c_svc,
    epsilon_svr,
    nearest_points,
    nu_svc,
    one_class,
)


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


@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_gap_over_all_rows_is_closed(kind, noisy):
    X, t, signs = noisy
    K, problem = Gaussian(1.5)(X), PROBLEMS[kind](t, signs)
    found = solve(RowsOfK(Gaussian(1.5).gram(X)), problem, Options(tol=1e-4))
    assert found.converged
    assert gap_of(problem, found.a, K) <= 1.01e-4
    np.testing.assert_allclose(found.image, K @ found.a.sum(axis=0), atol=1e-8)
    net = found.a.sum(axis=0)
    value = 0.5 * net @ K @ net + (found.a * problem.linear).sum()
    assert found.objective == pytest.approx(value, rel=1e-10)
    assert (found.a >= problem.lower).all()
    assert (found.a <= problem.upper).all()


@pytest.mark.parametrize("kind", PROBLEMS)
def test_little_memory_gives_the_same_optimum(kind, noisy):
    """A working set of 80 rows and room for 100 rows of K: rows come, go and come again."""
    X, t, signs = noisy
    problem, panels = PROBLEMS[kind](t[:900], signs[:900]), RowsOfK(Gaussian(1.5).gram(X[:900]))
    free = solve(panels, problem, Options(tol=1e-3))
    tight = solve(panels, problem, Options(tol=1e-3, memory=4 * 8 * 80 * 80))
    assert tight.converged
    assert tight.objective == pytest.approx(free.objective, rel=1e-4)
    assert tight.rows_computed > free.rows_computed


def test_no_room_for_a_single_row_of_k(noisy):
    X, _, signs = noisy
    problem, panels = c_svc(signs[:600], np.ones(600)), RowsOfK(Gaussian(1.5).gram(X[:600]))
    tight = solve(panels, problem, Options(memory=4 * 8 * 10 * 10))
    assert tight.converged
    assert tight.objective == pytest.approx(solve(panels, problem, Options()).objective, rel=1e-4)


def test_rows_at_rest_leave_the_working_set(monkeypatch, noisy):
    X, _, signs = noisy
    problem, panels = c_svc(signs, np.ones(1500)), RowsOfK(Gaussian(1.5).gram(X))
    left, keep = [], working_set.Block.keep
    monkeypatch.setattr(
        working_set.Block, "keep", lambda self, stay: [left.append((~stay).sum()), keep(self, stay)]
    )
    dropped = solve(panels, problem, Options(tol=1e-4))
    assert dropped.converged
    assert sum(left) > 100
    exact = solve(panels, problem, Options(tol=1e-7))
    assert dropped.objective == pytest.approx(exact.objective, rel=1e-6)


def test_threads_change_nothing(noisy):
    X, _, signs = noisy
    problem, gram = c_svc(signs, np.ones(1500)), Gaussian(1.5).gram(X)
    one = solve(gram.rows_of_k(), problem, Options())
    two = solve(gram.rows_of_k(threads=2), problem, Options())
    np.testing.assert_allclose(one.a, two.a, atol=1e-10)


def test_few_rows_of_k_are_computed(noisy):
    """Rows of K that never look like support vectors are never computed."""
    X, _, _ = noisy
    easy = np.where(X[:, 0] > 0, 1, -1)
    found = solve(RowsOfK(Gaussian(2.0).gram(X)), c_svc(easy, np.full(1500, 10.0)), Options())
    assert found.rows_computed < 600


def test_a_solution_resumes_without_a_step(noisy):
    X, _, signs = noisy
    problem, panels = c_svc(signs, np.ones(1500)), RowsOfK(Gaussian(1.5).gram(X))
    found = solve(panels, problem, Options())
    again = solve(panels, problem.starting(found.a), Options())
    assert again.n_iter == 0
    assert again.objective == pytest.approx(found.objective, rel=1e-12)


def test_steps_are_limited(noisy):
    X, _, signs = noisy
    problem, panels = c_svc(signs, np.ones(1500)), RowsOfK(Gaussian(1.5).gram(X))
    for limit in (1, 50, 400):
        found = solve(panels, problem, Options(max_iter=limit))
        assert found.n_iter == limit
        assert not found.converged


def test_a_stop_leaves_a_feasible_point(noisy):
    X, _, signs = noisy
    panels, calls = RowsOfK(Gaussian(1.5).gram(X)), []

    def stopped():
        calls.append(1)
        return len(calls) > 6

    found = solve(panels, c_svc(signs, np.ones(1500)), Options(stopped=stopped))
    assert not found.converged
    assert found.a.any()
    assert found.a.sum() == pytest.approx(0.0, abs=1e-9)


def test_rounding_ends_a_float32_problem(noisy):
    X, _, signs = noisy
    panels = RowsOfK(Gaussian(1.5).gram(X.astype(np.float32)))
    found = solve(panels, c_svc(signs, np.full(1500, 100.0)), Options(tol=1e-14, max_iter=10**6))
    assert found.gap < 1e-2


def test_many_problems_in_threads_and_progress(noisy, monkeypatch):
    monkeypatch.setattr(many, "solve_on_demand", lambda *given: None)
    X, _, signs = noisy
    gram = Gaussian(1.5).gram(X)
    parts = [np.arange(0, 400), np.arange(300, 1100), np.arange(1000, 1500)]
    problems = [c_svc(signs[rows], np.ones(len(rows))) for rows in parts]
    tasks = [Task(rows, problem) for rows, problem in zip(parts, problems, strict=True)]
    with mercer.config(threads=2):
        found, interrupted = solve_all(gram, tasks, 1e-3, -1, "test")
    assert not interrupted
    for rows, problem, each in zip(parts, problems, found, strict=True):
        alone = solve(RowsOfK(gram, rows), problem, Options())
        np.testing.assert_allclose(each.a, alone.a, atol=1e-9)


def test_an_error_in_one_problem_ends_all(noisy, monkeypatch):
    X, _, signs = noisy

    def broken(*given):
        raise ZeroDivisionError("broken")

    monkeypatch.setattr(many, "solve_on_demand", lambda *given: None)
    monkeypatch.setitem(many._METHODS, "solve", broken)
    tasks = [Task(np.arange(20), c_svc(signs[:20], np.ones(20))) for _ in range(4)]
    with pytest.raises(ZeroDivisionError):
        solve_all(Gaussian().gram(X), tasks, 1e-3, -1, "test")


def test_too_little_memory_says_how_much_is_needed(noisy):
    X, _, signs = noisy
    tasks = [Task(np.arange(1500), c_svc(signs, np.ones(1500)))]
    with mercer.config(memory="1MB"), pytest.raises(MemoryError, match=r"needs .* MB"):
        solve_all(Gaussian().gram(X), tasks, 1e-3, -1, "test")


def test_the_nearest_points_of_two_hulls_by_hand():
    X = np.array([[0.0, 1.0], [-1.0, 0.0], [1.0, 0.0], [0.0, 5.0]])
    panels = RowsOfK(mercer.Linear().gram(X))
    found = hard_margin(panels, nearest_points(np.array([1, -1, -1, 1])), Options(tol=1e-8))
    np.testing.assert_allclose(found.a, [[1.0, -0.5, -0.5, 0.0]], atol=1e-9)


def test_the_certificate_is_checked_by_hand():
    """(0, 0) of one class lies between (−1, 0) and (1, 0) of the other."""
    X = np.array([[0.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    signs = np.array([1, -1, -1, 1])
    with pytest.raises(NotSeparableError, match="Certificate") as caught:
        hard_margin(RowsOfK(mercer.Linear().gram(X)), nearest_points(signs), Options())
    error = caught.value
    weights = np.zeros(4)
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
    problem, panels = c_svc(signs, np.full(400, 300.0)), RowsOfK(mercer.Linear().gram(X))
    found = solve(panels, problem, Options(tol=1e-4))
    monkeypatch.setattr(working_set, "SVM_NEWTON_OPERATIONS", 0)
    plain = solve(panels, problem, Options(tol=1e-4))
    assert found.converged
    assert found.objective == pytest.approx(plain.objective, rel=1e-7)
    assert found.n_iter < plain.n_iter / 3
    np.testing.assert_allclose(found.a.sum(), 0.0, atol=1e-8)


def test_newton_steps_with_a_kink_and_groups(monkeypatch, noisy):
    monkeypatch.setattr(working_set, "SVM_BURST", 200)
    monkeypatch.setattr(working_set, "SVM_NEWTON_OPERATIONS", 1e6)
    X, t, signs = noisy
    for kind in PROBLEMS:
        problem = PROBLEMS[kind](t[:300], signs[:300])
        found = solve(RowsOfK(Gaussian(1.5).gram(X[:300])), problem, Options(tol=1e-6))
        assert found.converged
        assert gap_of(problem, found.a, Gaussian(1.5)(X[:300])) <= 1.01e-6
        start = np.zeros(found.a.shape) if problem.start is None else problem.start
        for members in problem.members():
            assert found.a[members].sum() == pytest.approx(start[members].sum(), abs=1e-9)


def test_a_problem_reports_how_far_the_logarithm_of_its_gap_has_come():
    moves = []
    share = GapProgress(moves.append, 1e-3)
    for gap in (4.0, 5.0, 0.5, 0.6, 1e-2, 1e-4, -np.inf):
        share(gap)
        assert 0 <= sum(moves) < 1
    assert sum(moves) > 0.6
    share.finish()
    assert sum(moves) == pytest.approx(1.0)


def test_threads_share_the_memory_limit():
    with mercer.config(memory="2GB"):
        threads, memory = many._share(Gaussian().gram(np.zeros((3000, 3))), 3000, 2)
    assert threads == 2
    assert 0.8e9 < memory < 1e9
    with mercer.config(memory="40MB"):
        threads, memory = many._share(Gaussian().gram(np.zeros((4000, 3))), 4000, 2)
    assert threads == 1
    assert memory < 40e6
