"""Ridge regression with centers over pieces: two workers next to one, and rows beyond memory.

10⁶ × 20 rows that workers make themselves, 1000 centers, on a Dask cluster of processes with one
thread each; 10⁷ × 10 rows in Parquet files, read piece by piece in one process.
`MERCER_BENCH_ROWS=100000` makes all of it smaller by hand.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Row, below, claim, faster, main, skipped

import mercer
from mercer import KernelRidge

ROWS = int(os.environ.get("MERCER_BENCH_ROWS", 1_000_000))
PIECE = 25_000
MODEL: dict[str, Any] = {"alpha": 1e-3, "n_centers": 1000, "random_state": 0}


def lazy_rows() -> tuple[Any, Any]:
    """Rows that are drawn where they are needed, and their targets."""
    import dask.array as da

    X = da.random.RandomState(0).standard_normal((ROWS, 20), chunks=(PIECE, 20))
    return X, da.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def on_workers(count: int) -> tuple[float, KernelRidge]:
    """Seconds of a fit, and the model."""
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": "2GB"}
    with (
        LocalCluster(n_workers=count, processes=True, **options) as cluster,
        Client(cluster) as client,
        mercer.config(cluster=client, progress=False),
    ):
        X, y = lazy_rows()
        KernelRidge("gaussian(5)", **MODEL).fit(X[: 4 * PIECE], y[: 4 * PIECE])  # compiles
        start = time.perf_counter()
        model = KernelRidge("gaussian(5)", **MODEL).fit(X, y)
        return time.perf_counter() - start, model


def from_files() -> tuple[float, float]:
    """Seconds and growth of memory of a fit from Parquet files."""
    import resource

    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for part in range(10):
            rows = rng.normal(size=(ROWS, 10)).astype(np.float32)
            table = {f"x{j}": rows[:, j] for j in range(10)} | {"y": np.sin(rows[:, 0])}
            pq.write_table(pa.table(table), Path(folder) / f"{part}.parquet", row_group_size=PIECE)
        del rows, table
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        X, y = mercer.chunks(folder, "y")
        start = time.perf_counter()
        with mercer.config(memory="1GB", progress=False):
            KernelRidge("gaussian(5)", alpha=1e-3, n_centers=500, random_state=0).fit(X, y)
        seconds = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return seconds, (after - before) / 1e6


def measure() -> list[Row]:
    try:
        import distributed  # noqa: F401
    except ImportError:
        return [skipped("two workers next to one", faster(1.7), "Dask is not installed")]
    one, first = on_workers(1)
    two, second = on_workers(2)
    bits = int((first.dual_coef_ != second.dual_coef_).sum())
    seconds, memory = from_files()
    note = f"{10 * ROWS:.0e} × 10 rows in {seconds:.0f} s"
    return [
        claim(f"{ROWS:.0e} rows, two workers next to one", two, one, faster(1.7)),
        claim("coefficients that differ in a bit", bits, None, below(0.5, "numbers")),
        claim("memory that a fit from Parquet adds", memory, None, below(1.0, "GB"), note),
    ]


if __name__ == "__main__":
    main(measure)
