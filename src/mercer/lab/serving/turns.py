"""Whose request is computed next.

The page that was there first goes first, unless it takes more than its share or has been silent;
it is in front. The others together keep all cores but one busy at most. So a person's slider stays
quick, however many pages ask.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

#: Workers that a page may keep busy before others go first.
SHARE = 1.5
#: Seconds after which work that was done counts half, and after which a page is silent.
HALVED, SILENT = 5.0, 10.0
#: The server's own work, which waits for every page.
BACKGROUND = "background"


@dataclass
class _Page:
    number: int
    #: When it asked last, the seconds of work it was given (less what is forgotten), until when.
    asked: float
    used: float
    then: float


class Turns:
    """Which pages have asked, what work each was given, and so who is next.

    >>> turns = Turns(clock=lambda: 0.0)
    >>> turns.asked("first"), turns.asked("second"), turns.in_front("first")
    (None, None, True)
    >>> turns.worked("first", seconds=60.0)
    >>> sorted(["first", "second"], key=turns.rank), turns.in_front("second")
    (['second', 'first'], True)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._count = clock, 0
        self._pages: dict[Hashable, _Page] = {}

    def asked(self, name: Hashable) -> None:
        now = self._clock()
        if name not in self._pages:
            self._count += 1
            self._pages[name] = _Page(self._count, now, 0.0, now)
        self._pages[name].asked = now

    def left(self, name: Hashable) -> None:
        self._pages.pop(name, None)

    def worked(self, name: Hashable, seconds: float) -> None:
        if page := self._pages.get(name):
            page.used, page.then = self._used(page) + seconds, self._clock()

    def rank(self, name: Hashable) -> tuple[bool, float]:
        """Less is earlier."""
        page = self._pages.get(name)
        if name == BACKGROUND or page is None:
            return (True, math.inf)
        # A page that keeps w workers busy all the time arrives at w · HALVED / ln 2.
        return (self._used(page) > SHARE * HALVED / math.log(2), page.number)

    def in_front(self, name: Hashable) -> bool:
        now = self._clock()
        heard = (name for name, page in self._pages.items() if now - page.asked < SILENT)
        return self.rank(name) <= min(map(self.rank, heard), default=(True, math.inf))

    def _used(self, page: _Page) -> float:
        return page.used * 0.5 ** ((self._clock() - page.then) / HALVED)
