"""With time left, the race goes on: the best few as they will be saved, on more and more rows.

On a sample every learner solves its problem exactly; on all rows some have to approximate, and
others go on learning. So the order on a sample need not be that of the models in the end.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._machine.deadline import OutOfTime, check_time, check_wanted, until
from mercer._machine.interrupts import CTRL_C
from mercer.data.dataset import Dataset
from mercer.selection.board.scoreboard import OutOfFold
from mercer.selection.holdout import answers_for, judged_answers
from mercer.selection.metrics import Metric
from mercer.selection.racing.race import CAREFUL, Entry, Race
from mercer.selection.trainers.base import Outcome, Trainer

#: Candidates that go on, one per learner; the better half of them from size to size.
MOST = 4
#: By so much the rows grow.
GROWTH = 2.5
#: Folds whose test rows judge; they are fitted on nowhere here.
FOLDS = 2


def best_of_each_learner(standing: list[Entry]) -> list[Entry]:
    """Of candidates in their order, best first, the first of each learner in the same order."""
    first: dict[str, Entry] = {}
    for entry in standing:
        first.setdefault(entry.trainer.learner, entry)
    return list(first.values())


class MoreRows:
    """`build` makes the pipeline of a candidate for some targets, to be fitted on their rows."""

    def __init__(
        self,
        race: Race,
        found: Dataset,
        drawn: np.ndarray,
        order: np.ndarray,
        groups: np.ndarray | None,
        metric: Metric,
        build: Callable[[Entry, np.ndarray], Any],
    ) -> None:
        self.race, self.found, self.metric, self.build = race, found, metric, build
        tests = [test for _, test in race.data.splits[0][:FOLDS]]
        #: Rows to judge by, among those drawn for the race and among all.
        self.tests = np.sort(np.concatenate(tests))
        self.held = drawn[self.tests]
        apart = np.zeros(len(order), dtype=bool)
        apart[self.held] = True
        if groups is not None:
            apart = np.isin(groups, groups[self.held])
        self.pool = order[~apart[order]]
        self._made: tuple[Any, ...] = ((), ())

    def run(self) -> bool:
        """Round by round, as long as two or more can run and the last fit keeps its time.

        Whether there was a round.
        """
        race = self.race
        going = best_of_each_learner([e for e in race.best() if e.size == race.last])[:MOST]
        size, rounds = race.last, len(race.sizes)
        while size < len(self.pool):
            size = min(int(GROWTH * size), len(self.pool))
            able = [e for e in going if self._fits(e, size, going)]
            if len(able) < 2 or able[0] is not going[0]:  # the leader must be among them
                break
            going = able
            before = {e.index: e.state() for e in going}
            try:
                for entry in going:
                    race.say(f"{size} rows: {entry.name}")
                    last = min(race.fit_seconds(e, size) for e in going)
                    with until(race.clock.end - last):
                        self._fit(entry, size)
            except (OutOfTime, *CTRL_C) as error:
                # Who has run must not win by that alone.
                for entry in going:
                    vars(entry).update(before[entry.index])
                if not isinstance(error, OutOfTime):
                    raise
                break
            race.sizes.append(size)
            going = sorted(going, key=Entry.rank)[: max(2, len(going) // 2)]
        return len(race.sizes) > rounds

    def _fits(self, entry: Entry, size: int, going: list[Entry]) -> bool:
        """Whether this one and those before it can run, and the slowest be fitted at the end."""
        ahead = going[: going.index(entry) + 1]
        need = sum(self.race.fit_seconds(e, size) for e in ahead)
        last = max(self.race.fit_seconds(e, self.race.final_rows) for e in ahead)
        return CAREFUL * (need + last) <= self.race.clock.left()

    def _parts(self, size: int) -> tuple[Any, ...]:
        """Rows to fit on, rows to judge by and all classes; the same objects for a whole round."""
        if len(self._made[1]) != size:
            found, rows = self.found, np.sort(self.pool[:size])
            assert found.y is not None
            held = found.take(self.held), found.y[self.held]
            self._made = (found.take(rows), found.y[rows], *held, found.classes)
        return self._made

    def _fit(self, entry: Entry, size: int) -> None:
        check_time()
        parts = self._parts(size)
        model = self.build(entry, parts[1])
        said, outcome = self.race.apart_or_here(
            entry, size, fit_and_answer, parts, model, entry.trainer, entry.outcomes[0].pick
        )
        check_wanted()  # a solver that was interrupted gives what it has
        entry.chosen = entry.chosen or entry.outcomes
        entry.outcomes = [outcome]
        entry.size, entry.tests, entry.gram_seconds = size, [self.tests], 0.0
        entry.scores = [self.metric(*judged_answers(said, self.metric, self.found.classes))]
        entry.folds = entry.first
        entry.fitted[size] = outcome.fit_seconds


def fit_and_answer(
    parts: tuple[Any, ...], model: Any, trainer: Trainer, pick: int
) -> tuple[OutOfFold, Outcome]:
    """Fit a pipeline on some rows; its answers for others, and what both took."""
    (X, y, examples, truth, classes), begin = parts, time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    done = time.perf_counter()
    said = answers_for(model, examples, truth, classes)
    end = time.perf_counter()
    predicted = said.predicted if classes is None else np.searchsorted(classes, said.predicted)
    learner = getattr(model[-1], "estimator_", model[-1])
    support, memory = trainer.support(learner, len(y)), trainer.memory(learner)
    seconds = done - begin, end - done
    return said, Outcome(predicted, said.certainty, support, *seconds, pick, {pick: 0.0}, memory)
