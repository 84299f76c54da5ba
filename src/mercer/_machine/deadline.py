"""The end of a time budget: work that lasts looks here, and ends with `OutOfTime` when it is over.

Every loop that shows its progress looks at each step, in whichever thread it runs.

>>> with until(time.perf_counter() - 1.0):
...     check_time()
Traceback (most recent call last):
    ...
mercer._machine.deadline.OutOfTime: the time is over
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

_end: ContextVar[float] = ContextVar("end", default=math.inf)
_unwanted: ContextVar[Callable[[], bool] | None] = ContextVar("unwanted", default=None)
_begun = time.perf_counter()


class OutOfTime(Exception):
    """The time for a piece of work is over; what it has done so far is dropped."""


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


@dataclass
class _Announced:
    """An end at which nothing is stopped, and the seconds that an optional step takes."""

    end: float = math.inf
    step: float = 0.0


@contextmanager
def announced(end: float, step: float) -> Iterator[None]:
    """`optional_step` says no when the next one, expected to take `step` seconds, ends after `end`.

    Every later one is expected to take as long as the one before it.
    """
    token = _announced.set(_Announced(end, step))
    try:
        yield
    finally:
        _announced.reset(token)


@contextmanager
def optional_step() -> Iterator[bool]:
    """Whether there is time for something that can be left out; the block is timed.

    >>> with announced(time.perf_counter() + 1.0, 5.0), optional_step() as in_time:
    ...     in_time
    False
    """
    plan, begin = _announced.get(), time.perf_counter()
    in_time = begin + plan.step <= plan.end
    yield in_time
    if in_time:
        plan.step = time.perf_counter() - begin


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
    "optional_step",
    "stopping",
    "until",
]
