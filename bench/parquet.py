"""Ridge regression from Parquet files in one process: 10⁷ × 10 rows on two cores, within 1 GB.

Files are written by one process and learned from by another, whose peak memory is that of all it
does, imports included. `MERCER_BENCH_ROWS=1000000` makes it smaller by hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from _harness import Row, below, claim, main

ROWS = int(os.environ.get("MERCER_BENCH_ROWS", 10_000_000))
FILES, GROUP = 10, 25_000

WRITE = """
import sys
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

folder, rows, files, group = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(0)
for part in range(files):
    X = rng.normal(size=(rows // files, 10)).astype(np.float32)
    table = {f"x{j}": X[:, j] for j in range(10)} | {"y": np.sin(X[:, 0])}
    pq.write_table(pa.table(table), f"{folder}/{part}.parquet", row_group_size=group)
"""

FIT = """
import json, resource, sys, time
import mercer

X, y = mercer.chunks(sys.argv[1], "y")
model = mercer.KernelRidge("gaussian(5)", alpha=1e-3, n_centers=500, random_state=0)
wall, cpu = time.perf_counter(), time.process_time()
with mercer.config(memory="1GB", progress=False):
    model.fit(X, y)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak}))
"""


def python(code: str, *args: object) -> str:
    """What a new process prints."""
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        python(WRITE, folder, ROWS, FILES, GROUP)
        found = json.loads(python(FIT, folder))
    note = f"{ROWS:.0e} × 10 rows, 500 centers: {found['wall']:.0f} s, {found['cpu']:.0f} s of CPU"
    return [claim("peak memory of a fit from Parquet", found["peak"], None, below(1.0, "GB"), note)]


if __name__ == "__main__":
    main(measure)
