"""Compiled: rows put in an order in which neighbors are close, and packed into panels."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import inner, njit
from mercer._machine.lanes import FORM, Shape, processor


def _shape() -> Shape:
    """What the registers of this processor hold; any shape runs on any processor."""
    features = processor()
    if features.get("avx512f"):
        return Shape(16, 6, 4)
    return Shape(8, 4, 3) if features.get("avx2") else Shape(4, 4, 3)


SHAPE = _shape() if FORM == "vectors" else Shape(1, 4, 16)
ROWS, COLUMNS = SHAPE.rows, SHAPE.columns
#: Rows looked at to find the column along which a set of rows is longest.
_LOOKED_AT = 16


@njit(nogil=True)
def put_in_order(index: Any, rows: Any, bits: Any, keys: Any, waiting: Any, size: Any) -> None:
    """Indices such that each `size` of them in turn are close together.

    Halved along the column in which some of them lie farthest apart, again and again. `rows` are
    float32, `bits` the same as int32, and `keys` whole numbers: what orders a number in the upper
    half, its index below. `waiting`: where stretches that are to be halved begin and end.
    """
    waiting[0, 0], waiting[0, 1], left = 0, len(rows), 1
    while left:
        left -= 1
        start, stop = waiting[left, 0], waiting[left, 1]
        parts = (stop - start + size - 1) // size
        if parts < 2:
            continue
        step, column, longest = (stop - start) // _LOOKED_AT + 1, -1, np.float32(0.0)
        for d in range(rows.shape[1]):
            low = high = rows[index[start], d]
            for i in range(start, stop, step):
                value = rows[index[i], d]
                low, high = value if value < low else low, value if value > high else high
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
        waiting[left, 0], waiting[left, 1] = start, middle
        waiting[left + 1, 0], waiting[left + 1, 1] = middle, stop
        left += 2


@inner
def _split(keys: Any, low: Any, high: Any, middle: Any) -> None:
    """Exchange so that no key before `middle` is larger than one from there on; all differ."""
    while high - low > 1:
        first, last, pivot = keys[low], keys[high - 1], keys[(low + high) // 2]
        first, last = first if first < last else last, last if first < last else first
        pivot = first if pivot < first else last if pivot > last else pivot
        place = low
        for i in range(low, high):  # without a branch, which half of the time would be guessed
            key = keys[i]
            keys[i], keys[place] = keys[place], key
            place += key < pivot
        if middle < place:
            high = place
        elif middle > place:
            low = place if place > low else low + 1
        else:
            return


@inner(fastmath={"contract", "reassoc", "nsz"})
def _pack(rows: Any, row: Any, center: Any, scale: Any, out: Any, to: Any) -> Any:
    """out[to] ← scale · rows[row] − center; its squared length, and whether all are whole."""
    total, broken = 0.0, 0
    for d in range(len(center)):
        value = np.float32(np.float64(rows[row, d]) * scale - center[d])
        out[to, d] = value
        total += np.float64(value) * np.float64(value)
        broken += value != np.rint(value)
    return total, broken == 0


@njit(nogil=True)
def pack_panels(
    rows: Any, ids: Any, center: Any, scale: Any, start: Any, stop: Any, panels: Any, norms: Any,
    packed: Any,
) -> Any:  # fmt: skip
    """panels[p, :, t] ← scale · row ids[p, t] − center, for the panels from start to stop.

    A last column, where there is one more than `rows` has, is −‖z‖²/2: beside a query that ends in
    1 it makes x·z − ‖z‖²/2. Where a panel has fewer rows than places, nothing there is near.
    Gives whether all numbers are whole. `packed` is room for the rows of a panel.
    """
    width, last, whole = rows.shape[1], panels.shape[1] - 1, True
    for p in range(start, stop):
        first = p * COLUMNS
        count = len(rows) - first
        count = count if count < COLUMNS else COLUMNS
        for t in range(count):
            norms[first + t], fine = _pack(rows, ids[first + t], center, scale, packed, t)
            whole &= fine
        for begin in range(0, width, 16):  # squares that stay in the first cache
            end = begin + 16 if begin + 16 < width else width
            for t in range(count):
                for d in range(begin, end):
                    panels[p, d, t] = packed[t, d]
        for t in range(count if last == width else 0):
            panels[p, last, t] = -0.5 * norms[first + t]
        for t in range(count, COLUMNS):
            panels[p, last, t] = -np.inf
    return whole


@njit(nogil=True)
def pack_queries(rows: Any, ids: Any, center: Any, scale: Any, out: Any, norms: Any) -> Any:
    """The same for queries, row by row; those of `out` beyond `ids` repeat the last one.

    A column more than `rows` has is 1.
    """
    whole, n, width = True, len(ids), out.shape[1]
    for i in range(len(out)):
        norms[i], fine = _pack(rows, ids[i if i < n else n - 1], center, scale, out, i)
        whole &= fine
        if width > rows.shape[1]:
            out[i, width - 1] = 1.0
    return whole
