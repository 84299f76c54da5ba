"""Every fuzzer for a while, and what it found: ``python tests/attack.py [COUNT] [SEED]``.

COUNT attempts of each kind (10,000 unless given), each kind in a process of its own. The exit
status is 1 if anything was found: a wrong value or verdict, an error without a sentence, a crash,
a hang, code run by a file, an escape printed, a fault, more memory than the limit allows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
FILES = ["csv", "rows", "libsvm", "idx", "fasta", "mbox", "npz"] + ["parquet"] * bool(
    find_spec("pyarrow")
)
PROCESSES = ("streams", "outputs", "interrupts", "first")
FUZZERS = (
    [(kind, ["fuzz_kernels.py", kind]) for kind in ("trees", "numbers", "grammar", "commands")]
    + [("agreement", ["fuzz_agreement.py"]), ("proofs", ["fuzz_proofs.py"])]
    + [(kind, ["fuzz_processes.py", kind]) for kind in PROCESSES]
    + [(kind, ["fuzz_fits.py", kind]) for kind in ("batches", "standstill")]
    + [("readers", ["lab/fuzz_readers.py"])] * bool(find_spec("uvicorn"))
    + [("onnx", ["onnx/fuzz_onnx.py"])] * bool(find_spec("onnxruntime"))
    + [("models", ["store/fuzz_models.py"]), ("memory", ["measure_memory.py", "all"])]
    + [(f"files: {kind}", ["data/fuzz_files.py", kind]) for kind in FILES]
)
#: Attempts of others for one of a fuzzer that takes long.
SLOW = {"agreement": 5, "interrupts": 20, "first": 20, "standstill": 5, "batches": 5}


def attack(script: list[str], count: int, seed: int) -> dict[str, object]:
    """The report of one fuzzer; one that ends without a report is a finding, too."""
    path = os.pathsep.join([str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, str(HERE / script[0]), *script[1:], str(count), str(seed)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    if run.returncode == 0 and run.stdout:
        return dict(json.loads(run.stdout.splitlines()[-1]))
    found = f"ended with status {run.returncode}: {run.stderr[-500:]}"
    return {"outcomes": {}, "problems": [found], "n_problems": 1, "seconds": 0, "slowest": 0}


def main(count: int = 10_000, seed: int = 0) -> int:
    print(f"{'fuzzer':16}{'tried':>8}{'accepted':>10}{'refused':>9}{'found':>7}"
          f"{'seconds':>9}{'slowest':>9}", flush=True)  # fmt: skip
    findings: list[str] = []
    for name, script in FUZZERS:
        report = attack(script, -(-count // SLOW.get(name, 1)), seed)
        outcomes = dict(report["outcomes"])  # type: ignore[call-overload]
        tried, accepted = sum(outcomes.values()), outcomes.get("accepted", 0)
        found = int(report["n_problems"])  # type: ignore[call-overload]
        refused = tried - accepted - sum(n for k, n in outcomes.items() if k.startswith("undoc"))
        print(f"{name:16}{tried:8}{accepted:10}{refused:9}{found:7}"
              f"{report['seconds']:9}{report['slowest']:9}", flush=True)  # fmt: skip
        findings += map(str, report["problems"])  # type: ignore[call-overload]
    print(*(f"· {finding}" for finding in findings), sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
