"""Compiled loops: by Numba where it is installed, and as plain Python, said once, where it is not.

Whatever has a form in NumPy takes that form without Numba (`compiles` tells); only loops that have
none run as they are written, about a hundred times slower. ``MERCER_NUMBA=0`` in the environment
does without Numba although it is there.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

#: Turns of a loop after which it is compiled: as it is written one takes about a microsecond, and
#: Numba half a second to import and to load what it compiled before.
TURNS = 200_000
#: How many times the work has to be before it is compiled where no machine code is kept yet: then
#: the first use takes seconds, and not the tenth of a second in which kept code is read.
COLD = 10
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


def is_imported() -> bool:
    """Whether Numba has been imported, so that compiled code costs no more than its compilation."""
    return "numba" in sys.modules


@lru_cache(maxsize=1)
def _began_empty() -> bool:
    from mercer._machine.cache import is_empty

    return is_empty()


def patience() -> int:
    """How many times the usual work is done without compiling: 1, or `COLD` from an empty cache.

    That is in a process that has not imported Numba, and found no machine code of an earlier one.
    """
    return COLD if not is_imported() and _began_empty() else 1


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


def njit(function: Callable[..., Any] | None = None, *, part: bool = False, **options: Any) -> Any:
    """As `numba.njit`, with the machine code kept; without Numba, the function as it is.

    `part`: compiled functions call it, whose machine code has it inside (`mercer._machine.parts`).

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
        from mercer._machine.parts import compiled_part

        return compiled_part(body, options) if part else compiled(body, options)

    return decorated if function is None else decorated(function)


class Loop:
    """A loop that runs as it is written until it is `compiled`, with all loops that it calls.

    So that Numba, whose import takes half a second, is not imported for little work.

    >>> @Loop
    ... def double(x):
    ...     return 2 * x
    >>> double(3), int(double.compiled()(3))
    (6, 6)
    """

    def __init__(self, body: Callable[..., Any]) -> None:
        self._body, self._compiled, self._turns = body, False, 0
        self.__doc__ = body.__doc__

    def __call__(self, *arguments: Any) -> Any:
        return self._body(*arguments)

    def expect(self, turns: int) -> None:
        """To be told before the work: from so many turns on, in all, it is worth compiling."""
        self._turns += turns
        if self._turns > TURNS * patience() or is_imported():
            self.compiled()

    def compiled(self) -> Any:
        """Machine code from now on, for these calls, too."""
        if not self._compiled:
            called = self._body.__globals__
            for name in self._body.__code__.co_names:
                if isinstance(called.get(name), Loop):  # what machine code calls must be that, too
                    called[name] = called[name].compiled()
            self._body, self._compiled = njit(nogil=True)(self._body), True
        return self._body


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
