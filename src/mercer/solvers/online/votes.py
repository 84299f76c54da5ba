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
def _winner(f: Any) -> int:
    """The first of the best classes."""
    best = 0
    for c in range(1, len(f)):
        if f[c] > f[best]:
            best = c
    return best


@njit(nogil=True)
def _vote(K: Any, updates: Any, ranked: bool, extra: float, f: Any, votes: Any, since: Any) -> None:
    last = since.copy()
    for i in range(len(f)):
        last[:] = since
        if ranked:
            _of_all(K[i], updates, extra, f[i], votes[i], last)
        else:
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
def _of_all(k: Any, updates: Any, extra: float, f: Any, votes: Any, last: Any) -> None:
    """All outputs vote for the winner, which is looked for again only where it lost."""
    columns, first, classes, weights, times = updates
    winner, start = _winner(f), last[0]
    for e in range(len(times)):
        size, before, held = k[columns[e]] + extra, f[winner], winner
        for at in range(first[e], first[e + 1]):
            f[classes[at]] += weights[at] * size
        if f[winner] < before:
            winner = _winner(f)
        else:
            for at in range(first[e], first[e + 1]):
                c = classes[at]
                if f[c] > f[winner] or (f[c] == f[winner] and c < winner):
                    winner = c
        if winner != held:
            votes[held] += times[e] - start
            start = times[e]
    last[:] = times[len(times) - 1]
    votes[winner] += last[0] - start
