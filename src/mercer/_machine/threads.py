"""Threads: a few Python threads, each with a single-threaded BLAS under it.

`run_threads` runs one function in several threads and waits; `interruptible` does the same and
takes Ctrl-C as a request to end early; `Background` does work for later while the caller goes on.
`threads_for` says whether threads are worth their start, `blas_for` whether those of BLAS are.

NumPy's and SciPy's BLAS are two pools with their own threads; left alone they fight with ours.
Both are held at one thread while ours run, counted, so that concurrent callers do not undo
each other.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from functools import lru_cache
from typing import Any

from mercer._config import get_config
from mercer._machine.deadline import check_wanted
from mercer._machine.resources import can_start_threads

#: Floating-point operations below which threads cost more than they save: on two idle cores a Gram
#: matrix of ten million took 1.2 to 1.6 times as long with two threads as with one.
WORTH_FLOPS = 20_000_000
#: Kept threads at most; as many are made as were ever busy at once.
MOST_HELPERS = 64
#: Seconds between two looks at signals while threads are waited for.
LOOK = 0.2

#: Floating-point operations below which BLAS keeps to the caller's thread: what one core does in
#: some 20 ms. Threads of BLAS wait busily for one another; where other processes have the cores,
#: a factorization of 500 rows took 20 × as long with two threads as with one.
WORTH_BLAS = 1_000_000_000

#: Multiplications of a product below which OpenBLAS keeps to the caller's thread by itself (for a
#: vector; more for a matrix): to hold its threads would take as long as the product.
WORTH_HOLDING = 9216

_lock = threading.Lock()
_holders = 0
_held: list[tuple[Callable[[int], Any], int]] = []
#: Two functions of a pool: one gives the number of its threads, one sets it.
Pool = tuple[Callable[[], int], Callable[[int], Any]]


@lru_cache(maxsize=1)
def pools() -> tuple[Pool, ...]:
    """One pool per BLAS library: NumPy's and SciPy's wheels bring one each.

    threadpoolctl finds them among all libraries of the process, once: that takes 10 ms. SciPy's is
    loaded here. Otherwise its pool would be missed in a process that imports it later, and sums
    would be rounded by the number of threads that it happens to have then.
    """
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    return tuple((library.get_num_threads, _setter(library)) for library in libraries)


def _setter(library: Any) -> Callable[[int], None]:
    """A function that sets the number of threads, whichever thread calls it.

    From its version 3.8 on threadpoolctl obeys the first thread that sets a number, until that
    thread gives up control, and ignores all others: solvers in a second thread got a BLAS of all
    cores, six times as slow where two ran. The count of holders keeps concurrent callers apart, so
    control is given up right after each call.
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


class single_threaded_blas:
    """Restrict BLAS to the calling thread within this block."""

    def __enter__(self) -> None:
        global _holders
        with _lock:
            if _holders == 0:
                for get_threads, set_threads in pools():
                    _held.append((set_threads, get_threads()))
                    set_threads(1)
            _holders += 1

    def __exit__(self, *error: object) -> None:
        global _holders
        with _lock:
            _holders -= 1
            while _holders == 0 and _held:
                set_threads, threads = _held.pop()
                set_threads(threads)


def blas_for(flops: float) -> AbstractContextManager[None]:
    """Restrict BLAS to one thread in this block where it does fewer flops than threads are for."""
    return single_threaded_blas() if flops < WORTH_BLAS else nullcontext()


def blas_for_product(multiplications: float) -> AbstractContextManager[None]:
    """Restrict BLAS as `blas_for` does, unless the product is too small for threads of BLAS."""
    return _NOTHING if multiplications < WORTH_HOLDING else blas_for(2.0 * multiplications)


_NOTHING: AbstractContextManager[None] = nullcontext()


def threads_for(flops: float) -> int:
    """The number of threads for this much work: that of the configuration, or one."""
    return get_config().n_threads if flops >= WORTH_FLOPS else 1


