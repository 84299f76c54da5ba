"""Thresholds are counted (tools/constants.py): their number only ever falls."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parent.parent / "tools" / "constants.py"
SPEC = importlib.util.spec_from_file_location("constants", PATH)
constants = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(constants)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("A = 3", ["A"]),
        ("A, B = 2**-3, -1e-5", ["A", "B"]),
        ("A: dict[int, float] = {8: 1e-11, 4: 1e-6}", ["A"]),
        ("_A = (1, 2.5)", ["_A"]),
        ("A, B, C = range(3)", []),
        ("A = np.finfo(float).eps", []),
        ("A = B", []),
        ("A = True", []),
        ("A: Final = 2**53", []),
        ("small = 3", []),
        ("def f():\n    A = 3", []),
    ],
)
def test_what_counts(text, names):
    assert [name for name, _ in constants.constants_of(text)] == names


def test_names_with_two_values():
    some = [
        ("a.py", "ROWS", "5"),
        ("b.py", "ROWS", "6"),
        ("b.py", "SHARE", "5"),
        ("c.py", "SHARE", "5"),
    ]
    assert constants.twice(some) == {"ROWS": {"5", "6"}}


def test_there_are_no_more_thresholds_than_before(capsys):
    assert constants.main(["--check"]) == 0, capsys.readouterr().out
