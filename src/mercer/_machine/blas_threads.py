"""The threads of BLAS libraries: NumPy's and SciPy's wheels bring one each, with a pool of its own.

threadpoolctl finds the libraries among all that the process has loaded, which takes 10 ms, and sets
the number of their threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

#: How many threads a pool has, and how to say how many it should have.
Pool = tuple[Callable[[], int], Callable[[int], Any]]


@lru_cache(maxsize=1)
def pools() -> tuple[Pool, ...]:
    """One pool per BLAS library; they are looked for once.

    SciPy's library is loaded here. Otherwise its pool would be missed in a process that imports it
    later, and sums would be rounded by the number of threads that it happens to have then.
    """
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    return tuple((library.get_num_threads, _setter(library)) for library in libraries)


def _setter(library: Any) -> Callable[[int], None]:
    """A function that sets the number of threads, whichever thread calls it.

    From its version 3.8 on threadpoolctl obeys the first thread that sets a number, until that
    thread gives up control, and ignores all others: solvers in a second thread got a BLAS of all
    cores, six times as slow where two ran. The count of holders (`mercer._machine.threads`) keeps
    concurrent callers apart, so control is given up right after each call.
    """
    release = getattr(library, "clear_controlling_thread", None)

    def set_threads(threads: int) -> None:
        if release is None:
            library.set_num_threads(threads)
            return
        release(force=True)
        library.set_num_threads(threads)
        release(force=True)

    return set_threads
