"""Support vector machines on a device: the optimum of the CPU's solver and of LIBSVM.

Here everything runs on CPU tensors: in this process by PyTorch's own functions, and in one of
their own the Triton kernels under Triton's interpreter (`make test-gpu` runs the same on a GPU).
"""

import inspect
import signal
import textwrap
import threading

import numpy as np
import pytest
from sklearn import svm as libsvm

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

import mercer  # noqa: E402
from mercer._machine.threads import interruptible  # noqa: E402
from mercer.engines.cuda.gram import CudaGram  # noqa: E402
from mercer.engines.cuda.solvers import (  # noqa: E402
    kernel_rows,
    svm,
    svm_batch,
    working_block,
)
from mercer.kernels import Gaussian, Linear  # noqa: E402
from mercer.solvers.quadratic.parallel import solve_all as solve_here  # noqa: E402
from mercer.solvers.quadratic.problem import (  # noqa: E402
    Task,
    c_svc,
    epsilon_svr,
    nu_svc,
    nu_svr,
    one_class,
)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
KERNEL = Gaussian(1.5)


def smo_in_steps(block, tol, limit, groups):
    """SMO by PyTorch's own functions, one step of all problems at a time."""
    K, f, a = block.K, block.f.clone(), block.a
    lower, upper, diagonal = block.lower, block.upper, block.diagonal
    never = torch.full_like(f, -torch.inf)
    steps = torch.zeros_like(limit)
    moves = torch.ones_like(limit, dtype=torch.bool)
    every = torch.arange(len(f), device=f.device)
    while True:
        up, low = a < upper, a > lower
        top, gap = never[:, 0], never[:, 0]
        i, members_of_i = torch.zeros_like(every), torch.zeros_like(up)
        for g in range(groups):
            members = block.group == g
            high, at = torch.where(up & members, -f, never).max(dim=1)
            violation = high + torch.where(low & members, f, never).amax(dim=1)
            worse = violation > gap
            gap, top = torch.where(worse, violation, gap), torch.where(worse, high, top)
            i = torch.where(worse, at, i)
            members_of_i = torch.where(worse[:, None], members, members_of_i)
        live = (gap > tol) & (steps < limit) & moves
        if not bool(live.any()):
            return steps
        top = torch.where(live, top, torch.zeros_like(top))
        slope = f + top[:, None]
        k_i = K[every, i]
        curve = (diagonal[every, i, None] + diagonal - 2 * k_i).clamp_(min=1e-12)
        gain = slope.to(K.dtype).square() / curve
        j = torch.where(low & members_of_i & (slope > 0), gain, torch.full_like(gain, -1.0)).argmax(
            dim=1
        )
        a_i, a_j, end_i, end_j = a[every, i], a[every, j], upper[every, i], lower[every, j]
        move = slope[every, j] / curve[every, j].double()
        move = torch.minimum(move, torch.minimum(end_i - a_i, a_j - end_j))
        move = torch.where(live, move, torch.zeros_like(move))
        # A bound that is reached is set, not approached: no hair's width is left by rounding.
        new_i = torch.where(move >= end_i - a_i, end_i, a_i + move)
        new_j = torch.where(move >= a_j - end_j, end_j, a_j - move)
        # Below the rounding of a nothing can move any more.
        moves = torch.where(live, (new_i != a_i) | (new_j != a_j), moves)
        a[every, i] = torch.where(live, new_i, a_i)
        a[every, j] = torch.where(live, new_j, a[every, j])
        f += move[:, None] * (k_i - K[every, j]).double()
        steps += (live & moves).to(steps.dtype)


def add_image(K, image, rows, changed, change, count):
    """image[p] += Σ_w change[p, w] K[changed[p, w], rows[p]], problem by problem."""
    for p, many in enumerate(count.tolist()):
        image[p] += change[p, :many] @ K[changed[p, :many]][:, rows[p]].double()


@pytest.fixture(autouse=True)
def without_triton(monkeypatch):
    """Plain functions in place of Triton's kernels, which the CPU does not run."""
    if DEVICE == "cpu":
        monkeypatch.setattr(svm, "smo", smo_in_steps)
        monkeypatch.setattr(kernel_rows, "add_image", add_image)


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 5))
    t = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=200)
    return X, t, np.where(t + 0.3 * rng.normal(size=200) > 0, 1, -1)


