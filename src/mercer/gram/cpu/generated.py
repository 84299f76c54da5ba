"""Generated modules: text in, module out, kept on disk under the digest of the text."""

from __future__ import annotations

import hashlib
import linecache
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from mercer._machine.cache import cache_folder

_modules: dict[str, ModuleType] = {}
_lock = threading.Lock()


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
