"""Dask arrays and frames: lazy in, lazy out; and a real cluster, whose workers may die."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import KernelRidge

da = pytest.importorskip("dask.array", reason="Dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
MODEL = {"alpha": 0.1, "n_centers": 20, "random_state": 0}


@pytest.fixture(scope="module")
def whole():
    return KernelRidge("gaussian(2)", solver="nystrom", **MODEL).fit(X, Y)


def test_an_array_goes_in_and_lazy_answers_come_out(whole):
    rows = da.from_array(X, chunks=(70, 2))
    model = KernelRidge("gaussian(2)", **MODEL).fit(rows, da.from_array(Y, chunks=90))
    assert model.solver_ == "nystrom"
    answers = model.predict(rows)
    assert isinstance(answers, da.Array)
    assert answers.chunks == ((70, 70, 70, 70, 20),)
    np.testing.assert_allclose(answers.compute(), whole.predict(X), atol=1e-7)
    classes = mercer.KernelLogisticRegression().fit(X, np.digitize(Y, [-0.5, 0.5]))
    shares = classes.predict_proba(rows)
    assert shares.shape == (300, 3)
    np.testing.assert_allclose(shares.compute(), classes.predict_proba(X), atol=1e-9)
    with pytest.raises(ValueError, match="X has 2 features"):
        model.predict(rows[:, :2])


def test_frames_of_unknown_sizes_with_empty_parts_and_other_orders(whole):
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=Y, row=np.arange(300))
    parts = dd.from_pandas(frame, npartitions=4)
    kept = parts[parts["row"] < 200]  # sizes are unknown, and the last part is empty
    model = KernelRidge("gaussian(2)", **MODEL).fit(kept[["a", "b", "c"]], kept["y"])
    again = KernelRidge("gaussian(2)", solver="nystrom", **MODEL).fit(X[:200], Y[:200])
    np.testing.assert_allclose(model.predict(frame[["a", "b", "c"]]), again.predict(X), atol=1e-7)
    other = model.predict(parts[["c", "a", "b"]])
    np.testing.assert_allclose(other.compute(), again.predict(X), atol=1e-7)
    with pytest.raises(ValueError, match="no column 'b'"):
        model.predict(parts[["a", "c"]])


def _gated(folder, client):
    """A Gaussian that waits in every process but this one until the gate is open."""

    def k(A, B):
        if os.getpid() != client and not (folder / "open").exists():
            (folder / f"pid {os.getpid()}").touch()
            while not (folder / "open").exists():
                time.sleep(0.01)
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / 8)

    return mercer.Similarity(k, blocks=True)


def _waiting(folder, seconds=120):
    """The process of a task that waits at the gate."""
    for _ in range(100 * seconds):
        found = sorted(folder.glob("pid *"))
        if found:
            return int(found[0].name.split()[1])
        time.sleep(0.01)
    raise AssertionError("no task began")


@pytest.mark.cluster
@pytest.mark.posix
def test_a_killed_worker_changes_no_bit(tmp_path):
    distributed = pytest.importorskip("distributed")
    rows, kernel = da.from_array(X, chunks=(30, 3)), _gated(tmp_path, os.getpid())
    (tmp_path / "open").touch()
    undisturbed = KernelRidge(kernel, **MODEL).fit(rows, Y)
    (tmp_path / "open").unlink()
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": "1GB"}
    with (
        distributed.LocalCluster(n_workers=2, processes=True, **options) as cluster,
        distributed.Client(cluster) as client,
        ThreadPoolExecutor(1) as beside,
    ):

        def fit():
            with mercer.config(cluster=client):
                return KernelRidge(kernel, **MODEL).fit(rows, Y)

        model = beside.submit(fit)
        try:
            os.kill(_waiting(tmp_path), signal.SIGKILL)
        finally:
            (tmp_path / "open").touch()
        model = model.result()
        with mercer.config(cluster=client):
            answers = model.predict(rows).compute()
    np.testing.assert_array_equal(model.dual_coef_, undisturbed.dual_coef_)
    np.testing.assert_allclose(answers, undisturbed.predict(X), atol=1e-9)
