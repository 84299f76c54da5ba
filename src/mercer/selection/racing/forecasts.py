"""What folds and fits will take, from what they have taken on fewer rows."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np

from mercer._config import get_config
from mercer.selection.racing.apart import Apart
from mercer.selection.racing.clock import Clock
from mercer.selection.racing.entries import Data, Entry
from mercer.selection.trainers.base import Trainer
from mercer.selection.trainers.ridge import EXACT_ROWS

#: The part of a budget that is kept for the last fit, at most.
MOST_RESERVE = 0.45
#: Seconds that are allowed per second that the last fit is expected to take.
CAREFUL = 1.3
#: Below so many rows the last fit takes all of them where its forecast just fits.
ALL_ROWS = 20_000
#: Rows that are to be judged after the last fit, at least.
JUDGED = 1_000
#: The least exponent with which the seconds of a fit are expected to grow with its rows.
LEAST_GROWTH = 0.8


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
        self.held, self.apart = held, apart
        self.entries: list[Entry] = []

    def best(self) -> list[Entry]:
        """The candidates that have scores, best first."""
        return sorted((e for e in self.entries if e.scores and not e.failed), key=Entry.rank)

    @property
    def crowding(self) -> float:
        """Seconds by the clock per second of work, as far as the work is done here."""
        return 1.0 if self.apart is not None or with_workers() else self.clock.crowding()

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
        folds = len(self.data.splits[0])
        fits = like.seconds * growth ** self.exponent(entry.trainer) * folds
        return (fits + like.gram_seconds * growth**2) * self.crowding

    def exponent(self, trainer: Trainer) -> float:
        """How the seconds of a fold grow with its rows: as seen between stages, or as expected."""
        seen = []
        for entry in self.entries:
            if entry.trainer is trainer:
                steps = sorted(entry.history.items())
                seen += [
                    math.log(b / a) / math.log(m / n)
                    for (n, a), (m, b) in itertools.pairwise(steps)
                ]
        if not seen:
            return trainer.grid.exponent
        # A little more than seen: overheads, which do not grow, matter less from stage to stage.
        least = max(LEAST_GROWTH, trainer.grid.exponent - 0.6)
        return min(max(float(np.median(seen)) + 0.2, least), trainer.grid.exponent + 0.3)

    def fit_seconds(self, entry: Entry, rows: int) -> float:
        """What the fit of this candidate on so many rows will take, the preparation included."""
        exponent = self.exponent(entry.trainer)
        after = self.answer_seconds(entry, rows)
        alike = (e.fitted for e in self.entries if e.trainer is entry.trainer and e.fitted)
        fitted = entry.fitted or next(alike, {})
        train = entry.size * (1 - 1 / len(self.data.splits[0]))
        expected = partial(entry.trainer.final_seconds, entry.outcomes, train)
        if fitted:
            most = max(fitted)
            fit = fitted[most] * expected(rows, exponent) / expected(most, exponent)
            return after + fit * self.crowding
        fit = expected(rows, exponent)
        # K as a whole is only made where it is small; a learner looks at what it needs.
        gram = entry.gram_seconds * (min(rows, EXACT_ROWS) / train) ** 2
        return (fit + gram + self.overhead * rows / self.final_rows) * self.crowding + after

    def answer_seconds(self, entry: Entry, rows: int) -> float:
        """What answers for some of the rows kept back will take after a fit on so many."""
        tested = sum(map(len, entry.tests))
        if not tested or not self.held:
            return 0.0
        seconds = sum(o.predict_seconds for o in entry.outcomes)
        kept = np.mean([o.n_support for o in entry.outcomes]) > 0
        seconds += entry.gram_seconds * tested / entry.size
        # A model that keeps examples has the more of them the more rows it was fitted on.
        growth = rows / entry.size if kept else 1.0
        return float(seconds / tested * growth) * min(self.held, JUDGED) * self.crowding

    def rows_in(self, entry: Entry, seconds: float) -> int:
        """On how many rows it can be fitted in so many seconds; 0 if not on those it has seen."""
        rows = self.final_rows
        if rows < ALL_ROWS and self.fit_seconds(entry, rows) <= seconds:
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
        most, known = MOST_RESERVE * self.clock.budget, (entry, *self.best()[:1])
        return max(
            min(self.last_fit_seconds(e), most) if e.outcomes else self.overhead for e in known
        )
