"""A real cluster of three processes: workers die, come late, run out of memory, are not wanted.

Tests wait at gates, which are files, and never for a time. Functions that travel to workers are
made inside others, so that they travel by value: workers cannot import this file.
"""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import mercer
from mercer import KernelPerceptron, KernelRidge, KernelSVC
from mercer._machine.deadline import check_time, stopping
from mercer.engines.cluster import on_dask, sums, svm, worker
from mercer.engines.cluster.gram import ChunkGram
from mercer.engines.cluster.pool import Call, gather, reduce
from mercer.engines.cluster.sums import ChunkPanels, center_panels, columns_of_k, normal_sums
from mercer.engines.cluster.worker import Facts, TaskSettings, described, judged, task

da = pytest.importorskip("dask.array", reason="Dask is not installed")
distributed = pytest.importorskip("distributed", reason="Dask is not installed")
pytestmark = [pytest.mark.cluster, pytest.mark.posix]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
ROWS = da.from_array(X, chunks=(30, 3))
MODEL = {"alpha": 0.1, "n_centers": 20, "random_state": 0}
ADDRESS = {"dashboard_address": "127.0.0.1:0", "processes": True, "threads_per_worker": 1}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=3, memory_limit="1GB", **ADDRESS) as made:
        yield made


@pytest.fixture(scope="module")
def own_client(cluster):
    with distributed.Client(cluster) as made:
        yield made


@pytest.fixture
def client(cluster, own_client):
    """With three workers, whoever died in the test before."""
    try:
        own_client.wait_for_workers(3, timeout=60)
    except TimeoutError:  # on a busy machine the nanny gives up a process that is slow to begin
        cluster.scale(3)
        own_client.wait_for_workers(3, timeout=120)
    return own_client


# --- gates -----------------------------------------------------------------------------------


def _gate(folder):
    """A function that waits, in every process but this one, until the gate is open."""
    here = os.getpid()

    def wait():
        if os.getpid() != here and not (folder / "open").exists():
            (folder / f"pid {os.getpid()}").touch()
            while not (folder / "open").exists():
                time.sleep(0.01)

    return wait


def _gaussian(wait=lambda: None):
    def k(A, B):
        wait()
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / 8)

    return mercer.kernels.Similarity(k, blocks=True)


def _waiting(folder, count=1, seconds=120):
    """The processes that wait at the gate, as soon as there are so many."""
    for _ in range(100 * seconds):
        found = sorted(folder.glob("pid *"))
        if len(found) >= count:
            return [int(path.name.split()[1]) for path in found]
        time.sleep(0.01)
    raise AssertionError("too few tasks began")


def _beside(client, work):
    """Work that goes on beside the test, on the cluster."""
    pool = ThreadPoolExecutor(1)

    def configured():
        with mercer.config(cluster=client):
            return work()

    return pool.submit(configured)


# --- deaths ----------------------------------------------------------------------------------


def test_a_worker_killed_in_mid_piece_changes_no_bit(client, tmp_path):
    undisturbed = KernelRidge(_gaussian(), **MODEL).fit(ROWS, Y)
    kernel = _gaussian(_gate(tmp_path))
    model = _beside(client, lambda: KernelRidge(kernel, **MODEL).fit(ROWS, Y))
    try:
        os.kill(_waiting(tmp_path)[0], signal.SIGKILL)
    finally:
        (tmp_path / "open").touch()
    np.testing.assert_array_equal(model.result().dual_coef_, undisturbed.dual_coef_)
    with mercer.config(cluster=client):
        answers = model.result().predict(ROWS).compute()
    np.testing.assert_allclose(answers, undisturbed.predict(X), rtol=0, atol=1e-10)


