"""Compiled loops: generated text, compiled once a machine, kept by the text itself."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from mercer.gram.program import Program
from mercer.gram.sides import Side
from mercer.gram.source import render, renderable

_modules: dict[str, ModuleType] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class Compiled:
    """The functions of one program in one dtype."""

    program: Program
    module: ModuleType
    numbers: np.ndarray
    source: str

    def fill(
        self, x: Side, z: Side, rows: slice, columns: slice, tiles: list[Any], out: np.ndarray
    ) -> None:
        matrices = [t for t in tiles if t is not None and t is not out]
        self.module.fill(self.numbers, *matrices, *self._operands(x, z, rows, columns), out)

    def multiply(self, x: Side, z: Side, rows: slice, V: np.ndarray, out: np.ndarray) -> None:
        """out += k(x[rows], z) Vᵀ without a tile in memory; `V` holds one vector a row."""
        self.module.multiply(self.numbers, *self._operands(x, z, rows, slice(0, z.n)), V, out)

    def _operands(self, x: Side, z: Side, rows: slice, columns: slice) -> list[Any]:
        operands: list[Any] = []
        for source in self.program.sources:
            if source.kind == "direct":
                block = np.ascontiguousarray(x.dense(source.rows, rows))
                operands += [block, z.packed(source.rows)]
        operands += [v[rows] for v in x.values]
        operands += [v[columns] for v in z.values]
        return [*operands, columns.start, columns.stop]


def can_compile(program: Program) -> bool:
    return _can_compile(program.epilogue, program.sources)


@lru_cache(maxsize=1024)
def _can_compile(epilogue: Any, sources: tuple[Any, ...]) -> bool:
    return renderable(Program(epilogue, sources, (), (), epilogue))


def compile_epilogue(program: Program, dtype: np.dtype, widths: list[int]) -> Compiled:
    """The compiled loops of a program; `widths`: features of its direct sources, in order."""
    source, numbers = render(program, dtype.name, widths)
    with _lock:
        module = _modules.get(source)
        if module is None:
            module = _modules[source] = _load(source)
    return Compiled(program, module, np.asarray(numbers or [0.0], dtype=dtype), source)


def cache_folder() -> Path:
    """Where generated sources and their machine code are kept; MERCER_CACHE moves it."""
    given = os.environ.get("MERCER_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "mercer"


def _load(source: str) -> ModuleType:
    """Import the text from a file, because Numba keeps machine code beside files only."""
    name = "mercer_" + hashlib.sha256(source.encode()).hexdigest()[:20]
    try:
        path = _write(cache_folder(), name, source)
    except OSError:
        # A read-only home: compile for this process alone.
        path = _write(Path(tempfile.mkdtemp(prefix="mercer-")), name, source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _write(folder: Path, name: str, source: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{name}.py"
    # What lies there is used only if it is what we would write: never trust a stranger's file.
    if path.exists() and path.read_text() == source:
        return path
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    with os.fdopen(handle, "w") as stream:
        stream.write(source)
    os.replace(temporary, path)
    return path
