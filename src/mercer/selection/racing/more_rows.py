"""With time left, the race goes on: the best few as they will be saved, on more and more rows.

On a sample every learner solves its problem exactly; on all rows some have to approximate, and
others go on learning. So the order on a sample need not be that of the models in the end.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter
from time import perf_counter
from typing import Any

import numpy as np

from mercer._machine.deadline import OutOfTime, check_time, check_wanted, until
from mercer._machine.interrupts import CTRL_C
from mercer.data.dataset import Dataset
from mercer.selection.board.scoreboard import OutOfFold
from mercer.selection.holdout import answers_for, judged_answers
from mercer.selection.metrics import Metric
from mercer.selection.racing.clock import Stopwatch
from mercer.selection.racing.race import CAREFUL, Entry, Race
from mercer.selection.trainers.base import Outcome, Trainer

#: Candidates that go on; from size to size the better half, and the best two kinds.
MOST = 5
#: By so much the rows grow, the larger step where there is time for it; and the least worth it.
GROWTHS, WORTH = (2.5, 1.5), 1.2
#: The share of the time left that the measurement of a fit may take.
MEASURED = 0.1
#: The share of all rows that judge, if that many were drawn; they are fitted on nowhere here.
JUDGES = 0.2


def first_of_each(standing: list[Entry], key: Callable[[Entry], str]) -> list[Entry]:
    """Of candidates in their order, best first, the first of each learner or kind."""
    first: dict[str, Entry] = {}
    for entry in standing:
        first.setdefault(key(entry), entry)
    return list(first.values())


def finalists(standing: list[Entry]) -> list[Entry]:
    """The best of each kind and the best learners, best first."""
    kinds = first_of_each(standing, attrgetter("kind"))
    others = first_of_each(standing, attrgetter("trainer.learner"))
    chosen = list(dict.fromkeys(e.index for e in (*kinds, *others)))[:MOST]
    return [e for e in standing if e.index in chosen]


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
        folds = [test for _, test in race.data.splits[0]]
        tests = [*folds[:1], *(t for t in folds[1:2] if 2 * len(t) <= JUDGES * len(order))]
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
        going = finalists([e for e in race.best() if e.size == race.last])
        size, rounds = race.last, len(race.sizes)
        self.measure([e for e in going if not e.fitted], size)
        while WORTH * size < len(self.pool):
            able = next(filter(None, (self._able(going, int(g * size)) for g in GROWTHS)), None)
            if able is None or not self._round(*able):
                break
            size, going = able
            race.sizes.append(size)
            going.sort(key=Entry.rank)
            stay = [*going[: len(going) // 2], *first_of_each(going, attrgetter("kind"))[:2]]
            going = [e for e in going if e in stay]
        return len(race.sizes) > rounds

    def _round(self, size: int, going: list[Entry]) -> bool:
        """All of them on so many rows; what they were before, and False, if the time is over."""
        race, before = self.race, {e.index: e.state() for e in going}
        try:
            for entry in going:
                race.say(f"{size} rows: {entry.name}")
                with until(race.clock.end - max(map(race.reserve, going))):
                    self._judge(entry, size)
        except (OutOfTime, *CTRL_C) as error:
            # Who has run must not win by that alone.
            for entry in going:
                vars(entry).update(before[entry.index])
            if not isinstance(error, OutOfTime):
                raise
            return False
        return True

    def measure(self, going: list[Entry], size: int) -> None:
        """Time fits as they will be saved, for forecasts: folds choose parameters, besides."""
        for entry in going:
            left = self.race.clock.left() - self.race.kept(entry)
            with suppress(OutOfTime), until(perf_counter() + MEASURED * left):
                self._fit(entry, min(size, len(self.pool)))

    def _able(self, going: list[Entry], size: int) -> tuple[int, list[Entry]] | None:
        """Those that can run one after the other on so many rows, or on all if these are nearly
        all, and then be fitted; None without the leader and another one."""
        race, able, need = self.race, [], 0.0
        size = size if WORTH * size < len(self.pool) else len(self.pool)
        for entry in going:
            need += race.fit_seconds(entry, size)
            if CAREFUL * (need + race.reserve(entry)) <= race.clock.left():
                able.append(entry)
        return (size, able) if len(able) > 1 and able[0] is going[0] else None

    def _parts(self, size: int) -> tuple[Any, ...]:
        """Rows to fit on, rows to judge by and all classes; the same objects for a whole round."""
        if len(self._made[1]) != size:
            found, rows = self.found, np.sort(self.pool[:size])
            assert found.y is not None
            held = found.take(self.held), found.y[self.held]
            self._made = (found.take(rows), found.y[rows], *held, found.classes)
        return self._made

    def _fit(self, entry: Entry, size: int) -> tuple[OutOfFold, Outcome]:
        check_time()
        parts = self._parts(size)
        model = self.build(entry, parts[1])
        said, outcome = self.race.apart_or_here(
            entry, size, fit_and_answer, parts, model, entry.trainer, entry.outcomes[0].pick
        )
        check_wanted()  # a solver that was interrupted gives what it has
        entry.fitted[size] = outcome.fit_seconds
        return said, outcome

    def _judge(self, entry: Entry, size: int) -> None:
        said, outcome = self._fit(entry, size)
        entry.chosen = entry.chosen or entry.outcomes
        entry.outcomes = [outcome]
        entry.size, entry.tests, entry.gram_seconds = size, [self.tests], 0.0
        entry.scores = [self.metric(*judged_answers(said, self.metric, self.found.classes))]
        entry.folds = entry.first


def fit_and_answer(
    parts: tuple[Any, ...], model: Any, trainer: Trainer, pick: int
) -> tuple[OutOfFold, Outcome]:
    """Fit a pipeline on some rows; its answers for others, and what both took."""
    (X, y, examples, truth, classes), watch = parts, Stopwatch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    fit_seconds, watch = watch.seconds(), Stopwatch()
    said = answers_for(model, examples, truth, classes)
    seconds = fit_seconds, watch.seconds()
    predicted = said.predicted if classes is None else np.searchsorted(classes, said.predicted)
    learner = getattr(model[-1], "estimator_", model[-1])
    support, memory = trainer.support(learner, len(y)), trainer.memory(learner)
    return said, Outcome(predicted, said.certainty, support, *seconds, pick, {pick: 0.0}, memory)
