"""COVERAGE.md and ERRATA.md name tests: each of them exists, and none is left out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import mercer

HERE = Path(__file__).parent


def _tests(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def _named(text: str) -> set[str]:
    return {
        name for name in re.findall(r"`(test_\w+)`", text) if not re.match(r"test_lecture_", name)
    }


def _lecture_tests() -> dict[str, set[str]]:
    return {path.name: _tests(path) for path in sorted(HERE.glob("test_lecture_*.py"))}


def test_every_lecture_has_its_file():
    assert {f"test_lecture_00{i}.py" for i in range(5)} <= set(_lecture_tests())


def test_coverage_names_exactly_the_tests_of_each_lecture():
    sections = re.split(
        r"^## Lecture ", (HERE / "COVERAGE.md").read_text(encoding="utf-8"), flags=re.M
    )
    tests = _lecture_tests()
    assert len(sections) == 6
    for section in sections[1:]:
        number = section[:3]
        own = tests[f"test_lecture_{number}.py"] | tests[f"test_lecture_{number}_perceptron.py"]
        named = _named(section)
        elsewhere = set().union(*tests.values())
        assert own <= named, f"not in the table of {number}: {sorted(own - named)}"
        assert named <= elsewhere, f"no such test: {sorted(named - elsewhere)}"


def _items() -> dict[int, str]:
    """The number of each item and where it is."""
    text = (HERE / "COVERAGE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| \d{3}:.*?\| .* \| (.*) \|$", text, flags=re.M)
    return {int(number): where for number, where in rows}


def test_every_item_of_the_lectures_is_somewhere():
    items = _items()
    assert sorted(items) == [i for i in range(1, 218) if i != 37]
    missing = {i for i, where in items.items() if not re.search(r"`\w|nothing to do: ", where)}
    assert not missing
    assert not {i for i, where in items.items() if "to come: " in where}


def test_what_the_items_name_exists():
    tests = set().union(*_lecture_tests().values())
    for number, where in _items().items():
        for name in re.findall(r"`([^`()]+)`", where):
            if name.startswith("test_"):
                assert name in tests, (number, name)
            elif name.startswith(("examples/", "docs/")):
                assert (HERE.parents[1] / name).exists(), (number, name)
            else:
                found = mercer
                for part in name.removeprefix("mercer.").split("."):
                    found = getattr(found, part)  # an error names what is not there


def test_the_lectures_are_called_by_name():
    text = (HERE / "COVERAGE.md").read_text(encoding="utf-8")
    for who in ("Alan Ritter", "Jacob Abernethy", "Geoff Gordon and Alex Smola", "Dan Klein"):
        assert who in text


def test_errata_names_existing_tests():
    named = _named((HERE / "ERRATA.md").read_text(encoding="utf-8"))
    assert len(named) > 30
    assert named <= set().union(*_lecture_tests().values())


def test_every_test_cites_its_lecture():
    for name in _lecture_tests():
        number = name[len("test_lecture_") :][:3]
        for node in ast.walk(ast.parse((HERE / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                words = ast.get_docstring(node) or ""
                cited = f"{number}, " if number.isdigit() else words[:3].rjust(3, "x") + ", "
                assert words.startswith(cited), f"{name}: {node.name}"
                assert words[:3].isdigit(), f"{name}: {node.name}"
