"""What a perceptron carries from call to call, and the three predictors that it may become.

After each of T visits the predictor of that moment counts once. An update at visit t is part of
the predictors after visits t, …, T, so the average weighs it (T − t + 1)/T: it needs two sums over
the updates, Σ u and Σ (t − 1) u. A vote has every predictor decide by itself, and counts; the
predictors are partial sums over the journal, so the list of updates is all that is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer._examples import joined
from mercer._machine.threads import blas_for, threads_for
from mercer._tiles import Scratch, Tiling, cut, sweep
from mercer.gram import Gram, solver_gram
from mercer.kernels import Kernel
from mercer.solvers.online.rule import Rule
from mercer.solvers.online.run import Journal, Tally
from mercer.tuning import CACHE_ELEMENTS, SCRATCH_BYTES, VOTE_OPERATIONS


class Memory:
    """Σ over the updates, for the last predictor (`alpha`), the average (`late`) and the vote.

    `names` says which example of the stream a point is. `late` is Σ (t − 1) u over the updates u
    at visits t; the updates themselves are kept for a vote only.
    """

    def __init__(self, rule: Rule, averaging: str, bias: np.ndarray | None = None) -> None:
        self.rule: Rule = rule
        self.averaging: str = averaging
        self.tally: Tally = Tally()
        self.seen: int = 0
        self.points: Any = None
        self.names: np.ndarray = np.empty(0, dtype=np.int64)
        self.labels: np.ndarray = np.empty(0, dtype=np.int64)
        self.alpha: np.ndarray = np.empty((0, rule.outputs))
        self.late: np.ndarray = np.empty((0, rule.outputs))
        self.bias: Any = (
            np.zeros(rule.outputs) if bias is None else np.array(bias, dtype=np.float64)
        )
        self.bias_late: Any = np.zeros(rule.outputs)
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
            # One after the other, as in the run: weights need not be whole numbers.
            self.bias = self.bias + rate * journal.units.cumsum(axis=0)[-1:].sum(axis=0)
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
            return RunningScores(n, self.rule, "vote", start).scores(self.tally.visits)
        gram = solver_gram(kernel, X, self.points)
        if self._columns.min() < 0 or self._columns.max() >= gram.shape[1]:
            # The loop below is compiled and would not look, and a file may say anything.
            raise ValueError("the updates of this perceptron speak of points that it does not have")
        return self._shares(gram, start)

    def _shares(self, gram: Gram, start: np.ndarray) -> np.ndarray:
        """Shares of the votes of the rows of K: the updates pass through each panel of it."""
        from mercer.solvers.online.votes import ROWS, in_order, vote

        rule, (n, m) = self.rule, gram.shape
        running = RunningScores(n, rule, "vote", start)
        updates, extra = in_order(self._weights, self._times, self._columns), float(rule.bias)
        since = running.since.copy()

        def count(rows: slice, k: np.ndarray) -> None:
            last = since.copy()
            vote(k, updates, rule.ranked, extra, running.f[rows], running.sums[rows], last)
            running.since[:] = last  # the same for all rows

        host = gram.engine == "cpu"
        limit = min(8 * CACHE_ELEMENTS if host else SCRATCH_BYTES, get_config().memory_bytes // 4)
        step = ROWS * max(1, limit // (gram.dtype.itemsize * m * ROWS))
        if host:
            threads = threads_for(gram.cost.flops + VOTE_OPERATIONS * n * len(self._times))
            turned = gram.T  # an update reads one number of every row
            turned.prepare_tiles()

            def panel(rows: slice, _: slice, scratch: Scratch) -> None:
                k = scratch.get("k", (m, rows.stop - rows.start), gram.dtype)
                count(rows, turned.tile(slice(0, m), rows, k, scratch))

            with blas_for(gram.cost.flops):
                sweep(Tiling((n, 1), (step, 1), threads), panel, "votes")
        else:
            for rows in cut(0, n, step):
                count(rows, np.ascontiguousarray(gram.take(rows).dense().T))
        return running.scores(self.tally.visits)

    def counts(self) -> np.ndarray:
        """How often each point was updated on: α/η in the direction of its label."""
        rule = self.rule
        if rule.ranked:
            return self.alpha[np.arange(len(self.alpha)), self.labels] / rule.rate
        counts = self.alpha * rule.targets(self.labels) / rule.rate
        return counts[:, 0] if rule.outputs == 1 else counts


class RunningScores:
    """Scores of a fixed set of rows by a predictor that learns, fed with K column by column.

    `scores` may start at those of an earlier predictor (b included); it counts from visit 1 on.
    """

    def __init__(
        self, n: int, rule: Rule, averaging: str, scores: np.ndarray | None = None
    ) -> None:
        self.rule: Rule = rule
        self.averaging: str = averaging
        self.f: Any = (
            np.zeros((n, rule.outputs)) if scores is None else np.array(scores, dtype=float)
        )
        self.sums: Any = np.zeros_like(self.f)  # Σ (t − 1) u k, or the votes
        self.since: np.ndarray = np.ones(rule.outputs, dtype=np.int64)

    def add(
        self, K: np.ndarray, weights: np.ndarray, times: np.ndarray, columns: Any = None
    ) -> None:
        """Updates in order: `weights` (updates, outputs) on `columns` of K (all, if not given)."""
        if not len(times):
            return
        extra = 1.0 if self.rule.bias else 0.0
        if self.averaging == "vote":
            from mercer.solvers.online.votes import all_votes, in_order  # which are compiled

            updates = in_order(
                weights, times, np.arange(len(times)) if columns is None else columns
            )
            all_votes(K, updates, self.rule.ranked, extra, self.f, self.sums, self.since)
            return
        if columns is not None:
            K = K[:, columns]
        self.f += K @ weights.astype(K.dtype) + extra * weights.sum(axis=0)
        if self.averaging == "average":
            late = weights * (times - 1)[:, None]
            self.sums += K @ late.astype(K.dtype) + extra * late.sum(axis=0)

    def scores(self, visits: int) -> np.ndarray:
        """The scores after that many visits; a vote gives shares of the votes."""
        if self.averaging == "last" or visits == 0:
            return self.f
        if self.averaging == "average":
            return self.f - self.sums / visits
        votes = self.sums + (visits + 1 - self.since) * _decisions(self.f, self.rule.ranked)
        return votes / visits


def _decisions(f: np.ndarray, ranked: bool) -> np.ndarray:
    """What each row of scores votes for: the first best class, or the sign with sign(0) = −1."""
    if not ranked:
        return np.where(f > 0, 1.0, -1.0)
    votes = np.zeros_like(f)
    votes[np.arange(len(f)), f.argmax(axis=1)] = 1.0
    return votes
