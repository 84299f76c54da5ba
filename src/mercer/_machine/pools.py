"""The threads of the BLAS under NumPy and of that under SciPy: two libraries, a pool each.

threadpoolctl finds them among all libraries of the process, which takes 10 ms, a sixth of the time
from ``import`` to a first prediction. The modules that call a BLAS are linked to it, so that the
loader finds its functions through them in 0.2 ms. Where that BLAS is not OpenBLAS, or the loader
does not look into what a library is linked to (Windows), threadpoolctl does it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

#: Modules that are linked to a BLAS; those that are loaded are asked.
CALLERS = ("numpy._core._multiarray_umath", "scipy.linalg._fblas")
#: What OpenBLAS calls its functions, as it is and as the wheels of NumPy and SciPy rename it.
NAMES = ("openblas_{}_num_threads", "scipy_openblas_{}_num_threads")
ENDINGS = ("", "64_", "_64")

#: Seconds between two looks at what other processes do: one takes 50 microseconds.
LOOK = 0.05

#: How many threads a pool has, and how to say how many it should have.
Pool = tuple[Callable[[], int], Callable[[int], Any]]


def pools() -> tuple[Pool, ...]:
    """The pools of the modules that are loaded now."""
    return _pools(tuple(name for name in CALLERS if name in sys.modules))


@lru_cache(maxsize=4)
def _pools(callers: tuple[str, ...]) -> tuple[Pool, ...]:
    found = [_linked_to(name) for name in callers]
    known = [pool for pool in found if pool is not None]
    return tuple(known if len(known) == len(found) else _looked_for())


def _linked_to(caller: str) -> Pool | None:
    try:
        library = ctypes.CDLL(sys.modules[caller].__file__)
    except (OSError, TypeError):  # built into the interpreter
        return None
    for name in (form + ending for form in NAMES for ending in ENDINGS):
        if hasattr(library, name.format("set")):
            return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return None


def _looked_for() -> list[Pool]:
    from threadpoolctl import ThreadpoolController

    libraries = ThreadpoolController().lib_controllers
    return [(one.get_num_threads, _setter(one)) for one in libraries if one.user_api == "blas"]


def _setter(library: Any) -> Callable[[int], None]:
    """Whichever thread asks: the count of holders keeps concurrent callers apart.

    From its version 3.8 on threadpoolctl listens to the first thread that ever asked, and to no
    other: solvers in a second thread got a BLAS of all cores, six times as slow where two ran.
    """
    forget_first = getattr(library, "clear_controlling_thread", None)

    def set_threads(threads: int) -> None:
        if forget_first is not None:
            forget_first(force=True)
        library.set_num_threads(threads)
        if forget_first is not None:
            forget_first(force=True)

    return set_threads


def is_running() -> bool:
    """Whether a thread of NumPy's BLAS runs at the moment, as far as Linux tells, on a free core.

    OpenBLAS's threads wait busily for a tenth of a second after each product that they share. A
    core is theirs so long: a product by them takes half the time of one by two threads of ours.
    """
    place = _first_thread()
    return place is not None and _state(place) == b"R" and cores_are_free()


def cores_are_free() -> bool:
    """Whether no other process wants the cores at the moment, as far as Linux tells.

    Where one does, threads of BLAS wait for one another: a product of half a millisecond took six.
    """
    return _cores_are_free(int(time.monotonic() / LOOK))


@lru_cache(maxsize=1)
def _cores_are_free(moment: int) -> bool:
    try:
        with open("/proc/loadavg", "rb") as file:
            running = int(file.read().split()[3].partition(b"/")[0])
        own = [_state(f"/proc/self/task/{name}/stat") for name in os.listdir("/proc/self/task")]
    except (OSError, ValueError, IndexError):
        return True
    return running - own.count(b"R") + 2 <= (os.cpu_count() or 1)


def _state(place: str) -> bytes:
    """The letter that stands for what a thread does; none of one that has ended."""
    try:
        with open(place, "rb") as file:
            return file.read(512).rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return b""


@lru_cache(maxsize=1)
def _first_thread() -> str | None:
    """The state of the oldest thread that is none of Python's: the first BLAS that was loaded."""
    ours = {thread.native_id for thread in threading.enumerate()}
    try:
        others = sorted({int(name) for name in os.listdir("/proc/self/task")} - ours)
    except OSError:
        return None
    return f"/proc/self/task/{others[0]}/stat" if others else None
