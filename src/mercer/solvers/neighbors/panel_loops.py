"""Compiled: rows packed into panels, the best of each query listed, and the list made certain.

A tile of scores between a few queries and a panel of examples stays in registers while it is added
up; `_above` tells which scores of a row are larger than a number, as the bits of a word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import inner, njit
from mercer._machine.lanes import (
    FORM,
    Shape,
    bits_of_mask,
    choose,
    everywhere_of,
    lanes_of,
    larger,
    largest,
    load_of,
    lowest,
    processor,
    shifted,
    store,
    tile_sums,
)
from mercer.solvers.neighbors.loops import put


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
#: Neighbors up to which a list is one vector.
LISTED = lanes_of(16)
_NONE, _ONE = np.uint64(0), np.uint64(1)
#: Smaller by more than the rounding of a squared distance of a few columns in float32.
_CERTAIN, _TINY = np.float32(1.0 - 1e-5), np.float32(np.finfo(np.float32).tiny)
_LEAST, _ZERO = np.float32(-np.inf), np.float32(0.0)
LANES, VECTORS = SHAPE.lanes, SHAPE.vectors
_load, _everywhere = load_of(LANES), everywhere_of(LANES)
_load_list, _everywhere_listed = load_of(LISTED), everywhere_of(LISTED)
_products, _differences = (tile_sums(op, LANES, ROWS, VECTORS, COLUMNS) for op in ("dot", "near"))


@njit(nogil=True)
def put_in_order(index: Any, rows: Any, bits: Any, keys: Any, waiting: Any, size: Any) -> None:
    """Indices such that each `size` of them in turn are close together.

    Halved along the column in which some of them lie farthest apart, again and again. `rows` are
    float32, `bits` the same as int32, and `keys` whole numbers: what orders a number in the upper
    half, its index below. `waiting`: a stack of the slices that are still to be halved.
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
    Gives whether all numbers are whole. `packed` is a buffer for the rows of a panel.
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
    """Pack queries row by row; rows of `out` beyond `ids` repeat the last query.

    A column more than `rows` has is 1.
    """
    whole, n, width = True, len(ids), out.shape[1]
    for i in range(len(out)):
        norms[i], fine = _pack(rows, ids[i if i < n else n - 1], center, scale, out, i)
        whole &= fine
        if width > rows.shape[1]:
            out[i, width - 1] = 1.0
    return whole


@inner(forceinline=True)
def _above(scores: Any, i: Any, least: Any) -> Any:
    """The bits of a word: which scores of row i are larger than `least`."""
    bits, limit = _NONE, _everywhere(least)
    for j in range(VECTORS):
        mask = _load(scores, i * COLUMNS + j * LANES) > limit
        bits |= bits_of_mask(mask) << np.uint64(j * LANES)
    return bits


@inner(forceinline=True)
def _insert_listed(values: Any, index: Any, row: Any, value: Any, place: Any) -> None:
    """Put a number into a row of LISTED sorted ones, behind equal ones; and its index likewise.

    Without a branch: every place keeps its number, takes the new one, or that of its neighbor.
    """
    old, new = _load_list(values, row * LISTED), _everywhere_listed(value)
    before = shifted(old, new)
    stays, moves = old >= new, before < new
    store(choose(stays, old, choose(moves, before, new)), values, row * LISTED)
    old, new = _load_list(index, row * LISTED), _everywhere_listed(place)
    store(choose(stays, old, choose(moves, shifted(old, new), new)), index, row * LISTED)


@inner
def _merge(
    scores: Any, at: Any, first: Any, ids: Any, own: Any, k: Any, least: Any, values: Any,
    index: Any,
) -> None:  # fmt: skip
    """Put the scores of a tile into the sorted lists of its queries; of each the first k count.

    Lists hold the places of examples in their panels. `least[i]`: what scores must exceed anyhow.
    """
    for i in range(ROWS):
        row = at + i
        bits = _above(scores, i, larger(values[row, k - 1], least[i]))
        while bits != _NONE:
            t = lowest(bits)
            bits &= bits - _ONE
            value, place = scores[i, t], first + t
            if value <= values[row, k - 1] or ids[place] == own[row]:
                continue
            if k <= LISTED:
                _insert_listed(values, index, row, value, np.int32(place))
            else:
                put(value, place, values, index, row, k)


@njit(nogil=True)
def list_all(
    x: Any,
    panels: Any,
    ids: Any,
    own: Any,
    k: Any,
    values: Any,
    index: Any,
    scores: Any,
    least: Any,
) -> None:
    """The largest x·z + the last column of all panels, in the order of the examples.

    `scores` and `least`, which is −∞, are buffers for a tile.
    """
    width = x.shape[1]
    for p in range(len(panels)):
        for at in range(0, len(x), ROWS):
            _products(x, (at * width, width), panels, p * width * COLUMNS, width, scores, 0)
            _merge(scores, at, p * COLUMNS, ids, own, k, least, values, index)


@inner
def _reached(scores: Any, at: Any, own: Any, k: Any, least: Any) -> None:
    """least[i] ← what k scores of a tile exceed, so that fewer are listed in vain.

    It is the k-th largest of what each lane has at most, or less, where some are equal.
    """
    nothing = _everywhere(_LEAST)
    for i in range(ROWS):
        count = k + (own[at + i] >= 0)  # the query itself may be among them, and does not count
        least[i] = _LEAST
        if count <= LANES:
            left, best = nothing, _LEAST
            for j in range(VECTORS):
                left = larger(left, _load(scores, i * COLUMNS + j * LANES))
            for _ in range(count):
                best = largest(left)
                left = choose(left == _everywhere(best), nothing, left)
            least[i] = best / _CERTAIN - _TINY


