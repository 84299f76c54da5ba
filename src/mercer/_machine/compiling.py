"""Says what is being compiled: on a terminal where it lasts, and to the log ``mercer`` elsewhere.

Whoever shows the state of a process may `watch` it: the laboratory does.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mercer._machine.deadline import compiling
from mercer._machine.interrupts import HeldBack
from mercer._machine.jit import without_collection

#: Seconds of compiling, of all functions together, after which a message appears on a terminal.
PATIENCE = 1.0
_watchers: list[Callable[[str], None]] = []


def watch(listener: Callable[[str], None]) -> None:
    """Call `listener(name)` when a function begins to be compiled, and `listener("")` after it."""
    _watchers.append(listener)


def words(name: str) -> str:
    """The message about a function that is compiled."""
    return (
        f"compiling {name} for this processor: it takes up to 3 s for a learner, and is kept in "
        f"the cache for every later process (`mercer warm` compiles ahead)"
    )


class Notice:
    """Receives Numba's events: a function, with those that it calls, begins or ends to compile."""

    def __init__(self) -> None:
        self._here = threading.local()
        self._said, self._begin = False, compiling.both()[0]

    def start(self, name: str) -> None:
        """A function begins; those it calls count as part of it."""
        depth = self._here.depth = getattr(self._here, "depth", 0) + 1
        if depth > 1:
            return
        for listener in _watchers:
            with suppress(Exception):
                listener(name)
        self._here.timer = None
        compiling.begin()
        if not getattr(sys.stderr, "isatty", bool)():
            logging.getLogger("mercer").info(words(name))
        elif not self._said:
            left = max(0.0, PATIENCE - compiling.both()[0] + self._begin)
            self._here.timer = threading.Timer(left, self._say, (name,))
            self._here.timer.daemon = True
            self._here.timer.start()

    def end(self) -> None:
        self._here.depth -= 1
        if self._here.depth > 0:
            return
        compiling.end()
        if self._here.timer is not None:
            self._here.timer.cancel()
        for listener in _watchers:
            with suppress(Exception):
                listener("")

    def _say(self, name: str) -> None:
        from mercer._config import get_config

        if get_config().progress:
            self._said = True
            print(f"mercer: {words(name)}", file=sys.stderr, flush=True)


#: Of what this process compiles.
notice = Notice()


def install() -> None:
    """Listen to Numba; without its events nothing is said."""
    from numba.core import event

    held_back, here = HeldBack(), threading.local()

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            function = event.data.get("dispatcher")
            notice.start(getattr(function, "__qualname__", None) or "a loop")

        def on_end(self, event: Any) -> None:
            notice.end()

    class Lock(event.Listener):  # type: ignore[misc]
        """Receives events of the compiler's lock, which reading code from the cache takes, too."""

        def on_start(self, event: Any) -> None:
            held_back.start()
            here.blocks = [*getattr(here, "blocks", ()), without_collection()]
            here.blocks[-1].__enter__()

        def on_end(self, event: Any) -> None:
            here.blocks.pop().__exit__(None, None, None)
            held_back.end()

    event.register("numba:compile", Listener())
    event.register("numba:compiler_lock", Lock())


with suppress(ImportError, AttributeError):
    install()
