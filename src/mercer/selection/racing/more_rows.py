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

from mercer._machine.deadline import OutOfTime, run_until
from mercer.data.dataset import Dataset
from mercer.selection.holdout import answers, judged_answers
from mercer.selection.metrics import Metric
from mercer.selection.racing.race import CAREFUL, Entry, Race
from mercer.selection.trainers.base import Outcome

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
            before = {e.index: e.state() | {"chosen": e.chosen} for e in going}
            try:
                for entry in going:
                    race.say(f"{size} rows: {entry.name}")
                    last = min(race.fit_seconds(e, size) for e in going)
                    run_until(race.clock.end - last, self._fit, entry, size)
            except OutOfTime:
                # Who has run must not win by that alone.
                for entry in going:
                    vars(entry).update(before[entry.index])
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

    def _fit(self, entry: Entry, size: int) -> None:
        assert self.found.y is not None
        rows, begin = np.sort(self.pool[:size]), time.perf_counter()
        model = self.build(entry, self.found.y[rows])
        with self.race.threads(size, entry), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(self.found.take(rows), self.found.y[rows])
        done = time.perf_counter()
        said = answers(model, self.found, self.held)
        end = time.perf_counter()
        classes = self.found.classes
        predicted = said.predicted
        if classes is not None:
            predicted = np.searchsorted(classes, predicted)
        trainer, learner = entry.trainer, getattr(model[-1], "estimator_", model[-1])
        pick = entry.outcomes[0].pick
        entry.chosen = entry.chosen or entry.outcomes
        entry.outcomes = [
            Outcome(predicted, said.certainty, trainer.support(learner, size), done - begin,
                    end - done, pick, {pick: 0.0}, trainer.memory(learner))
        ]  # fmt: skip
        entry.size, entry.tests, entry.gram_seconds = size, [self.tests], 0.0
        entry.scores = [self.metric(*judged_answers(said, self.metric, classes))]
        entry.folds = entry.first
        entry.fitted[size] = done - begin