def run_threads(work: Callable[[int], None], threads: int, stop: threading.Event) -> None:
    """Run ``work(thread)`` in `threads` threads, the caller's among them, and wait for all.

    An error in one of them, or Ctrl-C in the caller's, sets `stop`, which `work` looks at, and is
    raised here when all have ended.
    """

    def run(thread: int) -> None:
        try:
            work(thread)
        except BaseException:
            stop.set()
            raise

    if threads == 1:
        run(0)
        return
    with single_threaded_blas():
        # Each thread has the settings of the caller: a black box may ask for them.
        helpers = _helpers()
        jobs = [helpers.submit(copy_context().run, run, t) for t in range(1, threads)]
        try:
            run(0)
            for thread, job in enumerate(jobs, start=1):
                if job.cancel():  # all helpers are busy elsewhere, or wait for this very thread
                    run(thread)
            for job in jobs:
                if not job.cancelled():
                    job.result()
        except BaseException:
            stop.set()
            wait([job for job in jobs if not job.cancel()])
            raise


@lru_cache(maxsize=1)
def _helpers() -> ThreadPoolExecutor:
    """Threads that are kept. New ones begin where their creator runs, and stay there for a while:
    two of them took 9.9 ms for what the caller and a kept one do in 5.4.
    """
    return ThreadPoolExecutor(MOST_HELPERS, thread_name_prefix="mercer")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # threads do not survive a fork


def interruptible(work: Callable[[int], None], threads: int, stop: threading.Event) -> bool:
    """Run ``work(thread)`` in `threads` threads while this one waits; Ctrl-C ends between steps.

    Gives whether Ctrl-C came. It sets `stop`, and `work` ends at its next look at that; a second
    one leaves at once. An error in a thread sets `stop`, too, and is raised here.
    """
    if not can_start_threads():
        work(0)
        return False
    interrupted = False
    waiting = threading.Event()

    def begin(thread: int) -> None:
        waiting.wait()
        try:
            work(thread)
        except BaseException:
            stop.set()
            raise

    pool = ThreadPoolExecutor(threads)
    try:
        with single_threaded_blas():
            jobs = [pool.submit(copy_context().run, begin, t) for t in range(threads)]
            while True:
                try:
                    # No work begins before Ctrl-C would be caught here: none of it can be lost.
                    waiting.set()
                    while wait(jobs, timeout=LOOK).not_done:
                        check_wanted()
                    break
                except KeyboardInterrupt:
                    if interrupted:
                        raise
                    interrupted = True
                    stop.set()
    finally:
        stop.set()
        waiting.set()
        pool.shutdown(wait=False)
    for job in jobs:
        job.result()
    return interrupted


#: One task; its argument is the number of the thread, whose memory it may use.
Task = Callable[[int], None]


class Background(AbstractContextManager["Background"]):
    """`threads` − 1 threads beside the caller's; with one thread everything happens in `finish`.

    >>> done = []
    >>> with Background(2) as background:
    ...     job = background.start([lambda thread: done.append(1), lambda thread: done.append(2)])
    ...     job.finish()
    >>> sorted(done)
    [1, 2]
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._last: Job | None = None

    def start(self, tasks: Sequence[Task]) -> Job:
        """Begin; call `finish` before what the tasks write is read."""
        self._last = Job(tasks, self.threads - 1)
        workers = min(self.threads - 1, len(tasks))
        if workers and self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1)
        for thread in range(workers):
            assert self._pool is not None
            context = copy_context()
            self._last.running.append(self._pool.submit(context.run, self._last.work, thread))
        return self._last

    def __exit__(self, *error: object) -> None:
        if self._last is not None:
            self._last.drop()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


class Job:
    """Independent tasks: threads take them one by one, and so does whoever waits for them."""

    def __init__(self, tasks: Sequence[Task], caller: int) -> None:
        self._tasks, self._caller = deque(tasks), caller
        self.running: list[Future[None]] = []

    def work(self, thread: int) -> None:
        while True:
            try:
                task = self._tasks.popleft()
            except IndexError:
                return
            task(thread)

    def finish(self) -> None:
        """Return when all tasks are done; an error in one of them is raised here."""
        self.work(self._caller)
        for future in self.running:
            future.result()

    def drop(self) -> None:
        """Give up the tasks that nobody has begun, and wait for the others."""
        self._tasks.clear()
        for future in self.running:
            future.exception()
