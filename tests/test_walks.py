"""Through how many functions and files a warm call passes: the numbers only go down."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("numba")
PLACE = Path(__file__).resolve().parent.parent / "tools" / "walk.py"
#: Functions and files at most.
MOST = {
    "KernelSVC.fit": (135, 38),
    "KernelSVC.predict": (94, 26),
    "KernelRidge.fit": (212, 48),
    "Gaussian(1.0)(X)": (57, 20),
    "KernelPerceptron.fit": (174, 41),
}


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("walk", PLACE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore")
def test_no_walk_grows(tool):
    found = {name: tool.walk(call) for name, call in tool.walks().items()}
    assert found.keys() == MOST.keys()
    assert [name for name, count in found.items() if any(map(int.__gt__, count, MOST[name]))] == []


def test_functions_and_files_are_counted(tool):
    import mercer

    functions, files = tool.walk(mercer.Linear)
    assert 0 < files <= functions < 60
    assert tool.walk(lambda: sorted([2, 1])) == (0, 0)
