"""The time of a comparison: budgets, what work takes, and whether threads are worth it."""

from __future__ import annotations

import math
import re
import time
from typing import Any

from mercer._machine.deadline import compiling, now

#: Seconds for a last fit after Ctrl-C.
AFTER = 0.8
#: Seconds of work on an idle machine that are assumed before anything has been measured.
SMOOTH = 0.2
#: Seconds by the clock, once or twice so many, that tell how busy the machine was lately.
RECENT = 3.0
#: The share of a budget by which a last fit may be late; `bench/budget.py` allows a tenth.
LATE = 0.06


class Clock:
    """Time since the start, without compiling, and what is left of a budget."""

    def __init__(self, budget: float | None) -> None:
        self.begin: float = now()
        self.budget = budget
        self._compiled: float = compiling.both()[0]
        #: Seconds by the clock and of the processor: at the start, lately, and next to be that.
        self._marks: list[tuple[float, float]] = [(time.perf_counter(), time.process_time())] * 3

    def spent(self) -> float:
        return now() - self.begin

    def compiled(self) -> float:
        """Seconds of compiling since the start."""
        return compiling.both()[0] - self._compiled

    @property
    def end(self) -> float:
        """On the clock `now`."""
        return math.inf if self.budget is None else self.begin + self.budget

    def stop(self) -> None:
        """Ctrl-C: there is as much time left as the last steps need, `AFTER` seconds at most."""
        self.budget = min(self.spent() + AFTER, math.inf if self.budget is None else self.budget)

    def left(self) -> float:
        return math.inf if self.budget is None else self.budget - self.spent()

    def for_last_fit(self) -> float:
        """Seconds that a last fit may take: what is left, or `LATE` of the budget."""
        return math.inf if self.budget is None else max(self.left(), LATE * self.budget)

    def rest(self, share: float = 1.0) -> float | None:
        """A budget for what is done next: a share of what is left; None without one."""
        return None if self.budget is None else share * max(self.left(), 0.01)

    def crowding(self) -> float:
        """Seconds by the clock per second of the processor, so far or lately, whichever is more; 1
        on an idle machine."""
        here = time.perf_counter(), time.process_time()
        start, lately, following = self._marks
        if here[0] - following[0] > RECENT:
            self._marks = [start, following, here]
        ratios = [(here[0] - t + SMOOTH) / (here[1] - c + SMOOTH) for t, c in (start, lately)]
        return max(1.0, *ratios)


class Stopwatch:
    """Seconds of work since it was made: of the processor, and no more than by the clock.

    On a busy machine the clock counts the work of others, too; with several threads the processor
    counts each of them. What was compiled meanwhile is not compiled again, and does not count.

    >>> watch = Stopwatch()
    >>> time.sleep(0.1)
    >>> watch.seconds() < 0.05
    True
    """

    def __init__(self) -> None:
        self._clock, self._processor = now(), self._work()

    def seconds(self) -> float:
        return max(0.0, min(now() - self._clock, self._work() - self._processor))

    def _work(self) -> float:
        """Seconds of the processor without those of compiling: fewer than the clock's, if busy."""
        return time.process_time() - compiling.both()[1]


def seconds_of(budget: Any) -> float | None:
    """Seconds from a number or a text such as "60s", "5min", "1h".

    >>> seconds_of("1.5min"), seconds_of(30), seconds_of(None)
    (90.0, 30.0, None)
    """
    if budget is None:
        return None
    if isinstance(budget, (int, float)) and not isinstance(budget, bool):
        value = float(budget)
    else:
        match = re.fullmatch(r"\s*([\d.]+)\s*(ms|s|sec|min|m|h)?\s*", str(budget))
        if not match or match[1].count(".") > 1 or match[1] == ".":
            raise ValueError(f"a budget looks like 60, '60s', '5min' or '1h', got {budget!r}")
        unit = {"ms": 1e-3, "min": 60.0, "m": 60.0, "h": 3600.0}.get(match[2] or "s", 1.0)
        value = float(match[1]) * unit
    if not 0 < value < float("inf"):
        raise ValueError(f"the budget must be a positive time, got {budget!r}")
    return value
