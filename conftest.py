"""What holds for every test: Numba is there from the start, and what is not installed is left out.

Small problems of a process without Numba are solved without it, so that answers, equal up to the
tolerance of a solver, would otherwise depend on which test came first. For the same reason work
that earlier tests did in NumPy does not count: loops are compiled when enough has added up.
"""

from __future__ import annotations

import ast
import os
import sys
from contextlib import suppress
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

if os.environ.get("MERCER_NUMBA") != "0":
    with suppress(ImportError):
        import numba  # noqa: F401


def pytest_runtest_setup() -> None:
    """What earlier tests have asked for is forgotten (see above)."""
    compiled = sys.modules.get("mercer.gram.cpu.compiled")
    if compiled is not None:
        compiled._done.clear()


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