@pytest.fixture
def small_sets(monkeypatch):
    """Working sets of 64 variables: they must come and go."""
    monkeypatch.setattr(svm, "WORKING_SET", 64)
    monkeypatch.setattr(svm, "CROWDED_SET", 64)


PROBLEMS = {
    "C-SVC": lambda t, s: c_svc(s, np.full(len(s), 3.0)),
    "eps-SVR": lambda t, s: epsilon_svr(t, np.full(len(t), 2.0), 0.1),
    "nu-SVC": lambda t, s: nu_svc(s, np.ones(len(s)), 0.3),
    "nu-SVR": lambda t, s: nu_svr(t, np.full(len(t), 2.0), 0.4),
    "one class": lambda t, s: one_class(np.linspace(0.5, 1.5, len(t)), 0.2),
}


def on_device(kernel, X, problems, rows=None, tol=1e-3, max_iter=-1):
    gram = CudaGram(kernel, torch.as_tensor(X, device=DEVICE))
    rows = [np.arange(len(X))] if rows is None else rows
    tasks = [Task(*both) for both in zip(rows, problems, strict=True)]
    found, interrupted = svm.solve_all(gram, tasks, tol, max_iter, "test")
    assert not interrupted
    return found


def gap_of(problem, a, K):
    """LIBSVM's gap from scratch."""
    values = -(K @ a.sum(axis=0) + problem.linear)
    gaps = []
    for members in problem.members():
        up, low = members & (a < problem.upper), members & (a > problem.lower)
        gaps.append(values[up].max() - values[low].min())
    return max(gaps)


def check(problem, found, K, tol):
    """Optimal, feasible, and everything that is told about it is so."""
    assert found.converged
    assert gap_of(problem, found.a, K) == pytest.approx(found.gap, abs=1e-9)
    assert found.gap <= tol
    net = found.a.sum(axis=0)
    np.testing.assert_allclose(found.image, K @ net, atol=1e-9)
    value = 0.5 * net @ K @ net + (found.a * problem.linear).sum()
    assert found.objective == pytest.approx(value, rel=1e-10)
    assert (found.a >= problem.lower).all()
    assert (found.a <= problem.upper).all()
    start = np.zeros(found.a.shape) if problem.start is None else problem.start
    for members in problem.members():
        assert found.a[members].sum() == pytest.approx(start[members].sum(), abs=1e-8)


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("whole", [True, False], ids=["one set", "small sets"])
def test_the_optimum_of_the_cpu_solver(kind, whole, noisy, request):
    if not whole:
        request.getfixturevalue("small_sets")
    X, t, signs = noisy
    problem = PROBLEMS[kind](t, signs)
    (found,) = on_device(KERNEL, X, [problem])
    check(problem, found, KERNEL(X), 1e-3)
    rows, alike = np.arange(len(X)), problem
    if problem.has_separate_sides:
        rows, alike = np.tile(rows, 2), problem.apart()
    (there,), _ = solve_here(KERNEL.gram(X), [Task(rows, alike)], 1e-3, -1, "test")
    assert found.objective == pytest.approx(there.objective, rel=5e-5)
    np.testing.assert_allclose(found.thresholds, there.thresholds, atol=2e-3)


def test_libsvm_finds_the_same_functions(noisy, small_sets):
    X, t, signs = (part[:120] for part in noisy)
    gamma = 1 / (2 * 1.5**2)
    peers = {
        "C-SVC": libsvm.SVC(C=3.0, gamma=gamma, tol=1e-5).fit(X, -signs),
        "eps-SVR": libsvm.SVR(C=2.0, gamma=gamma, epsilon=0.1, tol=1e-5).fit(X, t),
        "nu-SVC": libsvm.NuSVC(nu=0.3, gamma=gamma, tol=1e-5).fit(X, -signs),
        "nu-SVR": libsvm.NuSVR(nu=0.4, C=2.0, gamma=gamma, tol=1e-5).fit(X, t),
    }
    for kind, peer in peers.items():
        (found,) = on_device(KERNEL, X, [PROBLEMS[kind](t, signs)], tol=1e-5)
        if kind == "nu-SVC":
            first, last = found.thresholds
            unit = (last - first) / 2
            values = -(found.image + (first + last) / 2) / unit
        else:
            values = found.image + found.thresholds.mean()
            values = -values if kind == "C-SVC" else values
        theirs = peer.predict(X) if "SVR" in kind else peer.decision_function(X)
        np.testing.assert_allclose(values, theirs, atol=1e-3, err_msg=kind)