def test_a_worker_killed_in_the_reduction_changes_no_bit(client, tmp_path):
    kernel, centers = mercer.Gaussian(2.0), X[:20]
    gram = ChunkGram(kernel, ROWS, centers)
    undisturbed = center_panels(gram).normal(Y[:, None], None)
    pieces = zip(gram.rows.pieces, gram.rows.aligned(Y).pieces, strict=True)
    terms = partial(normal_sums, partial(columns_of_k, kernel, centers), True)
    calls = [Call(terms, two) for two in pieces]
    wait = _gate(tmp_path)

    def add(a, b):
        wait()
        return a + b

    here = reduce(calls, "here").normal()
    total = _beside(client, lambda: reduce(calls, "there", add))
    try:
        os.kill(_waiting(tmp_path)[0], signal.SIGKILL)
    finally:
        (tmp_path / "open").touch()
    there = total.result().normal()
    for name in ("H", "R", "sums", "target_sums"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
        np.testing.assert_allclose(getattr(there, name), getattr(undisturbed, name), rtol=1e-13)


@pytest.mark.slow
def test_workers_killed_before_the_solve_change_no_bit(client, monkeypatch):
    undisturbed = KernelRidge("gaussian(2)", **MODEL).fit(ROWS, Y)
    normal, killed = ChunkPanels.normal, []

    def then_kill(self, *args):
        found = normal(self, *args)
        killed.extend(client.run(os.getpid).values())
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        return found

    with mercer.config(cluster=client), monkeypatch.context() as patch:
        patch.setattr(ChunkPanels, "normal", then_kill)
        model = KernelRidge("gaussian(2)", **MODEL).fit(ROWS, Y)
    assert len(killed) == 3
    np.testing.assert_array_equal(model.dual_coef_, undisturbed.dual_coef_)
    with mercer.config(cluster=client):  # by workers that have just begun
        again = KernelRidge("gaussian(2)", **MODEL).fit(ROWS, Y)
    np.testing.assert_array_equal(again.dual_coef_, undisturbed.dual_coef_)


@pytest.mark.slow
def test_a_worker_that_joins_late_gets_tasks(cluster, client, tmp_path, monkeypatch):
    monkeypatch.setattr(sums, "CHUNK_ROWS", 1)  # a task per piece
    undisturbed = KernelRidge(_gaussian(), **MODEL).fit(ROWS, Y)
    kernel = _gaussian(_gate(tmp_path))
    model = _beside(client, lambda: KernelRidge(kernel, **MODEL).fit(ROWS, Y))
    try:
        first = _waiting(tmp_path, 3)
        cluster.scale(4)
        assert len(set(_waiting(tmp_path, 4)) - set(first)) == 1
    finally:
        (tmp_path / "open").touch()
        cluster.scale(3)
    np.testing.assert_array_equal(model.result().dual_coef_, undisturbed.dual_coef_)


@pytest.mark.slow
def test_a_memory_limit_is_told_with_the_piece_and_what_fits():
    import dask

    here = os.getpid()

    def greedy():
        while os.getpid() != here:
            held.append(np.ones(20_000_000))

    held: list[np.ndarray] = []
    rows = da.from_array(np.repeat(X, 100, axis=0), chunks=(10_000, 3))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=1, memory_limit="600MB", **ADDRESS) as small,
        distributed.Client(small) as client,
        mercer.config(cluster=client),
        pytest.raises(MemoryError) as error,
    ):
        KernelRidge(_gaussian(greedy), **MODEL).fit(rows, np.repeat(Y, 100))
    said = str(error.value)
    assert "(10000 rows, 240 KB)" in said
    assert "the limit is 600 MB" in said
    assert "rows fit at 24 B a row" in said


def test_what_nobody_waits_for_any_more_stops(client, tmp_path):
    def endless(folder):
        (folder / "begun").touch()
        try:
            while True:
                check_time()
                time.sleep(0.01)
        finally:
            (folder / "stopped").touch()

    def ctrl_c():
        """What Ctrl-C does to the loop that waits, at a moment that this test chooses."""
        if (tmp_path / "begun").exists():
            raise KeyboardInterrupt
        return False

    with mercer.config(cluster=client), stopping(ctrl_c), pytest.raises(KeyboardInterrupt):
        gather([Call(endless, (tmp_path,))], "endless")
    for _ in range(12_000):
        if (tmp_path / "stopped").exists():
            return
        time.sleep(0.01)
    raise AssertionError("the task went on")


# --- settings and workers --------------------------------------------------------------------


def test_a_task_has_the_settings_of_its_client_and_its_share_of_the_worker(client):
    def look():
        from threadpoolctl import threadpool_info

        settings = mercer.get_config()
        blas = max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return settings.memory, settings.precision, settings.threads, settings.cluster, blas

    with mercer.config(cluster=client, memory="300MB", precision="fast"):
        assert gather([Call(look)], "settings") == [(300_000_000, "fast", 1, None, 1)]
    with mercer.config(cluster=client):
        assert gather([Call(look)], "settings")[0][0] == 400_000_000
    told = described(worker.check_workers(client).values())
    assert all("1 task at a time and 1 GB each, on the processor" in line for line in told)


