"""Generated modules: text in, module out, kept on disk under the digest of the text."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
import threading
from pathlib import Path
from types import ModuleType

_modules: dict[str, ModuleType] = {}
_lock = threading.Lock()


def cache_folder() -> Path:
    """Where generated sources and their machine code are kept; MERCER_CACHE moves it."""
    given = os.environ.get("MERCER_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "mercer"


def load_generated(source: str) -> ModuleType:
    """The module of this text; the same object for the same text.

    It is imported from a file, because compilers read sources and keep machine code beside files.
    """
    with _lock:
        if source not in _modules:
            _modules[source] = _load(source)
        return _modules[source]


def _load(source: str) -> ModuleType:
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
    if path.exists() and path.read_text(encoding="utf-8") == source:
        return path
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(source)
    os.replace(temporary, path)
    return path
