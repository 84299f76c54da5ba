"""Model selection by workers: the same board, laggards stopped, the clock with the caller."""

from __future__ import annotations

import math
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import mercer
from mercer._machine.deadline import check_time
from mercer.engines.cluster import pool
from mercer.engines.cluster.pool import Call, gather_until
from mercer.selection.kernel_search.search import search_kernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=120)
PLAN = {
    "kernels": ["gaussian(1)", "linear()", "gaussian(2)"],
    "learners": ["ridge"],
    "rivals": None,
    "holdout": None,
    "repeats": 2,
}


@pytest.fixture
def threads():
    with ThreadPoolExecutor(2) as made, mercer.config(cluster=made):
        yield made


def _told(board):
    return [(row.name, row.scores) for row in board.rows]


def test_a_board_by_workers_is_that_of_this_process(threads):
    there = mercer.compare(X, Y, **PLAN)
    with mercer.config(cluster="here"):
        here = mercer.compare(X, Y, **PLAN)
    assert _told(there) == _told(here)
    np.testing.assert_array_equal(there.best.predict(X), here.best.predict(X))


@pytest.mark.slow
def test_a_board_by_processes_and_by_dask():
    distributed = pytest.importorskip("distributed")
    here = _told(mercer.compare(X, Y, **PLAN))
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as made, mercer.config(cluster=made):
        assert _told(mercer.compare(X, Y, **PLAN)) == here
    address = {"dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
    with (
        distributed.LocalCluster(n_workers=2, processes=True, **address) as cluster,
        distributed.Client(cluster) as client,
        mercer.config(cluster=client),
    ):
        assert _told(mercer.compare(X, Y, **PLAN)) == here


def test_a_budget_is_kept_with_workers(threads):
    board = mercer.compare(X, Y, budget="3s", **PLAN)
    assert board.rows[0].mean > 0.5


def test_a_candidate_that_fails_takes_out_nobody_else(threads):
    def broken(a, b):
        raise ArithmeticError("no number")

    plan = PLAN | {"kernels": ["gaussian(1)", mercer.kernels.Similarity(broken)]}
    board = mercer.compare(X, Y, **plan)
    assert next(row.kernel for row in board.rows if not row.stopped) == "Gaussian()"


def test_the_search_by_workers_finds_the_same_kernel(threads):
    there = search_kernel(X, Y, steps=1)
    with mercer.config(cluster="here"):
        here = search_kernel(X, Y, steps=1)
    assert there.kernel == here.kernel
    assert math.isclose(there.score, here.score, rel_tol=1e-9)
    assert [n.expression for n in there.tree.nodes] == [n.expression for n in here.tree.nodes]


@pytest.mark.parametrize("options", [{}, {"per_column": True}], ids=["one", "per column"])
def test_bandwidths_by_workers_are_those_of_this_process(threads, options):
    there = mercer.NadarayaWatsonRegressor(**options).fit(X, Y)
    with mercer.config(cluster="here"):
        here = mercer.NadarayaWatsonRegressor(**options).fit(X, Y)
    np.testing.assert_array_equal(there.bandwidth_, here.bandwidth_)
    assert len(there.bandwidths_tried_) == len(here.bandwidths_tried_)


def test_laggards_are_stopped_and_errors_are_given(threads, tmp_path, monkeypatch):
    def endless():
        (tmp_path / "begun").touch()
        try:
            while True:
                check_time()
                time.sleep(0.01)
        finally:
            (tmp_path / "stopped").touch()

    def quick():
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        return 7

    def wrong():  # by the thread that has ended with the quick one
        (tmp_path / "late").touch()
        raise ValueError("wrong")

    def clock():
        """The time is over when both others have had their turn."""
        return math.inf if (tmp_path / "late").exists() else 0.0

    monkeypatch.setattr(pool, "now", clock)
    value, nothing, error = gather_until([Call(quick), Call(endless), Call(wrong)], "test", 1.0)
    assert (value, nothing) == (7, None)
    assert error is None or "wrong" in str(error)  # it may have ended a moment too late
    for _ in range(12_000):
        if (tmp_path / "stopped").exists():
            return
        time.sleep(0.01)
    raise AssertionError("the laggard went on")
