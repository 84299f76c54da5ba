"""`mypy --strict` sees the real types of every public name in the code of a user."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mercer

SOURCE = Path(mercer.__file__).resolve().parents[1]


def public_classes() -> list[str]:
    return [name for name in mercer.__all__ if inspect.isclass(getattr(mercer, name, None))]


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What mypy says of a script with one mistake per public class and function, line by line."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("types")
    lines = ["import mercer"]
    lines += [f"mercer.{name}(no_such_argument=1)" for name in public_classes()]
    lines += ["from mercer import KernelSVC", "KernelSVC().fit()"]
    lines += ["mercer.Nothing", "b: int = mercer.__version__", "c: int = mercer.prove"]
    lines += ["mercer.Gaussian().nothing", "mercer.data.nothing"]
    (folder / "user.py").write_text("\n".join(lines))
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "user.py"],
        cwd=folder,
        env={"MYPYPATH": str(SOURCE), "PATH": "", "MYPY_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    wrong = {int(line.split(":")[1]) for line in run.stdout.splitlines() if ": error:" in line}
    return [text for number, text in enumerate(lines, 1) if number not in wrong]


@pytest.mark.slow
def test_every_mistake_is_seen(complaints: list[str]) -> None:
    assert complaints == ["import mercer", "from mercer import KernelSVC"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_nineteen_of_twenty_public_types_are_known(tmp_path: Path) -> None:
    """The others are mostly what derives from classes of scikit-learn, which has no types."""
    paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
    run = subprocess.run(
        ["pyright", "--verifytypes", "mercer", "--ignoreexternal", "--outputjson"],
        cwd=tmp_path,
        env=os.environ | {"PATH": os.pathsep.join(paths), "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert json.loads(run.stdout)["typeCompleteness"]["completenessScore"] >= 0.95


def test_what_type_checkers_see_is_what_loads() -> None:
    """The imports for type checkers name every public name and nothing else."""
    import ast

    tree = ast.parse((SOURCE / "mercer" / "__init__.pyi").read_text(encoding="utf-8"))
    named = {
        (alias.asname or alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(mercer.learners.__all__) < named
    assert named - {"_names"} | {"__version__"} == set(mercer.__all__)
