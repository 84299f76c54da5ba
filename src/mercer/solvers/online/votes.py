"""Votes of all predictors on the way, update by update: compiled, some rows per thread.

Between two updates that change its winner a row gives all its votes to one class, so that a row
costs a pass over the updates, and nothing per class but where the winner loses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import njit
from mercer._machine.threads import threads_for
from mercer._tiles import Scratch, Tiling, sweep

#: Operations per row and update, for the decision whether threads are worth their start.
OPERATIONS = 8
#: Rows that are walked together, so that loops over them vectorize and stay in the nearest cache.
ROWS = 64


def all_votes(
    K: np.ndarray, updates: Any, ranked: bool, extra: float, f: Any, votes: Any, since: Any
) -> None:
    """Add the votes of rows of K, with scores `f` so far, for visits from `since` on.

    `updates`: columns of K, first, classes, weights, times. Update e, at visit times[e], adds
    weights[at] (k + extra) to classes[at], for `at` from first[e] on.
    """
    n, begin = len(f), since.copy()
    threads = threads_for(float(OPERATIONS * K.size))

    def some(rows: slice, columns: slice, scratch: Scratch) -> None:
        after = begin.copy()
        _vote(K[rows], updates, ranked, extra, f[rows], votes[rows], after)
        since[:] = after  # the same for all rows

    sweep(Tiling((n, 1), (-(-n // threads), 1), threads), some, "votes")


@njit(nogil=True)
def _vote(K: Any, updates: Any, ranked: bool, extra: float, f: Any, votes: Any, since: Any) -> None:
    last = since.copy()
    for begin in range(0, len(f), ROWS):
        last[:] = since
        rows = slice(begin, min(begin + ROWS, len(f)))
        if ranked:
            _of_all(K[rows], updates, extra, f[rows], votes[rows], last)
            continue
        for i in range(rows.start, rows.stop):
            last[:] = since
            _of_each(K[i], updates, extra, f[i], votes[i], last)
    if len(f) > 0:
        since[:] = last


@njit(nogil=True)
def _of_each(k: Any, updates: Any, extra: float, f: Any, votes: Any, last: Any) -> None:
    """Each output votes for its sign, whenever it changes, for the time since it did."""
    columns, first, classes, weights, times = updates
    for e in range(len(times)):
        for at in range(first[e], first[e + 1]):
            c = classes[at]
            votes[c] += (1.0 if f[c] > 0.0 else -1.0) * (times[e] - last[c])
            last[c] = times[e]
            f[c] += weights[at] * (k[columns[e]] + extra)


@njit(nogil=True)
def _of_all(K: Any, updates: Any, extra: float, f: Any, votes: Any, last: Any) -> None:
    """All outputs of each row vote for its winner, the first of the best classes.

    An update changes the scores of few classes, of all rows in a stretch of memory. The winner is
    looked for again where it is one of these classes and lost, or where one of them caught up.
    """
    columns, first, classes, weights, times = updates
    n, outputs = f.shape
    scores = f.T.copy()
    winner, best = np.zeros(n, np.int64), np.empty(n)
    start, size = np.full(n, last[0]), np.empty(n)
    for i in range(n):
        best[i] = -np.inf
        _look(scores, i, winner, best)
    for e in range(len(times)):
        for i in range(n):
            size[i] = K[i, columns[e]] + extra
        for at in range(first[e], first[e + 1]):
            own, weight = scores[classes[at]], weights[at]
            for i in range(n):
                own[i] += weight * size[i]
        for at in range(first[e], first[e + 1]):
            c = classes[at]
            own, changed = scores[c], 0
            for i in range(n):  # without a branch, so that it vectorizes
                ahead = own[i] >= best[i]
                changed += (winner[i] == c) != ahead
                best[i] = own[i] if (winner[i] == c) & ahead else best[i]
            for i in range(n if changed else 0):
                held = winner[i]
                if (held == c) != (own[i] >= best[i]):
                    _look(scores, i, winner, best)
                    if winner[i] != held:
                        votes[i, held] += times[e] - start[i]
                        start[i] = times[e]
    last[:] = times[len(times) - 1]
    for i in range(n):
        votes[i, winner[i]] += last[0] - start[i]
        for c in range(outputs):
            f[i, c] = scores[c, i]


@njit(nogil=True)
def _look(scores: Any, i: int, winner: Any, best: Any) -> None:
    """The first of the best classes of row i, and its score."""
    found = 0
    for c in range(1, len(scores)):
        if scores[c, i] > scores[found, i]:
            found = c
    winner[i], best[i] = found, scores[found, i]
