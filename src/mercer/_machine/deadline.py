"""The end of a time budget: work that lasts looks here, and ends with `OutOfTime` when it is over.

Every loop that shows its progress looks at each step, in whichever thread it runs; a compiled loop
looks at a cell that `when_over` sets. A single call into LAPACK cannot look: `one_call` does not
begin it where it would take longer than there is time. Estimators of others never look: see
`mercer.selection.racing.apart`. The clock that ends are read on, `now`, stands still while code is
compiled, which is done once for a processor: what a budget gives does not depend on it.

>>> with until(now() - 1.0):
...     check_time()
Traceback (most recent call last):
    ...
mercer._machine.deadline.OutOfTime: the time is over
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

_end: ContextVar[float] = ContextVar("end", default=math.inf)
_unwanted: ContextVar[Callable[[], bool] | None] = ContextVar("unwanted", default=None)
_begun = time.perf_counter()


class Compiling:
    """Seconds in which this process has compiled, by one thread or several, counted once."""

    done: tuple[float, ...] = (0.0, 0.0)
    since: tuple[float, ...] | None = None

    def begin(self) -> None:
        self.since = self.since or (time.perf_counter(), time.process_time())

    def end(self) -> None:
        self.done, self.since = self.both(), None

    def both(self) -> tuple[float, ...]:
        """Seconds by the clock and of the processor so far, with what is compiled right now."""
        here = time.perf_counter(), time.process_time()
        each = zip(self.done, here, self.since or here, strict=True)
        return tuple(done + end - begin for done, end, begin in each)


compiling = Compiling()


def now() -> float:
    """Seconds by the clock, without those of compiling."""
    return time.perf_counter() - compiling.both()[0]


class OutOfTime(Exception):
    """The time for a piece of work is over; what it has done so far is dropped."""


@contextmanager
def until(end: float) -> Iterator[None]:
    """Work in this block ends at `end` on the clock `now`, or when an outer block does."""
    token = _end.set(min(end, _end.get()))
    try:
        yield
    finally:
        _end.reset(token)


def check_time() -> None:
    """Raise `OutOfTime` where the time is over, or nobody wants the result any more."""
    if _end.get() < math.inf and now() > _end.get():
        raise OutOfTime("the time is over")
    if _unwanted.get() is not None:
        check_wanted()


@contextmanager
def stopping(unwanted: Callable[[], bool]) -> Iterator[None]:
    """Work in this block ends at its next look at the time when `unwanted()`, or that of an outer
    block, says so.

    >>> with stopping(lambda: True):
    ...     check_time()
    Traceback (most recent call last):
        ...
    mercer._machine.deadline.OutOfTime: nobody wants the result any more
    """
    outer = _unwanted.get()
    token = _unwanted.set(lambda: unwanted() or (outer is not None and outer()))
    try:
        yield
    finally:
        _unwanted.reset(token)


def check_wanted() -> None:
    """Raise `OutOfTime` where nobody wants the result of this work any more."""
    unwanted = _unwanted.get()
    if unwanted is not None and unwanted():
        raise OutOfTime("nobody wants the result any more")


def time_left() -> float:
    """Seconds until the end of this block's time; infinite without one.

    >>> time_left()
    inf
    """
    return _end.get() - now()


@contextmanager
def when_over(act: Callable[[], None]) -> Iterator[None]:
    """Call `act` when the time is over, if the block still runs: for compiled loops, which read a
    cell."""
    end = _end.get()
    if math.isinf(end):
        yield
        return
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            left = end - now()
            if left <= 0:
                act()
                return
            done.wait(left)

    with suppress(RuntimeError):  # without threads, loops look at the clock where they can
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
    """Guard one call of `operations`, which is not begun if it would end after the time is over.

    Operations are those of a Cholesky factorization in double precision: what is n times as slow
    counts n times.
    """
    begin = time.perf_counter()
    if _end.get() < math.inf and now() + operations / _Speed.rate > _end.get():
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
    """Run optional work and return its result; None if the time is too short or ends during it.

    >>> with announced(now() + 1.0, 5.0):
    ...     print(optional(sum, [1, 2]))
    None
    """
    plan, begin = _announced.get(), now()
    if begin + plan.step > plan.end:
        return None
    try:
        with until(plan.end):
            result = work(*arguments)
    except OutOfTime:
        return None
    plan.step = now() - begin
    return result


def announced_seconds() -> float:
    """Seconds left of the announced budget; inf without one.

    >>> announced_seconds()
    inf
    """
    return _announced.get().end - now()


def begin_command(whole_process: bool) -> None:
    """A command begins; it began with the process if that was started for it."""
    global _begun
    _begun = now() - (_process_seconds() if whole_process else 0.0)


def command_seconds() -> float:
    """Seconds since the command began, without those of compiling."""
    return now() - _begun


def _process_seconds() -> float:
    """Seconds since this process was started; where the system does not say, since the import."""
    try:
        started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return command_seconds()


_announced: ContextVar[_Announced] = ContextVar("announced", default=_Announced())  # noqa: B039
