"""The page "In production" names every variable of the environment that the library reads."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import mercer

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guide" / "production.md"
#: Read by libraries before Python begins, and named on the page beside the table.
THEIRS = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}


def constants(tree: ast.AST) -> dict[str, str]:
    return {
        target.id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
    }


def read_by(path: Path) -> set[str]:
    """The names that a file looks up in `os.environ`, as text or by a constant of its own."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known, found = constants(tree), set()
    for node in ast.walk(tree):
        asked: ast.AST | None = None
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.environ.get", "os.getenv"):
            asked = node.args[0]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            asked = node.slice
        elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]) == "os.environ":
            asked = node.left
        if isinstance(asked, ast.Constant):
            found.add(asked.value)
        elif isinstance(asked, ast.Name):
            found.add(known[asked.id])
    return found


def test_the_table_has_every_variable_and_no_other() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("<!-- environment: begin -->")[2]
    listed = re.findall(r"^\| `(\w+)` \|", table.partition("<!-- environment: end")[0], re.M)
    files = Path(mercer.__file__).parent.rglob("*.py")
    assert set(listed) == set().union(*map(read_by, files))
    assert len(listed) == len(set(listed))


def test_no_page_names_a_variable_that_nobody_reads() -> None:
    listed = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.M))
    for page in (ROOT / "docs").rglob("*.md"):
        named = set(re.findall(r"\b(?:MERCER_[A-Z_]+|OMP_NUM_\w+)\b", page.read_text("utf-8")))
        assert named <= listed | THEIRS | {"MERCER_DATA"}, page
