"""The boards of earlier versions come out again, to the digit; see `golden/make.py`."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

FOLDER = Path(__file__).parent / "golden"
make = SimpleNamespace(**runpy.run_path(str(FOLDER / "make.py")))
BOARDS = json.loads((FOLDER / "boards.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return make.cases(tmp_path_factory.mktemp("files"))


def same(found, expected, where=""):
    """Equal but for the last digits of floats, which another processor may round otherwise."""
    assert type(found) is type(expected), where
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            same(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for i, value in enumerate(expected):
            same(found[i], value, f"{where}[{i}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), where
    else:
        assert found == expected, where


@pytest.mark.parametrize("name", BOARDS)
def test_the_board_is_the_same(name, cases):
    same(make.found(*cases[name]), BOARDS[name])


def test_every_case_has_its_board(cases):
    assert cases.keys() == BOARDS.keys()