def test_problems_of_all_sizes_in_batches_keep_their_order(noisy, small_sets, monkeypatch):
    monkeypatch.setattr(svm, "SIDE_BY_SIDE", 2)
    X, _, signs = noisy
    rows = [np.arange(0, 70), np.arange(20, 190), np.arange(100, 103), np.arange(110, 200)]
    problems = [c_svc(signs[r], np.full(len(r), 1.0 + i)) for i, r in enumerate(rows)]
    for r, problem, found in zip(rows, problems, on_device(KERNEL, X, problems, rows), strict=True):
        check(problem, found, KERNEL(X[r]), 1e-3)


def test_k_that_does_not_fit_is_computed_as_it_is_needed(noisy, small_sets, monkeypatch):
    X, t, signs = noisy
    gram = CudaGram(KERNEL, torch.as_tensor(X, device=DEVICE))
    assert isinstance(kernel_rows.kernel_rows(gram, 400_000), kernel_rows.ComputedRows)
    assert isinstance(kernel_rows.kernel_rows(gram, 700_000), kernel_rows.KeptRows)
    part = np.arange(20, 80)
    problem = c_svc(signs[part], np.ones(len(part)))
    with mercer.config(memory=400_000):
        (found,) = on_device(KERNEL, X, [problem], [part])
    check(problem, found, KERNEL(X[part]), 1e-3)
    monkeypatch.setattr(kernel_rows, "K_SHARE", 0)
    for kind in ("C-SVC", "eps-SVR", "nu-SVC"):
        problem = PROBLEMS[kind](t, signs)
        (found,) = on_device(KERNEL, X, [problem])
        check(problem, found, KERNEL(X), 1e-3)


def test_computed_rows_of_several_problems(noisy, small_sets, monkeypatch):
    """Classes that are mixed in the data: each problem has rows in an order of its own."""
    monkeypatch.setattr(kernel_rows, "K_SHARE", 0)
    X, _, signs = noisy
    classes = np.arange(200) % 4
    pairs = [(a, b) for a in range(4) for b in range(a)]
    rng = np.random.default_rng(2)
    rows = [rng.permutation(np.flatnonzero((classes == a) | (classes == b))) for a, b in pairs]
    rows.append(np.arange(0, 200, 3))  # a problem that cuts through the classes
    problems = [c_svc(signs[r], np.full(len(r), 2.0)) for r in rows]
    for r, problem, found in zip(rows, problems, on_device(KERNEL, X, problems, rows), strict=True):
        check(problem, found, KERNEL(X[r]), 1e-3)


