"""The end of a race with a budget: candidates as they will be saved, on more and more rows.

Folds on few rows choose parameters, and which kernels are worth more time. What wins is decided
here: the best of each kind are fitted on a sample, then the better ones on larger ones, up to all
rows but those that judge them. What is best then is tried with other scales and settings, and on
other rows that judge, while there is time.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from mercer._examples import take
from mercer._machine.deadline import OutOfTime, check_time, check_wanted, now, until
from mercer.data.dataset import Dataset
from mercer.kernels import Kernel, Sum
from mercer.selection.board.scoreboard import OutOfFold
from mercer.selection.folds import Split
from mercer.selection.holdout import answers_for, interval, judged_answers
from mercer.selection.metrics import Metric
from mercer.selection.racing.blend import BlendTrainer, blended
from mercer.selection.racing.candidates import rounded, scaled_copies
from mercer.selection.racing.clock import Stopwatch
from mercer.selection.racing.entries import Entry
from mercer.selection.racing.forecasts import CAREFUL
from mercer.selection.racing.race import FIRST_ROWS, Race
from mercer.selection.trainers.base import UNTRIED, Outcome, Trainer

#: Of all candidates so many begin in any case.
TOP = 2
#: From round to round rows grow by so much; the first one has at least `FIRST_ROWS`.
ROUND_GROWTH = 4.0
#: The share of the time that is left, without what the leader's last fit takes of it, half at most,
#: that a fit may take of which nothing is known.
UNKNOWN_FIT = 0.4
#: The share of all rows that judge, if that many were drawn; and how many judge before settings
#: are tried.
JUDGE_SHARE, ENOUGH_JUDGES = 0.2, 1_000
#: So often the folds are drawn anew, for more rows that judge where there is time.
EXTRA_REPEATS = 3
#: Standard errors by which a candidate may be behind to be judged by more rows; the best of a kind,
#: to be tried with other settings, by twice as many.
CLOSE = 1.5


def first_of_each(best: Iterable[Entry], key: Callable[[Entry], str]) -> list[Entry]:
    """Of candidates in their order, best first, the first of each learner or kind."""
    first: dict[str, Entry] = {}
    for entry in best:
        first.setdefault(key(entry), entry)
    return list(first.values())


def finalists(best: list[Entry]) -> list[Entry]:
    """The best, the best of each kind, and of each learner with kernels."""
    kernels = [e for e in best if e.kernel is not None]
    first = [*best[:TOP], *first_of_each(best, attrgetter("kind"))]
    first += first_of_each(kernels, attrgetter("trainer.learner"))
    return [e for e in best if e in first]


@dataclass
class Part:
    """Rows that judge, among those drawn for the race and among all; and others to fit on."""

    tests: np.ndarray
    held: np.ndarray
    pool: np.ndarray


class Finals:
    """`build` makes the pipeline of a candidate for some targets, to be fitted on their rows.

    `models` has pipelines fitted on most rows, with these rows, by the index of a candidate.
    """

    def __init__(
        self,
        race: Race,
        found: Dataset,
        drawn: np.ndarray,
        order: np.ndarray,
        groups: np.ndarray | None,
        times: np.ndarray | None,
        metric: Metric,
        build: Callable[[Entry, np.ndarray], Any],
    ) -> None:
        self.race: Race = race
        self.found: Dataset = found
        self.metric: Metric = metric
        self.build: Callable[[Entry, np.ndarray], Any] = build
        folds = [fold for repeat in race.data.splits for fold in repeat]
        if times is not None:  # what is judged lies after what is fitted on: most rows come first
            folds = folds[::-1]
        elif len(folds) > 2 and len(folds[0][1]) + len(folds[1][1]) <= JUDGE_SHARE * len(order):
            (a, b), (c, d) = folds[:2]
            merged = np.intersect1d(a, c), np.concatenate([b, d])
            folds = [merged, *race.data.splits[0][2:]]
        self.parts: list[Part] = [self._part(fold, drawn, order, groups, times) for fold in folds]
        self.models: dict[int, tuple[Any, np.ndarray]] = {}
        self._made: tuple[Any, ...] = ((), (), ())

    def _part(
        self,
        fold: Split,
        drawn: np.ndarray,
        order: np.ndarray,
        groups: np.ndarray | None,
        times: np.ndarray | None,
    ) -> Part:
        train, tests = fold
        held = drawn[np.sort(tests)]
        apart = np.zeros(len(order), dtype=bool)
        apart[drawn], apart[drawn[train]] = True, False
        if groups is not None:
            apart |= np.isin(groups, groups[held])
        if times is not None:
            apart |= times >= times[held].min()
        return Part(np.sort(tests), held, order[~apart[order]])

    def run(self, fresh: list[Entry]) -> None:
        """All rounds; `fresh` are candidates that have not run. One alone needs no decision."""
        race, known = self.race, finalists(self.race.best())
        going = [*known[:1], *fresh, *known[1:]]  # each kind, before more of one
        if len(going) < 2:
            return
        leader = going[0]
        self._rounds(going)
        if not self._leaders():
            return
        self._other_parts(ENOUGH_JUDGES)
        self._blend()
        self._tune()
        self._other_parts(math.inf)
        self._rest()
        self._blend()
        best = race.best()[0]
        if not leader.final and leader.mean - np.std(leader.scores) > best.mean:
            # It was cut off, and must not be replaced by something far worse.
            leader.final = True
            leader.forget(len(best.scores))

    def _rounds(self, going: list[Entry]) -> None:
        """The better half, and the best kinds, on more and more rows."""
        sizes = [len(self.parts[0].pool)]
        while sizes[0] >= ROUND_GROWTH * FIRST_ROWS:
            sizes.insert(0, int(sizes[0] / ROUND_GROWTH))
        for size, following in itertools.pairwise([*sizes, sizes[-1]]):
            self._round(going, size)
            if not any(e.final and e.size == size for e in going):
                return
            self.race.sizes = [*(s for s in self.race.sizes if s < size), size]
            done = sorted((e for e in going if e.final), key=Entry.rank)
            cheap = [e for e in done if self._seconds_for(e, following) > 0]
            stay = [*done[: len(done) // 2], *first_of_each(cheap, attrgetter("kind"))]
            going = [e for e in done if e in stay]

    def _round(self, going: list[Entry], size: int) -> None:
        """Those that can be fitted on so many rows, and then on all of them, in the time left."""
        race = self.race
        for entry in going:
            most = self._seconds_for(entry, size)
            if most <= 0:
                continue
            race.say(f"{size} rows: {entry.name}")
            with AllOrNothing([entry]), until(now() + most):
                self._judge(entry, size, 0)

    def _seconds_for(self, entry: Entry, size: int) -> float:
        """Seconds that a fit on so many rows may take, such that one on all rows can follow; 0
        where that is not enough. How work grows is known from two sizes on; until then a fit is
        tried where as much time is left as the last one took."""
        race, left = self.race, self.race.clock.left()
        most = UNKNOWN_FIT * max(left - race.kept(entry), 0.5 * left)
        if len(entry.fitted) < 2:
            known = sum(race.fit_seconds(entry, n) for n in entry.fitted)
            return most if known <= most else 0.0
        growth = race.fit_seconds(entry, race.all_rows) / race.fit_seconds(entry, size)
        most = max(most, left / (1 + CAREFUL * growth))
        return most if race.fits(entry, size, most) else 0.0

    # --- more rows that judge ---------------------------------------------------------------

    def _leaders(self, doubts: float = CLOSE) -> list[Entry]:
        """The best of the largest round and those close to it, best first."""
        done = sorted((e for e in self.race.entries if e.final), key=Entry.rank)
        done = [e for e in done if e.kind != "blend" and len(e.scores) == len(done[0].scores)]
        return [e for e in done if e.mean >= done[0].mean - doubts * self.doubt(done[0])]

    def affordable(self, winner: Entry) -> Entry:
        """The winner, or who is as good within doubt and can be fitted on all rows in time."""
        race, left = self.race, self.race.clock.for_last_fit()
        level = [e for e in self._leaders() if e.rival is None or e.rival.stored]
        return next((e for e in (winner, *level) if race.fits(e, race.all_rows, left)), winner)

    def doubt(self, entry: Entry) -> float:
        """The standard error of a score, as far as it comes from the rows that judge."""
        if len(entry.scores) > 1:
            return float(np.std(entry.scores) / math.sqrt(len(entry.scores)))
        low, high = entry.interval
        return (high - low) / (2 * 1.645)

    def _other_parts(self, most: float) -> None:
        """The leaders on other rows that judge, all or none, until so many have judged."""
        race = self.race
        while True:
            close = self._leaders()
            number = len(close[0].scores) if close else 0
            if len(close) < 2 or number >= len(self.parts):
                return
            size = min(close[0].size, len(self.parts[number].pool))
            need = sum(race.fit_seconds(e, size) for e in close)
            kept = max(map(race.last_fit_seconds, close))
            judged = sum(len(t) for t in close[0].tests)
            if judged >= most or CAREFUL * (need + kept) > race.clock.left():
                return
            race.say(f"other rows judge: {', '.join(e.name for e in close)}")
            end = race.clock.end - kept
            with AllOrNothing(close) as whole, until(end):
                for entry in close:
                    self._judge(entry, size, number)
            if whole.cut_off:
                return

    # --- settings ---------------------------------------------------------------------------

    def _tune(self) -> None:
        """Other scales and settings of the best of each kind that is not far behind, step by step
        while they fit and help; the leader first."""
        first = self._leaders()[0]
        for best in first_of_each(self._leaders(2 * CLOSE), attrgetter("kind")):
            if best.size == first.size:
                self._tune_one(best)

    def _tune_one(self, best: Entry) -> None:
        race, tried, kind = self.race, set(), best.kind
        while True:
            alike = [e for e in race.entries if e.kind == kind and e.final]
            best, better = min(alike, key=Entry.rank), False
            for entry in self._variants(best):
                key = (entry.kernel, entry.trainer.learner, entry.chosen[0].pick)
                if key in tried or not self._fits_beside(best, entry):
                    continue
                tried.add(key)
                race.entries.append(entry)
                won = self._beats(entry, best)
                better |= won
                if entry.kernel == best.kernel or not entry.scores:
                    race.entries.remove(entry)
                    if won:  # the same candidate, better set
                        self.models[best.index] = self.models.pop(entry.index)
                        vars(best).update(vars(entry), index=best.index)
            if not better:
                return

    def _rest(self) -> None:
        """Candidates that were left behind on few rows, while there is time."""
        best = self._leaders()[0]
        for entry in [e for e in self.race.best() if not e.final or e.size < best.size]:
            best = self._leaders()[0]
            if self._fits_beside(best, entry):
                self._beats(entry, best)

    def _fits_beside(self, best: Entry, entry: Entry) -> bool:
        """Whether there is time to judge one more as the best was, and for either's last fit."""
        race = self.race
        fits = len(best.scores) * race.fit_seconds(entry, best.size)
        blends = [e for e in race.entries if e.kind == "blend"]
        need = fits + max(map(race.last_fit_seconds, (best, entry, *blends)))
        return CAREFUL * need <= race.clock.left()

    def _beats(self, entry: Entry, best: Entry) -> bool:
        """Judge a candidate by the rows that judged the best one, as long as it is not behind."""
        race = self.race
        race.say(f"{best.size} rows: {entry.name}")
        with AllOrNothing([entry]), until(race.clock.end - race.last_fit_seconds(best)):
            for number, score in enumerate(best.scores):
                self._judge(entry, min(best.size, len(self.parts[number].pool)), number)
                if number == 0 and entry.scores[0] <= score:
                    break
            if len(entry.scores) < len(best.scores):
                entry.final, entry.folds = False, len(entry.scores)
        return entry.final and entry.mean > best.mean

    def _variants(self, best: Entry) -> list[Entry]:
        """The best with another scale of its kernel, or the next setting of its learner."""
        pick = best.trainer.picked(best.chosen)
        known = {(e.kernel, e.trainer.learner) for e in self.race.entries}
        other = next((e for e in self.race.best() if e.kernel not in (None, best.kernel)), None)
        learner = best.trainer.learner
        near: list[Kernel | None] = [k for k in nearby(best, other) if (k, learner) not in known]
        made = [(kernel, pick) for kernel in near]
        made += [(best.kernel, p) for p in best.trainer.near(pick) if p != pick]
        first = self._next_index()
        return [
            replace(best, kernel=kernel, index=first + i, unit=self._unit(kernel), scores=[],
                    chosen=[replace(best.outcomes[0], pick=p, tried={p: 0.0})], outcomes=[],
                    tests=[], fitted=dict(best.fitted), history={})
            for i, (kernel, p) in enumerate(made)
        ]  # fmt: skip

    def _unit(self, kernel: Kernel | None) -> float:
        """The mean of k(x, x)."""
        if kernel is None:
            return 1.0
        return float(np.mean(kernel.diag(take(self.race.data.X, slice(FIRST_ROWS))))) or 1.0

    # --- several ---------------------------------------------------------------------------

    def _blend(self) -> None:
        """The mean of the finalists, instead of the one before, where it pays and there is time."""
        race, data = self.race, self.race.data
        single = [e for e in race.entries if e.kind != "blend"]
        done = sorted((e for e in single if e.final and e.index in self.models), key=Entry.rank)
        if data.with_scores or not done:
            return
        first = done[0]
        alike = [e for e in done if (e.size, len(e.scores)) == (first.size, len(first.scores))]
        if data.classes:  # all of which have a row, and a score
            alike = [e for e in alike if e.outcomes[0].scores is not None]
            alike *= len(self.models[first.index][0].classes_) == data.classes
        made = blended(alike, data, self._next_index()) if first in alike else None
        if made is not None and race.fits(made, race.all_rows, race.clock.left()):
            assert isinstance(made.trainer, BlendTrainer)
            members = [self.models[e.index] for e in made.trainer.members]
            self.models[made.index] = made.trainer.fitted([m for m, _ in members]), members[0][1]
            race.entries = [*single, made]

    def _next_index(self) -> int:
        return 1 + max(e.index for e in self.race.entries)

    # --- one fit ----------------------------------------------------------------------------

    def _rows(self, size: int, number: int) -> tuple[Any, ...]:
        """Rows to fit on, rows to judge by and all classes; the same objects for a whole round."""
        if self._made[0] != (size, number):
            found, part = self.found, self.parts[number]
            rows = np.sort(part.pool[:size])
            assert found.y is not None
            held = found.take(part.held), found.y[part.held]
            self._made = (
                (size, number),
                rows,
                (found.take(rows), found.y[rows], *held, found.classes),
            )
        return self._made[1:]

    def _judge(self, entry: Entry, size: int, number: int) -> None:
        """Fit on so many rows, and judge by those of a part."""
        check_time()
        rows, data = self._rows(size, number)
        entry.chosen = entry.chosen or entry.outcomes or [UNTRIED]
        model = self.build(entry, data[1])
        said, outcome, model = self.race.apart_or_here(
            entry, size, fit_and_answer, data, model, entry.trainer, not entry.own
        )
        check_wanted()  # a solver that was interrupted gives what it has
        entry.fitted[size] = outcome.seconds / entry.trainer.work(size)
        if model is not None:
            entry.trainer.keep(getattr(model[-1], "estimator_", model[-1]), size)
        truth, answers = judged_answers(said, self.metric, self.found.classes)
        if number == 0:
            entry.scores, entry.outcomes, entry.tests = [], [], []
            entry.size, entry.gram_seconds, entry.final = size, 0.0, True
            entry.interval = interval(truth, answers, self.metric)
            if model is not None:
                self.models[entry.index] = model, rows
        entry.scores.append(self.metric(truth, answers))
        entry.outcomes.append(outcome)
        entry.tests.append(self.parts[number].tests)
        entry.folds = entry.first


