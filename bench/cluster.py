"""Ridge regression with centers on a Dask cluster: two workers next to one, and what tasks cost.

10⁶ × 20 rows that workers make themselves in pieces of 25 000, 1000 centers, worker processes of
one thread each. `MERCER_BENCH_ROWS=100000` makes it smaller by hand. dask-ml has no kernel
machines; its nearest counterpart is its `rbf_kernel` between rows and centers, and Dask's own
products of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from _harness import Row, at_most, below, claim, faster, main, skipped

import mercer
from mercer import KernelRidge
from mercer.engines.cluster.chunks import Chunks
from mercer.engines.cluster.pool import Call, gather, reduce, run
from mercer.engines.cluster.sums import columns_of_k, normal_sums

ROWS = int(os.environ.get("MERCER_BENCH_ROWS", 1_000_000))
PIECE, CENTERS, SIGMA = 25_000, 1000, 5.0
MODEL: dict[str, Any] = {"alpha": 1e-3, "n_centers": CENTERS, "random_state": 0}
LIMIT = 2e9


def lazy_rows(rows: int = ROWS) -> tuple[Any, Any]:
    """Rows that are drawn where they are needed, and their targets."""
    import dask.array as da

    X = da.random.RandomState(0).standard_normal((rows, 20), chunks=(PIECE, 20))
    return X, da.sin(X[:, 0]) + X[:, 1] * X[:, 2]


@contextmanager
def workers(count: int) -> Iterator[Any]:
    """A client of so many processes; pieces are worked on by them."""
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": "2GB"}
    with (
        LocalCluster(n_workers=count, processes=True, **options) as cluster,
        Client(cluster) as client,
        mercer.config(cluster=client, progress=False),
    ):
        X, y = lazy_rows(4 * PIECE)
        KernelRidge("gaussian(5)", **MODEL).fit(X, y)  # compiles
        yield client


@dataclass(frozen=True)
class Fit:
    """Seconds on the clock and of all workers' processors, bytes that the client sent, the peak."""

    seconds: float
    cpu: float
    sent: int
    peak: float
    model: KernelRidge


def on_workers(count: int) -> Fit:
    with workers(count) as client, counted(client) as sent:
        X, y = lazy_rows()
        before, start = sum(client.run(time.process_time).values()), time.perf_counter()
        model = KernelRidge("gaussian(5)", **MODEL).fit(X, y)
        seconds = time.perf_counter() - start
        cpu = sum(client.run(time.process_time).values()) - before
        return Fit(seconds, cpu, sent[0], max(client.run(peak_bytes).values()), model)


def peak_bytes() -> float:
    import resource

    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024


@contextmanager
def counted(client: Any) -> Iterator[list[int]]:
    """The bytes of all messages from the client to the scheduler."""
    from distributed.protocol import dumps

    sent, send = [0], client._send_to_scheduler

    def counting(message: Any) -> None:
        sent[0] += sum(len(frame) for frame in dumps([message]))
        send(message)

    client._send_to_scheduler = counting
    try:
        yield sent
    finally:
        client._send_to_scheduler = send


# --- what a task costs -----------------------------------------------------------------------


def nothing() -> None:
    pass


def chunk_calls(count: int) -> list[Call]:
    """The sums of some pieces, a task each."""
    X, y = lazy_rows(count * PIECE)
    rows = Chunks.of(X)
    targets, centers = rows.aligned(y), rows[np.arange(CENTERS)]
    make = partial(columns_of_k, mercer.Gaussian(SIGMA), centers)
    pairs = zip(rows.pieces, targets.pieces, strict=True)
    return [Call(normal_sums, (make, True, *pair)) for pair in pairs]


def task_costs(count: int = 8, rounds: int = 3) -> tuple[float, float, float]:
    """Seconds of a piece by a worker, by a plain call here, and of an empty task."""
    there, here = [], []
    with workers(1):
        calls = chunk_calls(count)
        for _ in range(rounds):
            start = time.perf_counter()
            reduce(calls, "sums")
            there.append((time.perf_counter() - start) / count)
            start = time.perf_counter()
            run(calls[0])
            here.append(time.perf_counter() - start)
        empty = []
        for _ in range(rounds):
            start = time.perf_counter()
            gather([Call(nothing)] * 200, "nothing")
            empty.append((time.perf_counter() - start) / 200)
    return min(there), min(here), min(empty)


# --- the nearest counterpart -----------------------------------------------------------------


def dask_ml_seconds(centers: np.ndarray) -> float:
    """The same normal equations by dask-ml's kernel and Dask's products, two workers."""
    from importlib import import_module

    rbf_kernel = import_module("dask_ml.metrics.pairwise").rbf_kernel
    with workers(2) as client:
        X, y = lazy_rows()
        start = time.perf_counter()
        K = rbf_kernel(X, centers, gamma=1 / (2 * SIGMA**2))
        H, R = client.gather(client.compute([K.T @ K, K.T @ y]))
        M = rbf_kernel(centers, centers, gamma=1 / (2 * SIGMA**2))
        np.linalg.lstsq(H + 1e-3 * np.asarray(M), R, rcond=None)
        return time.perf_counter() - start


def measure() -> list[Row]:
    try:
        import distributed  # noqa: F401
    except ImportError:
        return [skipped("two workers next to one", faster(1.7), "Dask is not installed")]
    one, two = on_workers(1), on_workers(2)
    bits = int((one.model.dual_coef_ != two.model.dual_coef_).sum())
    there, here, empty = task_costs()
    centers = np.asarray(one.model.expansion_.points)
    beside = (two.sent - centers.nbytes) / 1e6
    busy = f"{one.cpu:.1f} and {two.cpu:.1f} seconds of processors"
    rows = [
        claim(f"{ROWS:.0e} rows, two workers next to one", two.seconds, one.seconds, faster(1.7),
              busy),
        claim("coefficients that differ in a bit", bits, None, below(0.5, "numbers")),
        claim("a piece by a worker, next to a plain call", there, here, at_most(1.1)),
        claim("an empty task", 1000 * empty, None, below(5.0, "ms")),
        claim("what the client sends beside the centers", beside, None, below(1.0, "MB")),
        claim("peak memory of a worker", max(one.peak, two.peak) / 1e9, None,
              below(LIMIT / 1e9, "GB")),
    ]  # fmt: skip
    try:
        peer = dask_ml_seconds(centers)
    except ImportError:
        rows.append(skipped("the same sums by dask-ml", faster(1.0), "dask-ml is not installed"))
    else:
        rows.append(claim("the same sums by dask-ml", two.seconds, peer, faster(1.0)))
    return rows


if __name__ == "__main__":
    main(measure)
