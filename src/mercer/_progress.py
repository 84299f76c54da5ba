"""A progress bar for work that lasts: nothing is shown, or imported, for work that does not."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import AbstractContextManager
from typing import Any

from mercer._config import get_config
from mercer._escape.terminal import safe
from mercer._machine.deadline import check_time

#: Seconds before a bar appears, and between two lines where lines were asked for.
BAR_SECONDS, EVERY = 1.5, 10.0


class progress(AbstractContextManager["progress"]):
    """``with progress("fit", total) as bar: bar.advance()``; quiet when nobody watches."""

    def __init__(self, what: str, total: float | None) -> None:
        self.what, self.total = what, total
        self.done = 0.0
        self._begin = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()
        wanted = get_config().progress
        self._lines, self._said = wanted == "lines", self._begin
        seen = self._lines or (wanted and getattr(sys.stderr, "isatty", bool)())
        self._watched = seen and _Active.depth.acquire(blocking=False)

    def advance(self, amount: float = 1.0, note: str = "") -> None:
        """Count `amount` more as done. Ends the work where a time budget is over."""
        check_time()
        with self._lock:  # panels finish in several threads
            self.done += amount
            now = time.monotonic()
            if not self._watched or now - self._begin < BAR_SECONDS:
                return
            text = safe(f"{self.what} {note}".strip())  # names of columns and kernels
            if self._lines:
                self._say(text, now)
                return
            if self._bar is None:
                self._open()
            self._bar.update(self._task, completed=self.done, description=text)

    def _say(self, text: str, now: float) -> None:
        """A line for a file, now and then."""
        if now - self._said >= EVERY:
            self._said = now
            share = f" {self.done / self.total:.0%}" if self.total else ""
            print(f"{text}:{share} after {now - self._begin:.0f} s", file=sys.stderr, flush=True)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            ProgressColumn,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        words = TextColumn("{task.description}", markup=False)
        # Without an end in sight there is no percentage to be shown.
        columns: list[ProgressColumn] = [SpinnerColumn(), TimeElapsedColumn(), words]
        if self.total is not None:
            share = TextColumn("{task.percentage:>3.0f}%")
            columns = [words, BarColumn(), share, TimeRemainingColumn()]
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self.what, total=self.total)

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._watched:
            _Active.depth.release()


class _Active:
    """Only the outermost piece of work shows a bar."""

    depth = threading.Semaphore(1)
