"""Sums that outlive whoever computes them, and executors whose processes die."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import mercer
from mercer import KernelLogisticRegression, KernelRidge
from mercer.engines.cluster.checkpoint import GROUPS
from mercer.engines.cluster.pool import Call, reduce

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
MODEL = {"alpha": 0.1, "n_centers": 20, "random_state": 0}


def _chunks(step=50):
    return mercer.chunks(X, rows=step)


class _Meter:
    """Counts calls, and raises at one of them."""

    def __init__(self, at=-1):
        self.calls, self.at = 0, at

    def __call__(self, A, B):
        self.calls += 1
        if self.calls == self.at:
            raise RuntimeError("lost")
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / 8)

    def __reduce__(self):  # the same kernel to a checkpoint, however often it was called
        return _Meter, ()


def _numbered(i):
    return np.array([float(i), 1.0 / (i + 1)])


@pytest.mark.parametrize("n", [1, 5, GROUPS, 3 * GROUPS + 7])
def test_groups_are_branches_of_the_same_tree(tmp_path, n):
    calls = [Call(_numbered, (i,)) for i in range(n)]
    plain = reduce(calls, "test")
    with mercer.config(checkpoint=tmp_path):
        first, again = reduce(calls, "test"), reduce(calls, "test")
    np.testing.assert_array_equal(first, plain)
    np.testing.assert_array_equal(again, plain)
    assert len(list(tmp_path.iterdir())) == 1, "what is done is one file"


@pytest.mark.parametrize("learner", [KernelRidge, KernelLogisticRegression])
def test_a_fit_goes_on_to_the_same_bits(tmp_path, learner, monkeypatch):
    monkeypatch.setattr("mercer.engines.cluster.sums.CHUNK_ROWS", 1)
    monkeypatch.setattr("mercer.engines.cluster.learning.newton.CHUNK_ROWS", 1)
    targets = Y if learner is KernelRidge else Y > 0

    def fit(meter):
        kernel = mercer.kernels.Similarity(meter, blocks=True)
        with mercer.config(threads=1):
            return learner(kernel, solver="nystrom", **MODEL).fit(_chunks(), targets)

    whole = fit(undisturbed := _Meter())
    with mercer.config(checkpoint=tmp_path):
        with pytest.raises(RuntimeError, match="lost"):
            fit(_Meter(at=undisturbed.calls - 3))
        resumed = fit(rest := _Meter())
        asked = fit(nothing := _Meter())
    np.testing.assert_array_equal(resumed.dual_coef_, whole.dual_coef_)
    np.testing.assert_array_equal(asked.dual_coef_, whole.dual_coef_)
    assert nothing.calls < rest.calls < undisturbed.calls
    assert not list(tmp_path.glob("*.part"))


def test_other_data_kernels_or_settings_are_other_sums(tmp_path):
    with mercer.config(checkpoint=tmp_path):
        for kernel in ("gaussian(2)", "gaussian(3)"):
            for rows in (X, X + 1):
                model = KernelRidge(kernel, solver="nystrom", **MODEL)
                ours = model.fit(mercer.chunks(rows, rows=50), Y).dual_coef_
                with mercer.config(checkpoint=""):
                    again = model.fit(mercer.chunks(rows, rows=50), Y).dual_coef_
                np.testing.assert_array_equal(ours, again)
    assert len(list(tmp_path.iterdir())) == 4


def _dies_once(folder, i):
    """The last term ends its process, if nobody did before."""
    if i == 7 and not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    (folder / f"did {i}").open("a").write("x")
    return _numbered(i)


def _spawned(workers):
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


@pytest.mark.posix
@pytest.mark.slow
def test_a_process_that_dies_ends_in_a_sentence_and_the_sum_goes_on(tmp_path):
    calls = [Call(_dies_once, (tmp_path, i)) for i in range(8)]
    with mercer.config(checkpoint=tmp_path / "sums"):
        told = pytest.raises(ConnectionError, match="a process of the executor was lost")
        with _spawned(1) as lost, mercer.config(cluster=lost), told:
            reduce(calls, "test")
        kept = len(list((tmp_path / "sums").iterdir()))
        assert kept > 0
        with _spawned(1) as new, mercer.config(cluster=new):
            total = reduce(calls, "test")
    np.testing.assert_array_equal(total, reduce([Call(_numbered, (i,)) for i in range(8)], "test"))
    times = sum(len((tmp_path / f"did {i}").read_text()) for i in range(8))
    assert times < 15, "what had been found was not computed again"


def test_a_kernel_that_cannot_travel_is_told(tmp_path):
    kernel = mercer.kernels.Similarity(lambda a, b: float(a @ b))
    told = pytest.raises(TypeError, match="cannot be sent to other processes")
    with _spawned(1) as pool, mercer.config(cluster=pool), told:
        KernelRidge(kernel, solver="nystrom", **MODEL).fit(_chunks(200), Y)
    with ThreadPoolExecutor(1) as pool, mercer.config(cluster=pool):
        KernelRidge(kernel, solver="nystrom", **MODEL).fit(_chunks(200), Y)


def _gaussian(wait):
    def k(A, B):
        wait(A)
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / 8)

    return mercer.kernels.Similarity(k, blocks=True)


def _gate(folder):
    """In workers: all but the first four pieces wait until the gate is open."""
    here = os.getpid()

    def wait(A):
        if os.getpid() == here:
            return
        with (folder / "begun").open("a") as file:
            file.write(f"{float(A[0, 0])}\n")
        for place in range(4):
            if not (folder / "open").exists():
                try:
                    (folder / f"place {place}").touch(exist_ok=False)
                    return
                except FileExistsError:
                    continue
        while not (folder / "open").exists():
            time.sleep(0.01)

    return wait


@pytest.mark.cluster
@pytest.mark.posix
@pytest.mark.slow
def test_a_lost_scheduler_and_a_fit_that_goes_on(tmp_path, monkeypatch):
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr("mercer.engines.cluster.sums.CHUNK_ROWS", 1)
    rows, kernel = da.from_array(X, chunks=(40, 3)), _gaussian(_gate(tmp_path))
    undisturbed = KernelRidge(kernel, **MODEL).fit(rows, Y)
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": "1GB"}
    kept = tmp_path / "sums"

    def fit(client):
        with mercer.config(cluster=client, checkpoint=kept):
            return KernelRidge(kernel, **MODEL).fit(rows, Y)

    with ThreadPoolExecutor(1) as beside:
        cluster = distributed.LocalCluster(n_workers=2, processes=True, **options)
        client = distributed.Client(cluster, timeout=5)
        lost = beside.submit(fit, client)
        while len(list(kept.glob("*.npz"))) < 4 and not lost.done():
            time.sleep(0.05)
        cluster.close()  # while other pieces wait at the gate
        with pytest.raises(ConnectionError, match="the scheduler of the cluster was lost"):
            lost.result(timeout=120)
        client.close()
    (tmp_path / "open").touch()
    (tmp_path / "begun").unlink()
    with (
        distributed.LocalCluster(n_workers=2, processes=True, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        resumed = fit(client)
    np.testing.assert_array_equal(resumed.dual_coef_, undisturbed.dual_coef_)
    assert len((tmp_path / "begun").read_text().split()) == 10 - 4, "four had been kept"