class AllOrNothing:
    """Candidates as they were before a block that ran out of time, or that Ctrl-C ended."""

    def __init__(self, entries: list[Entry]) -> None:
        self.before: list[tuple[Entry, dict[str, Any]]] = [
            (entry, entry.state()) for entry in entries
        ]

    def __enter__(self) -> AllOrNothing:
        self.begin: float = now()
        self.cut_off: bool = False
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if kind is None:
            return False
        self.cut_off, in_vain = True, now() - self.begin
        for entry, state in self.before:
            vars(entry).update(state)
            entry.in_vain = in_vain
        return issubclass(kind, OutOfTime)


def fit_and_answer(
    parts: tuple[Any, ...], model: Any, trainer: Trainer, keep: bool
) -> tuple[OutOfFold, Outcome, Any]:
    """Fit a pipeline on some rows; its answers for others, what both took, and itself."""
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
    scores = said.scores
    if classes is None or scores is None or np.isnan(scores).any():
        scores = None
    outcome = Outcome(predicted, said.certainty, support, *seconds, 0, {0: 0.0}, memory)
    outcome = replace(outcome, scores=scores, probable=bool(np.all(said.probable)))
    return said, outcome, model if keep else None


def nearby(best: Entry, other: Entry | None) -> list[Kernel]:
    """Other scales of a kernel, and its sum with the next one."""
    if best.kernel is None:
        return []
    near = scaled_copies(best.kernel)
    if other is not None and other.kernel is not None and not isinstance(best.kernel, Sum):
        weight = rounded(best.unit / other.unit)
        near.append(best.kernel + (other.kernel if weight == 1.0 else weight * other.kernel))
    return near
