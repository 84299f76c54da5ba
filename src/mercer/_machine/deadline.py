"""The end of a time budget: work that lasts looks here, and ends with `OutOfTime` when it is over.

Every loop that shows its progress looks at each step, in whichever thread it runs. Code of others
never looks: `run_until` ends it from outside. A single call into LAPACK cannot be
ended at all: `one_call` does not begin it where it would take longer than there is time.

>>> with until(time.perf_counter() - 1.0):
...     check_time()
Traceback (most recent call last):
    ...
mercer._machine.deadline.OutOfTime: the time is over
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
#: Seconds after the end at which code that has not looked at the clock is ended from outside, and
#: between two such attempts: it may have met an error handler that caught everything.
GRACE, AGAIN = 0.05, 0.2
#: Seconds between two looks at whether a watch has ended.
LOOK = 2e-4
#: What code of the import system says its file is; where Numba learns which functions there are.
IMPORT, LEARNING = "<frozen importlib._bootstrap>", ("refresh", "install_registry")

_end: ContextVar[float] = ContextVar("end", default=math.inf)
_unwanted: ContextVar[Callable[[], bool] | None] = ContextVar("unwanted", default=None)
_begun = time.perf_counter()


class OutOfTime(Exception):
    """The time for a piece of work is over; what it has done so far is dropped."""


class _Ended(BaseException):
    """How code of others is ended: like Ctrl-C, it passes handlers of every `Exception`."""


@contextmanager
def until(end: float) -> Iterator[None]:
    """Work in this block ends at `end` on `time.perf_counter`, or when an outer block does."""
    token = _end.set(min(end, _end.get()))
    try:
        yield
    finally:
        _end.reset(token)


def check_time() -> None:
    """Raise `OutOfTime` where the time is over, or nobody wants the result any more."""
    if time.perf_counter() > _end.get():
        raise OutOfTime("the time is over")
    check_wanted()


@contextmanager
def stopping(unwanted: Callable[[], bool]) -> Iterator[None]:
    """Work in this block ends, at its next look at the time, when `unwanted()` says so.

    >>> with stopping(lambda: True):
    ...     check_time()
    Traceback (most recent call last):
        ...
    mercer._machine.deadline.OutOfTime: nobody wants the result any more
    """
    token = _unwanted.set(unwanted)
    try:
        yield
    finally:
        _unwanted.reset(token)


def check_wanted() -> None:
    """Raise `OutOfTime` where nobody wants the result of this work any more."""
    unwanted = _unwanted.get()
    if unwanted is not None and unwanted():
        raise OutOfTime("nobody wants the result any more")


def run_until(end: float, work: Callable[..., T], *arguments: Any) -> T:
    """``work(*arguments)`` until `end`; any Python code in it is ended then, whoever wrote it.

    >>> run_until(time.perf_counter() + 0.01, lambda: [time.sleep(0.001) for _ in range(10**6)])
    Traceback (most recent call last):
        ...
    mercer._machine.deadline.OutOfTime: the time is over
    """
    with until(end):
        check_time()
        if math.isinf(_end.get()):
            return work(*arguments)
        watch = _Watch(_end.get(), threading.get_ident(), sys._getframe())
        watch.start()
        try:
            try:
                return work(*arguments)
            except (Exception, _Ended) as error:
                if watch.raised:  # whatever came of it: some code cleans up, and fails at that
                    raise OutOfTime("the time is over") from error
                raise
            finally:
                watch.stop()
        except _Ended as error:  # it came on the way to `stop`
            watch.stop()
            raise OutOfTime("the time is over") from error


class _Watch:
    """Raises `_Ended` in a thread, at `end`, as long as it has `frame` on its stack."""

    def __init__(self, end: float, thread: int, frame: FrameType) -> None:
        self.end, self.thread, self.frame = end, thread, frame
        self.raised, self.ended, self.told = False, False, sys.unraisablehook
        #: Held by the thread that is watched until its work is done. Letting it go is one call into
        #: C, which no error from outside can cut in two.
        self.gate = threading.Lock()

    def start(self) -> None:
        self.gate.acquire()
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        """End the watch; an error that is on its way arrives here, and nowhere else.

        Taking it back instead would leave the interpreter with a note that there is one, for good:
        Python 3.11 then repeats an instruction for ever where a program is traced. The thread of
        the watch, if it is traced, repeats one until the error has arrived here. So this one waits
        in short sleeps, between which it can arrive; in `join` it could not.
        """
        while True:
            try:
                with suppress(RuntimeError):  # it was let go before an error came
                    self.gate.release()
                while not self.ended:
                    time.sleep(LOOK)
                if not self.raised:
                    break
                _raise_in(self.thread, _Ended)
                while True:
                    pass
            except _Ended:
                if self.ended:
                    break
        if self.raised:
            sys.unraisablehook = self.told

    def _run(self) -> None:
        try:
            self._watch()
        finally:
            self.ended = True

    def _watch(self) -> None:
        wait = self.end + GRACE - time.perf_counter()
        while not self.gate.acquire(timeout=max(wait, 0.0)):
            wait = self.end - time.perf_counter()
            if wait > 0:  # woken too early
                continue
            stack = self._stack()
            if sys.implementation.name != "cpython" or not stack:
                return
            if any(map(_must_be_whole, stack)):
                wait = GRACE
                continue
            self.raised, sys.unraisablehook = True, self._not_told
            _raise_in(self.thread, _Ended)
            wait = AGAIN

    def _not_told(self, what: sys.UnraisableHookArgs) -> None:
        """Where it meets a callback of the garbage collector it is lost; the next one will do."""
        if not issubclass(what.exc_type, _Ended):
            self.told(what)

    def _stack(self) -> list[FrameType]:
        """The frames of the work, from the innermost to `frame`; none where it is done."""
        found: list[FrameType] = []
        inner = sys._current_frames().get(self.thread)
        while inner is not None:
            found.append(inner)
            if inner is self.frame:
                return found
            inner = inner.f_back
        return []


def _must_be_whole(frame: FrameType) -> bool:
    """Whether this is work that cannot be done again once it has been begun.

    Some modules cannot be imported a second time. Numba forgets for good what it was about to note.
    """
    code = frame.f_code
    if code.co_filename == IMPORT:
        return True
    name = str(frame.f_globals.get("__name__", ""))
    return code.co_name in LEARNING and name.startswith("numba.")


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise an error in a thread at its next step in Python, instead of one that is on its way."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


@contextmanager
def when_over(act: Callable[[], None]) -> Iterator[None]:
    """Calls `act` when the time is over, if the block still runs: for compiled loops, which look
    at a cell."""
    end = _end.get()
    if math.isinf(end):
        yield
        return
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            left = end - time.perf_counter()
            if left <= 0:
                act()
                return
            done.wait(left)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()


class _Speed:
    """Operations per second of calls that cannot be ended, as the last large one had."""

    work, rate = 0.0, math.inf


@contextmanager
def one_call(operations: float) -> Iterator[None]:
    """A call of so many operations, which is not begun if it would end after the time is over.

    Operations are those of a Cholesky factorization in double precision: what is n times as slow
    counts n times.
    """
    begin = time.perf_counter()
    if begin + operations / _Speed.rate > _end.get():
        raise OutOfTime("the time left is too short for the next step")
    yield
    # Small matrices are slower per operation, and say little about large ones.
    if operations > 0.1 * _Speed.work:
        _Speed.work, _Speed.rate = operations, operations / max(time.perf_counter() - begin, 1e-9)


@dataclass
class _Announced:
    """An end for what can be left out, and the seconds that a step of it takes."""

    end: float = math.inf
    step: float = 0.0


@contextmanager
def announced(end: float, step: float) -> Iterator[None]:
    """`optional` work ends at `end`; the first is expected to take `step` seconds.

    Every later one is expected to take as long as the one before it.
    """
    token = _announced.set(_Announced(end, step))
    try:
        yield
    finally:
        _announced.reset(token)


def optional(work: Callable[..., T], *arguments: Any) -> T | None:
    """What the work gives; None where there is no time for it, or where the time ends during it.

    >>> with announced(time.perf_counter() + 1.0, 5.0):
    ...     print(optional(sum, [1, 2]))
    None
    """
    plan, begin = _announced.get(), time.perf_counter()
    if begin + plan.step > plan.end:
        return None
    try:
        made = run_until(plan.end, work, *arguments)
    except OutOfTime:
        return None
    plan.step = time.perf_counter() - begin
    return made


def announced_seconds() -> float:
    """Until the end that was announced; infinite without one.

    >>> announced_seconds()
    inf
    """
    return _announced.get().end - time.perf_counter()


def begin_command(whole_process: bool) -> None:
    """A command begins; it began with the process if that was started for it."""
    global _begun
    _begun = time.perf_counter() - (_process_seconds() if whole_process else 0.0)


def command_seconds() -> float:
    """Since the command began."""
    return time.perf_counter() - _begun


def _process_seconds() -> float:
    """Since this process was started; where the system does not say, since this was loaded."""
    try:
        started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return command_seconds()


_announced: ContextVar[_Announced] = ContextVar("announced", default=_Announced())  # noqa: B039

__all__ = [
    "OutOfTime",
    "announced",
    "announced_seconds",
    "begin_command",
    "check_time",
    "check_wanted",
    "command_seconds",
    "one_call",
    "optional",
    "run_until",
    "stopping",
    "until",
    "when_over",
]
