"""Compiled: rows put in an order in which neighbors are close, and packed into panels."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import njit
from mercer.solvers.neighbors.vectors import SHAPE

ROWS, COLUMNS = SHAPE.rows, SHAPE.columns
#: Rows looked at to find the column along which a set of rows is longest.
_LOOKED_AT = 16


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


@njit(part=True)
def packed_queries(rows: Any, ids: Any, center: Any, scale: Any, width: Any) -> Any:
    """The same for queries, row by row, in multiples of ROWS: further ones repeat the last.

    A column more than `rows` has is 1. Gives their squared lengths, and whether all are whole, too.
    """
    padded = -(-len(ids) // ROWS) * ROWS
    out, norms, whole = np.empty((padded, width), np.float32), np.empty(padded), True
    out[:, -1] = 1.0
    for i in range(padded):
        norms[i], fine = _pack(rows[ids[min(i, len(ids) - 1)]], center, scale, out[i])
        whole &= fine
    return out, norms, whole


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
