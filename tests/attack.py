"""Every fuzzer for a while, and what it found: ``python tests/attack.py [COUNT] [SEED]``.

COUNT attempts of each kind (10,000 unless given), in processes of their own. The exit status is 1
if anything was found: a wrong value or verdict, an error without a sentence, a crash, a hang, code
run by a file, an escape printed, a fault, more memory than the limit allows.

Fewer of those that take long, but with ``--all``. ``--jobs 14`` runs so many processes side by
side, several of a kind that takes long, each with a seed of its own; ``--seconds 270`` ends each
kind by then, with the attempts it has made; ``--only agreement,onnx`` runs these kinds alone.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from fuzzing import LIMIT

HERE = Path(__file__).parent
FILES = ("csv", "rows", "libsvm", "idx", "fasta", "mbox", "npz", "parquet")
#: What a fuzzer needs beside what the library does; without it, it is left out.
NEEDS = {
    **dict.fromkeys(("commands", "streams", "outputs", "interrupts"), "click"),
    "models": "pandas",
    "readers": "uvicorn",
    "onnx": "onnxruntime",
    **{f"files: {kind}": "pandas" for kind in FILES},
    "files: parquet": "pyarrow",
}
PROCESSES = ("streams", "outputs", "interrupts", "first")
FUZZERS = (
    [(kind, ["fuzz_kernels.py", kind]) for kind in ("trees", "numbers", "grammar", "commands")]
    + [("agreement", ["fuzz_agreement.py"]), ("proofs", ["fuzz_proofs.py"])]
    + [(kind, ["fuzz_processes.py", kind]) for kind in PROCESSES]
    + [(kind, ["fuzz_fits.py", kind]) for kind in ("batches", "standstill")]
    + [("readers", ["lab/fuzz_readers.py"]), ("onnx", ["onnx/fuzz_onnx.py"])]
    + [("models", ["store/fuzz_models.py"]), ("memory", ["measure_memory.py", "all"])]
    + [(f"files: {kind}", ["data/fuzz_files.py", kind]) for kind in FILES]
)
#: Attempts of others for one of a fuzzer that takes long; of memory there are some 200 cases.
SLOW = {"agreement": 5, "interrupts": 20, "first": 20, "standstill": 5, "batches": 5, "memory": 48}
#: Seconds of an attempt, where that is more than `QUICK`, and of what begins a process.
COSTS = {
    "trees": 0.011, "commands": 0.005, "agreement": 0.13, "proofs": 0.018, "streams": 0.037,
    "outputs": 0.048, "interrupts": 1.7, "first": 0.3, "batches": 0.3, "standstill": 0.025,
    "readers": 0.042, "onnx": 0.011, "memory": 2.5, "files: csv": 0.003,
}  # fmt: skip
QUICK, START = 0.002, 4.0
#: What is one process with a state of its own, and is not cut into several.
ALONE = ("readers",)
Report = dict[str, Any]


def attack(script: list[str], count: int, seed: int, seconds: float = math.inf) -> Report:
    """The report of one fuzzer; one that ends without a report is a finding, too."""
    path = os.pathsep.join([str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, str(HERE / script[0]), *script[1:], str(count), str(seed)],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": path,
            "OPENBLAS_NUM_THREADS": "1",
            LIMIT: str(seconds),
        },
        check=False,
    )
    if run.returncode == 0 and run.stdout:
        return dict(json.loads(run.stdout.splitlines()[-1]))
    found = f"ended with status {run.returncode}: {run.stderr[-500:]}"
    return {"outcomes": {}, "problems": [found], "n_problems": 1, "seconds": 0, "slowest": 0}


def together(reports: list[Report]) -> Report:
    """The report of several processes of one fuzzer."""
    outcomes: Counter[str] = Counter()
    for report in reports:
        outcomes.update(report["outcomes"])
    total = {what: sum(r[what] for r in reports) for what in ("n_problems", "seconds")}
    problems = [problem for report in reports for problem in report["problems"]]
    slowest = max(report["slowest"] for report in reports)
    return {"outcomes": outcomes, "problems": problems, "slowest": slowest, **total}


def allotted(costs: dict[str, float], capacity: float) -> dict[str, float]:
    """Seconds of each fuzzer: what it costs, or where all are too much the same for the slowest."""
    level, left = capacity, dict(costs)
    while left and (level := capacity / len(left)) < max(left.values()):
        cheap = {name for name, cost in left.items() if cost <= level}
        if not cheap:
            break
        capacity -= sum(left.pop(name) for name in cheap)
    return {name: min(cost, level) for name, cost in costs.items()}


def planned(counts: dict[str, int], jobs: int, seconds: float) -> dict[str, list[float]]:
    """Of each fuzzer the seconds of each of its processes, which begin the longest first."""
    if jobs == 1 and seconds == math.inf:
        return {name: [math.inf] for name in counts}
    costs = {name: START + n * COSTS.get(name, QUICK) for name, n in counts.items()}
    plan = {}
    for name, given in allotted(costs, 0.85 * jobs * seconds).items():
        parts = 1 if name in ALONE else min(jobs, math.ceil(given / min(0.25 * seconds, 120.0)))
        plan[name] = [START + given / parts] * parts
    return plan


def row(name: str, report: Report) -> str:
    outcomes, found = report["outcomes"], report["n_problems"]
    tried, accepted = sum(outcomes.values()), outcomes.get("accepted", 0)
    refused = tried - accepted - sum(n for k, n in outcomes.items() if k.startswith("undoc"))
    times = f"{report['seconds']:9.0f}{report['slowest']:9}"
    return f"{name:16}{tried:8}{accepted:10}{refused:9}{found:7}{times}"


def main(
    count: int = 10_000,
    seed: int = 0,
    jobs: int = 1,
    seconds: float = math.inf,
    only: str = "",
    all_of_each: bool = False,
) -> int:
    began = time.monotonic()
    heads = (("tried", 8), ("accepted", 10), ("refused", 9), ("found", 7), ("seconds", 9))
    print(f"{'fuzzer':16}", *(f"{head:>{width}}" for head, width in (*heads, ("slowest", 9))),
          sep="", flush=True)  # fmt: skip
    wanted = [entry for entry in FUZZERS if not only or entry[0] in only.split(",")]
    chosen = [entry for entry in wanted if find_spec(NEEDS.get(entry[0], "numpy"))]
    if len(chosen) < len(wanted):
        missing = sorted({entry[0] for entry in wanted} - {entry[0] for entry in chosen})
        print("left out, for want of what they need:", ", ".join(missing), flush=True)
    findings: list[str] = []
    slow = {"memory": SLOW["memory"]} if all_of_each else SLOW
    counts = {name: -(-count // slow.get(name, 1)) for name, _ in chosen}
    plan = planned(counts, jobs, seconds)
    with ThreadPoolExecutor(jobs) as pool:

        def one(script: list[str], attempts: int, at: int, most: float) -> Report:
            return attack(script, attempts, at, min(most, seconds - (time.monotonic() - began)))

        begun: dict[str, list[Future[Report]]] = {}
        for name, script in sorted(chosen, key=lambda entry: -plan[entry[0]][0]):
            parts = plan[name]
            each = -(-counts[name] // len(parts))
            begun[name] = [pool.submit(one, script, each, seed + 1000 * i, most)
                           for i, most in enumerate(parts)]  # fmt: skip
        for name, _ in chosen:
            report = together([future.result() for future in begun[name]])
            print(row(name, report), flush=True)
            findings += map(str, report["problems"])
    print(*(f"· {finding}" for finding in findings), sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=10_000)
    parser.add_argument("seed", nargs="?", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    sys.exit(main(given.count, given.seed, given.jobs, given.seconds, given.only, given.all))
