"""Successive halving: all candidates on few rows, the better ones on more, the best on all.

Every candidate of a stage sees the same rows and folds. With a time budget the number that goes on
is what the measured times say will fit; without one it is fixed, and nothing depends on a clock.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np
from threadpoolctl import threadpool_limits

from mercer._examples import take
from mercer._machine.deadline import OutOfTime, check_time, check_wanted, now, until
from mercer._machine.interrupts import CTRL_C
from mercer._machine.threads import single_threaded_blas
from mercer.gram import host_gram
from mercer.kernels import Kernel
from mercer.selection.folds import Split, within
from mercer.selection.racing.apart import Apart, CannotTravel
from mercer.selection.racing.clock import Clock, Stopwatch
from mercer.selection.racing.entries import Data, Entry
from mercer.selection.racing.forecasts import Forecasts, with_workers
from mercer.selection.scores import judged
from mercer.selection.trainers.base import Fold, Outcome, Trainer

T = TypeVar("T")

#: Rows of the first stages; the last stage has all that were drawn.
FIRST_ROWS, SECOND_ROWS = 600, 2_000
#: On fewer rows than this no candidate is stopped.
STOPPED_ROWS = 150
#: More folds than this are run on all rows only.
MOST_FOLDS = 20
#: The share of a budget that a candidate may take of which nothing is known.
UNKNOWN_SHARE = 0.12
#: Training rows from which the linear algebra of a fold takes several threads, and the seconds by
#: the clock per second of work from which others need the processor, too.
WORTH_THREADS, CROWDED_CLOCK = 2_500, 1.5


def outcome_of(data: Data, which: tuple[Any, ...], K: np.ndarray | None, unit: float) -> Outcome:
    """What a trainer makes of a fold of the rows of a stage; `which` is (trainer, kernel if it has
    a formula, rows, split, number of the fold, start)."""
    trainer, kernel, rows, split, number, start = which
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
        kernel,
    )
    with warnings.catch_warnings():
        # Ill-conditioned matrices and slow convergence are expected at the ends of a grid.
        warnings.simplefilter("ignore")
        return trainer.fold(fold, start)


def _in_one_thread(data: Any, function: Callable[..., T], *arguments: Any) -> T:
    with threadpool_limits(1):
        return function(data, *arguments)


class Race(Forecasts):
    """Runs candidates through stages.

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
        super().__init__(data, clock, final_rows, overhead, held, apart, refit)
        self.here: dict[str, str] = {}
        self.say = say
        self._matrix: tuple[Any, np.ndarray, float, float] | None = None
        n = data.n
        self.sizes: list[int] = [
            s for s in (min(FIRST_ROWS, n // 3), SECOND_ROWS) if n > 1.5 * s
        ] + [n]
        # Small samples tell too little, and leave no rows to some of many folds.
        if self.sizes[0] < STOPPED_ROWS or len(data.splits[0]) > MOST_FOLDS:
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
        begin = now()
        try:
            if self.apart is not None and entry.own:  # the start of a process is not its time
                with until(end), suppress(CannotTravel):
                    self.apart.ready()
                begin = now()
            if self.clock.budget is not None and not entry.outcomes and self.best():
                # What it takes is not known, and others are waiting.
                end = min(end, begin + UNKNOWN_SHARE * self.clock.budget)
            with until(end):
                self._run(entry, size, repeat)
        except OutOfTime:
            # It may have come between a score and what belongs to it.
            entry.forget(min(len(entry.scores), len(entry.outcomes), len(entry.tests)))
            entry.folds = min(entry.folds, len(entry.scores))
            if not entry.scores:
                vars(entry).update(before)
                entry.in_vain = now() - begin
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
            entry.history[size] = entry.seconds / size**entry.trainer.grid.exponent
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
        kernel = None if entry.kernel is None or entry.kernel.is_opaque else entry.kernel
        which = entry.trainer, kernel, rows, split, number, start
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
        few |= self.clock.budget is not None and self.clock.crowding() > CROWDED_CLOCK
        return single_threaded_blas() if few else nullcontext()

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
            return self._stage_on_cluster([e for g in groups.values() for e in g], size, keep)
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

    def _stage_on_cluster(self, entries: list[Entry], size: int, keep: float) -> bool:
        """The same by workers, at a time: each candidate needs its own time only."""
        left, begun = self.clock.left(), any(e.size == size for e in self.entries)
        need = {e.index: self.cost(e, size) + max(keep, self.kept(e)) for e in entries}
        going = [e for e in entries if not begun or need[e.index] <= left]
        self.run_all(going, size, keep=keep)
        return not going or any(e.size == size or e.failed for e in going)

    def run_all(self, entries: list[Entry], size: int, repeat: int = 0, keep: float = 0.0) -> None:
        """All folds of one repeat of some candidates, one after the other or by workers."""
        if with_workers() and entries:
            from mercer.selection.racing.on_cluster import run_on_cluster

            keep = max(keep, *(self.kept(e) for e in entries))
            return run_on_cluster(self, entries, size, keep, repeat)
        for entry in entries:
            self.run(entry, size, repeat)
        return None
