"""`mercer predict model < rows.csv > answers.csv`: a million rows in the memory of ten thousand.

Both runs are the real command in a process of its own, reading a file on stdin.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from _harness import MB, Row, at_most, claim, main

import mercer
from mercer import data

FEW, MANY = 10_000, 1_000_000


def lines(count: int) -> Iterator[str]:
    """A table with a number, a category and a date, the same hundred rows over and over."""
    rng = np.random.default_rng(0)
    rows = [
        f"{age},{town},2020-01-{1 + age % 28:02d}\n"
        for age, town in zip(rng.integers(20, 70, 100), rng.choice(["Ulm", "Oslo"], 100),
                             strict=True)
    ]  # fmt: skip
    yield "age,town,since\n"
    for i in range(0, count, 100):
        yield "".join(rows[: min(100, count - i)])


def fitted(folder: Path) -> Path:
    """A support vector machine on a small table, with its preprocessing."""
    from mercer.cli.fit import build

    text = "".join(lines(1_000)).splitlines()
    labels = ["label", *(str(int(row[0] > "4")) for row in text[1:])]
    table = folder / "table.csv"
    table.write_text("\n".join(f"{a},{b}" for a, b in zip(text, labels, strict=True)))
    found = data.load(table, "label")
    model = build(found, "svm", mercer.Gaussian(2.0), {})[0].fit(found.X, found.y)
    model.schema_ = found.schema
    mercer.save(model, folder / "model.mercer")
    return folder / "model.mercer"


#: The command, and its own peak on stderr at the end: what a parent sees of a child counts the
#: parent's memory at the fork as well.
COMMAND = """
import atexit, resource, sys
from pathlib import Path

def report():
    status = Path("/proc/self/status")
    if status.exists():
        line = next(s for s in status.read_text().splitlines() if s.startswith("VmHWM"))
        peak = 1024 * int(line.split()[1])
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak, file=sys.stderr)

atexit.register(report)
from mercer.cli import main
main(["predict", sys.argv[1]])
"""


def peak(model: Path, rows: Path) -> tuple[float, float]:
    """Bytes at the peak, and seconds, of the whole process."""
    with rows.open("rb") as stream:
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, str(model)],
            stdin=stream,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=True,
        )
    return float(done.stderr.split()[-1]), time.perf_counter() - start


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = fitted(folder)
        found = {}
        for count in (FEW, MANY):
            rows = folder / f"{count}.csv"
            with rows.open("w") as stream:
                stream.writelines(lines(count))
            peak(model, rows)  # writes byte code and compiles
            found[count] = peak(model, rows)
    (few, _), (many, seconds) = found[FEW], found[MANY]
    note = f"a million rows in {seconds:.0f} s; the peer is the same command on {FEW} rows"
    return [claim("predict from a pipe, 10^6 rows: peak memory", many / MB, few / MB,
                  at_most(1.1, "MB"), note)]  # fmt: skip


if __name__ == "__main__":
    main(measure)