@pytest.mark.slow  # three fresh processes compile two solvers
def test_the_same_models_as_in_this_process(client, monkeypatch):
    monkeypatch.setattr(svm, "EXACT_ROWS", 200)
    labels, rows = Y > 0, da.from_array(X, chunks=(100, 3))
    makers = [
        partial(KernelRidge, "gaussian(2)", **MODEL),
        partial(KernelSVC, "gaussian(2)"),
        partial(KernelPerceptron, "gaussian(2)", epochs=1, shuffle=False),
    ]
    for make in makers:
        y = Y if make.func is KernelRidge else labels
        here = make().fit(rows, y)
        with mercer.config(cluster=client):
            there = make().fit(rows, y)
        np.testing.assert_array_equal(there.dual_coef_, here.dual_coef_)
        whole = make(**({"solver": "nystrom"} if y is Y else {})).fit(X, y)
        exact = 1e-10 if make.func is not KernelSVC else 0.05  # an SVM stops at its tolerance
        np.testing.assert_allclose(
            getattr(there, "decision_function", there.predict)(X),
            getattr(whole, "decision_function", whole.predict)(X),
            atol=exact,
        )


@pytest.mark.slow
def test_sums_over_lazy_rows_and_labels(client):
    rows, y = da.from_array(X, chunks=(100, 3)), da.from_array(Y, chunks=100)
    labels = da.where(y > 0, "b", "a")

    def answers():
        yield mercer.KernelRidgeClassifier(**MODEL).fit(rows, labels).dual_coef_
        yield mercer.KernelLogisticRegression(**MODEL).fit(rows, labels).dual_coef_
        yield KernelRidge("polynomial(2)", alphas=[0.1, 1]).fit(rows, y).loo_predictions_
        yield mercer.NadarayaWatsonRegressor(bandwidth=0.5).fit(rows, y).predict(X[:50])
        yield mercer.KernelNeighborsClassifier().fit(rows, labels).predict(X[:50])
        yield mercer.KernelCentroidClassifier().fit(rows, labels).decision_function(X[:50])
        yield mercer.stats.mmd_test(rows, rows + 0.1, permutations=20, random_state=0).statistic

    with mercer.config(cluster=client):
        there = list(answers())
    for found, here in zip(there, answers(), strict=True):
        np.testing.assert_array_equal(found, here)


def test_another_version_is_refused(client, monkeypatch):
    monkeypatch.setattr(worker, "__version__", "9.9")
    monkeypatch.setattr(worker, "_known", {})
    told = "the client has Mercer 9.9 and the worker at tcp://.* has"
    with mercer.config(cluster=client), pytest.raises(RuntimeError, match=told):
        gather([Call(os.getpid)], "versions")
    with pytest.raises(RuntimeError, match="this worker has"), task(TaskSettings(version="9.8")):
        pass
    with pytest.raises(RuntimeError, match="cannot load it"):
        judged({"tcp://a:1": ModuleNotFoundError("No module named 'mercer'")})


def test_a_mixture_of_workers_is_warned_of():
    one = Facts(mercer.__version__, "2.0", "x86_64 SkylakeX", memory=2_000_000_000)
    other = Facts(mercer.__version__, "2.0", "x86_64 Zen", gpu="NVIDIA H200")
    with pytest.warns(UserWarning, match="x86_64 SkylakeX.*; x86_64 Zen.*which piece"):
        assert judged({"a": one, "b": other, "c": OSError("died")}) == {"a": one, "b": other}
    with pytest.warns(UserWarning, match="no GPU"):
        judged({"b": other}, [one])
    assert described([one, other]) == [
        "1 worker: 1 task at a time and 2 GB each, on the processor",
        "1 worker: 1 task at a time and no limit of memory each, pieces streamed to its GPU "
        "(NVIDIA H200)",
    ]


def test_leaves_and_sums_in_this_process():
    """The functions that workers run, here, where the coverage of them is seen."""
    settings = TaskSettings.now()
    assert on_dask._leaf("name", settings, abs, -3) == 3
    assert on_dask._added(settings, lambda a, b: a + b, 1, 2) == 3
