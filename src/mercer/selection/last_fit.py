"""The winner of a race, fitted on all rows, or on as many as there is time for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer._machine.deadline import OutOfTime, check_time, check_wanted, until
from mercer.data.dataset import Dataset
from mercer.learners.probabilities import CalibratedScores, evidence
from mercer.selection.folds import draw_order
from mercer.selection.preprocess import Preprocessing
from mercer.selection.racing.race import CAREFUL, Entry, Race
from mercer.selection.trainers.base import Outcome

#: A winner is fitted on all rows, or at least on so many times those that it was compared on.
ENOUGH = 3
#: The share of a budget by which a better candidate may end later than the fastest.
LATE = 0.02
#: So many times the rows make another last fit worth its time.
WORTH = 1.25


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

    def run(self, winner: Entry, found: Dataset) -> None:
        """On as many rows as the time allows."""
        race = self.race
        least = min(winner.size, len(found))
        count = max(least, race.rows_in(winner, race.clock.left()))
        end = race.clock.end - race.answer_seconds(winner, count)
        try:
            with until(end):
                self.fit(winner, found, count)
        except OutOfTime:
            # As many as it was compared on: what that takes is known, and little.
            self.fit(winner, found, least)
            return
        self._on_more_rows(winner, found)

    def _on_more_rows(self, winner: Entry, found: Dataset) -> None:
        """Once more, where the fit took so much less than expected that there is time for it."""
        race = self.race
        while len(self.rows) < len(found):
            winner.fitted[len(self.rows)] = self.seconds
            count = race.rows_in(winner, race.clock.left())
            end = race.clock.end - race.answer_seconds(winner, count)
            if count < WORTH * len(self.rows):
                return
            try:
                with until(end):
                    self.fit(winner, found, count)
            except OutOfTime:
                return

    def fit(self, winner: Entry, found: Dataset, count: int) -> None:
        """The winner on so many rows of a data set."""
        check_time()
        assert found.y is not None
        rows = np.sort(draw_order(found.y, found.classes is not None, self.seed)[:count])
        part = found if count == len(found) else replace(found, X=found.take(rows), y=found.y[rows])
        assert part.y is not None
        best = self.pipeline(winner, part.y)
        begin = perf_counter()
        with self.race.threads(count, winner), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            best.fit(part.X, part.y)
        check_wanted()  # a solver that was interrupted gives what it has
        best.schema_ = found.schema  # a saved model knows how to read new rows
        self.best, self.rows, self.seconds = best, rows, perf_counter() - begin

    def again(self, winner: Entry, whole: Dataset, end: float) -> bool:
        """On all rows, those kept back included, until `end`; whether there was time for it."""
        with suppress(OutOfTime), until(end):
            self.fit(winner, whole, len(whole))
            return True
        return False


def _calibrated(model: Any, outcomes: Sequence[Outcome]) -> CalibratedScores:
    """The model with probabilities, from the scores of all folds for rows held out."""
    known = [o for o in outcomes if o.scores is not None and o.truth is not None]
    scores = [evidence(np.asarray(o.scores), o.probable) for o in known]
    truth = np.concatenate([np.asarray(o.truth) for o in known])
    return CalibratedScores.fitted(model, np.concatenate(scores), truth)


def affordable(race: Race, standing: list[Entry]) -> Entry:
    """The best candidate that can be fitted on enough rows in the time left, or the fastest."""
    if race.clock.budget is None:
        return standing[0]
    left, n = race.clock.left() + 0.05 * race.clock.budget, race.final_rows
    fastest = min(standing, key=lambda e: race.fit_seconds(e, n))
    # What the fastest takes is spent whatever is left: a little more must not cost a better one.
    left = max(left, CAREFUL * race.fit_seconds(fastest, n) + LATE * race.clock.budget)
    for entry in standing:
        if entry is fastest or race.rows_in(entry, left) >= min(n, ENOUGH * entry.size):
            return entry
        entry.slow = True
    return fastest