@inner(fastmath={"contract", "nsz", "nnan"})
def _gaps(x: Any, at: Any, low: Any, high: Any, out: Any) -> Any:
    """The squared distance between the box of some queries and that of every panel.

    Gives the nearest panel.
    """
    for p in range(len(out)):
        out[p] = _ZERO
    for d in range(low.shape[0]):
        least = most = x[at, d]
        for i in range(1, ROWS):
            least, most = -larger(-least, -x[at + i, d]), larger(most, x[at + i, d])
        for p in range(len(out)):
            gap = larger(larger(low[d, p] - most, least - high[d, p]), _ZERO)
            out[p] += gap * gap
    home = 0
    for p in range(len(out)):
        home = p if out[p] < out[home] else home
    return home


@njit(nogil=True)
def list_near(
    x: Any, panels: Any, low: Any, high: Any, ids: Any, own: Any, k: Any, values: Any, index: Any,
    scores: Any, least: Any, gaps: Any,
) -> None:  # fmt: skip
    """The largest −‖x − z‖², from the panel next to a few queries on, where it can matter.

    `scores`, `least` and `gaps` are buffers for a tile, and for a number per panel.
    """
    width, count = x.shape[1], len(panels)
    for at in range(0, len(x), ROWS):
        home = _gaps(x, at, low, high, gaps)
        farthest = -_LEAST
        for turn in range(2 * count):
            p = home + (turn // 2 if turn % 2 == 0 else -1 - turn // 2)
            if p < 0 or p >= count or gaps[p] * _CERTAIN >= farthest:
                continue
            _differences(x, (at * width, width), panels, p * width * COLUMNS, width, scores, 0)
            if turn == 0:
                _reached(scores, at, own, k, least)
            _merge(scores, at, p * COLUMNS, ids, own, k, least, values, index)
            farthest = _ZERO
            for i in range(ROWS):
                farthest = larger(farthest, -larger(values[at + i, k - 1], least[i]))


@inner(fastmath={"contract", "reassoc", "nsz"})
def _apart(x: Any, row: Any, z: Any, other: Any) -> Any:
    """‖x[row] − z[other]‖² in float64, from the differences."""
    total = 0.0
    for d in range(x.shape[1]):
        gap = np.float64(x[row, d]) - np.float64(z[other, d])
        total += gap * gap
    return total


@inner
def _insert(apart: Any, other: Any, length: Any, distance: Any, index: Any, row: Any) -> Any:
    """Put a neighbor into a sorted list: of equal ones the first. Gives the new length."""
    k = distance.shape[1]
    place = length if length < k else k - 1
    if length == k:
        last = distance[row, place]
        if last < apart or (last == apart and index[row, place] < other):
            return length
    while place > 0:
        last, before = distance[row, place - 1], index[row, place - 1]
        if last < apart or (last == apart and before <= other):
            break
        distance[row, place], index[row, place] = last, before
        place -= 1
    distance[row, place], index[row, place] = apart, other
    return length if length == k else length + 1


@njit(nogil=True)
def measure_listed(
    x: Any, rows: Any, z: Any, ids: Any, places: Any, some: Any, distance: Any, index: Any
) -> None:
    """distance[rows], index[rows] ← the nearest of the `some` listed, measured from x − z."""
    for i in range(len(rows)):
        length = np.int64(0)
        for at in range(some):
            other = np.int64(ids[places[i, at]])
            apart = _apart(x, rows[i], z, other)
            length = _insert(apart, other, length, distance, index, rows[i])


@njit(nogil=True)
def search_again(
    x: Any, rows: Any, z: Any, packed: Any, panels: Any, low: Any, high: Any, ids: Any, own: Any,
    least: Any, distance: Any, index: Any, scores: Any, gaps: Any,
) -> None:  # fmt: skip
    """The nearest of all whose score exceeds `least`, each measured from its difference.

    `packed` has a multiple of ROWS queries, those beyond `rows` in vain.
    """
    width, k = packed.shape[1], distance.shape[1]
    length = np.zeros(ROWS, np.int64)
    for at in range(0, len(rows), ROWS):
        farthest = _ZERO
        for i in range(ROWS):
            length[i] = 0
            farthest = larger(farthest, -least[at + i])
        if len(low):
            _gaps(packed, at, low, high, gaps)
        for p in range(len(panels)):
            line = p * width * COLUMNS
            if len(low) == 0:
                _products(packed, (at * width, width), panels, line, width, scores, 0)
            elif gaps[p] * _CERTAIN > farthest:
                continue
            else:
                _differences(packed, (at * width, width), panels, line, width, scores, 0)
            for i in range(ROWS if at + ROWS <= len(rows) else len(rows) - at):
                row, bits = rows[at + i], _above(scores, i, least[at + i])
                while bits != _NONE:
                    other = np.int64(ids[p * COLUMNS + lowest(bits)])
                    bits &= bits - _ONE
                    # Behind a full list of copies of the query no later example has a place.
                    copies = length[i] == k and distance[row, k - 1] == 0.0
                    if other == own[at + i] or (copies and other > index[row, k - 1]):
                        continue
                    apart = _apart(x, row, z, other)
                    length[i] = _insert(apart, other, length[i], distance, index, row)
