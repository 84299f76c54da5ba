"""The compiled solver over lazy rows of K: the optimum of any formulation, kernel and precision."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm

import mercer
from mercer.kernels import ArcCosine, Gaussian, Laplacian, Linear, Periodic, Polynomial
from mercer.learners import KernelOneClass, KernelSVC, KernelSVR
from mercer.solvers.quadratic import row_sources as sources
from mercer.solvers.quadratic import smo_on_demand
from mercer.solvers.quadratic.parallel import _together
from mercer.solvers.quadratic.problem import (
    Problems,
    Task,
    Tasks,
    c_svc,
    epsilon_svr,
    nu_svc,
    nu_svr,
    one_class,
)
from mercer.solvers.quadratic.row_sources import row_sources
from mercer.solvers.quadratic.smo_on_demand import Stop, Worker, solve_on_demand


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1100, 5))
    X[700:800] = X[:100]  # duplicates, some with another target
    t = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=1100)
    return X, t, np.where(t + 0.3 * rng.normal(size=1100) > 0, 1, -1)


PROBLEMS = {
    "C-SVC": lambda t, s: c_svc(s, np.full(len(s), 3.0)),
    "weights": lambda t, s: c_svc(s, np.linspace(0.0, 40.0, len(s))),
    "eps-SVR": lambda t, s: epsilon_svr(t, np.linspace(0.5, 9.0, len(t)), 0.1),
    "no tube": lambda t, s: epsilon_svr(t, np.full(len(t), 1.0), 0.0),
    "nu-SVC": lambda t, s: nu_svc(s, np.ones(len(s)), 0.3),
    "nu-SVR": lambda t, s: nu_svr(t, np.linspace(0.5, 9.0, len(t)), 0.3),
    "one class": lambda t, s: one_class(np.linspace(0.5, 1.5, len(t)), 0.2),
}
KERNELS = [
    Gaussian(1.5),
    Laplacian(0.5, norm=1),
    Polynomial(3, offset=1.0, gamma=0.2),
    0.5 * Gaussian(1.0) + Polynomial(2, offset=0.5).normalized(),
    Gaussian(2.0).on([0, 1]) * Laplacian(0.3).on([2, 3, 4]),
    Periodic(3.0, 1.0) + Linear(),
    ArcCosine(1),  # no row function: all of K
]


def solved(gram, problem, tol, max_iter=-1, memory=1 << 24):
    if problem.has_separate_sides:
        rows, problem = np.tile(np.arange(problem.n), 2), problem.apart()
        return _together(all_solved(gram, [Task(rows, problem)], tol, max_iter, memory)[0])
    return all_solved(gram, [Task(np.arange(problem.n), problem)], tol, max_iter, memory)[0]


def all_solved(gram, tasks, tol, max_iter=-1, memory=1 << 24, threads=1):
    problems = Problems(tasks, tol, max_iter)
    rows = row_sources(gram, Tasks.of(tasks).most)
    assert solve_on_demand(problems, rows, threads, memory, "test") is False
    return problems.solutions()


def worker_of(source, n, groups=1):
    return Worker(source, groups, n, np.empty(n * (n + 64), source.dtype))


def check(found, problem, K, tol, digits=1e-9):
    """The solution is feasible, and LIBSVM's gap, F and the objective are as they say."""
    net = found.a.sum(axis=0)
    image = K @ net
    values = -(image + problem.linear)
    start = np.zeros(problem.linear.shape) if problem.start is None else problem.start
    for members in problem.members():
        up, low = members & (found.a < problem.upper), members & (found.a > problem.lower)
        assert values[up].max() - values[low].min() <= tol * (1 + 1e-9) + 100 * digits
        assert found.a[members].sum() == pytest.approx(start[members].sum(), abs=1e-8)
    assert (found.a >= problem.lower).all()
    assert (found.a <= problem.upper).all()
    np.testing.assert_allclose(found.image, image, atol=100 * digits)
    value = 0.5 * net @ image + (found.a * problem.linear).sum()
    assert found.objective == pytest.approx(value, rel=1e3 * digits)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_formulation_reaches_its_optimum(kind, noisy):
    X, t, signs = (part[:400] for part in noisy)
    problem = PROBLEMS[kind](t, signs)
    found = solved(Gaussian(1.5).gram(X), problem, 1e-6)
    assert found.converged
    check(found, problem, Gaussian(1.5)(X), 1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_kernel_of_the_algebra(kernel, dtype, noisy):
    X, _, signs = (part[:260] for part in noisy)
    X = X.astype(dtype)
    problem = c_svc(signs, np.full(260, 2.0))
    found = solved(kernel.gram(X), problem, 1e-3)
    assert found.converged
    check(found, problem, kernel(X.astype(float)), 1e-3, 1e-9 if dtype == np.float64 else 1e-5)


def test_float32_rows_where_they_suffice_and_float64_where_not(noisy):
    X, _, signs = noisy
    X = X + 1000.0  # the mean is taken off before numbers are rounded
    gram, K = Gaussian(1.5).gram(X), Gaussian(1.5)(X)
    dtypes = []
    for C, tol, digits in ((1.0, 1e-3, 1e-6), (300.0, 1e-4, 1e-8)):
        problem = c_svc(signs, np.full(len(signs), C))
        task = Task(np.arange(problem.n), problem)
        dtypes.append([str(source.dtype) for source in row_sources(gram, len(task.rows))])
        check(solved(gram, problem, tol), problem, K, tol, digits)
    assert dtypes == [["float32", "float64"]] * 2
    steep = Gaussian(1e-5).gram(X)  # its digits need more than float32 has
    assert [str(s.dtype) for s in row_sources(steep, len(task.rows))] == ["float64"]


def test_room_for_few_rows_of_k(noisy):
    """Rows come, go and come again; the path of steps is the same.

    But for the rounding of F where the problem begins with other coefficients than 0: it is added
    up in pieces of what there is room for.
    """
    X, t, signs = (part[:400] for part in noisy)
    gram = Gaussian(1.5).gram(X)
    for kind in ("C-SVC", "eps-SVR", "nu-SVC"):
        problem = PROBLEMS[kind](t, signs)
        free = solved(gram, problem, 1e-4)
        tight = solved(gram, problem, 1e-4, memory=8 * 512 * 5)
        np.testing.assert_allclose(tight.a, free.a, rtol=0, atol=0 if kind != "nu-SVC" else 1e-10)
        assert tight.rows_computed > 2 * free.rows_computed


@pytest.fixture
def shrinks(monkeypatch):
    """Small problems shrink early; the list gets the numbers of active rows."""
    monkeypatch.setattr(smo_on_demand, "SVM_SHRINK_ROWS", 100)
    monkeypatch.setattr(smo_on_demand, "SVM_SHRINK_PERIOD", 40)
    sizes, leave = [], smo_on_demand.Shrinking._leave

    def watched(self, steps):
        leave(self, 10**9)  # steps took so long that fewer rows always pay
        sizes.append(len(self.active))

    monkeypatch.setattr(smo_on_demand.Shrinking, "_leave", watched)
    return sizes


@pytest.mark.parametrize("kind", ["weights", "eps-SVR", "nu-SVC", "nu-SVR", "one class"])
@pytest.mark.parametrize("memory", [1 << 24, 8 * 512 * 9])
def test_shrinking_ends_at_the_optimum_over_all_rows(kind, memory, noisy, shrinks):
    X, t, signs = (part[:400] for part in noisy)
    problem = PROBLEMS[kind](t, signs)
    found = solved(Gaussian(1.5).gram(X), problem, 1e-5, memory=memory)
    assert found.converged
    assert min(shrinks) < 300 if kind != "nu-SVR" else min(shrinks) < 600
    check(found, problem, Gaussian(1.5)(X), 1e-5)
    cut = solved(Gaussian(1.5).gram(X), problem, 1e-5, max_iter=100, memory=memory)
    assert (cut.n_iter, cut.converged) == (100, False)
    np.testing.assert_allclose(cut.image, Gaussian(1.5)(X) @ cut.a.sum(axis=0), atol=1e-8)


def test_rows_that_return_where_all_of_k_is_there(noisy, shrinks):
    X, _, signs = (part[:400] for part in noisy)
    problem, kernel = c_svc(signs, np.full(400, 3.0)), ArcCosine(1)
    found = solved(kernel.gram(X), problem, 1e-5)
    assert min(shrinks) < 300
    check(found, problem, kernel(X), 1e-5)


def test_rows_that_return_get_f_from_what_has_changed(noisy):
    """With an example on both sides; k(x, x) is that of the diagonal."""
    X, _, _ = noisy
    gram, rng = Gaussian(1.5).gram(X.astype(np.float32)), np.random.default_rng(0)
    source = next(row_sources(gram, 1100))
    one = worker_of(source, 1100)
    away, moved = rng.permutation(1100)[:301], rng.permutation(1100)[:203]
    by, place = rng.normal(size=203), np.full(1100, -1)
    place[away] = np.arange(301)
    found = one.images(away, moved, by, place[moved])
    np.testing.assert_allclose(found, Gaussian(1.5)(X)[np.ix_(away, moved)] @ by, atol=2e-5)
    both = np.flatnonzero(place[moved] >= 0)[:1]
    source.diagonal[moved[both]] += 1.0
    more = one.images(away, moved[both], by[both], place[moved[both]])
    assert more[place[moved[both]]] == pytest.approx(2.0 * by[both])


def test_where_rows_come_from(noisy):
    _, _, signs = (part[:50] for part in noisy)
    rng = np.random.default_rng(0)
    task = Task(np.arange(600), c_svc(np.tile(signs, 12), np.ones(600)))
    small = Task(np.arange(50), c_svc(signs, np.ones(50)))
    wide = Gaussian().gram(rng.normal(size=(600, 300)))
    single, exact = row_sources(wide, len(task.rows))
    assert (single.dtype, exact.dtype) == (np.float32, np.float64)
    assert single.K is exact.K is None
    # Many small problems read one K, and so does a kernel without machine code for its rows.
    (whole,) = row_sources(wide, len(small.rows))
    assert whole.K.shape == (600, 600)
    (whole,) = row_sources(ArcCosine(1).gram(rng.normal(size=(600, 3))), len(task.rows))
    assert whole.K.shape == (600, 600)
    with mercer.config(memory="5MB"):  # sparse rows are made dense where these are few
        (blocks,) = row_sources(ArcCosine(1).gram(rng.normal(size=(600, 3))), len(task.rows))
        assert (blocks.function, blocks.K) == (None, None)
        sparse = sp.random(600, 9000, 0.001, "csr", random_state=0)
        (blocks,) = row_sources(Gaussian().gram(sparse), len(task.rows))
        assert (blocks.function, blocks.K) == (None, None)


def test_steps_are_limited_and_a_stop_is_seen(noisy):
    X, _, signs = (part[:400] for part in noisy)
    gram, problem = Gaussian(1.5).gram(X), c_svc(signs, np.ones(400))
    for limit in (0, 1, 50):
        found = solved(gram, problem, 1e-3, max_iter=limit)
        assert (found.n_iter, found.converged) == (limit, False)
    task = Task(np.arange(400), problem)
    problems, source = Problems([task], 1e-3, -1), next(row_sources(gram, len(task.rows)))
    stop = Stop()
    stop.set()
    worker_of(source, 400).solve(problems, np.array([0]), stop)
    problems.measure()
    assert problems.taken[0] == 0
    assert problems.solutions()[0].gap == pytest.approx(2.0)


def test_chunks_of_the_queue_hold_all_problems(noisy, monkeypatch):
    X, _, signs = noisy
    rng, gram = np.random.default_rng(0), Gaussian(1.5).gram(X)
    parts = [np.sort(rng.choice(1100, size, replace=False)) for size in (30, 400, 7, 90, 250, 2)]
    tasks = [Task(rows, c_svc(signs[rows], np.ones(len(rows)))) for rows in parts]
    monkeypatch.setattr(sources, "SVM_SINGLE", 10**6)
    whole = all_solved(gram, tasks, 1e-3)
    monkeypatch.setattr(smo_on_demand, "SVM_ONE_THREAD", 0)
    monkeypatch.setattr(smo_on_demand, "SVM_CHUNK_ROWS", 100)
    shared = all_solved(gram, tasks, 1e-3, threads=2)
    for one, two, task in zip(whole, shared, tasks, strict=True):
        np.testing.assert_array_equal(one.a, two.a)
        check(one, task.problem, Gaussian(1.5)(X[task.rows]), 1e-3)


@pytest.mark.parametrize("seed", range(12))
def test_random_machines_predict_as_libsvm_does(seed):
    """Rows, columns, classes, weights, C and kernels as they come."""
    rng = np.random.default_rng(seed)
    n, d, classes = int(rng.integers(30, 260)), int(rng.integers(1, 20)), int(rng.integers(2, 6))
    y = rng.integers(0, classes, n)
    X = rng.normal(size=(classes, d))[y] + rng.normal(size=(n, d))
    X, C, gamma = X.round(int(rng.integers(0, 4))), 10.0 ** rng.uniform(-1, 2), 1.0 / d
    weights = rng.uniform(0.1, 3.0, n) if seed % 3 == 0 else None
    kernel, words = [
        (Gaussian.from_gamma(gamma), {"gamma": gamma}),
        (Polynomial(2, offset=1.0, gamma=gamma), {"kernel": "poly", "degree": 2, "coef0": 1.0}),
    ][seed % 2]
    words = {"gamma": gamma, "tol": 1e-6, **words}
    with mercer.config(threads=1):
        ours = KernelSVC(kernel, C=C, tol=1e-6, decision_function_shape="ovo")
        ours.fit(X, y, sample_weight=weights)
        tube = KernelSVR(kernel, C=C, tol=1e-6).fit(X, X[:, 0] ** 2, sample_weight=weights)
        border = KernelOneClass(kernel, nu=0.3, tol=1e-6).fit(X, sample_weight=weights)
    peer = svm.SVC(C=C, decision_function_shape="ovo", **words).fit(X, y, weights)
    scale = 1 + np.abs(peer.decision_function(X)).max()
    np.testing.assert_allclose(
        ours.decision_function(X), peer.decision_function(X), atol=1e-4 * scale
    )
    their_tube = svm.SVR(C=C, **words).fit(X, X[:, 0] ** 2, weights)
    np.testing.assert_allclose(tube.predict(X), their_tube.predict(X), atol=1e-4 * scale)
    theirs = svm.OneClassSVM(nu=0.3, **words).fit(X, sample_weight=weights).score_samples(X)
    np.testing.assert_allclose(border.score_samples(X), theirs, rtol=1e-3)


def test_conjugate_directions_shorten_the_way_down_a_narrow_valley():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    signs = np.where(np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=300) > X[:, 1], 1, -1)
    problem = c_svc(signs, np.full(300, 100.0))
    found = solved(Gaussian(0.7).gram(X), problem, 1e-4)
    check(found, problem, Gaussian(0.7)(X), 1e-4)
    peer = svm.SVC(C=100.0, gamma=0.5 / 0.7**2, tol=1e-4).fit(X, signs)
    assert found.n_iter < 0.6 * peer.n_iter_[0]


def test_rows_in_single_precision_are_solved_in_double_where_the_solution_needs_it():
    """A cubic kernel of rows of some tens: in float32 f was off by hundreds, with a warning."""
    X = 10.0 * np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    y = np.sin(X[:, 0] / 5.0)
    machine = mercer.KernelSVR("polynomial(3, 1)", nu=0.5)
    wide = X.astype(float)
    one, other = (machine.fit(rows, y).predict(wide) for rows in (X, wide))
    np.testing.assert_allclose(one, other, atol=0.02)
