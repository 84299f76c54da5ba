"""Doctests of modules whose optional package is not installed are left out."""

from __future__ import annotations

import ast
import gc
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

OPTIONAL = (
    "click",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "pandas",
    "torch",
    "triton",
)
MISSING = {name for name in OPTIONAL if find_spec(name) is None}
SOURCE = Path(__file__).parent / "src"


@pytest.fixture(autouse=True, scope="session")
def _examples_are_a_users(doctest_namespace: dict[str, Any]) -> None:
    """Classes of an example are those of a program, not of the module around the docstring."""
    doctest_namespace["__name__"] = "__main__"


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector looks at it no more."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Extensions that look for leaks at the end see what was collected, again."""
    gc.unfreeze()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Doctests of modules that need a package that is not installed are left out, not failed.

    Only imports at the top of a module, of the packages around it and of our modules that these
    import count; any other failure to import is an error.
    """
    if collection_path.suffix != ".py" or SOURCE not in collection_path.parents or not MISSING:
        return None
    seen, waiting = {collection_path}, [collection_path]
    while waiting:
        lacks, others = _needed(waiting.pop())
        if lacks:
            return True
        waiting += (new := [file for file in others if file not in seen])
        seen.update(new)
    return None


@cache
def _needed(file: Path) -> tuple[bool, list[Path]]:
    """Whether a file itself imports what is missing, and which of our files come with it."""
    names: list[str] = []
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    around = [p / "__init__.py" for p in file.parents if SOURCE in p.parents]
    paths = [SOURCE.joinpath(*name.split(".")) for name in names]
    ours = [*around, *(f for p in paths for f in (p.with_suffix(".py"), p / "__init__.py"))]
    lacks = any(name.partition(".")[0] in MISSING for name in names)
    return lacks, list({f for f in ours if f.is_file()})
