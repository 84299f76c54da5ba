"""What folds and fits will take: seconds of the processor by rows, learned as the race goes.

A trainer says how its work grows with rows. What a unit of work takes, its pace, is what the last
one of this candidate took, or of another one with the same trainer.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from mercer._config import get_config
from mercer.selection.racing.apart import Apart
from mercer.selection.racing.clock import Clock
from mercer.selection.racing.entries import Data, Entry
from mercer.selection.trainers.base import LAST_FIT_ROWS, Trainer

#: The part of a budget that is kept for the last fit, at most.
MOST_RESERVE = 0.45
#: Seconds that are allowed per second that a fit is expected to take.
CAREFUL = 1.3
#: Up to so many rows the last fit takes all of them, those kept back included, by a cheaper solver
#: where time is short.
ALL_ROWS = 20_000
#: The power of rows by which the work of a trainer may grow faster or slower than it says.
MOST_DRIFT = 0.5


def with_workers() -> bool:
    """Whether candidates are run by others, many at a time."""
    return get_config().cluster is not None


class Forecasts:
    """Seconds by the clock of all candidates in `entries`, those stopped included.

    `final_rows` are fitted in the end, which takes `overhead` seconds before the first solver
    begins; answers for `held` others follow. With `refit` these are then fitted on, too.
    """

    def __init__(
        self,
        data: Data,
        clock: Clock,
        final_rows: int,
        overhead: float,
        held: int = 0,
        apart: Apart | None = None,
        refit: bool = False,
    ) -> None:
        self.all_rows: int = final_rows + held * refit
        self.data, self.clock, self.final_rows, self.overhead = data, clock, final_rows, overhead
        self.apart = apart
        self.entries: list[Entry] = []

    def best(self) -> list[Entry]:
        """The candidates that have scores, best first."""
        return sorted((e for e in self.entries if e.scores and not e.failed), key=Entry.rank)

    @property
    def crowding(self) -> float:
        """Seconds by the clock per second of work, as far as the work is done here."""
        return 1.0 if self.apart is not None or with_workers() else self.clock.crowding()

    def drift(self, trainer: Trainer) -> float:
        """The power of rows by which paces grow, as seen between stages; 0 until it was."""
        mine = [e for e in self.entries if e.trainer is trainer]
        seen = [
            math.log(b / a) / math.log(m / n)
            for paces in (paces for e in mine for paces in (e.history, e.fitted))
            for (n, a), (m, b) in itertools.pairwise(sorted(paces.items()))
            if a > 0 and b > 0
        ]
        if not seen:
            return 0.0
        # What few rows take has other reasons; but cubes make themselves felt on more of them.
        power = trainer.grid.exponent
        least = 1.0 - power if power < 2 else -MOST_DRIFT
        return min(max(float(np.median(seen)), least), MOST_DRIFT)

    def cost(self, entry: Entry, size: int) -> float:
        """Seconds that all folds at this size will take, from what a smaller stage took."""
        like = entry
        if not entry.outcomes:
            done = [e for e in self.entries if e.outcomes]
            known = [e for e in done if e.trainer is entry.trainer]
            if not known:
                # Of a learner that has not run yet, expect no better than of the slowest so far.
                return max((self.cost(e, size) for e in done), default=0.0)
            like = max(known, key=lambda e: (e.size, e.index))
        growth = size / like.size
        power = like.trainer.grid.exponent + self.drift(like.trainer)
        fits = like.seconds * growth**power * len(self.data.splits[0])
        return (fits + like.gram_seconds * growth**2) * self.crowding

    def fit_seconds(self, entry: Entry, rows: int) -> float:
        """What the fit of this candidate on so many rows will take, as it is to be saved: with its
        preparation, and with answers for others."""
        trainer = entry.trainer
        alike = (e.fitted for e in self.entries if e.trainer is trainer and e.fitted)
        paces = entry.fitted or next(alike, {})
        seen, more = max(paces, default=0), 0.0
        if paces:
            pace = paces[seen]
        elif entry.outcomes:
            seen = round(entry.size * (1 - 1 / len(self.data.splits[0])))
            one = [o.fit_seconds + o.predict_seconds for o in entry.outcomes]
            pace = float(np.median(one)) / seen**trainer.grid.exponent
            # K as a whole is only made where it is small; a learner looks at what it needs.
            more = entry.gram_seconds * (min(rows, LAST_FIT_ROWS) / seen) ** 2
            more += self.overhead * rows / self.final_rows
        else:
            return self.overhead
        drift = max(1.0, rows / seen) ** self.drift(trainer)
        return (pace * drift * trainer.work(rows) + more) * self.crowding

    def fits(self, entry: Entry, rows: int, seconds: float) -> bool:
        """Whether it can be fitted on so many rows in so many seconds, if need be by a cheaper
        solver, which its trainer then takes."""
        before = entry.trainer.centers
        while CAREFUL * self.fit_seconds(entry, rows) > seconds:
            if not entry.trainer.cheaper(rows):
                entry.trainer.centers = before
                return False
        return True

    def rows_in(self, entry: Entry, seconds: float) -> int:
        """On how many rows it can be fitted in so many seconds; 0 if not on those it has seen."""
        rows = self.final_rows
        if rows <= ALL_ROWS and self.fit_seconds(entry, rows) <= seconds:
            return rows
        while rows >= entry.size and CAREFUL * self.fit_seconds(entry, rows) > seconds:
            rows = int(rows / 1.05)
        return rows if rows >= entry.size else 0

    def last_fit_seconds(self, entry: Entry) -> float:
        """What the fit of this candidate on all rows will take, those kept back included."""
        return 0.0 if self.clock.budget is None else self.fit_seconds(entry, self.all_rows)

    def kept(self, entry: Entry) -> float:
        """Seconds that this candidate must leave: for its own last fit, and for the leader's."""
        if self.clock.budget is None:
            return 0.0
        # What a stage says of all rows is a guess; it must not keep others from running.
        most = MOST_RESERVE * self.clock.budget
        return max(min(self.last_fit_seconds(e), most) for e in (entry, *self.best()[:1]))
