"""What a perceptron carries from call to call: its points, their α, and when each was added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer._examples import joined
from mercer.gram.dispatch import solver_gram
from mercer.kernels import Kernel
from mercer.solvers.online.averaging import Follower
from mercer.solvers.online.rule import Rule
from mercer.solvers.online.run import Journal, Tally

#: Bytes of K at a time where a vote walks through the predictors.
PANEL = 32_000_000


class Memory:
    """Σ over the updates, for the last predictor (`alpha`), the average (`late`) and the vote.

    `names` says which example of the stream a point is. `late` is Σ (t − 1) u over the updates u
    at visits t; the updates themselves are kept for a vote only.
    """

    def __init__(self, rule: Rule, averaging: str, bias: np.ndarray | None = None) -> None:
        self.rule, self.averaging = rule, averaging
        self.tally = Tally()
        self.seen = 0
        self.points: Any = None
        self.names = np.empty(0, dtype=np.int64)
        self.labels = np.empty(0, dtype=np.int64)
        self.alpha = np.empty((0, rule.outputs))
        self.late = np.empty((0, rule.outputs))
        self.bias = np.zeros(rule.outputs) if bias is None else np.array(bias, dtype=np.float64)
        self.bias_late = np.zeros(rule.outputs)
        self._vote_bias = self.bias.copy()
        self._columns = np.empty(0, dtype=np.int64)
        self._weights = np.empty((0, rule.outputs))
        self._times = np.empty(0, dtype=np.int64)

    def absorb(
        self,
        journal: Journal,
        labels: np.ndarray,
        points: Callable[[np.ndarray], Any] | None,
        start: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """Take in the updates on one set of examples; `start`: positions and α given beforehand."""
        rate, outputs = self.rule.rate, self.rule.outputs
        given = start if start is not None else (np.empty(0, np.int64), np.empty((0, outputs)))
        positions = np.concatenate([given[0], journal.positions])
        times = np.concatenate([np.ones(len(given[0]), dtype=np.int64), journal.times])
        weights = np.concatenate([given[1], rate * journal.units])
        unique, column = np.unique(positions, return_inverse=True)
        # Counts are added, not multiples of the rate: 0.1 three times is 0.3.
        n, split = len(unique), len(given[0])
        alpha, late = np.zeros((n, outputs)), np.zeros((n, outputs))
        np.add.at(alpha, column[split:], journal.units)
        np.add.at(late, column[split:], journal.units * (journal.times - 1)[:, None])
        alpha, late = rate * alpha, rate * late
        np.add.at(alpha, column[:split], given[1])
        if self.rule.bias:
            self.bias = self.bias + rate * journal.units.sum(axis=0)
            self.bias_late = self.bias_late + rate * (
                journal.units * (journal.times - 1)[:, None]
            ).sum(axis=0)
        if self.averaging == "vote":
            self._columns = np.concatenate([self._columns, len(self.names) + column])
            self._weights = np.concatenate([self._weights, weights])
            self._times = np.concatenate([self._times, times])
            if self.rule.bias:
                # A vote adds every weight to b, too; those given beforehand do not belong there.
                self._vote_bias = self._vote_bias - given[1].sum(axis=0)
        self.names = np.concatenate([self.names, self.seen + unique])
        self.labels = np.concatenate([self.labels, labels[unique]])
        self.alpha = np.concatenate([self.alpha, alpha])
        self.late = np.concatenate([self.late, late])
        if points is not None:
            new = points(unique)
            self.points = new if self.points is None else joined([self.points, new])
        self.seen += len(labels)

    # --- the predictors ---------------------------------------------------------------------

    def averaged(self, total: np.ndarray, late: np.ndarray) -> np.ndarray:
        """The part of a sum of updates that the chosen predictor uses."""
        visits = self.tally.visits
        if self.averaging != "average" or visits == 0:
            return total
        return np.asarray((visits * total - late) / visits)

    @property
    def coef(self) -> np.ndarray:
        return self.averaged(self.alpha, self.late)

    @property
    def intercept(self) -> np.ndarray:
        return self.averaged(self.bias, self.bias_late)

    def votes(self, kernel: Kernel, X: Any, n: int, before: np.ndarray | None = None) -> np.ndarray:
        """Shares of the votes of all predictors, for the n examples X; `before`: given scores."""
        start = np.tile(self._vote_bias, (n, 1)) + (0.0 if before is None else before)
        if not len(self.names):
            return Follower(n, self.rule, "vote", start).scores(self.tally.visits)
        gram = solver_gram(kernel, X, self.points)
        if self._columns.min() < 0 or self._columns.max() >= gram.shape[1]:
            # The loop below is compiled and would not look, and a file may say anything.
            raise ValueError("the updates of this perceptron speak of points that it does not have")
        room = min(PANEL, get_config().memory_bytes // 4)
        step = max(1, room // (gram.dtype.itemsize * len(self.names)))
        parts = []
        for at in range(0, n, step):
            rows = slice(at, min(at + step, n))
            follower = Follower(rows.stop - at, self.rule, "vote", start[rows])
            K = gram.take(rows).dense()
            follower.add(K, self._weights, self._times, self._columns)
            parts.append(follower.scores(self.tally.visits))
        return np.concatenate(parts)

    def counts(self) -> np.ndarray:
        """How often each point was updated on: α/η in the direction of its label."""
        rule = self.rule
        if rule.ranked:
            return self.alpha[np.arange(len(self.alpha)), self.labels] / rule.rate
        counts = self.alpha * rule.targets(self.labels) / rule.rate
        return counts[:, 0] if rule.outputs == 1 else counts
