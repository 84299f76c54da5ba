"""Ctrl-C in work of many steps, such as a comparison: noted, whoever catches it; and while a
compiler works, which would lose it: held back until the function is compiled.

Outside of such work a solver takes Ctrl-C for a request to give what it has found so far. Within,
an unfinished model must not count: the next look at the time raises `Interrupted`, which neither
solvers nor estimators of others catch.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

from mercer._machine.deadline import stopping


class Interrupted(BaseException):
    """Ctrl-C came, and was caught before it reached whoever is to end the work."""


#: What `except` names where Ctrl-C is taken note of.
CTRL_C = (KeyboardInterrupt, Interrupted)


class _Noted:
    """Whether Ctrl-C has come since the last `acknowledge`."""

    came = False

    def check(self) -> bool:
        if self.came:
            raise Interrupted
        return False


_noted: ContextVar[_Noted | None] = ContextVar("noted", default=None)


@contextmanager
def noting_interrupts() -> Iterator[None]:
    """Raise `Interrupted` at every look at the time in this block after a Ctrl-C.

    The handler of Ctrl-C that is there stays in force beside it. What leaves the block is
    `KeyboardInterrupt`, as ever.
    """
    noted, main = _Noted(), threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if main else None

    def note(number: int, frame: FrameType | None) -> None:
        noted.came = True
        if callable(before):
            before(number, frame)

    token = _noted.set(noted)
    try:
        if callable(before):
            signal.signal(signal.SIGINT, note)
        with stopping(noted.check):
            yield
    except Interrupted:
        raise KeyboardInterrupt from None
    finally:
        if callable(before):
            signal.signal(signal.SIGINT, before)
        _noted.reset(token)


def acknowledge() -> None:
    """Ctrl-C has been taken note of: work that follows is not ended by the one that came."""
    noted = _noted.get()
    if noted is not None:
        noted.came = False


class HeldBack:
    """Delays Ctrl-C in the main thread from a call of `start` to as many calls of `end`.

    What a handler raises inside a callback of LLVM is printed and lost.
    """

    _depth, _came = 0, False
    _before: Any = None

    def start(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth += 1
        handler = signal.getsignal(signal.SIGINT)
        if self._depth == 1 and callable(handler):
            self._before, self._came = handler, False
            signal.signal(signal.SIGINT, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = True

    def end(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth -= 1
        if self._depth == 0 and self._before is not None:
            before, self._before = self._before, None
            signal.signal(signal.SIGINT, before)
            if self._came:
                signal.raise_signal(signal.SIGINT)
