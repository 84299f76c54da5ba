"""The kernel perceptron over rows in chunks: chunk after chunk, or all chunks at a time.

Exact: a task walks one chunk from the predictor so far, and gives back the updates it made; the
next chunk goes on from there. These are the visits and the updates of one array in that order. With
a shuffled order the chunks come in the order in which their first rows were drawn, and the rows of
a chunk in the order in which they were drawn.

Mixed (iterative parameter mixing; McDonald, Hall and Mann 2010): in every epoch each chunk is
walked by itself from the same predictor, all at a time, and the mean of what they became is the
next predictor. That is not the textbook's sequence of updates, though it also separates what can be
separated. The points that the budget allows survive an epoch: those with the largest
‖αφ(x)‖.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.engines.cluster.gram import ChunkGram
from mercer.engines.cluster.pool import Call, gather
from mercer.engines.cluster.svm import finite
from mercer.gram import diagonal, host_gram
from mercer.solvers.online.dual import DualPerceptron
from mercer.solvers.online.memory import Memory
from mercer.solvers.online.rule import Part, Rule, norms
from mercer.solvers.online.run import Journal, Outcome, Schedule, Tally, run

#: Points that a mixed perceptron keeps where no budget is given.
BUDGET = 5000


@dataclass(frozen=True)
class Start:
    """The predictor that a chunk is walked from: Σ weights k(points, ·) + bias."""

    points: Any
    weights: np.ndarray
    bias: np.ndarray
    tally: Tally


@dataclass(frozen=True)
class Walked:
    """The updates that a walk made, on which rows of its chunk, and what it counted."""

    positions: np.ndarray
    times: np.ndarray
    units: np.ndarray
    points: np.ndarray
    bias: np.ndarray
    tally: Tally


def walk_piece(
    kernel: Any,
    rule: Rule,
    start: Start,
    labels: np.ndarray,
    scores: np.ndarray,
    weights: np.ndarray | None,
    order: np.ndarray | slice,
    allowed: float,
    X: Any,
) -> Walked:
    """Visit rows of one chunk in this order; `scores` are those of an earlier predictor."""
    rows = finite(X)
    gram, before, scores = host_gram(kernel, rows), [], scores.copy()
    if len(start.weights):
        K = host_gram(kernel, rows, start.points)
        before.append((K, start.weights, diagonal(kernel, start.points)))
        scores += K @ start.weights
    walker = DualPerceptron(
        gram, labels, rule, scores=scores, before=before, bias=start.bias,
        tally=replace(start.tally), weights=weights,
    )  # fmt: skip
    walker.walk(order, allowed)
    journal = walker.journal
    points = rows[np.unique(journal.positions)]
    return Walked(
        journal.positions, journal.times, journal.units, points, walker.bias, walker.tally
    )


class _Pieces:
    """The state of both ways: the rows of each chunk, and the points that were updated on."""

    def __init__(self, gram: ChunkGram, labels: np.ndarray, rule: Rule, weights: Any) -> None:
        self.gram, self.labels, self.rule, self.weights = gram, labels, rule, weights
        self.starts = np.concatenate([[0], np.cumsum(gram.rows.sizes)])
        self.names = np.empty(0, dtype=np.int64)
        self.points = gram.rows[self.names]
        self.units = np.empty((0, rule.outputs))

    def visits(self, order: np.ndarray | slice) -> Iterator[tuple[int, Any]]:
        """Chunks, and the order of their rows that are visited."""
        if isinstance(order, slice):
            for piece, first in enumerate(self.starts[:-1]):
                stop = min(order.stop, self.starts[piece + 1])
                if stop > first:
                    yield piece, slice(0, int(stop - first))
            return
        owner = np.searchsorted(self.starts, order, side="right") - 1
        pieces, first = np.unique(owner, return_index=True)
        for piece in pieces[np.argsort(first)]:
            yield int(piece), order[owner == piece] - self.starts[piece]

    def call(
        self, piece: int, order: Any, start: Start, scores: np.ndarray, allowed: float
    ) -> Call:
        rows = slice(self.starts[piece], self.starts[piece + 1])
        weights = None if self.weights is None else self.weights[rows]
        kernel, chunk = self.gram.kernel, self.gram.rows.pieces[piece]
        args = (kernel, self.rule, start, self.labels[rows], scores[rows], weights, order, allowed)
        return Call(walk_piece, (*args, chunk))

    def add(self, piece: int, walked: Walked, share: float = 1.0) -> None:
        """The points of a walk join those there are; updates on the same one are added."""
        positions, at = np.unique(walked.positions, return_inverse=True)
        names = positions + self.starts[piece]
        seen = np.isin(names, self.names)
        self.names = np.concatenate([self.names, names[~seen]])
        self.points = np.concatenate([self.points, walked.points[~seen]])
        self.units = np.pad(self.units, ((0, int((~seen).sum())), (0, 0)))
        index = np.argsort(self.names, kind="stable")
        slots = index[np.searchsorted(self.names, names, sorter=index)]
        np.add.at(self.units, slots[at], share * walked.units)

    def start(self, bias: np.ndarray, tally: Tally) -> Start:
        return Start(self.points, self.rule.rate * self.units, bias, tally)


class ChunkPerceptron(_Pieces):
    """`DualPerceptron` over chunks, one after the other."""

    def __init__(
        self,
        gram: ChunkGram,
        labels: np.ndarray,
        rule: Rule,
        *,
        scores: np.ndarray,
        before: Sequence[Part] = (),
        bias: np.ndarray,
        tally: Tally,
        weights: np.ndarray | None = None,
    ) -> None:
        super().__init__(gram, labels, rule, weights)
        self.scores, self.bias, self.tally = scores, np.array(bias, dtype=float), tally
        self.journal: Journal = Journal(rule.outputs)

    def walk(self, order: np.ndarray | slice, allowed: float = np.inf) -> None:
        """Visit these examples, and update on mistakes."""
        for piece, rows in self.visits(order):
            if self.tally.updates >= allowed:
                return
            start = self.start(self.bias, self.tally)
            call = self.call(piece, rows, start, self.scores, allowed)
            (walked,) = gather([call], "perceptron")
            self.journal.extend(walked.positions + self.starts[piece], walked.times, walked.units)
            self.add(piece, walked)
            self.bias = walked.bias
            vars(self.tally).update(vars(walked.tally))


class MixedPerceptron(_Pieces):
    """Chunks are walked at a time, each from the mean of what they were after the last epoch."""

    def __init__(
        self, gram: ChunkGram, labels: np.ndarray, memory: Memory, weights: Any, budget: int
    ) -> None:
        super().__init__(gram, labels, memory.rule, weights)
        self.bias, self.tally, self.budget = memory.bias, memory.tally, budget
        self.journal: Journal = Journal(self.rule.outputs)

    def walk(self, order: np.ndarray | slice, allowed: float = np.inf) -> None:
        """One epoch of all chunks, and the mean of them."""
        visits = list(self.visits(order))
        start = self.start(self.bias, Tally())
        none = np.zeros((len(self.labels), self.rule.outputs))
        calls = [self.call(piece, rows, start, none, np.inf) for piece, rows in visits]
        walks = gather(calls, "perceptron")
        share = 1.0 / len(walks)
        self.bias = np.sum([walked.bias for walked in walks], axis=0) * share
        for (piece, _), walked in zip(visits, walks, strict=True):
            times = walked.times + self.tally.visits
            self.journal.extend(walked.positions + self.starts[piece], times, walked.units)
            self.add(piece, walked, share)
            for name, value in vars(walked.tally).items():
                setattr(self.tally, name, getattr(self.tally, name) + value)
        self._give_up()

    def _give_up(self) -> None:
        """All but the budget's number of points, the shortest first."""
        if len(self.names) <= self.budget:
            return
        kernel: Any = self.gram.kernel
        sizes = norms(diagonal(kernel, self.points))
        kept = np.sort(np.argsort(-sizes * np.linalg.norm(self.units, axis=1))[: self.budget])
        self.names, self.points = self.names[kept], self.points[kept]
        self.units: np.ndarray = self.units[kept]


def learn_mixed(
    gram: ChunkGram, labels: np.ndarray, memory: Memory, schedule: Schedule, budget: int | None
) -> tuple[Outcome, Journal]:
    """The mixed perceptron, into a memory that has learned nothing yet."""
    weights, most = schedule.weights, BUDGET if budget is None else budget
    walker = MixedPerceptron(gram, labels, memory, weights, most)
    outcome = run(walker, schedule)
    order = np.argsort(walker.names)
    memory.names, memory.points = walker.names[order], walker.points[order]
    memory.labels = labels[memory.names]
    memory.alpha = memory.rule.rate * walker.units[order]
    memory.late, memory.bias = np.zeros_like(memory.alpha), walker.bias
    memory.seen += len(labels)
    return outcome, walker.journal
