"""The score of a learner on held-out examples after every epoch.

Scores are kept between epochs, so that an epoch costs only k between the held-out examples and
those that it added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._arrays import winners
from mercer._config import get_config
from mercer.solvers.online.memory import RunningScores
from mercer.solvers.online.rule import Rule
from mercer.solvers.online.run import Journal, Tally

#: Bytes of K between held-out examples and new points at a time.
PIECE = 64_000_000


class Validation:
    """The share of held-out examples that the predictor gets right; `marks` lead back to an epoch.

    `block(positions)` is K between the held-out examples and some of those learned from; `scores`
    are those of the predictor that the run starts from, b included.
    """

    def __init__(
        self,
        walker: Any,
        rule: Rule,
        averaging: str,
        labels: np.ndarray,
        block: Callable[[np.ndarray], np.ndarray],
        scores: np.ndarray,
    ) -> None:
        self.labels, self.block, self.rule = labels, block, rule
        self.journal: Journal = walker.journal
        self.tally: Tally = walker.tally
        self.running = RunningScores(len(labels), rule, averaging, scores)
        self.marks: list[tuple[int, Tally]] = []
        self._done = 0

    def __call__(self) -> float:
        room = min(PIECE, get_config().memory_bytes // 4)
        step = max(1, room // (8 * len(self.labels)))
        while self._done < len(self.journal):
            new = slice(self._done, min(self._done + step, len(self.journal)))
            K = self.block(self.journal.positions[new])
            self.running.add(K, self.rule.rate * self.journal.units[new], self.journal.times[new])
            self._done = new.stop
        self.marks.append((len(self.journal), self.tally.copy()))
        return accuracy(self.running.scores(self.tally.visits), self.labels)


def accuracy(scores: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(winners(scores) == labels))
