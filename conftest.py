"""Doctests of modules whose optional package is not installed are left out."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

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


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Doctests of modules whose optional package is not installed are left out, not failed.

    Only imports at the top of a module count; any other failure to import is an error.
    """
    if collection_path.suffix != ".py" or "src" not in collection_path.parts or not MISSING:
        return None
    imported: set[str] = set()
    for node in ast.parse(collection_path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    return True if imported & MISSING else None
