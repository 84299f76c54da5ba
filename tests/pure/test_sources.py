"""No line of the library asks what the process, its cache or the machine went through."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import mercer

SOURCE = Path(mercer.__file__).parent
#: Functions, classes, modules and constants that once chose a road by the state of the process.
GONE = {
    "Loop",
    "cores_are_free",
    "is_imported",
    "is_running",
    "patience",
    "work_done",
}
#: Who may look at which modules are loaded, and what for; none of them chooses how to compute.
LOOKS_AT_MODULES = {
    "_lazy.py": "a name that was loaded is kept in its package",
    "gram/cpu/compiled.py": "a generated module is entered, for tracebacks",
    "store/reading.py": "the version of scikit-learn, to warn",
    "store/writing.py": "the version of scikit-learn, to write it down",
    "engines/cluster/worker.py": "whether this process is a worker of Dask",
}
#: Where what is computed is decided: there is no clock in there, but for work that gives up.
DECIDES = ("formula", "gram", "kernels", "learners", "maps", "reasons", "solvers", "stats",
           "_tiles.py")  # fmt: skip
CLOCKS = {
    "kernels/strings/grams.py": "refuses patterns that search without end",
}
#: Texts that ask the system about its load, or for the states of threads; and functions.
LOAD = ("loadavg", "/proc/self/task", "/proc/stat", "/proc/pressure")
ASKED = {"getloadavg", "cpu_percent", "virtual_memory"}


@cache
def trees() -> dict[str, ast.Module]:
    found = sorted(SOURCE.rglob("*.py"))
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in found
    }


def defined(tree: ast.Module) -> set[str]:
    """Names of functions, classes, imports and constants; parameters are another matter."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.name.rpartition(".")[2] for alias in node.names}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        names |= {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return names


def attributes(tree: ast.Module, owner: str | None = None) -> set[str]:
    """What is taken from a module: `owner.name`, or `from owner import name`; or from whatever.

    Under whichever name it is imported, and where it is imported in the middle of a line.
    """
    names, taken = {owner}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname for alias in node.names if alias.name == owner}
        elif isinstance(node, ast.ImportFrom) and owner in (None, node.module):
            taken |= {alias.name for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            of = node.value
            named = of.id if isinstance(of, ast.Name) else None
            if isinstance(of, ast.Call) and of.args and isinstance(of.args[0], ast.Constant):
                named = of.args[0].value  # __import__("os"), import_module("os")
            if owner is None or named in names:
                taken.add(node.attr)
    return taken


def texts(tree: ast.Module) -> list[str]:
    """Every string and bytes but docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    return [
        str(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str | bytes)
        and id(node) not in docs
    ]


def test_forks_on_the_state_of_the_process_are_gone():
    forks = {
        path: sorted(name for name in defined(tree) if name in GONE or name.startswith("COLD_"))
        for path, tree in trees().items()
    }
    assert {path: names for path, names in forks.items() if names} == {}


def test_nobody_else_looks_at_which_modules_are_loaded():
    looking = {path for path, tree in trees().items() if "modules" in attributes(tree, "sys")}
    assert looking <= LOOKS_AT_MODULES.keys()


def test_nobody_asks_for_the_load_of_the_machine():
    asking = [
        path
        for path, tree in trees().items()
        if any(word in text for text in texts(tree) for word in LOAD) or ASKED & attributes(tree)
    ]
    assert asking == []


@pytest.mark.parametrize(
    "line",
    [
        "import os; os.getloadavg()",
        "import os as o; o.getloadavg()",
        "from os import getloadavg as load",
        "__import__('os').getloadavg()",
        "importlib.import_module('os').getloadavg()",
    ],
)
def test_whatever_it_is_taken_by_is_seen(line):
    assert "getloadavg" in attributes(ast.parse(line)) & attributes(ast.parse(line), "os")


@pytest.mark.parametrize("part", DECIDES)
def test_no_clock_decides_what_is_computed(part):
    timed = {
        path for path, tree in trees().items() if path.startswith(part) and attributes(tree, "time")
    }
    assert timed <= CLOCKS.keys()


def test_only_the_settings_ask_for_memory():
    """`limit_bytes` and `memory_bytes` are settings; what is free now is asked to warn, only."""
    asking = {path for path, tree in trees().items() if "free_memory" in defined(tree)}
    assert asking <= {"_machine/resources.py", "_config.py"}
