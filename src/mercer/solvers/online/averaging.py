"""Three predictors from one journal of updates: the last, the average, the vote.

After each of T visits the predictor of that moment counts once. An update at visit t is part of
the predictors after visits t, …, T, so the average weighs it (T − t + 1)/T: it needs two sums over
the updates, Σ u and Σ (t − 1) u. A vote has every predictor decide by itself, and counts; the
predictors are partial sums over the journal, so the list of updates is all that is stored.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from mercer.solvers.online.rule import Rule


class Follower:
    """Scores of a fixed set of rows by a predictor that learns, fed with K column by column.

    `scores` may start at those of an earlier predictor (b included); it counts from visit 1 on.
    """

    def __init__(
        self, n: int, rule: Rule, averaging: str, scores: np.ndarray | None = None
    ) -> None:
        self.rule, self.averaging = rule, averaging
        self.f = np.zeros((n, rule.outputs)) if scores is None else np.array(scores, dtype=float)
        self.sums = np.zeros_like(self.f)  # Σ (t − 1) u k, or the votes
        self.since = np.ones(rule.outputs, dtype=np.int64)

    def add(
        self, K: np.ndarray, weights: np.ndarray, times: np.ndarray, columns: Any = None
    ) -> None:
        """Updates in order: `weights` (updates, outputs) on `columns` of K (all, if not given)."""
        if not len(times):
            return
        if self.averaging == "vote":
            chosen = np.arange(len(times)) if columns is None else columns
            _vote(
                K, np.ascontiguousarray(chosen, dtype=np.int64), weights, times, self.rule.ranked,
                self.rule.bias, self.f, self.sums, self.since
            )  # fmt: skip
            return
        if columns is not None:
            K = K[:, columns]
        extra = 1.0 if self.rule.bias else 0.0
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


@numba.njit(nogil=True, cache=True)
def _vote(
    K: Any,
    columns: Any,
    weights: Any,
    times: Any,
    ranked: bool,
    bias: bool,
    f: Any,
    votes: Any,
    since: Any,
) -> None:
    n, outputs = f.shape
    extra = 1.0 if bias else 0.0
    last = since.copy()
    for i in range(n):
        last[:] = since
        if ranked:
            winner = 0
            for c in range(1, outputs):
                if f[i, c] > f[i, winner]:
                    winner = c
            start = since[0]
            for e in range(len(times)):
                votes[i, winner] += times[e] - start
                start = times[e]
                k = K[i, columns[e]] + extra
                for c in range(outputs):
                    if weights[e, c] != 0.0:
                        f[i, c] += weights[e, c] * k
                winner = 0
                for c in range(1, outputs):
                    if f[i, c] > f[i, winner]:
                        winner = c
            last[:] = start
        else:
            for e in range(len(times)):
                k = K[i, columns[e]] + extra
                for c in range(outputs):
                    if weights[e, c] != 0.0:
                        sign = 1.0 if f[i, c] > 0.0 else -1.0
                        votes[i, c] += sign * (times[e] - last[c])
                        last[c] = times[e]
                        f[i, c] += weights[e, c] * k
    if n > 0:
        since[:] = last
