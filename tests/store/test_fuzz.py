"""Broken and hostile model files: refused with a sentence; no crash, no hang, no code run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

#: The limits of the fuzzing process are those of Linux.
pytestmark = pytest.mark.linux
SCRIPT = Path(__file__).with_name("fuzz_models.py")
SOURCES = str(Path(__file__).parents[2] / "src")


def fuzz(count, seed):
    path = os.pathsep.join([SOURCES, os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, str(SCRIPT), str(count), str(seed)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])


def check(report, count):
    assert not report["problems"]
    assert sum(report["outcomes"].values()) == count
    assert report["outcomes"]["StoreError"] > 0.8 * count
    assert report["grown_mb"] < 300  # the limit is set to 256 MB


def test_some_hundred_broken_files():
    check(fuzz(500, 7), 500)


@pytest.mark.slow
def test_ten_thousand_broken_files():
    check(fuzz(10_000, 8), 10_000)
