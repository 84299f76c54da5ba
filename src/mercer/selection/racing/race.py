"""Successive halving: all candidates on few rows, the better ones on more, the best on all.

Every candidate of a stage sees the same rows and folds. With a time budget the number that goes on
is what the measured times say will fit; without one it is fixed, and nothing depends on a clock.
"""

from __future__ import annotations

import copy
import itertools
import math
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from threadpoolctl import threadpool_limits

from mercer._config import get_config
from mercer._examples import take
from mercer._machine.deadline import OutOfTime, check_time, check_wanted, until
from mercer._machine.interrupts import CTRL_C
from mercer._machine.threads import single_threaded_blas
from mercer.gram import host_gram
from mercer.kernels import Kernel
from mercer.selection.folds import Split, within
from mercer.selection.metrics import Metric
from mercer.selection.racing.apart import Apart, CannotTravel
from mercer.selection.racing.clock import Clock, Stopwatch, threads_pay
from mercer.selection.rivals.named import Rival
from mercer.selection.rivals.trainer import RivalTrainer
from mercer.selection.scores import judged
from mercer.selection.trainers.base import Fold, Outcome, Trainer
from mercer.selection.trainers.ridge import EXACT_ROWS

T = TypeVar("T")

#: Rows of the first stages; the last stage has all that were drawn.
FIRST_ROWS, SECOND_ROWS = 600, 2_000
#: On fewer rows than this no candidate is stopped.
LEAST_ROWS = 150
#: A kernel is first evaluated on so many rows: that compiles its code before the clock runs.
FEW_ROWS = 40
#: More folds than this are run on all rows only.
MOST_FOLDS = 20
#: The part of a budget that is kept for the last fit, at most.
MOST_RESERVE = 0.45
#: Seconds that are allowed per second that the last fit is expected to take.
CAREFUL = 1.3
#: Of a winner that is fitted anew, with the rows kept back: seconds per second of its last fit.
REFIT = 1.6
#: The share of a budget that a candidate may take of which nothing is known.
UNKNOWN = 0.12
#: Below so many rows the last fit takes all of them where its forecast just fits.
ALL_ROWS = 20_000
#: Rows that are to be judged after the last fit, at least.
JUDGED = 1_000
#: The least exponent with which the seconds of a fit are expected to grow with its rows.
LEAST_GROWTH = 0.8
#: Seconds for which it is believed whether threads are of use.
BELIEVED = 10.0
#: Training rows from which the linear algebra of a fold takes several threads.
WORTH_THREADS = 2_500


@dataclass
class Data:
    """Prepared rows, coded targets, folds, and the order in which rows are drawn."""

    X: Any
    y: np.ndarray
    classes: int
    metric: Metric
    splits: list[list[Split]]
    order: np.ndarray
    seed: int
    with_scores: bool = False  # whether classifiers are asked for more than answers
    groups: np.ndarray | None = None  # rows of a number belong together
    times: np.ndarray | None = None  # when a row was

    @property
    def n(self) -> int:
        return len(self.y)


