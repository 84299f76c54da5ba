"""Votes of all predictors on the way, update by update: compiled, some rows per thread.

A row costs a pass over the updates. `ROWS` rows take it together: whatever an update reads of K or
changes is an array of so many numbers, one per row, and no branch depends on a row, so that every
loop over rows vectorizes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from mercer._machine.jit import inner, njit
from mercer._machine.threads import threads_for
from mercer._tiles import Scratch, Tiling, sweep
from mercer.tuning import VOTE_OPERATIONS, VOTE_ROWS

#: Rows that are walked together are a multiple of this, by padding, and the loops say so, which
#: lets the compiler use vectors throughout.
LANES: Final = 16
ROWS = VOTE_ROWS


def in_order(weights: np.ndarray, times: np.ndarray, columns: np.ndarray) -> tuple[Any, ...]:
    """Updates as the loops take them: columns of K, first, classes, weights, times.

    Update e, at visit times[e], adds weights[at] (k + extra) to classes[at], for `at` from first[e]
    on: few classes learn of it.
    """
    updates, classes = np.nonzero(weights)
    first = np.searchsorted(updates, np.arange(len(times) + 1))
    columns = np.ascontiguousarray(columns, dtype=np.int64)
    return columns, first, classes, weights[updates, classes], times


def all_votes(
    K: np.ndarray, updates: Any, ranked: bool, extra: float, f: Any, votes: Any, since: Any
) -> None:
    """Add the votes of rows of K, with scores `f` so far, for visits from `since` on."""
    n, begin = len(f), since.copy()
    threads = threads_for(float(VOTE_OPERATIONS * n * len(updates[0])))

    def some(rows: slice, columns: slice, scratch: Scratch) -> None:
        after = begin.copy()
        k = np.ascontiguousarray(K[rows].T)
        vote(k, updates, ranked, extra, f[rows], votes[rows], after)
        since[:] = after  # the same for all rows

    sweep(Tiling((n, 1), (-(-n // threads), 1), threads), some, "votes")


@njit(nogil=True)
def vote(k: Any, updates: Any, ranked: bool, extra: float, f: Any, votes: Any, since: Any) -> None:
    """Add the votes of some rows as `all_votes` does, by this thread; `k` has a column per row."""
    before, outputs = since.copy(), f.shape[1]
    width = min(ROWS, -(-len(f) // LANES) * LANES)
    rest = np.zeros((k.shape[0], width if len(f) % ROWS else 0), k.dtype)
    scores, given = np.zeros((outputs, width)), np.zeros((outputs, width))
    for begin in range(0, len(f), ROWS):
        for c in range(outputs):
            since[c] = before[c]  # every tile passes the same updates
        n = min(ROWS, len(f) - begin)
        for c in range(outputs):
            for i in range(n):
                scores[c, i] = f[begin + i, c]
        given[:] = 0.0
        if n == ROWS:
            part, offset = k, begin
        else:  # as many as the loops take at a time
            for m in range(k.shape[0]):
                for i in range(n):
                    rest[m, i] = k[m, begin + i]
            part, offset = rest, 0
        if ranked:
            _ranked(part, offset, updates, extra, scores, given, since)
        else:
            _separate(part, offset, updates, extra, scores, given, since)
        for i in range(n):
            for c in range(outputs):
                f[begin + i, c] = scores[c, i]
                votes[begin + i, c] += given[c, i]


@inner
def _separate(
    k: Any, offset: int, updates: Any, extra: float, scores: Any, votes: Any, since: Any
) -> None:
    """Let each output vote for its sign, whenever it changes, for the time since it did."""
    columns, first, classes, weights, times = updates
    n = scores.shape[1] // LANES * LANES
    for e in range(len(times)):
        column = columns[e]
        for at in range(first[e], first[e + 1]):
            c, weight = classes[at], weights[at]
            visits = float(times[e] - since[c])
            since[c] = times[e]
            own = k[column, offset : offset + n]
            for i in range(n):
                score = scores[c, i]
                votes[c, i] += visits if score > 0.0 else -visits
                scores[c, i] = score + weight * (own[i] + extra)


@inner
def _ranked(
    k: Any, offset: int, updates: Any, extra: float, scores: Any, votes: Any, since: Any
) -> None:
    """Let all outputs of each row vote for its winner, the first of the best classes."""
    columns, first, classes, weights, times = updates
    n = scores.shape[1] // LANES * LANES
    best, winner = np.zeros(n), np.zeros(n, np.uint64)  # a signed index is tested for its sign
    for e in range(len(times)):
        for i in range(n):
            best[i], winner[i] = scores[0, i], 0
        for c in range(1, len(scores)):
            for i in range(n):
                other, known = scores[c, i], best[i]
                winner[i] = c if other > known else winner[i]
                best[i] = other if other > known else known
        visits = float(times[e] - since[0])
        since[:] = times[e]
        for i in range(n):
            votes[winner[i], i] += visits
        own = k[columns[e], offset : offset + n]
        for at in range(first[e], first[e + 1]):
            c, weight = classes[at], weights[at]
            for i in range(n):
                scores[c, i] += weight * (own[i] + extra)
