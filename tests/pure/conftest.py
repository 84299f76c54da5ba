"""Probes in processes of their own, and which of their results differ in a bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
Hashes = dict[str, list[str]]


def measured(*patterns: str, options: tuple[str, ...] = (), **environment: str) -> Hashes:
    """What `measure.py` prints, run with these options; of variables only `environment` counts."""
    kept = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    kept["PYTHONPATH"] = os.pathsep.join(os.path.abspath(path) for path in sys.path)
    done = subprocess.run(
        [sys.executable, str(HERE / "measure.py"), "--only", *patterns, *options],
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@contextmanager
def busy(count: int = 2) -> Iterator[None]:
    """So many processes that only take time of processors."""
    script = f"import os\nwhile os.getppid() == {os.getpid()}: pass"
    begun = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(count)]
    try:
        yield
    finally:
        for process in begun:
            process.kill()
            process.wait()


def differing(*found: Hashes) -> list[str]:
    """Names of results that do not have the same bits in every call of every process."""
    names = {name for hashes in found for name in hashes}
    every = {name: {h for hashes in found for h in hashes.get(name, [])} for name in names}
    return sorted(name for name, hashes in every.items() if len(hashes) > 1)


@pytest.fixture(name="measured", scope="session")
def _measured() -> Callable[..., Hashes]:
    return measured


@pytest.fixture(name="busy", scope="session")
def _busy() -> Callable[..., object]:
    return busy


@pytest.fixture(name="differing", scope="session")
def _differing() -> Callable[..., list[str]]:
    return differing
