"""Broken data files: read, or refused with a sentence; no crash, no hang, no code run."""

import gzip
import io
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import mercer
from mercer.data import DataError, Schema
from mercer.data.rows import read_rows

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


@pytest.mark.linux
def test_some_hundred_broken_tables():
    report = fuzz("csv,rows", 300, 3)
    assert report["outcomes"]["accepted"] > 100


@pytest.mark.linux
def test_some_hundred_broken_files_of_other_formats():
    kinds = "libsvm,idx,fasta,mbox,npz" + (",parquet" if find_spec("pyarrow") else "")
    report = fuzz(kinds, 200, 3)
    assert report["outcomes"]["accepted"] > 200


@pytest.mark.linux
@pytest.mark.slow
def test_ten_thousand_broken_tables():
    fuzz("csv", 10_000, 4)
    fuzz("rows", 2_000, 4)


@pytest.mark.linux
@pytest.mark.slow
def test_files_that_unpack_to_more_than_there_is():
    assert fuzz("bomb", 5, 0)["outcomes"] == {"DataError": 5}


def test_what_fuzzing_found(tmp_path):
    """Lines that end in \\r alone; names in another encoding; a table too large for the limit."""
    (tmp_path / "mac.csv").write_bytes(b"a,b\r1,2\r3,4\r")
    assert mercer.data.load(tmp_path / "mac.csv").X.to_numpy().tolist() == [[1, 2], [3, 4]]
    (tmp_path / "latin.csv").write_bytes("größe,b\n1,2\n".encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8"):
        mercer.data.load(tmp_path / "latin.csv")
    with pytest.raises(DataError, match="not UTF-8"):
        list(read_rows(io.BytesIO("größe\n1\n".encode("latin-1")), Schema("vectors")))
    large = f"a\n1\n{'9' * 400}\n".encode()
    with pytest.raises(DataError, match=r"too large|not a number"):
        list(read_rows(io.BytesIO(large), Schema("table", ("a",), ("number",))))
    (tmp_path / "many.csv").write_bytes(b"a,b\n" + b"x,1\ny,2\n" * 20_000)
    with mercer.config(memory="1MB"), pytest.raises(DataError, match="40002 rows of 2 columns"):
        mercer.data.load(tmp_path / "many.csv")
    (tmp_path / "x.fasta").write_bytes(b">a\n" + b"ACGT" * 100)
    (tmp_path / "x.fasta.gz").write_bytes(gzip.compress(b">a\n" + b"ACGT" * 1_000_000))
    assert len(mercer.data.load(tmp_path / "x.fasta").X) == 1
    with mercer.config(memory="1MB"), pytest.raises(DataError, match="memory limit"):
        mercer.data.load(tmp_path / "x.fasta.gz")
