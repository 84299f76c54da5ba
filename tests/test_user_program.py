"""A program of a hundred lines runs, and type checkers have nothing to say about it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mercer

SOURCE = Path(mercer.__file__).resolve().parents[1]
PROGRAM = Path(__file__).with_name("user_program.py")
#: Every kernel that has a name, by the import of the README.
KERNELS = """from mercer.kernels import {name}
made_{name}: type[{name}] = {name}
"""


def test_it_runs(tmp_path: Path) -> None:
    path = os.pathsep.join(filter(None, [str(SOURCE), *sys.path]))
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "served\n", done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(PROGRAM, tmp_path / "user_program.py")
    known = mercer.kernels.KERNELS.items()
    ours = [name for name, kind in known if kind.__module__.startswith("mercer.")]
    text = "".join(KERNELS.format(name=name) for name in ours)
    (tmp_path / "user_kernels.py").write_text(text, encoding="utf-8")
    return tmp_path


def checked(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        [*command, "user_program.py", "user_kernels.py"],
        cwd=folder,
        env=os.environ | {"MYPYPATH": str(SOURCE), "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return done.stdout if done.returncode else ""


def test_mypy_strict_has_nothing_to_say(folder: Path) -> None:
    pytest.importorskip("mypy")
    assert len((folder / "user_kernels.py").read_text().splitlines()) > 80
    options = ["--strict", "--follow-imports=silent", "--disable-error-code=import-untyped"]
    command = [sys.executable, "-m", "mypy", *options, "--disallow-any-generics"]
    assert not checked([*command, "--cache-dir", str(folder / "cache")], folder)


@pytest.mark.slow
def test_pyright_has_nothing_to_say(folder: Path) -> None:
    if shutil.which("pyright") is None:
        pytest.skip("pyright is not installed")
    assert not checked(["pyright", "--pythonpath", sys.executable], folder)
