"""The frame of online learning: passes over the examples, a journal of updates, reasons to stop.

The frame knows no algorithm: a walker is shown the examples in some order and updates itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from mercer._lazy import record
from mercer._progress import progress


class Journal:
    """Every update in order: at which visit (from 1 on), on which example, what was added.

    After visit t the predictor is Σ over the entries with time ≤ t; that is all an average or a
    vote over the predictors of all visits has to know.
    """

    def __init__(self, outputs: int) -> None:
        self._positions = np.empty(64, dtype=np.int64)
        self._times = np.empty(64, dtype=np.int64)
        self._units = np.empty((64, outputs))
        self.n: int = 0

    def __len__(self) -> int:
        return self.n

    @property
    def positions(self) -> np.ndarray:
        return self._positions[: self.n]

    @property
    def times(self) -> np.ndarray:
        return self._times[: self.n]

    @property
    def units(self) -> np.ndarray:
        """±1 (times the weight of the example) for each output that was raised or lowered."""
        return self._units[: self.n]

    def extend(self, positions: np.ndarray, times: Any, units: np.ndarray) -> None:
        """Append entries."""
        end = self.n + len(positions)
        for name, new in (("_positions", positions), ("_times", times), ("_units", units)):
            old = getattr(self, name)
            if end > len(old):
                old = np.concatenate([old, np.empty_like(old, shape=(end, *old.shape[1:]))])
                setattr(self, name, old)
            old[self.n : end] = new
        self.n = end  # last: an interrupt before this line leaves a journal without the entries

    def cut(self, n: int) -> None:
        """Forget all but the first n entries."""
        self.n = n


@record
class Visits:
    """Examples visited one after the other: their scores (b included) before, what each added."""

    positions: np.ndarray
    scores: np.ndarray
    units: np.ndarray


@dataclass
class Tally:
    """What a learner did: visits, updates, the sum of its hinge losses before each update."""

    visits: int = 0
    updates: int = 0
    loss: float = 0.0


class Walker(Protocol):
    """An online algorithm. It counts in `tally` as it goes, and never beyond `allowed` updates."""

    tally: Tally

    def walk(self, order: np.ndarray | slice, allowed: float) -> None:
        """Visit these examples in this order."""


@dataclass
class Outcome:
    """How a run ended, and what each epoch did."""

    epochs: int = 0
    converged: bool = False
    interrupted: bool = False
    best: int | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    #: The examples visited in a last epoch that was not finished.
    unfinished: np.ndarray | None = None

    def note(self, visits: int, mistakes: int, loss: float, score: float | None) -> None:
        """Note what one more epoch did."""
        self.epochs += 1
        epoch = {"epoch": self.epochs, "visits": visits, "mistakes": mistakes, "loss": loss}
        self.history.append(epoch if score is None else epoch | {"validation_score": score})


@record
class Schedule:
    """Which examples are visited in which order: `epochs` passes, possibly a fraction of one.

    `weights`: how many times as far as otherwise an update on each example goes.
    """

    examples: np.ndarray | int
    epochs: float = 1.0
    random: Any = None
    max_updates: float = math.inf
    weights: np.ndarray | None = None

    @property
    def n(self) -> int:
        return self.examples if isinstance(self.examples, int) else len(self.examples)

    @property
    def visits(self) -> int:
        return max(1, round(self.epochs * self.n))

    def orders(self) -> Iterator[np.ndarray | slice]:
        """One order per epoch; with `random`, a new permutation each."""
        left = self.visits
        while left > 0:
            size = min(left, self.n)
            left -= size
            if self.random is not None:
                order = self.random.permutation(self.n)[:size]
                yield order if isinstance(self.examples, int) else self.examples[order]
            elif isinstance(self.examples, int):
                yield slice(0, size)
            else:
                yield self.examples[:size]


def run(
    walker: Walker,
    schedule: Schedule,
    validation: Callable[[], float] | None = None,
    patience: int = 5,
    what: str = "perceptron",
) -> Outcome:
    """Epoch after epoch until one makes no mistake, the schedule ends, or the score stays behind.

    `validation` scores the predictor after each epoch; `patience` epochs without a better score end
    the run, and `Outcome.best` is the epoch (from 0) of the best one. Ctrl-C ends it cleanly.
    """
    outcome = Outcome()
    best = -math.inf
    with progress(what, schedule.visits) as bar:
        for order in schedule.orders():
            before = replace(walker.tally)
            if before.updates >= schedule.max_updates:
                break
            try:
                walker.walk(order, schedule.max_updates)
                score = validation() if validation is not None else None
            except KeyboardInterrupt:
                outcome.interrupted, score = True, None
            done = walker.tally
            made, seen = done.updates - before.updates, done.visits - before.visits
            outcome.note(seen, made, done.loss - before.loss, score)
            bar.advance(seen, f"epoch {outcome.epochs}, {made} mistakes")
            if seen < schedule.n:
                outcome.unfinished = np.r_[order][:seen]
            if outcome.interrupted or done.updates >= schedule.max_updates:
                break
            if made == 0 and seen == schedule.n:
                outcome.converged = True
            if score is not None and score > best:
                best, outcome.best = score, outcome.epochs - 1
            since = 0 if outcome.best is None else outcome.epochs - 1 - outcome.best
            if outcome.converged or since >= patience:
                break
    return outcome
