"""Broken data files: read, or refused with a sentence; no crash, no hang, no code run."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("pandas")
SCRIPT = Path(__file__).with_name("fuzz_files.py")
SOURCES = str(Path(__file__).parents[2] / "src")


def fuzz(kind, count, seed):
    path = os.pathsep.join([SOURCES, os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, str(SCRIPT), kind, str(count), str(seed)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    report = json.loads(run.stdout.splitlines()[-1])
    assert not report["problems"]
    assert sum(report["outcomes"].values()) == count * len(kind.split(","))
    assert report["outcomes"]["DataError"] > 0.3 * count
    assert report["grown_mb"] < 400  # the limit is set to 256 MB
    return report


def test_some_hundred_broken_tables():
    report = fuzz("csv", 400, 3)
    assert report["outcomes"]["accepted"] > 40


def test_some_hundred_broken_files_of_other_formats():
    kinds = "libsvm,idx,fasta,mbox,npz" + (",parquet" if find_spec("pyarrow") else "")
    report = fuzz(kinds, 200, 3)
    assert report["outcomes"]["accepted"] > 200


@pytest.mark.slow
def test_ten_thousand_broken_tables():
    fuzz("csv", 10_000, 4)


@pytest.mark.slow
def test_files_that_unpack_to_more_than_there_is():
    assert fuzz("bomb", 5, 0)["outcomes"] == {"DataError": 5}
