"""The winner of a race, fitted on all rows, or on as many as there is time for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer._machine.deadline import OutOfTime, check_time, check_wanted, now, until
from mercer.data.dataset import Dataset
from mercer.learners.probabilities import CalibratedScores, evidence
from mercer.selection.folds import draw_order
from mercer.selection.preprocess import Preprocessing
from mercer.selection.racing.clock import Stopwatch
from mercer.selection.racing.entries import Entry
from mercer.selection.racing.forecasts import ALL_ROWS
from mercer.selection.racing.race import Race
from mercer.selection.trainers.base import Outcome

#: At most so many times the rows in the next of them.
STEP = 3


class LastFit:
    """`best` is the fitted pipeline, `rows` the rows it was fitted on, `seconds` what it took."""

    best: Pipeline

    def __init__(self, race: Race, steps: Preprocessing, probabilities: bool, seed: int) -> None:
        self.race, self.steps, self.probabilities, self.seed = race, steps, probabilities, seed
        self.rows, self.seconds = np.empty(0, dtype=np.int64), 0.0

    def pipeline(self, entry: Entry, y: np.ndarray) -> Pipeline:
        """Preprocessing and a candidate as it is to be fitted on rows with these targets."""
        outcomes = entry.chosen or entry.outcomes
        model = entry.trainer.final(entry.kernel, outcomes, entry.unit, y)
        if self.probabilities:
            model = _calibrated(model, outcomes)
        steps = [(name, clone(step)) for name, step in self.steps.steps]
        return Pipeline([*steps, ("model", model)])

    def run(
        self, winner: Entry, found: Dataset, known: tuple[Any, np.ndarray] | None = None
    ) -> None:
        """On all rows, or on as many as the time allows; what a fit took corrects the forecast.

        `known` is the winner fitted on most of these rows, with their indices. It answers for the
        rows kept back where there is time for one more fit only, which is then made with them.
        """
        race, least = self.race, min(winner.size, len(found))
        left, again = race.clock.for_last_fit(), race.all_rows > len(found)
        if again:  # another fit, on more rows, follows
            left *= len(found) / (len(found) + race.all_rows)
        if known is not None:
            (self.best, self.rows), work = known, winner.trainer.work(len(known[1]))
            self.seconds = winner.fitted[len(known[1])] * work
            self.best.schema_ = found.schema
        fits = not again or race.fits(winner, len(found), left)
        if fits and len(found) <= ALL_ROWS and self.whole(winner, found, now() + left):
            return
        if known is None and (again or race.rows_in(winner, left) < len(found)):
            # On as many as it was compared on: what that takes is known, and little.
            self.fit(winner, found, least)
        if not again:
            self._on_more_and_more(winner, found)
            if not len(self.rows):
                self.fit(winner, found, least)

    def _on_more_and_more(self, winner: Entry, found: Dataset) -> None:
        """By steps, so that what a fit took corrects the forecast of the next one."""
        race = self.race
        with suppress(OutOfTime):
            while len(self.rows) < len(found):
                left = race.clock.for_last_fit()
                count = race.rows_in(winner, left)
                count = min(count, STEP * len(self.rows) or count)
                if len(self.rows) and count <= len(self.rows):
                    return
                with until(now() + left):
                    self.fit(winner, found, count)

    def whole(self, winner: Entry, found: Dataset, end: float) -> bool:
        """On all rows until `end`; whether that could be. Where time is short centers are taken,
        of up to `ALL_ROWS` rows the fewest of them even late: that takes little."""
        trainer, n = winner.trainer, len(found)
        if self.race.fits(winner, n, end - now()) or not trainer.takes_centers:
            with suppress(OutOfTime), until(end):
                self.fit(winner, found, n)
                return True
        if trainer.takes_centers and n <= ALL_ROWS and n == self.race.all_rows:
            while trainer.cheaper(n):
                pass
            with suppress(OutOfTime):
                self.fit(winner, found, n)
                return True
        return False

    def fit(self, winner: Entry, found: Dataset, count: int) -> None:
        """The winner on so many rows of a data set."""
        watch = Stopwatch()
        self.best, self.rows = self.fitted(winner, found, count)
        self.best.schema_ = found.schema  # a saved model knows how to read new rows
        self.seconds = watch.seconds()
        winner.fitted[count] = self.seconds / winner.trainer.work(count)

    def fitted(self, winner: Entry, found: Dataset, count: int) -> tuple[Pipeline, np.ndarray]:
        """Its pipeline fitted on so many rows, and these."""
        check_time()
        assert found.y is not None
        rows = np.sort(draw_order(found.y, found.classes is not None, self.seed)[:count])
        part = found if count == len(found) else replace(found, X=found.take(rows), y=found.y[rows])
        assert part.y is not None
        made = self.pipeline(winner, part.y)
        with self.race.threads(count, winner), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.fit(part.X, part.y)
        check_wanted()  # a solver that was interrupted gives what it has
        return made, rows


def _calibrated(model: Any, outcomes: Sequence[Outcome]) -> CalibratedScores:
    """The model with probabilities, from the scores of all folds for rows held out."""
    known = [o for o in outcomes if o.scores is not None and o.truth is not None]
    scores = [evidence(np.asarray(o.scores), o.probable) for o in known]
    truth = np.concatenate([np.asarray(o.truth) for o in known])
    return CalibratedScores.fitted(model, np.concatenate(scores), truth)
