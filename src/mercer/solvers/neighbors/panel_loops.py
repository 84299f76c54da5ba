"""Compiled: the best of each query listed, panel by panel, and the list made certain.

`search_block` does all of it for some queries in one call: threads that would return to Python in
between wait there for one another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import njit
from mercer.solvers.neighbors.loops import put
from mercer.solvers.neighbors.packing import COLUMNS, ROWS, packed_queries
from mercer.solvers.neighbors.vectors import (
    LANES,
    LISTED,
    above,
    differences,
    insert,
    largest_of_lanes,
    lowest,
    products,
)

#: Neighbors listed beyond those asked for, where scores are products, which cancel, and where they
#: are differences: a choice; more make second searches rarer.
SPARE, SPARE_NEAR = 3, 1
#: Squared norms up to which sums of products of whole numbers are exact in float32.
EXACT = float(1 << 22)
SINGLE = float(np.finfo(np.float32).eps)
_NONE, _ONE = np.uint64(0), np.uint64(1)
#: Smaller by more than the rounding of a squared distance of a few columns in float32.
_CERTAIN, _TINY = np.float32(1.0 - 1e-5), np.float32(np.finfo(np.float32).tiny)


@njit(part=True)
def _merge(
    scores: Any,
    at: Any,
    first: Any,
    ids: Any,
    own: Any,
    k: Any,
    least: Any,
    values: Any,
    index: Any,
) -> None:
    """Put the scores of a tile into the sorted lists of its queries; of each the first k count.

    Lists hold the places of examples in their panels. `least[i]`: what scores must exceed anyhow.
    """
    for i in range(ROWS):
        row = at + i
        bits = above(scores, i, max(values[row, k - 1], least[i]))
        while bits != _NONE:
            t = lowest(bits)
            bits &= bits - _ONE
            value, place = scores[i, t], first + t
            if value <= values[row, k - 1] or ids[place] == own[row]:
                continue
            if k <= LISTED:
                insert(values, index, row, value, place)
            else:
                put(value, place, values[row, :k], index[row, :k])


@njit(part=True)
def _search_all(x: Any, panels: Any, ids: Any, own: Any, k: Any, values: Any, index: Any) -> None:
    """The largest x·z + the last column of all panels, in the order of the examples."""
    scores, least = np.empty((ROWS, COLUMNS), np.float32), np.full(ROWS, -np.inf, np.float32)
    for p in range(len(panels)):
        for at in range(0, len(x), ROWS):
            products(x, at, panels, p, scores)
            _merge(scores, at, p * COLUMNS, ids, own, k, least, values, index)


@njit(part=True)
def _reached(scores: Any, at: Any, own: Any, k: Any, least: Any) -> None:
    """least[i] ← what k scores of a tile exceed, so that fewer are listed in vain."""
    for i in range(ROWS):
        count = k + (own[at + i] >= 0)  # the query itself may be among them, and does not count
        least[i] = -np.inf
        if count <= LANES:
            score = largest_of_lanes(scores, i, count)
            least[i] = np.float32(score / _CERTAIN - _TINY)


@njit(part=True, fastmath={"contract", "nsz", "nnan"})
def _gaps(x: Any, at: Any, low: Any, high: Any, out: Any) -> None:
    """The squared distance between the box of some queries and that of every panel."""
    out[:] = 0.0
    for d in range(low.shape[0]):
        least = largest = x[at, d]
        for i in range(1, ROWS):
            least, largest = min(least, x[at + i, d]), max(largest, x[at + i, d])
        below, over = low[d], high[d]
        for p in range(len(out)):
            gap = max(max(below[p] - largest, least - over[p]), np.float32(0.0))
            out[p] += gap * gap


@njit(part=True)
def _search_near(
    x: Any, panels: Any, low: Any, high: Any, ids: Any, own: Any, k: Any, values: Any, index: Any
) -> None:
    """The largest −‖x − z‖², from the panel next to a few queries on, where it can matter."""
    scores, least = np.empty((ROWS, COLUMNS), np.float32), np.empty(ROWS, np.float32)
    gaps = np.empty(len(panels), np.float32)
    for at in range(0, len(x), ROWS):
        _gaps(x, at, low, high, gaps)
        home = np.argmin(gaps)
        farthest = np.float32(np.inf)
        for turn in range(2 * len(panels)):
            p = home + (turn // 2 if turn % 2 == 0 else -1 - turn // 2)
            if p < 0 or p >= len(panels) or gaps[p] * _CERTAIN >= farthest:
                continue
            differences(x, at, panels, p, scores)
            if turn == 0:
                _reached(scores, at, own, k, least)
            _merge(scores, at, p * COLUMNS, ids, own, k, least, values, index)
            farthest = np.float32(0.0)
            for i in range(ROWS):
                farthest = max(farthest, -max(values[at + i, k - 1], least[i]))


@njit(part=True, fastmath={"contract", "reassoc", "nsz"})
def _apart(x: Any, z: Any) -> Any:
    """‖x − z‖² in float64, from the differences."""
    total = 0.0
    for d in range(len(x)):
        gap = np.float64(x[d]) - np.float64(z[d])
        total += gap * gap
    return total


@njit(part=True)
def _insert(distance: Any, column: Any, length: Any, values: Any, index: Any) -> Any:
    """Put a neighbor into a sorted list: of equal ones the first. Gives the new length."""
    k = len(values)
    full, place = length == k, min(length, k - 1)
    if full and (values[place], index[place]) < (distance, column):
        return length
    while place > 0 and (values[place - 1], index[place - 1]) > (distance, column):
        values[place], index[place] = values[place - 1], index[place - 1]
        place -= 1
    values[place], index[place] = distance, column
    return length if full else length + 1


@njit(part=True)
def _error(norm: Any, largest: Any, lost: Any, columns: Any, near: Any, exact: Any) -> Any:
    """What a squared distance d² of a query may be off by: shares of d² and d, and a constant."""
    if exact:
        return 0.0, 0.0, 0.0
    length, least = np.sqrt(norm) + np.sqrt(largest), 2.0 * columns * np.float64(_TINY)
    if near:
        moved = SINGLE * length + lost
        return 2.0 * (columns + 4) * SINGLE, 2.0 * moved, least + moved * moved
    share = 2.0 * SINGLE * (4.0 * np.sqrt(columns) + 8.0)
    return 0.0, 0.0, least + share * (norm + largest) + 4.0 * length * lost


@njit(nogil=True)
def search_block(
    x: Any, rows: Any, z: Any, own: Any, examples: Any, moved: Any, ends: Any,
    distance: Any, index: Any,
) -> None:  # fmt: skip
    """distance[rows], index[rows] ← the k nearest of z for these rows of x, nearest first.

    `examples`: panels, low and high ends of their boxes (empty where scores are products), and
    which row of z is where. `moved`: center and scale of what panels hold, and digits lost by that.
    `ends`: the largest ‖z‖², and whether all numbers are whole. own[i] does not count for query i.
    """
    (panels, low, high, ids), (center, scale, lost), (largest, whole) = examples, moved, ends
    k, near, n = index.shape[1], len(low) > 0, len(rows)
    packed, norms, fine = packed_queries(x, rows, center, scale, panels.shape[1])
    exact = whole and fine and max(largest, norms.max()) <= EXACT
    who = np.full(len(packed), own[rows[-1]])
    who[:n] = own[rows]
    others = len(z) - (who.max() >= 0)
    # Of equally near ones the first count. One after the other they are listed so; in any order
    # one more is listed, which tells whether the last has its like among those left out.
    some = min(k + (SPARE_NEAR if near else 0 if exact else SPARE), others)
    places = np.zeros((len(packed), max(some, LISTED)), np.int32)
    values = np.full(places.shape, -np.inf, np.float32)
    if near:
        _search_near(packed, panels, low, high, ids, who, some, values, places)
    else:
        _search_all(packed, panels, ids, who, some, values, places)
    certain, unit = some == others or (exact and not near), scale**-2
    which, least, count = np.empty(n, np.int64), np.empty(n, np.float32), 0
    for i in range(n):
        row = rows[i]
        _measure(x[row], z, ids, places[i, :some], distance[row], index[row])
        if not certain:
            error = _error(norms[i], largest, lost, x.shape[1], near, exact)
            farthest, last = distance[row, k - 1] / unit, np.float64(values[i, some - 1])
            least[count] = _as_near(farthest, last, norms[i], error, near)
            which[count] = i
            count += least[count] < np.inf
    if count:
        _search_again(packed, which[:count], examples, who, least, (x, rows, z), distance, index)


@njit(part=True)
def _measure(x: Any, z: Any, ids: Any, places: Any, distance: Any, index: Any) -> None:
    """The nearest of those listed, measured from x − z."""
    length = 0
    for place in places:
        other = ids[place]
        length = _insert(_apart(x, z[other]), other, length, distance, index)


@njit(part=True)
def _as_near(farthest: Any, last: Any, norm: Any, error: Any, near: Any) -> Any:
    """What the score of an example exceeds that may be as near as the farthest one of the list.

    `last`: the score that the list ends with; infinity where all others are certainly farther.
    """
    share, part, rest = error
    end = max(-last if near else norm - 2.0 * last, 0.0)
    if end - (share * end + part * np.sqrt(end) + rest) > farthest:
        return np.float32(np.inf)
    limit = farthest + share * farthest + part * np.sqrt(farthest) + rest
    return _below(-limit if near else 0.5 * (norm - limit))


@njit(part=True)
def _below(value: Any) -> Any:
    """A number in float32 that is smaller, by little."""
    single = np.float32(value)
    return single - max(abs(single) * np.float32(SINGLE), _TINY)


@njit(part=True)
def _search_again(
    packed: Any, which: Any, examples: Any, own: Any, least: Any, exact: Any,
    distance: Any, index: Any,
) -> None:  # fmt: skip
    """The nearest of all whose score exceeds `least`, each measured from its difference."""
    (x, rows, z), (panels, low, high, ids) = exact, examples
    scores, gaps = np.empty((ROWS, COLUMNS), np.float32), np.zeros(len(panels), np.float32)
    queries = np.empty((ROWS, packed.shape[1]), np.float32)
    for at in range(0, len(which), ROWS):
        some, farthest = min(ROWS, len(which) - at), np.float32(0.0)
        for i in range(ROWS):
            queries[i] = packed[which[at + min(i, some - 1)]]
            farthest = max(farthest, -least[at + min(i, some - 1)])
        _gaps(queries, 0, low, high, gaps)
        length = np.zeros(ROWS, np.int64)
        for p in range(len(panels)):
            if len(low) == 0:
                products(queries, 0, panels, p, scores)
            elif gaps[p] * _CERTAIN > farthest:
                continue
            else:
                differences(queries, 0, panels, p, scores)
            for i in range(some):
                q = which[at + i]
                row = rows[q]
                bits = above(scores, i, least[at + i])
                while bits != _NONE:
                    other = ids[p * COLUMNS + lowest(bits)]
                    bits &= bits - _ONE
                    # Behind a full list of copies of the query no later example has a place.
                    full = length[i] == distance.shape[1]
                    copies = full and distance[row, -1] == 0.0 and other > index[row, -1]
                    if other != own[q] and not copies:
                        apart = _apart(x[row], z[other])
                        length[i] = _insert(apart, other, length[i], distance[row], index[row])
