"""Parts of a compiled function: what only other compiled functions call.

Numba optimizes every function by itself, makes machine code of it, and does both again for whatever
calls it: an inner loop at depth five is optimized five times. A part is linked into its callers as
it was lowered. The function that is called from outside is then optimized once, with all its parts,
which halves the work of the optimizer. No machine code is made of a part alone, and none is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

from mercer._machine.kept_code import compiled


def compiled_part(body: Callable[..., Any], options: dict[str, Any]) -> Any:
    """As ``numba.njit(**options)(body)``, for calls from compiled functions."""
    off = config.DISABLE_JIT  # type: ignore[attr-defined]
    return body if off else _PartDispatcher(body, options)


class _PartDispatcher(CPUDispatcher):  # type: ignore[misc]
    def __init__(self, body: Callable[..., Any], options: dict[str, Any]) -> None:
        inside = {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(body, targetoptions=inside | options, pipeline_class=_PartCompiler)
        self._alone = lru_cache(maxsize=1)(lambda: compiled(body, options))

    def add_overload(self, cres: Any) -> None:
        """For compiled callers alone: there is no code that Python could call."""
        self.overloads[tuple(cres.signature.args)] = cres

    def _compile_for_args(self, *arguments: Any) -> Any:
        """What a call from Python calls, as in a test: the body as a function of its own."""
        return self._alone()


class _PartCompiler(Compiler):  # type: ignore[misc]
    def compile_extra(self, func: Any) -> Any:
        self.state.library = _Part(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """Instructions that are there to be linked into others, and have no address."""

    @property
    def codegen(self) -> Any:
        return _NoEnvironment(self._codegen)

    def _optimize_final_module(self) -> None:
        """Left to the caller."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


class _NoEnvironment:
    """The generator of code, less the Python objects that a function finds beside its code."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Machine code has the place for it, and there is none here."""
