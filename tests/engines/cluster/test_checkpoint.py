"""Sums that outlive whoever computes them, and executors whose processes die."""

from __future__ import annotations

import multiprocessing
import os
import signal
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
    monkeypatch.setattr("mercer.engines.cluster.sums.ROWS_OF_A_MATRIX", 1)
    monkeypatch.setattr("mercer.engines.cluster.learning.newton.ROWS_OF_A_MATRIX", 1)
    targets = Y if learner is KernelRidge else Y > 0

    def fit(meter):
        kernel = mercer.Similarity(meter, blocks=True)
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
    kernel = mercer.Similarity(lambda a, b: float(a @ b))
    told = pytest.raises(TypeError, match="cannot be sent to other processes")
    with _spawned(1) as pool, mercer.config(cluster=pool), told:
        KernelRidge(kernel, solver="nystrom", **MODEL).fit(_chunks(200), Y)
    with ThreadPoolExecutor(1) as pool, mercer.config(cluster=pool):
        KernelRidge(kernel, solver="nystrom", **MODEL).fit(_chunks(200), Y)
