"""A worker with a GPU: a piece passes over the device, and the sums are those of the processor."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import mercer
from mercer.engines.cluster import worker
from mercer.engines.cluster.plan import Plan, Workers
from mercer.engines.cluster.worker import Facts, TaskSettings, described, device_for


def test_the_sums_of_a_piece_on_a_device(run_on_device):
    run_on_device("""
        from functools import partial
        import numpy as np, torch, mercer
        from mercer.engines.cluster.sums import Fetched
        from mercer.engines.cluster.sums import (
            columns_of_k, images_and_squares, normal_product, normal_sums, product,
        )

        DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
        rng = np.random.default_rng(0)
        X, y, w = rng.normal(size=(50, 3)), rng.normal(size=50), rng.uniform(1, 2, size=50)
        B, basis, shares = rng.normal(size=(8, 2)), np.eye(8), np.ones((8, 2))
        kernel = mercer.Gaussian(1.5)
        here = partial(columns_of_k, kernel, X[:8])
        there = partial(columns_of_k, kernel, torch.tensor(X[:8], device=DEVICE))
        assert not isinstance(here(X), Fetched) and isinstance(there(X), Fetched)

        def same(a, b):
            assert isinstance(a, (np.ndarray, float)), type(a)
            assert np.abs(a - b).max() <= 1e-5 * max(1.0, np.abs(b).max()), (a, b)

        # All rows at a time; and so little memory that they are streamed over the device.
        for memory in ("1GB", 4000):
            with mercer.config(memory=memory):
                for weights in (None, w):
                    for matrix in (True, False):
                        a = normal_sums(there, matrix, X, y, weights)
                        b = normal_sums(here, matrix, X, y, weights)
                        for name in ("R", "sums", "target_sums", "weight"):
                            same(getattr(a, name), getattr(b, name))
                        if matrix:
                            same(a.triangle, b.triangle)
                    same(normal_product(there, B, X, weights), normal_product(here, B, X, weights))
                same(product(there, B, X), product(here, B, X))
                arrays = (B, basis, None, shares)
                pairs = zip(images_and_squares(there, *arrays, X),
                            images_and_squares(here, *arrays, X))
                for a, b in pairs:
                    same(a, b)
        found = np.zeros((50, 8))
        there(X).each(lambda rows, panel: found.__setitem__(rows, panel), "test")
        same(found, kernel(X, X[:8]))
        print("checked")
    """)


def test_a_worker_takes_the_gpu_it_has(monkeypatch):
    plain = TaskSettings.now()
    assert device_for(plain) == "cpu"  # no worker of Dask's
    monkeypatch.setattr(worker, "dask_worker", lambda: object())
    monkeypatch.setattr(worker, "has_gpu", lambda: True)
    assert device_for(plain) == "cuda"
    monkeypatch.setattr(worker, "has_gpu", lambda: False)
    assert device_for(plain) == "cpu"
    with mercer.config(device="cuda"):  # asked for: an error where there is none
        assert device_for(TaskSettings.now()) == "cuda"


def test_the_plan_says_where_pieces_go():
    """Checked without any GPU: the plan is made of what workers say of themselves."""
    facts = [Facts("1", "2", "x86_64", memory=64_000_000_000, gpu="NVIDIA H200")] * 2
    workers = Workers(2, 3e9, tuple(described(facts)))
    plan = Plan(10**8, 4000, 4000, 160, 25_000, 1000, 1e8, 4e9, workers)
    assert plan.check() is plan
    assert str(plan).splitlines()[-1] == (
        "2 workers: 1 task at a time and 64 GB each, pieces streamed to its GPU (NVIDIA H200)"
    )


@pytest.mark.linux
@pytest.mark.parametrize("driver", [False, True])
def test_what_is_loaded_does_not_decide_where_a_task_runs(driver, monkeypatch):
    """A driver does: a process that happened to import PyTorch is no other worker."""
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: True))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(worker.os.path, "exists", lambda path: driver and path in worker.DRIVERS)
    assert worker.has_gpu() == driver
