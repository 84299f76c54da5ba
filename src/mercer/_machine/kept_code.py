"""Numba's compiler, with machine code kept where it can be trusted and never in the way.

Numba keeps machine code beside the source and raises where a file there is damaged. Here it is kept
in the library's own cache folder (`mercer._machine.cache`), which is checked before every read.
What cannot be read is compiled again, and what cannot be written is done without.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, event, sigutils
from numba.core.ccallback import CFunc

from mercer._machine.cache import cache_folder, is_trusted


def compiled(body: Callable[..., Any], options: dict[str, Any]) -> Any:
    """As ``numba.njit(**options)(body)``; the machine code is always kept."""
    dispatcher = numba.njit(**{"no_cfunc_wrapper": True, **options})(body)
    if hasattr(dispatcher, "_cache"):  # not where NUMBA_DISABLE_JIT is set
        with suppress(Exception):  # without a place to keep it, it is compiled every time
            dispatcher._cache = _Kept(body)
    return dispatcher


def callback(signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """As `numba.cfunc`: a function at an address, which other machine code can call."""

    def compiled(body: Callable[..., Any]) -> Any:
        found: Any = CFunc(body, sigutils.normalize_signature(signature), {}, options)
        with suppress(Exception):
            found._cache = _Kept(body)
        found.compile()
        return found

    return compiled


#: Seconds of compiling after which it is said.
PATIENCE = 1.0


class _Notice(event.Listener):  # type: ignore[misc]
    """Says on a terminal what is being compiled, where that takes more than a moment."""

    def __init__(self) -> None:
        self._here = threading.local()

    def on_start(self, event: Any) -> None:
        depth = self._here.depth = getattr(self._here, "depth", 0) + 1
        if depth == 1 and sys.stderr.isatty():
            name = getattr(event.data.get("dispatcher"), "__name__", "a loop")
            self._here.timer = threading.Timer(PATIENCE, self._say, (name,))
            self._here.timer.daemon = True
            self._here.timer.start()

    def on_end(self, event: Any) -> None:
        self._here.depth -= 1
        timer = getattr(self._here, "timer", None)
        if self._here.depth == 0 and timer is not None:
            timer.cancel()
            self._here.timer = None

    def _say(self, name: str) -> None:
        from mercer._config import get_config

        if get_config().progress:
            words = "compiling for this processor; only the first use waits (`mercer warm`: none)"
            print(f"mercer: {words}: {name}", file=sys.stderr, flush=True)


with suppress(Exception):  # an event of Numba's, which may be called otherwise one day
    event.register("numba:compile", _Notice())


class _Place(caching._CacheLocator):  # type: ignore[misc]
    """A folder for each source file, by its path; a changed source makes kept code stale."""

    def __init__(self, function: Any, file: str) -> None:
        self._file, self._line = file, function.__code__.co_firstlineno
        digest = hashlib.sha256(str(Path(file).resolve()).encode()).hexdigest()[:16]
        self._folder = f"{Path(file).stem}-{digest}"

    def get_cache_path(self) -> str:
        return str(cache_folder() / "machine-code" / self._folder)

    def get_source_stamp(self) -> str:
        with suppress(OSError):
            return hashlib.sha256(Path(self._file).read_bytes()).hexdigest()
        return ""

    def get_disambiguator(self) -> str:
        return str(self._line)

    def ensure_cache_path(self) -> None:
        os.makedirs(self.get_cache_path(), mode=0o700, exist_ok=True)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Place:
        return cls(py_func, py_file)


class _Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = [_Place]  # noqa: RUF012 - as Numba has it


class _Kept(caching.FunctionCache):  # type: ignore[misc]
    """Machine code on disk that is used if it can be read, and written if it can be."""

    _impl_class = _Implementation

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        self._follow()
        folder = Path(self._cache_path)
        if not folder.is_dir() or not is_trusted(folder):
            return None
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            with suppress(Exception):
                self.flush()  # damaged: what is compiled now takes its place
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        self._follow()
        with suppress(Exception):  # a full or read-only disk
            self._impl.locator.ensure_cache_path()
            if is_trusted(Path(self._cache_path)):
                super().save_overload(sig, data)

    def _follow(self) -> None:
        """The folder may be another one by now: the environment decides at the time of use."""
        path = self._impl.locator.get_cache_path()
        if path != self._cache_path:
            self._cache_path = path
            self._cache_file = caching.IndexDataCacheFile(
                cache_path=path,
                filename_base=self._impl.filename_base,
                source_stamp=self._impl.locator.get_source_stamp(),
            )