@dataclass
class Entry:
    """One candidate and what is known of it; scores are those of the largest stage it was in."""

    kernel: Kernel | None  # None for a rival
    trainer: Trainer
    index: int  # among all candidates, in the order in which they were added
    size: int = 0
    unit: float = 1.0
    gram_seconds: float = 0.0
    scores: list[float] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    tests: list[np.ndarray] = field(default_factory=list)
    failed: str = ""
    slow: bool = False  # too slow for a last fit in the time left
    folds: int = 0  # folds of this size that count: rivals have been tested on the same ones
    first: int = 1  # folds of one cross-validation, which everyone is to have
    in_vain: float = 0.0  # seconds after which it was stopped without a score
    history: dict[int, float] = field(default_factory=dict)  # seconds of a fold by stage
    chosen: list[Outcome] = field(default_factory=list)  # settings, where `outcomes` tells none
    fitted: dict[int, float] = field(default_factory=dict)  # seconds of whole fits by rows

    @property
    def rival(self) -> Rival | None:
        return self.trainer.rival if isinstance(self.trainer, RivalTrainer) else None

    @property
    def own(self) -> bool:
        """Whether this is an estimator of the user's, which does not look at the clock."""
        return self.rival is not None and not self.rival.stored

    @property
    def name(self) -> str:
        if self.rival is not None:
            kind = "" if self.rival.learns_metric else " (rival without a kernel)"
            return f"{self.rival.title}{kind}"
        return f"{self.kernel!r} with {self.trainer.learner}"

    @property
    def kind(self) -> str:
        """What learns alike: kernels, trees, or a rival by its name."""
        if self.rival is None:
            return "kernel"
        return "trees" if self.rival.name in ("boosting", "forest") else self.rival.name

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores)) if self.scores else -math.inf

    @property
    def seconds(self) -> float:
        """To fit and predict a fold of the last stage: the median, as the first may compile."""
        if not self.outcomes:
            return math.nan
        return float(np.median([o.fit_seconds + o.predict_seconds for o in self.outcomes]))

    def state(self) -> dict[str, Any]:
        """What a stage changes, for a stage that is cut off before it counts."""
        names = ("size", "scores", "outcomes", "tests", "folds", "unit", "gram_seconds", "chosen")
        return {name: copy.copy(getattr(self, name)) for name in names}

    def forget(self, count: int) -> None:
        """Keep the first `count` folds: on the later ones some rivals were not run."""
        del self.scores[count:], self.outcomes[count:], self.tests[count:]

    def rank(self) -> tuple[float, ...]:
        """Sorts the best first: more rows, then most of the folds, then the higher mean; of equals
        the steadier one, then the one that keeps fewer examples, then the earlier.

        All folds are not asked for: whom the clock cut off in the last one would be behind everyone
        who was not, by however much it led."""
        spread = float(np.std(self.scores))
        support = float(np.mean([o.n_support for o in self.outcomes] or [0]))
        few = 2.0 * self.folds <= self.first
        known = (-self.size, few, -round(self.mean, 12), round(spread, 12))
        return (float(self.slow), *known, support)


def with_workers() -> bool:
    """Whether candidates are run by others, many at a time."""
    return get_config().cluster is not None


def outcome_of(data: Data, which: tuple[Any, ...], K: np.ndarray | None, unit: float) -> Outcome:
    """What a trainer makes of a fold of the rows of a stage; `which` is (trainer, rows, split,
    number of the fold, start)."""
    trainer, rows, split, number, start = which
    train, test = within(split, rows, data.n)

    def examples() -> tuple[Any, Any]:
        return take(data.X, rows[train]), take(data.X, rows[test])

    none = np.empty((0, 0))
    fold = Fold(
        none if K is None else K[np.ix_(train, train)],
        none if K is None else K[np.ix_(test, train)],
        data.y[rows][train],
        data.classes,
        data.metric,
        unit,
        data.seed + number,
        examples,
        bool(data.classes) and data.with_scores,
        None if data.groups is None else data.groups[rows[train]],
        None if data.times is None else data.times[rows[train]],
    )
    with warnings.catch_warnings():
        # Ill-conditioned matrices and slow convergence are expected at the ends of a grid.
        warnings.simplefilter("ignore")
        return trainer.fold(fold, start)


def _in_one_thread(data: Any, function: Callable[..., T], *arguments: Any) -> T:
    with threadpool_limits(1):
        return function(data, *arguments)


