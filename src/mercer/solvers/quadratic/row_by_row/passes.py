"""The two passes over all rows that a step of SMO takes.

    partner     the row that gains most together with row i, and the largest f that may shrink
    move        F after a step, and the row that now most wants to grow
    violators   where a row of K has to be made: rows that will be needed soon

A pass is a few loads and operations per row, and of some hundred rows what surrounds its loop costs
more than the loop. The compiler's own loops have to be sure that arrays do not overlap, and find
the index of a maximum in a second loop over what the first one has to store. Here a vector of
`LANES` rows is one value, and the best ones so far and where they were stay in registers. Arrays
have a multiple of `LANES` entries. Masks of a group begin at `group`, and a row of K at `row`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import inner
from mercer._machine.lanes import (
    ahead,
    choose,
    counting,
    everywhere_of,
    first,
    lanes_of,
    larger,
    largest,
    like,
    load_of,
    store,
)

#: Rows of a vector: eight numbers of float64 fill the widest registers there are.
LANES = lanes_of(8)
load, everywhere = load_of(LANES), everywhere_of(LANES)


@inner(error_model="numpy", forceinline=True)
def partner(F, low, group, table, row, diagonal, n, i, top, floor):  # type: ignore[no-untyped-def]
    """The j that gains most with i (−1: none), its gain, and the largest f that may shrink."""
    zero, twice = like(everywhere(0.0), table), like(everywhere(2.0), table)
    own, least, grows = everywhere(diagonal[i]), everywhere(floor), everywhere(top)
    best, bottom = zero, everywhere(-np.inf)
    index = counting(zero)
    where = index
    for at in range(0, n, LANES):
        falls = load(low, group + at) + load(F, at)
        slope = larger(like(grows + falls, zero), zero)
        curve = own + load(diagonal, at) - twice * load(table, row + at)
        gain = slope * slope / larger(curve, least)
        more = gain > best
        best, where = choose(more, gain, best), choose(more, index, where)
        index, bottom = ahead(index, LANES), larger(falls, bottom)
    gain = largest(best)
    return first(best, gain, where) if gain > 0 else -1, gain, largest(bottom)


def _mover(begins: bool, goes_on: bool) -> Any:
    """Q = kᵢ − kⱼ, or with γ Q more where the direction goes on; F += step Q.

    Gives the row that now most wants to grow, and its −f. A step that ends at a bound leaves no
    direction behind: then Q is neither read nor written.
    """

    @inner(error_model="numpy", forceinline=True)
    def moved(F, Q, up, group, table, row_i, row_j, n, step, gamma):  # type: ignore[no-untyped-def]
        far, kept = everywhere(step), everywhere(gamma)
        best = everywhere(-np.inf)
        index = counting(best)
        where = index
        for at in range(0, n, LANES):
            along = like(load(table, row_i + at), far) - like(load(table, row_j + at), far)
            if goes_on:
                along = along + kept * load(Q, at)
            value = load(F, at) + far * along
            if begins or goes_on:
                store(along, Q, at)
            store(value, F, at)
            wish = load(up, group + at) - value
            more = wish > best
            best, where = choose(more, wish, best), choose(more, index, where)
            index = ahead(index, LANES)
        top = largest(best)
        return first(best, top, where), top

    return moved


_move, _begin, _go_on = _mover(False, False), _mover(True, False), _mover(False, True)


@inner(error_model="numpy", forceinline=True)
def move(F, Q, up, group, table, row_i, row_j, n, step, gamma, begins):  # type: ignore[no-untyped-def]
    """F after a step, and the row that now most wants to grow, with its −f.

    With Q of a direction that goes on where γ is not 0, and of one that `begins` with this step.
    """
    if gamma != 0.0:
        return _go_on(F, Q, up, group, table, row_i, row_j, n, step, gamma)
    if begins:
        return _begin(F, Q, up, group, table, row_i, row_j, n, step, gamma)
    return _move(F, Q, up, group, table, row_i, row_j, n, step, gamma)


@inner(error_model="numpy")
def violators(F, up, low, group, slots, n, wanted, most):  # type: ignore[no-untyped-def]
    """Behind wanted[0], rows without a slot that violate most; gives how many, with that one.

    In turn of those that may shrink and may grow; of each lane the best one is known.
    """
    lowest = everywhere(-np.inf)
    shrinks, grows, index, zero = lowest, lowest, counting(lowest), everywhere(0)
    one = two = index
    for at in range(0, n, LANES):
        value, absent = load(F, at), load(slots, at) < zero
        wish = load(low, group + at) + value
        more = absent & (wish > shrinks)
        shrinks, one = choose(more, wish, shrinks), choose(more, index, one)
        wish = load(up, group + at) - value
        more = absent & (wish > grows)
        grows, two = choose(more, wish, grows), choose(more, index, two)
        index = ahead(index, LANES)
    count = 1
    for _ in range(len(wanted)):
        best = largest(shrinks)
        row = first(shrinks, best, one)
        known = best == -np.inf
        for other in range(count):
            known |= wanted[other] == row
        if not known:
            wanted[count] = row
            count += 1
        if count == most:
            break
        left = choose(one == everywhere(row), lowest, shrinks)
        shrinks, one, grows, two = grows, two, left, one
    return count
