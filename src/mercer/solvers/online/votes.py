"""Votes of all predictors on the way, update by update: compiled, some rows per thread.

A row costs a pass over the updates. `ROWS` rows take it together: whatever an update reads of K or
changes is a stretch of so many numbers, one per row, and no branch depends on a row, so that every
loop over rows vectorizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import inner, njit
from mercer._machine.threads import threads_for
from mercer._tiles import Scratch, Tiling, sweep

#: Operations per row and update, for the decision whether threads are worth their start.
OPERATIONS = 8
#: Rows that are walked together; loops over 64 are too short.
ROWS = 128
#: Their number is a multiple of this, by padding, and the loops say so, which makes them faster.
LANES = 16
#: Classes up to which all of them are compared after an update, and no tree of them is kept.
FLAT = 8


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
    threads = threads_for(float(OPERATIONS * n * len(updates[0])))

    def some(rows: slice, columns: slice, scratch: Scratch) -> None:
        after = begin.copy()
        k = np.ascontiguousarray(K[rows].T)
        vote(k, updates, ranked, extra, f[rows], votes[rows], after)
        since[:] = after  # the same for all rows

    sweep(Tiling((n, 1), (-(-n // threads), 1), threads), some, "votes")


@njit(nogil=True)
def vote(k: Any, updates: Any, ranked: bool, extra: float, f: Any, votes: Any, since: Any) -> None:
    """`all_votes` of some rows, by this thread; `k` has a column per row of them."""
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
        if ranked and outputs <= FLAT:
            _of_few(part, offset, updates, extra, scores, given, since)
        elif ranked:
            _of_all(part, offset, updates, extra, scores, given, since)
        else:
            _of_each(part, offset, updates, extra, scores, given, since)
        for i in range(n):
            for c in range(outputs):
                f[begin + i, c] = scores[c, i]
                votes[begin + i, c] += given[c, i]


@inner
def _of_each(
    k: Any, offset: int, updates: Any, extra: float, scores: Any, votes: Any, since: Any
) -> None:
    """Each output votes for its sign, whenever it changes, for the time since it did."""
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
def _of_few(
    k: Any, offset: int, updates: Any, extra: float, scores: Any, votes: Any, since: Any
) -> None:
    """All outputs of each row vote for its winner, the first of the best of `FLAT` classes."""
    columns, first, classes, weights, times = updates
    n = scores.shape[1] // LANES * LANES
    all_scores, winner = np.full((FLAT, n), -np.inf), np.zeros(n, np.uint64)
    _copy(scores, all_scores[: len(scores)])
    for e in range(len(times)):
        _match_few(all_scores, winner)
        visits = float(times[e] - since[0])
        since[:] = times[e]
        for i in range(n):
            votes[winner[i], i] += visits
        own = k[columns[e], offset : offset + n]
        for at in range(first[e], first[e + 1]):
            c, weight = classes[at], weights[at]
            for i in range(n):
                all_scores[c, i] += weight * (own[i] + extra)
    _copy(all_scores[: len(scores)], scores)


@inner
def _match_few(scores: Any, winner: Any) -> None:
    """The best class of each row; of equal ones the first."""
    for i in range(scores.shape[1] // LANES * LANES):
        score, found = scores[0, i], 0
        for c in (1, 2, 3, 4, 5, 6, 7):
            other = scores[c, i]
            found = c if other > score else found
            score = other if other > score else score
        winner[i] = found


@inner
def _of_all(
    k: Any, offset: int, updates: Any, extra: float, scores: Any, votes: Any, since: Any
) -> None:
    """All outputs of each row vote for its winner, the first of the best classes.

    The classes are leaves of a tree in which the children of node x are 4 x + 1 … 4 x + 4. A node
    knows the best score below it, and which child has it: an update of a class changes the nodes
    above it, and a walk down from node 0 ends at the winner.
    """
    columns, first, classes, weights, times = updates
    n, depth, leaves = scores.shape[1] // LANES * LANES, 0, 0
    while len(scores) > 4**depth:
        leaves += 4**depth  # the nodes of the levels above
        depth += 1
    nodes = leaves + 4**depth
    best, given = np.full((nodes, n), -np.inf), np.zeros((nodes, n))
    better = np.zeros((leaves, n), np.uint64)  # a signed index would be looked at for its sign
    of_classes = slice(leaves, leaves + len(scores))
    _copy(scores, best[of_classes])
    for node in range(leaves - 1, -1, -1):
        _match(best, better, node)
    for e in range(len(times)):
        column, visits = columns[e], float(times[e] - since[0])
        since[:] = times[e]
        for i in range(n):
            at = better[0, i]
            for _ in range(1, depth):
                at = better[at, i]
            given[at, i] += visits
        own = k[column, offset : offset + n]
        for at in range(first[e], first[e + 1]):
            leaf, weight = leaves + classes[at], weights[at]
            for i in range(n):
                best[leaf, i] += weight * (own[i] + extra)
        for at in range(first[e], first[e + 1]):
            node, following = leaves + classes[at], 0
            if at + 1 < first[e + 1]:  # the nodes above both of two classes are left to the second
                following = leaves + classes[at + 1]
            while node > 0 and (node - 1) // 4 != (following - 1) // 4:
                node, following = (node - 1) // 4, (following - 1) // 4
                _match(best, better, node)
    _copy(best[of_classes], scores)
    _copy(given[of_classes], votes)


@inner
def _copy(source: Any, target: Any) -> None:
    """As ``target[:] = source``, for which Numba compiles a message about shapes, for seconds."""
    for c in range(source.shape[0]):
        for i in range(source.shape[1]):
            target[c, i] = source[c, i]


@inner
def _match(best: Any, better: Any, node: int) -> None:
    """The best child of a node of each row; of equal ones the first, which has lower classes."""
    n, c = best.shape[1] // LANES * LANES, 4 * node + 1
    for i in range(n):
        score, found = best[c, i], c
        for j in (1, 2, 3):
            other = best[c + j, i]
            found = c + j if other > score else found
            score = other if other > score else score
        better[node, i] = found
    for i in range(n if node > 0 else 0):  # apart: with two results it would not vectorize
        best[node, i] = max(max(best[c, i], best[c + 1, i]), max(best[c + 2, i], best[c + 3, i]))