class Race:
    """Runs candidates through stages; `entries` holds them all, the stopped ones too.

    With `apart`, estimators of the user's run there; `here` names those that cannot, and why.
    """

    def __init__(
        self,
        data: Data,
        clock: Clock,
        final_rows: int,
        overhead: float,
        say: Callable[[str], None],
        held: int = 0,
        apart: Apart | None = None,
        refit: bool = False,
    ) -> None:
        # Fits on all rows that come after the race, in units of the first one.
        self.fits = 1.0 + REFIT * refit
        self.apart = apart
        self.here: dict[str, str] = {}
        self.data, self.clock, self.final_rows, self.overhead = data, clock, final_rows, overhead
        self.say, self.held = say, held
        self.entries: list[Entry] = []
        self._matrix: tuple[Any, np.ndarray, float, float] | None = None
        self._pays, self._believed_until = False, 0.0
        n = data.n
        self.sizes = [s for s in (min(FIRST_ROWS, n // 3), SECOND_ROWS) if n > 1.5 * s] + [n]
        # Small samples tell too little, and leave no rows to some of many folds.
        if self.sizes[0] < LEAST_ROWS or len(data.splits[0]) > MOST_FOLDS:
            self.sizes = [n]

    @property
    def last(self) -> int:
        """The rows of the last stage."""
        return self.sizes[-1]

    # --- one candidate ----------------------------------------------------------------------

    def add(self, kernel: Kernel | None, trainer: Trainer) -> Entry:
        for entry in self.entries:
            if entry.kernel == kernel and entry.trainer is trainer:
                return entry
        entry = Entry(kernel, trainer, len(self.entries), first=len(self.data.splits[0]))
        self.entries.append(entry)
        return entry

    def matrix(self, kernel: Kernel, size: int) -> tuple[np.ndarray, float, float]:
        """K on the first `size` rows drawn, the mean of its diagonal, and the seconds it took."""
        key = (kernel, size)
        if self._matrix is None or self._matrix[0] != key:
            self._matrix = None  # frees the old one first
            rows = take(self.data.X, self.rows(size))
            host_gram(kernel, take(rows, slice(FEW_ROWS))).dense()  # compile before the clock runs
            watch = Stopwatch()
            # As many threads as in the folds: sums in another order differ in their last digits,
            # and how many the process has must not decide between candidates.
            with self.threads(size):
                K = host_gram(kernel, rows).dense()
            if size > SECOND_ROWS and K.dtype == np.float64:
                K = K.astype(np.float32)
            if not np.isfinite(K).all():
                raise ValueError("k is not finite on these rows")
            unit = float(np.mean(np.diagonal(K), dtype=np.float64))
            seconds = watch.seconds()
            self._matrix = (key, K, unit if unit > 0 else 1.0, seconds)
        return self._matrix[1:]

    def rows(self, size: int) -> np.ndarray:
        return np.sort(self.data.order[:size])

    def run(self, entry: Entry, size: int, repeat: int = 0) -> None:
        """All folds of one repeat at this size, as far as the time allows."""
        before = entry.state()
        # Someone must have a score, however long that takes.
        end = self.clock.end - self.kept(entry) if self.best() or entry.own else math.inf
        begin = time.perf_counter()
        try:
            if self.apart is not None and entry.own:  # the start of a process is not its time
                with until(end), suppress(CannotTravel):
                    self.apart.ready()
                begin = time.perf_counter()
            if self.clock.budget is not None and not entry.outcomes and self.best():
                # What it takes is not known, and others are waiting.
                end = min(end, begin + UNKNOWN * self.clock.budget)
            with until(end):
                self._run(entry, size, repeat)
        except OutOfTime:
            # It may have come between a score and what belongs to it.
            entry.forget(min(len(entry.scores), len(entry.outcomes), len(entry.tests)))
            entry.folds = min(entry.folds, len(entry.scores))
            if not entry.scores:
                vars(entry).update(before)
                entry.in_vain = time.perf_counter() - begin
        except CTRL_C:
            vars(entry).update(before)
            raise

    def _run(self, entry: Entry, size: int, repeat: int) -> None:
        if entry.failed:
            return
        K, unit, seconds = None, 1.0, 0.0
        try:
            if entry.kernel is not None:
                K, unit, seconds = self.matrix(entry.kernel, size)
        except (ValueError, TypeError, ArithmeticError, MemoryError) as error:
            entry.failed = f"{type(error).__name__}: {error}"
            return
        before = entry.outcomes if repeat == 0 else []
        if entry.size != size:
            entry.size, entry.scores, entry.outcomes, entry.tests = size, [], [], []
            entry.folds = 0
        entry.unit, entry.gram_seconds = unit, seconds
        rows = self.rows(size)
        for number, split in enumerate(self.data.splits[repeat]):
            need = entry.seconds * self.crowding
            # The first one may have compiled, and tells little.
            if len(entry.outcomes) > 1 and self.clock.left() < self.kept(entry) + need:
                break
            # Begin where this fold ended on fewer rows. What another fold chose must not be used:
            # the test rows of this one were among its training rows.
            start = before[number].pick if number < len(before) else None
            try:
                check_time()
                self._fold(entry, K, unit, rows, split, number, start)
            except (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
                entry.failed = f"{type(error).__name__}: {error}"
                return
            entry.history[size] = entry.seconds
            if repeat == 0:
                entry.folds += 1

    def _fold(
        self,
        entry: Entry,
        K: np.ndarray | None,
        unit: float,
        rows: np.ndarray,
        split: Split,
        number: int,
        start: int | None,
    ) -> None:
        data = self.data
        train, test = within(split, rows, data.n)
        y = data.y[rows]
        if not len(test):
            raise ValueError("a fold has no rows to be tested on")
        if data.classes and len(np.unique(y[train])) < 2:
            raise ValueError("a training fold has a single class")
        which = entry.trainer, rows, split, number, start
        outcome = self.apart_or_here(entry, len(train), outcome_of, data, which, K, unit)
        check_wanted()  # a solver that was interrupted gives what it has
        judge = data.metric, y[test], outcome.predicted, outcome.scores, outcome.probable
        entry.scores.append(judged(*judge))
        if outcome.scores is not None:
            outcome = replace(outcome, truth=y[test])
        entry.outcomes.append(outcome)
        entry.tests.append(rows[test])

    def apart_or_here(
        self, entry: Entry, rows: int, function: Callable[..., T], data: Any, *arguments: Any
    ) -> T:
        """``function(data, *arguments)``, which fits this candidate on so many rows."""
        if self.apart is not None and entry.own and entry.name not in self.here:
            try:
                self.apart.keep(data)
                return cast(T, self.apart.call(_in_one_thread, function, *arguments))
            except CannotTravel as error:
                self.here[entry.name] = str(error)
        with self.threads(rows, entry):
            return function(data, *arguments)

    def threads(self, rows: int, entry: Entry | None = None) -> AbstractContextManager[Any]:
        """BLAS threads for a problem of so many rows, where they are of use; rivals have one."""
        if entry is not None and entry.rival is not None:
            return threadpool_limits(1)  # of OpenMP, too, whose threads wait for each other
        # Threads that wait for each other at every step cost a small matrix more than they save;
        # on a busy machine also a large one.
        few = rows < WORTH_THREADS
        if not few and self.clock.budget is not None:
            if time.perf_counter() > self._believed_until:
                self._pays, self._believed_until = threads_pay(), time.perf_counter() + BELIEVED
            few = not self._pays
        return single_threaded_blas() if few else nullcontext()

    # --- times ------------------------------------------------------------------------------

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

    def reserve(self, entry: Entry) -> float:
        """Seconds to keep for the fit of this candidate on all rows."""
        if self.clock.budget is None:
            return 0.0
        if not entry.outcomes:
            return self.overhead
        whole = self.fits * self.fit_seconds(entry, self.final_rows)
        # What a stage says of all rows is a guess; it must not keep others from running.
        return min(whole, MOST_RESERVE * self.clock.budget)

    def kept(self, entry: Entry) -> float:
        """Seconds that this candidate must leave: for its own last fit, and for the leader's."""
        leaders = self.best()[:1] if self.clock.budget is not None else []
        return max(self.reserve(e) for e in (entry, *leaders))

    # --- stages -----------------------------------------------------------------------------

    def stage(self, entries: Iterable[Entry], size: int, keep: float = 0.0) -> bool:
        """Run candidates, those with the same kernel together; `keep` seconds are left alone.

        What does not fit into the time is passed over; the first one is run in any case. If it is
        cut off, the stage ends, since others would win on more rows without having beaten it.
        """
        groups: dict[Kernel | None, list[Entry]] = {}
        for entry in entries:
            groups.setdefault(entry.kernel, []).append(entry)
        if with_workers():
            return self._stage_elsewhere([e for g in groups.values() for e in g], size, keep)
        for entry in (e for group in groups.values() for e in group):
            need = self.cost(entry, size) + max(keep, self.kept(entry))
            if self.clock.left() < need and any(e.size == size for e in self.entries):
                continue
            self.say(f"{size} rows: {entry.name}")
            self.run(entry, size)
            cut_off = 0 < entry.size < size and not entry.failed
            if cut_off and not any(e.size == size for e in self.entries):
                return False
        return True

    def _stage_elsewhere(self, entries: list[Entry], size: int, keep: float) -> bool:
        """The same by workers, at a time: each candidate needs its own time only."""
        left, begun = self.clock.left(), any(e.size == size for e in self.entries)
        need = {e.index: self.cost(e, size) + max(keep, self.kept(e)) for e in entries}
        going = [e for e in entries if not begun or need[e.index] <= left]
        self.run_all(going, size, keep=keep)
        return not going or any(e.size == size or e.failed for e in going)

    def run_all(self, entries: list[Entry], size: int, repeat: int = 0, keep: float = 0.0) -> None:
        """All folds of one repeat of some candidates, one after the other or by workers."""
        if with_workers() and entries:
            from mercer.selection.racing.elsewhere import run_elsewhere

            keep = max(keep, *(self.kept(e) for e in entries))
            return run_elsewhere(self, entries, size, keep, repeat)
        for entry in entries:
            self.run(entry, size, repeat)
        return None

    def best(self) -> list[Entry]:
        """The candidates that have scores, best first."""
        return sorted((e for e in self.entries if e.scores and not e.failed), key=Entry.rank)
