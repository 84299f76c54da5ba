"""Compiled: rows packed into panels, the best of each query listed, and the list made certain."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import njit
from mercer.solvers.neighbors.loops import put
from mercer.solvers.neighbors.vectors import (
    LANES,
    LISTED,
    SHAPE,
    above,
    differences,
    insert,
    largest_of_lanes,
    lowest,
    products,
)

ROWS, COLUMNS = SHAPE.rows, SHAPE.columns
_NONE, _ONE = np.uint64(0), np.uint64(1)
#: Rows looked at to find the column along which a set of rows is longest.
_LOOKED_AT = 16
#: Smaller by more than the rounding of a squared distance of a few columns in float32.
_CERTAIN, _TINY = np.float32(1.0 - 1e-5), np.float32(np.finfo(np.float32).tiny)


@njit(nogil=True)
def in_order(rows: Any, size: Any) -> Any:
    """Indices such that each `size` of them in turn are close together.

    Halved along the column in which some of them lie farthest apart, again and again. `rows` are
    float32, and `keys` whole numbers: what orders a number in the upper half, its index below.
    """
    n = len(rows)
    index, keys = np.arange(n).astype(np.int32), np.empty(n, np.int64)
    bits = rows.view(np.int32)
    starts, stops = np.empty(128, np.int64), np.empty(128, np.int64)
    starts[0], stops[0], waiting = 0, n, 1
    while waiting:
        waiting -= 1
        start, stop = starts[waiting], stops[waiting]
        parts = (stop - start + size - 1) // size
        if parts < 2:
            continue
        step, column, longest = max(1, (stop - start) // _LOOKED_AT), -1, np.float32(0.0)
        for d in range(rows.shape[1]):
            low = high = rows[index[start], d]
            for i in range(start, stop, step):
                value = rows[index[i], d]
                low, high = min(low, value), max(high, value)
            if high - low > longest:
                column, longest = d, high - low
        if column < 0:
            continue
        for i in range(start, stop):
            value = bits[index[i], column]
            value ^= (value >> np.int32(31)) & np.int32(0x7FFFFFFF)  # as floats are ordered
            keys[i] = (np.int64(value) << 32) | np.int64(index[i])
        middle = start + parts // 2 * size
        _split(keys, start, stop, middle)
        for i in range(start, stop):
            index[i] = keys[i] & 0xFFFFFFFF
        starts[waiting], stops[waiting] = start, middle
        starts[waiting + 1], stops[waiting + 1] = middle, stop
        waiting += 2
    return index


@njit(part=True)
def _split(keys: Any, low: Any, high: Any, middle: Any) -> None:
    """Exchange so that no key before `middle` is larger than one from there on; all differ."""
    while high - low > 1:
        first, last, pivot = keys[low], keys[high - 1], keys[(low + high) // 2]
        pivot = max(min(first, last), min(max(first, last), pivot))
        place = low
        for i in range(low, high):  # without a branch, which half of the time would be guessed
            key = keys[i]
            keys[i], keys[place] = keys[place], key
            place += key < pivot
        if middle < place:
            high = place
        elif middle > place:
            low = max(place, low + 1)
        else:
            return


@njit(part=True, fastmath={"contract", "reassoc", "nsz"})
def _pack(row: Any, center: Any, scale: Any, out: Any) -> Any:
    """out ← scale · row − center; its squared length, and whether all numbers are whole."""
    total, broken = 0.0, 0
    for d in range(len(center)):
        value = np.float32(np.float64(row[d]) * scale - center[d])
        out[d] = value
        total += np.float64(value) * np.float64(value)
        broken += value != np.rint(value)
    return total, broken == 0


@njit(nogil=True)
def pack_panels(
    rows: Any, ids: Any, center: Any, scale: Any, start: Any, stop: Any, panels: Any, norms: Any
) -> Any:
    """panels[p, :, t] ← scale · row ids[p, t] − center, for the panels from start to stop.

    A last column, where there is one more than `rows` has, is −‖z‖²/2: beside a query that ends in
    1 it makes x·z − ‖z‖²/2. Where a panel has fewer rows than places, nothing there is near.
    Gives whether all numbers are whole.
    """
    width, whole = rows.shape[1], True
    packed = np.empty((COLUMNS, width), np.float32)
    for p in range(start, stop):
        first, panel = p * COLUMNS, panels[p]
        count = min(COLUMNS, len(rows) - first)
        for t in range(count):
            norms[first + t], fine = _pack(rows[ids[first + t]], center, scale, packed[t])
            whole &= fine
        for begin in range(0, width, 16):  # squares that stay in the first cache
            for t in range(count):
                for d in range(begin, min(begin + 16, width)):
                    panel[d, t] = packed[t, d]
        if len(panel) > width:
            for i in range(count):
                panel[width, i] = -0.5 * norms[first + i]
        panel[-1, count:] = -np.inf
    return whole


@njit(nogil=True)
def pack_queries(rows: Any, ids: Any, center: Any, scale: Any, out: Any, norms: Any) -> Any:
    """The same for queries, row by row; a last column is 1, and further rows repeat the last."""
    whole = True
    out[:, -1] = 1.0
    for i in range(len(out)):
        norms[i], fine = _pack(rows[ids[min(i, len(ids) - 1)]], center, scale, out[i])
        whole &= fine
    return whole


@njit(nogil=True)
def boxes_of(panels: Any, low: Any, high: Any) -> None:
    """The least and largest number of each column and panel: low[d, p] and high[d, p]."""
    for p in range(panels.shape[0]):
        for d in range(len(low)):
            least = largest = panels[p, d, 0]
            for t in range(1, panels.shape[2]):
                value = panels[p, d, t]
                if np.isfinite(value):
                    least, largest = min(least, value), max(largest, value)
            low[d, p], high[d, p] = least, largest


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


@njit(nogil=True)
def search_all(x: Any, panels: Any, ids: Any, own: Any, k: Any, values: Any, index: Any) -> None:
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


@njit(nogil=True)
def search_near(
    x: Any, panels: Any, boxes: Any, ids: Any, own: Any, k: Any, values: Any, index: Any
) -> None:
    """The largest −‖x − z‖², from the panel next to a few queries on, where it can matter."""
    scores, least = np.empty((ROWS, COLUMNS), np.float32), np.empty(ROWS, np.float32)
    gaps = np.empty(len(panels), np.float32)
    for at in range(0, len(x), ROWS):
        _gaps(x, at, boxes[0], boxes[1], gaps)
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


@njit(nogil=True)
def settle(
    x: Any, rows: Any, z: Any, listed: Any, last: Any, error: Any, unit: Any,
    distance: Any, index: Any,
) -> Any:  # fmt: skip
    """The nearest of those listed, measured again; which queries may have one as near elsewhere.

    `last`: what the list ends with, as a squared distance in units of `unit`. `error`: what such a
    distance d² may be off by: shares of d² and of d, and a constant; per query.
    """
    doubtful = np.zeros(len(rows), np.bool_)
    for i in range(len(rows)):
        length = 0
        for j in range(listed.shape[1]):
            other = listed[i, j]
            length = _insert(_apart(x[rows[i]], z[other]), other, length, distance[i], index[i])
        end = max(last[i], 0.0)
        off = error[0, i] * end + error[1, i] * np.sqrt(end) + error[2, i]
        doubtful[i] = not unit * max(end - off, 0.0) > distance[i, distance.shape[1] - 1]
    return doubtful


@njit(nogil=True)
def search_again(
    packed: Any, which: Any, panels: Any, boxes: Any, ids: Any, own: Any,
    least: Any, exact: Any, distance: Any, index: Any,
) -> None:  # fmt: skip
    """The nearest of all whose score exceeds `least`, each measured from its difference.

    `packed`: a multiple of ROWS queries, of which the first len(which) count. Without boxes, which
    are empty then, scores are products.
    """
    (x, rows, z), (low, high) = exact, boxes
    scores, gaps = np.empty((ROWS, COLUMNS), np.float32), np.zeros(len(panels), np.float32)
    length = np.zeros(len(which), np.int64)
    for at in range(0, len(packed), ROWS):
        _gaps(packed, at, low, high, gaps)
        farthest = -min(least[at : at + ROWS])
        for p in range(len(panels)):
            if len(low) == 0:
                products(packed, at, panels, p, scores)
            elif gaps[p] * _CERTAIN > farthest:
                continue
            else:
                differences(packed, at, panels, p, scores)
            for i in range(min(ROWS, len(which) - at)):
                q = which[at + i]
                bits = above(scores, i, least[at + i])
                while bits != _NONE:
                    other = ids[p * COLUMNS + lowest(bits)]
                    bits &= bits - _ONE
                    # Behind a full list of copies of the query no later example has a place.
                    full = length[at + i] == distance.shape[1]
                    copies = full and distance[q, -1] == 0.0 and other > index[q, -1]
                    if other != own[q] and not copies:
                        apart = _apart(x[rows[q]], z[other])
                        length[at + i] = _insert(
                            apart, other, length[at + i], distance[q], index[q]
                        )
