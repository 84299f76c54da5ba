"""Numba's compiler, with machine code kept where it can be trusted and never in the way.

Numba keeps machine code beside the source and raises where a file there is damaged. Here it is kept
in the library's own cache folder (`mercer._machine.cache`), which is checked before every read.
What cannot be read is compiled again, and what cannot be written is done without.

Numba's cache has no documented way to be given another folder and a check: what stands in `_kept`
are its own classes. Where they have changed, functions are compiled in every process.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba

from mercer._machine import compiling  # noqa: F401 - says what is compiled
from mercer._machine.cache import cache_folder, is_trusted

_PACKAGE = Path(__file__).parents[1]
_LANES = Path(__file__).parent / "lanes"
#: What Numba has to know to be given it; without, code is larger and takes longer to compile.
_OPTIONAL = ("no_cfunc_wrapper", "forceinline")


@lru_cache(maxsize=1)
def _unknown() -> frozenset[str]:
    """Options that this version of Numba does not have."""
    try:
        from numba.core.options import DefaultOptions
    except ImportError:
        return frozenset(_OPTIONAL)
    return frozenset(name for name in _OPTIONAL if not hasattr(DefaultOptions, name))


def _known(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in _unknown()}


def compiled(body: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile by ``numba.njit(**options)``, and keep the machine code."""
    dispatcher = numba.njit(**_known({"no_cfunc_wrapper": True, **options}))(body)
    _keep(dispatcher, body)
    return dispatcher


def registered(body: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Register by ``numba.extending.register_jitable(**options)``."""
    from numba.extending import register_jitable

    accepted = _known({"no_cfunc_wrapper": True, **options})
    return register_jitable(**accepted)(body) if accepted else register_jitable(body)


def callback(signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate as `numba.cfunc` does: a function at an address for other machine code to call."""

    def made(body: Callable[..., Any]) -> Any:
        try:
            from numba.core.ccallback import CFunc

            function: Any = CFunc(body, (signature.args, signature.return_type), {}, options)
        except (ImportError, AttributeError, TypeError):
            return numba.cfunc(signature, **options)(body)
        _keep(function, body)
        function.compile()
        return function

    return made


def _keep(function: Any, body: Callable[..., Any]) -> None:
    """Give a function a cache on disk; where Numba has no such cache, it is compiled every time."""
    if hasattr(function, "_cache"):  # not where NUMBA_DISABLE_JIT is set
        with suppress(Exception):
            function._cache = _kept()(body)


@lru_cache(maxsize=256)
def _stamp(file: str) -> str:
    """A digest of a source file, of those beside it and of `lanes`: other text makes code stale."""
    from mercer._machine.lanes import FORM

    path, digest = Path(file), hashlib.sha256(FORM.encode())
    beside = sorted(path.parent.glob("*.py")) if path.is_relative_to(_PACKAGE) else [path]
    for one in (*beside, *sorted(_LANES.glob("*.py"))):
        with suppress(OSError):
            digest.update(one.read_bytes())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _kept() -> Any:
    """Numba's cache of one function, in the folder of this library."""
    from numba.core import caching

    class Place(caching._CacheLocator):  # type: ignore[misc]
        """A folder for each source file, by its path."""

        def __init__(self, function: Any, file: str) -> None:
            self._file, self._line = file, function.__code__.co_firstlineno
            digest = hashlib.sha256(str(Path(file).resolve()).encode()).hexdigest()[:16]
            self._folder = f"{Path(file).stem}-{digest}"

        def get_cache_path(self) -> str:
            return str(cache_folder() / "machine-code" / self._folder)

        def get_source_stamp(self) -> str:
            return _stamp(self._file)

        def get_disambiguator(self) -> str:
            return str(self._line)

        def ensure_cache_path(self) -> None:
            os.makedirs(self.get_cache_path(), mode=0o755, exist_ok=True)

        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> Place:
            return cls(py_func, py_file)

    class Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc]
        _locator_classes = [Place]  # noqa: RUF012 - as Numba has it

    class Kept(caching.FunctionCache):  # type: ignore[misc]
        """Machine code on disk that is used if it can be read, and written if it can be."""

        _impl_class = Implementation

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                self._follow()
                folder = Path(self._cache_path)
                if not folder.is_dir() or not is_trusted(folder):
                    return None
                return super().load_overload(sig, target_context)
            except Exception:
                with suppress(Exception):
                    self.flush()  # damaged: what is compiled now takes its place
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            with suppress(Exception):  # a full or read-only disk
                self._follow()
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

    return Kept
