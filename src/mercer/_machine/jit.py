"""Compiled loops: by Numba where it is installed, and as plain Python, said once, where it is not.

Whatever has a form in NumPy takes that form without Numba (see `compiles`); only loops that have
none run as they are written, about a hundred times slower. ``MERCER_NUMBA=0`` in the environment
does without Numba although it is there.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from mercer._notices import MachineWarning, warn

#: The environment variable that turns Numba off.
OFF_SWITCH = "MERCER_NUMBA"


@lru_cache(maxsize=1)
def may_compile() -> bool:
    """Whether Numba is installed and wanted; it is not imported to find out."""
    if os.environ.get(OFF_SWITCH) == "0":
        return False
    try:
        return find_spec("numba") is not None
    except (ImportError, ValueError):  # something keeps it from being imported
        return False


@contextmanager
def without_collection() -> Iterator[None]:
    """Keep Python from looking for garbage, of which loading and compiling make little.

    It looks at all objects again and again while many new ones come: half of the time of loading.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@lru_cache(maxsize=1)
def compiles() -> bool:
    """Whether loops are compiled; the first question imports Numba, and a warning says if not."""
    try:
        if os.environ.get(OFF_SWITCH) == "0":
            raise ImportError(f"{OFF_SWITCH}=0")
        with without_collection():
            import numba  # noqa: F401
    except ImportError as error:
        warn(
            f"mercer runs without Numba ({error}): everything works, but loops are plain Python, "
            "or NumPy, and slow on more than a few hundred examples",
            MachineWarning,
        )
        return False
    return True


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile as `numba.njit` does and keep the machine code; without Numba, change nothing.

    >>> @njit
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """

    def decorated(body: Callable[..., Any]) -> Any:
        if not compiles():
            return body
        from mercer._machine.numba_cache import compiled

        return compiled(body, options)

    return decorated if function is None else decorated(function)


def inner(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A function that compiled ones call: compiled with them, and Python where Python calls it.

    >>> @inner
    ... def double(x):
    ...     return 2 * x
    >>> @njit
    ... def four_times(x):
    ...     return double(double(x))
    >>> four_times(3), double(3)
    (12, 6)
    """

    def decorated(body: Callable[..., Any]) -> Any:
        if not compiles():
            return body
        from mercer._machine.numba_cache import registered

        return registered(body, options)

    return decorated if function is None else decorated(function)


@lru_cache(maxsize=64)
def with_callees(body: Callable[..., Any], callees: tuple[Any, ...]) -> Any:
    """Machine code of `body`, with its calls of the Python functions `callees` compiled into it.

    All of them stay Python functions for other callers, so that little work does not import Numba.
    Of a pair (function, choose) what `choose` returns is compiled, as `chosen_by_types` has it;
    sums in it may be reordered.

    >>> def double(x):
    ...     return 2 * x
    >>> with_callees(double, ())(3)
    6
    """
    if not compiles():
        return body
    from numba.extending import overload, register_jitable

    for callee in callees:
        if isinstance(callee, tuple):
            overload(callee[0], jit_options={"fastmath": {"reassoc", "contract"}})(callee[1])
        else:
            register_jitable(callee)
    return njit(nogil=True)(body)


def chosen_by_types(choose: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose body `choose` returns, in compiled code by the types of the arguments.

    That is `numba.extending.overload`. Elsewhere `choose` gets the arguments themselves, at every
    call.

    >>> @chosen_by_types
    ... def length(rows):
    ...     return (lambda rows: "one") if len(rows) == 1 else (lambda rows: "more")
    >>> length((1,)), length((1, 2))
    ('one', 'more')
    """

    def chosen(*arguments: Any) -> Any:
        return choose(*arguments)(*arguments)

    if compiles():
        from numba.extending import overload

        overload(chosen)(choose)
    return chosen
