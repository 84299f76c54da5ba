"""Workers that begin with no machine code at all give the bits of this process, whoever dies."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer import KernelNeighborsClassifier, KernelPerceptron, KernelRidge, KernelSVC

da = pytest.importorskip("dask.array", reason="Dask is not installed")
distributed = pytest.importorskip("distributed", reason="Dask is not installed")
pytestmark = [pytest.mark.cluster, pytest.mark.posix]

X = np.random.default_rng(0).normal(size=(6000, 10))
Y = np.sin(X[:, 0]) + X[:, 1]
ROWS = da.from_array(X, chunks=(1000, 10))
FEWER = da.from_array(X[:1500], chunks=(500, 10))


@pytest.fixture
def cold(tmp_path):
    """Two workers with one empty cache; the client, and the folder of the cache."""
    folder = tmp_path / "cache"
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(
            dashboard_address="127.0.0.1:0", env={"MERCER_CACHE": str(folder)}, **options
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client, folder


def ridge() -> list[np.ndarray]:
    model = KernelRidge("gaussian(2)", alpha=0.1, n_centers=200).fit(ROWS, Y)
    return [model.dual_coef_, model.predict(FEWER).compute()]


def others() -> list[np.ndarray]:
    labels = Y[:1500] > 0
    svc = KernelSVC("gaussian(2)").fit(FEWER, labels)
    perceptron = KernelPerceptron("gaussian(2)", epochs=1, shuffle=False).fit(FEWER, labels)
    near = KernelNeighborsClassifier("gaussian(2)").fit(FEWER, labels)
    found = [svc.dual_coef_, perceptron.dual_coef_, near.predict_proba(X[:200])]
    return [*found, svc.decision_function(FEWER).compute()]


def equal(left: list[np.ndarray], right: list[np.ndarray]) -> None:
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b)


def kill_while(client, folder: Path, work):
    """What `work` gives while the first worker with a task dies, and its cache is lost with it."""
    killed: list[int] = []
    ended = threading.Event()

    def kill() -> None:
        while not ended.is_set() and not killed:
            at_work = [address for address, tasks in client.processing().items() if tasks]
            if at_work:
                pids = client.run(os.getpid, workers=at_work[:1], on_error="ignore")
                shutil.rmtree(folder, ignore_errors=True)
                killed.extend(pids.values())
                for pid in pids.values():
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.005)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        with mercer.config(cluster=client):
            found = work()
    finally:
        ended.set()
        thread.join()
    assert killed, "the work ended before a worker could be killed"
    return found


def test_the_first_fit_of_cold_workers_is_that_of_warm_ones(cold):
    client, folder = cold
    assert not folder.exists()
    with mercer.config(cluster=client):
        first, second = ridge(), ridge()
    equal(first, second)
    equal(first, ridge())


def test_a_death_and_a_lost_cache_change_no_bit(cold):
    client, folder = cold
    killed = kill_while(client, folder, ridge)
    equal(killed, ridge())


@pytest.mark.slow
def test_other_learners_on_cold_workers_that_die(cold):
    client, folder = cold
    here = others()
    equal(kill_while(client, folder, others), here)
    with mercer.config(cluster=client):
        equal(others(), here)
