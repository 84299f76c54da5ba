"""No learner, map or operator takes more than its limit: each measured in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.measure_memory import CASES

SCRIPT = Path(__file__).with_name("measure_memory.py")
SOURCES = str(Path(__file__).parents[1] / "src")
QUICK = ["ridge", "svc", "logistic", "kneighbors", "nystrom-map", "product", "wide-scaled"]


def check(case, megabytes, rows):
    path = os.pathsep.join([SOURCES, os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, str(SCRIPT), case, str(megabytes), str(rows)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["share"] <= 1.1, found
    assert not found["refused"] or "limit" in found["refused"]


@pytest.mark.linux
@pytest.mark.parametrize("case", QUICK)
def test_a_few_stay_within_their_limit(case):
    check(case, 150, 6000)


@pytest.mark.linux
@pytest.mark.slow
@pytest.mark.parametrize(("megabytes", "rows"), [(100, 5000), (200, 8000), (400, 12_000)])
@pytest.mark.parametrize("case", CASES)
def test_all_stay_within_their_limit(case, megabytes, rows):
    check(case, megabytes, rows)
