"""Whether `mercer compare --budget` keeps its budget: from the start of the process to its exit.

Twenty runs of 2 to 60 seconds on tables of 300 to 30,000 rows, each with report, model and
scoreboard written; then the same while every core is busy with something else. A run may end 10 %
or one second after its budget, whichever is more. `--soak=200` adds that many runs of one to two
seconds under load, which must all end by themselves, with exit code 0.

    python bench/budget.py [--runs=20] [--most=60] [--only=idle|loaded|soak] [--soak=0]
    python bench/budget.py --only=soak --soak=200    # the soak alone
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from _harness import Row, below, claim, cores, main

#: Budgets in seconds, and the rows of the tables that they are spent on.
BUDGETS = (2, 2, 2, 3, 3, 4, 5, 5, 6, 8, 8, 10, 12, 15, 15, 20, 25, 30, 45, 60)
SIZES = (300, 3_000, 30_000)
#: Budgets of a soak; seconds after which a run counts as one that hangs.
SHORT, HANG = (1, 1.5, 2), 60.0


def option(name: str, value: str) -> str:
    given = [a.partition("=")[2] for a in sys.argv if a.startswith(f"--{name}=")]
    return given[0] if given else value


def table(folder: Path, rows: int, classes: int) -> Path:
    random = np.random.default_rng(rows)
    X = random.normal(size=(rows, 8))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * random.normal(size=rows)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(8)])
    frame["town"] = random.choice(["north", "east", "south"], rows)
    frame["y"] = np.digitize(y, [-1, 0, 1][:classes]).astype(str) if classes else y
    path = folder / f"table{rows}-{classes}.csv"
    frame.to_csv(path, index=False)
    return path


@contextmanager
def load(busy: bool) -> Iterator[None]:
    """Every core has something else to do."""
    words = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(words) for _ in range(cores() if busy else 0)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def seconds(path: Path, budget: float, out: Path) -> float:
    command = [sys.executable, "-m", "mercer", "compare", str(path), "--target", "y"]
    begin = time.perf_counter()
    done = subprocess.run(
        [*command, "--budget", f"{budget}s", "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=HANG + 2 * budget,
    )
    spent = time.perf_counter() - begin
    if done.returncode:
        raise RuntimeError(f"mercer compare ended with {done.returncode}: {done.stderr}")
    return spent


def measure() -> list[Row]:
    budgets = [b for b in BUDGETS if b <= float(option("most", "60"))][: int(option("runs", "20"))]
    made = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = [table(folder, rows, classes) for rows in SIZES for classes in (1, 0, 3)]
        seconds(tables[0], 5, folder / "out")  # what is compiled at first use is compiled here
        for kind in ("idle", "loaded"):
            if option("only", kind) != kind:
                continue
            over, worst = [], 0.0
            with load(kind == "loaded"):
                for i, budget in enumerate(budgets):
                    path = tables[i % len(tables)]
                    spent = seconds(path, budget, folder / "out")
                    excess = (spent - budget) / max(1.0, 0.1 * budget)
                    over.append(excess > 1)
                    worst = max(worst, excess)
                    print(f"{kind}: {path.stem} {budget:3d} s took {spent:6.2f} s "
                          f"({100 * (spent / budget - 1):+.0f} %)", flush=True)  # fmt: skip
            made.append(claim(
                f"compare, budgets of {budgets[0]}–{budgets[-1]} s, {kind} machine: worst excess",
                worst, None, below(1.0, "× allowed"),
                f"{sum(over)} of {len(over)} runs ended later than 10 % or 1 s after their budget",
            ))  # fmt: skip
        if int(option("soak", "0")) and option("only", "soak") == "soak":
            made.append(soak(tables, int(option("soak", "0")), folder / "out"))
    return made


def soak(tables: list[Path], runs: int, out: Path) -> Row:
    """Many short runs under load: how many hang or crash, and how late they are."""
    bad, late = 0, []
    with load(True):
        for i in range(runs):
            budget = SHORT[i % len(SHORT)]
            try:
                late.append(seconds(tables[i % len(tables)], budget, out) - budget)
            except (subprocess.TimeoutExpired, RuntimeError) as error:
                bad += 1
                print(f"run {i}: {error}", flush=True)
    told = f"{np.median(late):.1f} s, at most {max(late):.1f} s" if late else "never"
    return claim(
        f"compare, {runs} budgets of 1–2 s, loaded machine: hang or crash",
        float(bad), None, below(0.5, "runs"), f"they end after their budget by {told}",
    )  # fmt: skip


if __name__ == "__main__":
    if "--help" in sys.argv:
        sys.exit(print(__doc__))
    main(measure)
