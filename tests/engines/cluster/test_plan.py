"""The plan of a pass: what it takes is said, and what cannot fit is refused, before it runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mercer
from mercer import KernelRidge

X = np.random.default_rng(0).normal(size=(60_000, 4))


def test_a_plan_counts_pieces_tasks_and_bytes(tmp_path):
    rows = mercer.chunks(X, rows=5000)
    with mercer.config(memory="1GB", threads=2):
        plan = rows.plan("gaussian(3)", 200, targets=2)
    assert (plan.pieces, plan.tasks, plan.largest) == (12, 3, 25_000)
    assert plan.sent == X.nbytes + 3 * 200 * 4 * 8
    assert plan.moved == 3 * 8 * (200 * 201 // 2 + 200 * 3)
    assert plan.workers.room == 5e8
    assert plan.seconds > 0
    assert "60,000 rows in 12 pieces, 3 tasks of up to 25,000 rows, 2 at a time" in str(plan)
    np.save(tmp_path / "rows.npy", X)
    lazy = mercer.chunks(tmp_path / "rows.npy", rows=5000).plan("gaussian(scale)", 200)
    assert lazy.sent == 3 * 200 * 4 * 8, "names of files are sent, and no rows"


def test_what_cannot_fit_is_refused_before_a_task_runs(monkeypatch):
    rows = mercer.chunks(X, rows=30_000)
    with mercer.config(memory="40MB", threads=2):
        plan = rows.plan("gaussian(3)", 1050)
        with pytest.raises(MemoryError, match=r"n_centers=\d+ fits") as told:
            plan.check()
        fitting = int(str(told.value).split("n_centers=")[1].split()[0])
        rows.plan("gaussian(3)", fitting).check()
        monkeypatch.setattr("mercer.engines.cluster.sums.reduce", lambda *a: pytest.fail("ran"))
        with pytest.raises(MemoryError, match="a task needs"):
            KernelRidge("gaussian(3)", alpha=1.0, n_centers=1050).fit(rows, X[:, 0])
    few, told = mercer.config(memory="4MB", threads=2), r"pieces of \d+ rows fit"
    with few, pytest.raises(MemoryError, match=told):
        rows.plan("gaussian(3)", 10).check()


def test_workers_of_an_executor_share_the_memory():
    with ThreadPoolExecutor(4) as pool, mercer.config(cluster=pool, threads=4, memory="400MB"):
        plan = mercer.chunks(X, rows=5000).plan("gaussian(3)", 10)
    assert (plan.workers.tasks, plan.workers.room) == (4, 1e8)