def test_examples_that_occur_twice_keep_the_digits_of_a_large_c():
    """Rows far from zero in float32, each twice, half of them with both labels."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.integers(0, 2, size=(40, 9)), 2, axis=0).astype(np.float32) * 3 + 50
    signs = np.where(rng.random(80) > 0.5, 1, -1)
    problem, kernel = c_svc(signs, np.full(80, 1e4)), Gaussian(2.0)
    task = Task(np.arange(problem.n), problem)
    (exact,), _ = solve_here(kernel.gram(X.astype(float)), [task], 1e-3, -1, "test")
    (found,) = on_device(kernel, X, [problem])
    assert found.objective == pytest.approx(exact.objective, rel=1e-6)
    with mercer.config(precision="fast"):
        table = kernel_rows.KeptRows(CudaGram(kernel, torch.as_tensor(X, device=DEVICE)))
    assert table.K.dtype == torch.float32


def test_working_sets_shrink_before_memory_ends(noisy):
    X, _, signs = noisy
    problem = c_svc(signs, np.ones(200))
    gram = CudaGram(KERNEL, torch.as_tensor(X, device=DEVICE))
    ((_, roomy),) = svm._batches([problem], gram, 1 << 30)
    ((_, tight),) = svm._batches([problem], gram, 400_000)
    assert (roomy, tight) == (256, 128)
    with mercer.config(memory=100_000), pytest.raises(MemoryError, match=r"needs .* working set"):
        on_device(KERNEL, X, [problem])


def test_sets_grow_while_more_is_on_the_move(noisy, monkeypatch):
    """Where nearly all are free support vectors, a set of 64 would see a part of them at a time."""
    X, _, signs = noisy
    narrow, problem = Gaussian(0.3), c_svc(signs, np.full(200, 50.0))
    sizes, step = [], svm.smo

    def noted(block, *rest):
        sizes.append(block.a.shape[1])
        return step(block, *rest)

    monkeypatch.setattr(svm, "WORKING_SET", 64)
    monkeypatch.setattr(svm, "CROWDED_SET", 128)
    monkeypatch.setattr(svm, "smo", noted)
    (found,) = on_device(narrow, X, [problem])
    check(problem, found, narrow(X), 1e-3)
    assert sizes[0] == 64
    assert max(sizes) == 128


def test_the_pair_that_violates_most_is_always_chosen(noisy):
    """In every group, whatever is inside already and however many want to get in."""
    X, _, signs = noisy
    rng = np.random.default_rng(1)
    source = kernel_rows.KeptRows(CudaGram(KERNEL, torch.as_tensor(X, device=DEVICE)))
    problems = []
    for _ in range(8):
        problem = nu_svc(signs, np.ones(200), 0.3)
        a = rng.choice([0.0, 0.0, 0.5, 1.0], p=[0.3, 0.3, 0.003, 0.397], size=(1, 200)) * signs
        problems.append(problem.starting(a))
    rows = [np.arange(200)] * 8
    batch = svm_batch.make_batch(range(8), problems, rows, 64, source, torch.device(DEVICE))
    # In one group everything violates by far more than in the other.
    calm = np.where((signs > 0) == (np.arange(8)[:, None] % 2 == 0), 0.01, 1.0)
    batch.image = torch.as_tensor(calm * rng.normal(size=(8, 200)), device=DEVICE)
    now = svm_batch.measure(batch)
    chosen = svm_batch.choose(batch, now, 64, 64, 1e-3, 3)
    for p in range(8):
        for g in (0, 1):
            members = batch.group[p] == g
            grows = torch.where(now.up[p] & members, -batch.image[p], -torch.inf).argmax()
            shrinks = torch.where(now.low[p] & members, batch.image[p], -torch.inf).argmax()
            assert grows in chosen[p]
            assert shrinks in chosen[p]


def test_a_start_near_the_solution_is_used(noisy, small_sets):
    X, _, signs = noisy
    problem = c_svc(signs, np.full(200, 3.0))
    (cold,) = on_device(KERNEL, X, [problem])
    (again,) = on_device(KERNEL, X, [problem.starting(cold.a)])
    assert again.n_iter == 0
    np.testing.assert_allclose(again.image, cold.image, atol=1e-9)
    (tighter,) = on_device(KERNEL, X, [problem.starting(cold.a)], tol=1e-4)
    assert 0 < tighter.n_iter < cold.n_iter
    check(problem, tighter, KERNEL(X), 1e-4)


def test_a_limit_on_steps(noisy, small_sets):
    X, _, signs = noisy
    (found,) = on_device(KERNEL, X, [c_svc(signs, np.full(200, 3.0))], max_iter=70)
    assert found.n_iter == 70
    assert not found.converged
    assert found.gap > 1e-3


def test_the_rounding_of_k_ends_what_cannot_end_otherwise(noisy, small_sets):
    X, _, signs = noisy
    X, problem = X[:100], c_svc(signs[:100], np.full(100, 10.0))
    (found,) = on_device(KERNEL, X.astype(np.float32), [problem], tol=1e-14)
    assert found.gap < 1e-4
    assert gap_of(problem, found.a, KERNEL(X)) < 1e-3


def test_newton_steps_end_a_long_narrow_valley(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    signs = np.where(X[:, 0] + rng.normal(size=60) > 0, 1, -1)
    problem = c_svc(signs, np.full(60, 300.0))
    (found,) = on_device(Linear(), X, [problem], tol=1e-4)
    check(problem, found, Linear()(X), 1e-4)
    monkeypatch.setattr(svm, "newton", lambda *args: None)
    (plain,) = on_device(Linear(), X, [problem], tol=1e-4, max_iter=3 * found.n_iter)
    assert not plain.converged


@pytest.mark.parametrize(
    ("K", "a"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5]),  # at the optimum
        ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.5]),  # one free variable cannot move alone
        ([[1.0, 0.0], [0.0, -3.0]], [0.5, 0.5]),  # not positive
        ([[0.0, 0.0], [0.0, 0.0]], [0.5, 0.5]),
    ],
)
def test_newton_steps_give_up_where_they_cannot_help(K, a):
    ones = torch.ones(1, 2, dtype=torch.float64)
    at = torch.tensor([a], dtype=torch.float64)
    block = working_block.Block(
        torch.tensor([K]).double(), ones, ones, at.clone(), 0 * ones, ones,
        torch.zeros(1, 2, dtype=torch.int32),
    )  # fmt: skip
    working_block.newton(block, 0, at[0], 1)
    assert block.a[0].tolist() == a


@pytest.mark.posix
def test_ctrl_c_leaves_what_was_found(noisy, small_sets, monkeypatch):
    X, _, signs = noisy
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    gram = CudaGram(KERNEL, torch.as_tensor(X, device=DEVICE))
    stops, step = [], svm.smo

    def watched(work, threads, stop):
        stops.append(stop)
        return interruptible(work, threads, stop)

    def pressed(*args):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        assert stops[0].wait(10)
        return step(*args)

    monkeypatch.setattr(svm, "interruptible", watched)
    monkeypatch.setattr(svm, "smo", pressed)
    monkeypatch.setattr(svm, "SIDE_BY_SIDE", 1)
    try:
        tasks = [Task(np.arange(200), c_svc(signs, np.full(200, C))) for C in (1.0, 3.0)]
        found, interrupted = svm.solve_all(gram, tasks, 1e-3, -1, "test")
    finally:
        signal.signal(signal.SIGINT, before)
    assert interrupted
    assert not any(s.converged for s in found)
    assert found[0].objective < 0
    assert found[1].objective == 0  # never begun
    K = KERNEL(X)
    np.testing.assert_allclose(found[0].image, K @ found[0].a[0], atol=1e-9)


SCRIPT = """
import numpy as np, torch
from mercer.kernels import Gaussian
from mercer.engines.cuda.solvers.working_block import Block
from mercer.engines.cuda.solvers.smo_triton import add_image, smo

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
rng = np.random.default_rng(0)
{oracle}
{body}
print("checked")
"""

CASES = {
    "steps": """
        def blocks(dtype, groups):
            X = rng.normal(size=(2, 64, 3))
            K = np.exp(-0.5 * ((X[:, :, None] - X[:, None]) ** 2).sum(-1))
            signs = np.where(X[:, :, 0] > 0.2, 1.0, -1.0)
            group = np.where(signs > 0, 0, 1) if groups == 2 else np.zeros((2, 64))
            lower, upper = np.where(signs > 0, 0.0, -2.0), np.where(signs > 0, 2.0, 0.0)
            a = np.where(np.arange(64) % 3 == 0, signs, 0.0) if groups == 2 else np.zeros((2, 64))
            f = (K @ a[:, :, None])[:, :, 0] - (signs if groups == 1 else 0)
            lower[:, 60:] = upper[:, 60:] = a[:, 60:]  # what is not used cannot move
            double = [torch.tensor(x, device=DEVICE) for x in (f, a, lower, upper)]
            return lambda: Block(
                torch.tensor(K, dtype=dtype, device=DEVICE),
                torch.ones(2, 64, dtype=dtype, device=DEVICE),
                *(x.clone() for x in double),
                torch.tensor(group, dtype=torch.int32, device=DEVICE),
            )

        for dtype, groups in ((torch.float64, 1), (torch.float32, 1), (torch.float32, 2)):
            make = blocks(dtype, groups)
            one, two = make(), make()
            tol = torch.full((2,), 0.05, dtype=torch.float64, device=DEVICE)
            limit = torch.tensor([1000, 9], dtype=torch.int32, device=DEVICE)
            steps = smo(one, tol, limit, groups)
            assert steps.tolist() == smo_in_steps(two, tol, limit, groups).tolist()
            assert 9 < int(steps[0]) < 1000 and int(steps[1]) == 9, steps
            assert (one.a - two.a).abs().max() < 1e-5
            assert (one.a[:, 60:] == make().a[:, 60:]).all()
            # A bound that is reached is reached exactly.
            assert (((one.a - one.upper).abs() < 1e-9) == (one.a == one.upper)).all()
    """,
    "images": """
        K = torch.tensor(rng.normal(size=(90, 90)), dtype=torch.float32, device=DEVICE)
        rows = torch.tensor(rng.integers(0, 90, size=(3, 50)), device=DEVICE)
        changed = torch.tensor(rng.integers(0, 90, size=(3, 32)), device=DEVICE)
        change = torch.tensor(rng.normal(size=(3, 32)), device=DEVICE)
        count = torch.tensor([0, 5, 32], dtype=torch.int32, device=DEVICE)
        change[0], change[1, 5:] = 0, 0
        image = torch.tensor(rng.normal(size=(3, 50)), device=DEVICE)
        want = [image[p] + change[p] @ K[changed[p]][:, rows[p]].double() for p in range(3)]
        add_image(K, image, rows, changed, change, count)
        assert (image - torch.stack(want)).abs().max() < 1e-12
    """,
    "learners": """
        from mercer.learners import KernelOneClass, KernelSVC, KernelSVR
        X = rng.normal(size=(50, 4)).astype(np.float32)
        y = np.array(["a", "b", "c"])[(X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0)]
        T = torch.tensor(X, device=DEVICE)
        options = {"kernel": Gaussian(1.5), "tol": 1e-2}
        # Scores of pairs: a vote may change where one of them is near 0.
        there, here = (KernelSVC(C=2.0, decision_function_shape="ovo", **options) for _ in "12")
        there.fit(T, y), here.fit(X, y)
        assert isinstance(there.support_vectors_, torch.Tensor)
        np.testing.assert_allclose(there.dual_objective_, here.dual_objective_, rtol=1e-4)
        values = there.decision_function(T)
        assert values.device == T.device and values.shape == (50, 3)
        np.testing.assert_allclose(values.cpu(), here.decision_function(X), atol=0.05)
        assert (there.predict(T) == here.predict(X)).mean() > 0.95
        assert there.score(T, y) == (there.predict(T) == y).mean()
        np.testing.assert_allclose(there.slack_, here.slack_, atol=0.05)
        number = torch.tensor((X[:, 0] > 0).astype(int), device=DEVICE)
        hard = KernelSVC(Gaussian(1.5), C=np.inf).fit(T, number)
        assert (hard.predict(T) == number).all() and hard.support_vectors_.dtype == T.dtype
        tube = KernelSVR(C=1.0, **options).fit(T, T[:, 0])
        assert tube.predict(T).device == T.device and tube.score(T, T[:, 0]) > 0.9
        border = KernelOneClass(nu=0.3, **options).fit(T)
        inside = border.predict(T)
        assert set(inside.tolist()) == {1, -1} and 0.1 < (inside == -1).double().mean() < 0.4
        two = KernelSVC(C=2.0, probability=True, **options).fit(T[:20], number[:20])
        assert two.predict_proba(T).shape == (50, 2) and two.predict(T).device == T.device
    """,
}


@pytest.mark.parametrize("name", list(CASES))
def test_triton_kernels(name, run_on_device):
    script = SCRIPT.replace("{oracle}", inspect.getsource(smo_in_steps))
    run_on_device(script.replace("{body}", textwrap.dedent(CASES[name])))
