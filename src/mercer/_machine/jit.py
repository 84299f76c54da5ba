"""Compiled loops: by Numba where it is installed, and as plain Python, said once, where it is not.

Whatever has a form in NumPy takes that form without Numba (`compiles` tells); only loops that have
none run as they are written, about a hundred times slower. ``MERCER_NUMBA=0`` in the environment
does without Numba although it is there.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

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


@lru_cache(maxsize=1)
def compiles() -> bool:
    """Whether loops are compiled; the first question imports Numba, and a warning says if not."""
    try:
        if os.environ.get(OFF_SWITCH) == "0":
            raise ImportError(f"{OFF_SWITCH}=0")
        import numba  # noqa: F401
    except ImportError as error:
        warnings.warn(
            f"mercer runs without Numba ({error}): everything works, but loops are plain Python, "
            "or NumPy, and slow on more than a few hundred examples",
            UserWarning,
            stacklevel=3,
        )
        return False
    return True


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """As `numba.njit`, with the machine code kept; without Numba, the function as it is.

    >>> @njit
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """

    def decorated(body: Callable[..., Any]) -> Any:
        if not compiles():
            return body
        from mercer._machine.kept_code import compiled

        return compiled(body, options)

    return decorated if function is None else decorated(function)


def overload(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """As `numba.extending.overload`: the body of a function, chosen by the types of arguments.

    Without Numba the body is chosen by the arguments themselves, at every call.
    """
    if compiles():
        from numba.extending import overload as by_types

        return by_types(function)  # type: ignore[no-any-return]

    def decorated(choose: Callable[..., Any]) -> Any:
        def chosen(*arguments: Any) -> Any:
            return choose(*arguments)(*arguments)

        function.__globals__[function.__name__] = chosen
        return choose

    return decorated
