"""Functions of the BLAS and LAPACK under NumPy that NumPy itself has no name for.

SciPy has a name for all of them, but for those of its own BLAS, a second pool of threads. Threads
of either wait busily for a tenth of a second after each call that they share, and keep a core from
the other's: a product right after a factorization took twice as long. So NumPy's library is asked.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import lru_cache
from typing import Any

from mercer._machine.pools import CALLERS, ENDINGS

#: What it calls its functions for C, and those of LAPACK; the wheels of NumPy rename both.
NAMES = ("cblas_{}", "scipy_cblas_{}")
LAPACK_NAMES = ("{}_", "scipy_{}_")
#: Where whole numbers of 32 and of 64 bits are passed alike, so that both kinds of BLAS are served.
PLATFORMS = {("linux", "x86_64"), ("linux", "aarch64")}


def blas_function(name: str) -> Any:
    """A function of CBLAS such as "dtrmm"; None where it is not found."""
    return _function(NAMES, name)


def lapack_function(name: str) -> Any:
    """A function of LAPACK such as "dpotrf", which takes every argument by address; or None."""
    return _function(LAPACK_NAMES, name)


@lru_cache(maxsize=16)
def _function(forms: tuple[str, ...], name: str) -> Any:
    if (sys.platform, platform.machine()) not in PLATFORMS or CALLERS[0] not in sys.modules:
        return None
    try:
        library = ctypes.CDLL(sys.modules[CALLERS[0]].__file__)
    except (OSError, TypeError):  # built into the interpreter
        return None
    names = (form.format(name) + ending for form in forms for ending in ENDINGS)
    found = next((getattr(library, each) for each in names if hasattr(library, each)), None)
    if found is not None:
        found.restype = None
    return found
