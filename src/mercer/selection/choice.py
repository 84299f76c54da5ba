"""One choice of a kernel and a learner on some rows: prepare them, race, and fit the winner."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer._config import get_config
from mercer._examples import count as count_of
from mercer._machine.deadline import OutOfTime, now, until
from mercer._machine.interrupts import CTRL_C, acknowledge
from mercer.data.dataset import Dataset, Note
from mercer.kernels import Kernel, as_kernel
from mercer.selection.board.scoreboard import OutOfFold
from mercer.selection.data_checks import Checked
from mercer.selection.folds import draw_order, splits_of
from mercer.selection.holdout import answers
from mercer.selection.kernel_search.search import search_kernel
from mercer.selection.kernel_search.tree import SearchTree
from mercer.selection.last_fit import LastFit
from mercer.selection.metrics import metric_of, needs
from mercer.selection.preprocess import Preprocessing, preprocessing
from mercer.selection.racing.apart import Apart
from mercer.selection.racing.candidates import kernels_for
from mercer.selection.racing.clock import Clock, Stopwatch
from mercer.selection.racing.entries import Data, Entry
from mercer.selection.racing.finals import EXTRA_REPEATS, Finals
from mercer.selection.racing.forecasts import CAREFUL
from mercer.selection.racing.progress_messages import ProgressMessages
from mercer.selection.racing.race import Race
from mercer.selection.racing.stages import planned, run_stages
from mercer.selection.rivals.named import Rival
from mercer.selection.rivals.trainer import rival_trainers
from mercer.selection.trainers.grid import trainers_for

#: Rows that the choice is made on; beyond this, a sample of so many is drawn.
CHOICE_ROWS = 6_000
#: The part of a time budget that a kernel search may take.
SEARCH_SHARE = 0.25
#: The share of rows that belong to no group, from which on rows may be left out one by one.
ALONE = 0.95
#: N×N matrices that are alive at once during a fold (K, its blocks, a factor), with room.
FOLD_MATRICES = 4.0
INTERRUPTED = "interrupted: the best of what had been tried until then was fitted"


class Choice:
    """`standing` are the candidates, best first; `winner` is fitted in `last`; `notes` are told.

    `held` rows, which are not among these, will be answered by the winner; with `refit` it is then
    fitted on them, too. Ctrl-C ends the race, and the best until then is fitted; without `keep`,
    Ctrl-C is raised.
    """

    def __init__(
        self,
        checked: Checked,
        *,
        learners: Iterable[str] | None,
        rivals: list[Rival],
        metric: Any,
        probabilities: bool,
        class_weight: Any,
        budget: float | None,
        seed: int,
        held: int = 0,
        apart: Apart | None = None,
        keep: bool = True,
        refit: bool = False,
    ) -> None:
        self.clock: Clock = Clock(budget)
        self.held: int = held
        self.refit: bool = refit
        self.apart: Apart | None = apart
        self.keep: bool = keep
        self.groups: np.ndarray | None = checked.groups
        self.seed: int = seed
        found = checked.found
        self.times: np.ndarray | None = checked.times
        self.found = found
        self.steps: Preprocessing = preprocessing(found, checked.left_out)
        assert found.y is not None
        assert found.task is not None
        self.y: np.ndarray = found.y
        self.task: str = found.task
        self.classes: np.ndarray | None = found.classes
        self.metric, self.measure = metric_of(self.task, metric)
        self.coded = self.measure
        self.probabilities: bool = probabilities or needs(self.measure) == "probabilities"
        if probabilities and self.classes is None:
            raise ValueError("probabilities are of classes, and the targets are numbers")
        if callable(metric) and self.classes is not None:
            # In the race classes are numbers; a user's own function knows their names.
            names, own = self.classes, self.measure
            self.coded = lambda t, p: float(own(names[t.astype(int)], names[p.astype(int)]))
        self.class_weight: tuple[Any, Any] = weights_by_class(class_weight, self.classes)
        self.trainers = trainers_for(
            self.task, learners, self.class_weight, _one_by_one(self.groups, self.times)
        )
        self.rivals = rivals
        # The board states the task, and the preprocessing what it does with missing values.
        about = {n: n.kind if isinstance(n, Note) else "" for n in found.notes}
        self.notes: list[str] = [n for n, kind in about.items() if kind not in ("task", "missing")]
        self.notes += [*self.steps.notes, *checked.notes]
        self.search: SearchTree | None = None
        self.finals: Finals | None = None
        #: The kernels that the caller named, if any.
        self.named: list[Kernel] = []
        self.interrupted: bool = False
        self.whole: Dataset = found
        self.rows_given: np.ndarray = np.arange(len(found))

    def run(self, kernels: Any, cv: Any, repeats: int, search: bool, told: Any) -> None:
        """Everything from the rows to the winner."""
        self.prepare(cv, repeats)
        candidates = self.candidates(kernels)
        steps = planned(len(candidates), self.trainers, len(self.rivals))
        with ProgressMessages(told, self.clock, steps) as say:
            if search and self.steps.kind != "strings":
                candidates = [self.grown_kernel(say), *candidates]
            self.race(candidates, repeats, say)
            self.standing: list[Entry] = self.finish(say)

    @contextmanager
    def until_interrupted(self) -> Iterator[None]:
        """Ctrl-C ends this block, is noted and said; a second one is raised."""
        try:
            yield
        except CTRL_C:
            if self.interrupted or not self.keep:
                raise
            acknowledge()
            self.interrupted = True
            self.clock.stop()
            self.notes.append(INTERRUPTED)

    @property
    def classified(self) -> bool:
        return self.classes is not None

    def prepare(self, cv: Any, repeats: int) -> None:
        """Draw the rows that the choice is made on, make them ready, and cut them into folds."""
        order = draw_order(self.y, self.classified, self.seed)
        self.drawn: np.ndarray = np.sort(order[: min(CHOICE_ROWS, _rows_that_fit())])
        watch = Stopwatch()
        rows = _prepared(self.steps, self.found.take(self.drawn))
        self.overhead: float = watch.seconds() * len(self.y) / len(self.drawn)
        y = self.y[self.drawn]
        y = y if self.classes is None else np.searchsorted(self.classes, y)
        extra = 0 if self.clock.budget is None else EXTRA_REPEATS
        groups = None if self.groups is None else self.groups[self.drawn]
        times = None if self.times is None else self.times[self.drawn]
        splits, self.folds, notes = splits_of(
            cv, rows, y, self.classified, repeats, self.seed, extra, groups, times
        )
        self.notes += notes
        count = 0 if self.classes is None else len(self.classes)
        order = draw_order(y, self.classified, self.seed + 1)
        asked = self.probabilities or needs(self.measure) != "answers"
        self.data: Data = Data(
            rows, y, count, self.coded, splits, order, self.seed, asked, groups, times
        )

    def candidates(self, kernels: Iterable[Any] | None) -> list[Kernel]:
        """The kernels that were named, or those that suit the data.

        Widths that are left to the data are chosen like the preprocessing: by all rows drawn, and
        without their targets.
        """
        if kernels is None:
            return kernels_for(self.data.X, self.steps.kind)
        given = [as_kernel(k) for k in kernels]
        self.named = [k.fitted(self.data.X) if k.words else k for k in given]
        return self.named

    def grown_kernel(self, say: Callable[[str], None]) -> Kernel:
        """The kernel that a search over building blocks finds."""
        say("kernel search")
        share = None if self.clock.budget is None else SEARCH_SHARE * self.clock.budget
        grown = search_kernel(
            self.data.X, self.data.y, task=self.task, random_state=self.seed, seconds=share
        )
        self.search = grown.tree
        self.notes.append(
            f"the kernel {grown.kernel!r} was grown on targets of all folds: its score is "
            "flattered more than those of the others"
        )
        return grown.kernel

    def race(self, kernels: list[Kernel], repeats: int, say: Callable[[str], None]) -> None:
        """Run the candidates; Ctrl-C ends the race and keeps what was found."""
        race = self.contest = Race(
            self.data, self.clock, len(self.y), self.overhead, say, self.held, self.apart,
            self.refit,
        )  # fmt: skip
        self.last: LastFit = LastFit(race, self.steps, self.probabilities, self.seed)
        with self.until_interrupted():
            # The search may find, and a caller may name, what is there already: it races once.
            rivals = rival_trainers(
                self.rivals, self.data.X, self.task, self.data.classes, self.class_weight
            )
            if self.clock.budget is not None:
                order = draw_order(self.y, self.classified, self.seed)
                self.finals = Finals(
                    race, self.found, self.drawn, order, self.groups, self.times, self.measure,
                    self.last.pipeline,
                )  # fmt: skip
            kernels = list(dict.fromkeys(kernels))
            run_stages(race, kernels, self.trainers, repeats, rivals, self.finals)
        if self.interrupted and not race.best():
            raise KeyboardInterrupt

    def finish(self, say: Callable[[str], None]) -> list[Entry]:
        """Fit the winner on all rows; the candidates, best first, without those too slow for it."""
        race = self.contest
        standing = race.best()
        if not standing:
            why = next((e.failed for e in race.entries if e.failed), "no candidate")
            raise ValueError(f"nothing could be fitted: {why}")
        asked_for = [e for e in race.entries if e.kernel in self.named]
        if asked_for and all(e.failed for e in asked_for):
            # Learners that bring a kernel of their own are not what was asked about.
            raise ValueError(
                f"no learner could be fitted with {', '.join(map(repr, self.named))}: "
                f"{asked_for[0].failed}. Name another kernel, or none for those that suit the data."
            )
        self.winner: Entry = first_stored(standing)
        if self.finals is not None and not self.interrupted:
            self.winner = self.finals.affordable(self.winner)
        with self.until_interrupted():
            say(f"last fit: {self.winner.trainer.learner}")
            models = {} if self.finals is None else self.finals.models
            self.last.run(self.winner, self.found, models.get(self.winner.index))
        if not hasattr(self.last, "best"):
            self.last.run(self.winner, self.found)
        return race.best()

    def answers_of_half(
        self, found: Dataset, rows: np.ndarray, end: float, part: int = 0
    ) -> list[OutOfFold]:
        """What the winner says of rows when it is fitted on half of its own; nothing where that
        lasts beyond `end`."""
        count = len(self.last.rows) // 2
        if CAREFUL * self.contest.fit_seconds(self.winner, count) <= end - now():
            with suppress(OutOfTime, ValueError), until(end):  # a class may have no row there
                model, _ = self.last.fitted(self.winner, self.found, count)
                return [answers(model, found, rows, part)]
        return []

    def settle(self, whole: Dataset, rows: np.ndarray, end: float | None) -> None:
        """Rows were kept back: fit the winner on all of them until `end`, if there is one."""
        self.whole, self.rows_given = whole, rows
        again = False
        if end is not None:
            with self.until_interrupted():
                again = self.last.whole(self.winner, whole, end)
        if not again:
            self.last.rows = rows[self.last.rows]


def first_stored(standing: list[Entry]) -> Entry:
    """The best that a model file can hold, or the best."""
    return next((e for e in standing if e.rival is None or e.rival.stored), standing[0])


def _rows_that_fit() -> int:
    """So many that K and what is made of it stay within the memory limit."""
    return max(200, int(math.sqrt(get_config().memory_bytes / (FOLD_MATRICES * 8))))


def _prepared(made: Preprocessing, X: Any) -> Any:
    if not made.steps:
        return X
    rows = Pipeline(list(made.steps)).fit_transform(X)
    if count_of(rows) > 2_000 and getattr(rows, "dtype", None) == np.float64:
        return rows.astype(np.float32)
    return rows


def _one_by_one(groups: np.ndarray | None, times: np.ndarray | None) -> bool:
    """Whether nearly all rows stand for themselves, so that each may be left out alone."""
    if groups is None or times is not None:
        return times is None
    sizes = np.unique(groups, return_counts=True)[1]
    return bool(np.sum(sizes == 1) >= ALONE * len(groups))


def weights_by_class(class_weight: Any, classes: np.ndarray | None) -> tuple[Any, Any]:
    """Weights of classes by number, for the folds, and by name, for the last fit."""
    if class_weight is None or class_weight == "balanced":
        if class_weight is not None and classes is None:
            raise ValueError("class_weight is for classes, and the targets are numbers")
        return class_weight, class_weight
    if classes is None or not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight is 'balanced' or a dictionary by class; got {class_weight!r}"
        )
    names = classes.tolist()
    strange = [c for c in class_weight if c not in names]
    if strange:
        raise ValueError(f"class_weight names {strange[0]!r}; the classes are {names}")
    return {names.index(c): w for c, w in class_weight.items()}, class_weight
