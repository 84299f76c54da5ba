"""Compiled loops: generated text, compiled once per machine, and kept under its digest."""

from __future__ import annotations

import hashlib
import linecache
import os
import sys
import threading
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from mercer._lazy import record
from mercer._machine.cache import cache_folder
from mercer._machine.jit import may_compile
from mercer.formula.nodes import is_column_product
from mercer.gram.cpu.numba_source import render, renderable
from mercer.gram.form import Program

_modules: dict[str, ModuleType] = {}
_lock = threading.Lock()


@record
class Compiled:
    """The compiled functions of one program in one dtype, and the numbers of its formula."""

    module: ModuleType
    numbers: np.ndarray
    source: str


@lru_cache(maxsize=1024)
def can_compile(program: Program, dtype: np.dtype | None = None) -> bool:
    """Whether the loops of a program have a compiled form, in this precision if it is given.

    A product over many columns loses a digit in float32: NumPy makes it in float64.
    """
    single = dtype == np.float32 and any(is_column_product(s.node) for s in program.sources)
    return may_compile() and not single and renderable(program)


@lru_cache(maxsize=512)
def compile_epilogue(program: Program, dtype: np.dtype, widths: tuple[int, ...]) -> Compiled:
    """The compiled loops of a program; `widths`: columns of its direct sources, in order."""
    source, numbers = render(program, dtype.name, list(widths))
    return Compiled(load_generated(source), constants(numbers, dtype.name), source)


def constants(numbers: list[float], dtype: Any) -> np.ndarray:
    """The numbers of a text; what float32 cannot hold, such as a bound, is infinite there."""
    with np.errstate(over="ignore"):
        return np.asarray(numbers or [0.0], dtype=dtype)


def load_generated(source: str) -> ModuleType:
    """The module of this text; the same object for the same text.

    The text is written to a file, because compilers read sources there and errors quote them. What
    runs is the text itself: nothing is ever read back, neither a source nor byte code.
    """
    with _lock:
        if source not in _modules:
            _modules[source] = _load(source)
        return _modules[source]


def _load(source: str) -> ModuleType:
    name = "mercer_" + hashlib.sha256(source.encode()).hexdigest()[:20]
    path = cache_folder() / f"{name}.py"
    with suppress(OSError):  # a full disk: the text runs all the same
        _write(path, source)
    # Compilers ask for the source of a function: they get this text, whatever the file holds.
    linecache.cache[str(path)] = (len(source), None, source.splitlines(keepends=True), str(path))
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102 - our own text
    return module


def _write(path: Path, source: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8", errors="replace") == source:
        return
    temporary = path.with_suffix(f".{os.getpid()}.tmp")  # as public as any new file of the user's
    try:
        temporary.write_text(source, encoding="utf-8")
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
