"""SMO over rows of K that are computed when a step first needs them: one compiled loop.

    while the gap is open:
        i: the largest −f that may grow                    known from the pass before
        row i of K, if the table has none                  one call of the formula's machine code
        j: the largest second-order gain with i            pass 1; the gap comes with it
        p = eᵢ − eⱼ + γ p, with γ so that the new p is conjugate to the last one
        a += step p;  Q = kᵢ − kⱼ + γ Q;  F += step Q      pass 2; the next i comes with it

Steps along conjugate directions go down a long narrow valley, where steps of two variables zigzag:
with a large C there are 2 to 4 times fewer. In the first steps, and at a bound, γ is 0, which is
plain SMO.

F = K a and Q = K p are updated; the linear terms are in the masks. The slope of the objective is
F + plus where a > 0 and F + minus where a < 0: an SVR with its ±ε is one variable per example with
a kink at 0, where a step ends. Classification has plus = minus, and one bound at 0.

A pass is a few loads and operations per row. The compiler's own loops check that arrays do not
overlap, and find the index of a maximum in a second loop. Here a vector of `LANES` rows is one
value, and the best rows so far and their indices stay in registers. Arrays have a multiple of
`LANES` entries. The masks of a group begin at `group`, and a row of K at `row`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import inner, njit
from mercer._machine.lanes import (
    ahead,
    call_at,
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
from mercer.gram.rows import TOGETHER
from mercer.solvers.quadratic.problem import LOWER, MINUS, PLUS, TAU, UPPER, A

#: Rows of a vector: eight numbers of float64 fill the widest registers. BLOCK is a multiple of it.
LANES = lanes_of(8)
load, everywhere = load_of(LANES), everywhere_of(LANES)
#: Variables of a conjugate direction at most: each is compared with its bounds in every step.
WIDEST_DIRECTION = 24
#: A direction is given up for a new one where conjugacy leaves less of its curvature.
CURVED = 1e-3
#: Rows of `index`: the slot of the table that holds a row of K (−1: none), the row in a slot,
#: whether a slot was used lately, and the variables of the direction.
SLOT, OWNER, RECENT, MOVING = range(4)
#: Entries of `cursor`: slots in use, the next slot to be examined, rows of K computed, variables of
#: the direction, steps, slots of the table, entries from slot to slot, and steps of plain SMO.
USED, NEXT, MADE, WIDTH, TAKEN, CAPACITY, PITCH, PLAIN = range(8)
#: Entries of `source` behind the arguments of the row function: the numbers of a row of x, and how
#: many rows are computed together.
ROW_LENGTH, EACH = range(7, 9)


# --- passes over all rows ------------------------------------------------------------------------


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


def _mover(directed: bool) -> Any:
    """F += step Q, where Q = kᵢ − kⱼ, plus γ Q where the step is `directed` and leaves Q behind.

    Gives the row that now most wants to grow, and its −f. A step that ends at a bound leaves no
    direction: then Q is neither read nor written.
    """

    @inner(error_model="numpy", forceinline=True)
    def moved(F, Q, up, group, table, row_i, row_j, n, step, gamma):  # type: ignore[no-untyped-def]
        far, kept = everywhere(step), everywhere(gamma)
        best = everywhere(-np.inf)
        index = counting(best)
        where = index
        for at in range(0, n, LANES):
            along = like(load(table, row_i + at), far) - like(load(table, row_j + at), far)
            if directed:
                along = along + kept * load(Q, at)
                store(along, Q, at)
            value = load(F, at) + far * along
            store(value, F, at)
            wish = load(up, group + at) - value
            more = wish > best
            best, where = choose(more, wish, best), choose(more, index, where)
            index = ahead(index, LANES)
        top = largest(best)
        return first(best, top, where), top

    return moved


_move, _move_along = _mover(False), _mover(True)


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


# --- rows of K and steps -------------------------------------------------------------------------


@inner(error_model="numpy")
def _mark(flat, t, g, up, low):  # type: ignore[no-untyped-def]
    """The masks of variable t: whether it may grow and shrink, and what its slope has beside F."""
    a = flat[t, A]
    up[g, t] = -flat[t, MINUS] if a < 0 else -flat[t, PLUS] if a < flat[t, UPPER] else -np.inf
    low[g, t] = flat[t, PLUS] if a > 0 else flat[t, MINUS] if a > flat[t, LOWER] else -np.inf


@inner(error_model="numpy")
def _make(  # type: ignore[no-untyped-def]
    t, busy, rows, K, source, F, up, low, masks, diagonal, index, cursor, wanted, table, stride
):  # fmt: skip
    """Makes row t of K, which is not in the table; row `busy` stays there.

    Rows that are made together with it are those that violate the conditions most: nearly all of
    them are needed soon. Behind what is `wanted` stand the number of rows that are made, where each
    begins in x, and where in the table. Gives whether they are there: without K and a row function
    only their slots are chosen, and the caller has to fill them.
    """
    n, capacity, count = len(rows), cursor[CAPACITY], 1
    wanted[0] = t
    if source[EACH] >= TOGETHER and capacity - cursor[USED] >= TOGETHER:
        count = violators(F, up, low, masks, index, stride, wanted, TOGETHER)
    wanted[TOGETHER] = count
    cursor[MADE] += count
    for r in range(count):
        own, slot = wanted[r], cursor[USED]
        if slot < capacity:
            cursor[USED] += 1
        else:
            # The first slot that was not used since it was passed the last time.
            slot = cursor[NEXT] % capacity
            while slot * stride == busy or index[RECENT, slot]:
                index[RECENT, slot] = 0
                slot = (slot + 1) % capacity
            cursor[NEXT] = slot + 1
            index[SLOT, index[OWNER, slot]] = -1
        index[OWNER, slot] = own
        index[SLOT, own] = slot
        wanted[TOGETHER + 1 + r] = rows[own] * source[ROW_LENGTH]
        wanted[2 * TOGETHER + 1 + r] = slot * stride
        for u in range(n if len(K) else 0):
            table[slot * stride + u] = K[rows[own], rows[u]]
    if not len(K) and source[0]:
        call_at(source[0], source[1], source[2], source[3], source[4], source[5], source[6])
    for r in range(count):
        start = wanted[2 * TOGETHER + 1 + r]
        for u in range(n, stride):
            table[start + u] = 0
        table[start + wanted[r]] = diagonal[wanted[r]]
    return len(K) > 0 or source[0] != 0


@inner(error_model="numpy")
def _along(flat, index, count, p, step):  # type: ignore[no-untyped-def]
    """a += step p over `count` variables of the direction; False at a bound, and no change."""
    moved, free = False, True
    for r in range(count):  # without branches, whose outcome nothing predicts
        t = index[MOVING, r]
        a, d = flat[t, A], step * p[t]
        high = flat[t, UPPER] if a >= 0 else 0.0
        least = flat[t, LOWER] if a <= 0 else 0.0
        free &= ((a + d < high) & (a + d > least)) | (d == 0.0)
        moved |= a + d != a
    moved &= free
    for r in range(count if moved else 0):
        t = index[MOVING, r]
        flat[t, A] += step * p[t]
    return moved


@inner(error_model="numpy")
def _direct(index, count, p, i, j, gamma):  # type: ignore[no-untyped-def]
    """p = eᵢ − eⱼ + γ p; gives how many variables it has."""
    for r in range(count):
        p[index[MOVING, r]] *= gamma
    count = count if gamma != 0.0 else 0
    for side in range(2):
        t = j if side else i
        known = p[t] != 0.0
        for r in range(0 if known else count):
            known |= index[MOVING, r] == t
        if not known:
            index[MOVING, count] = t
            count += 1
        p[t] += 1.0 - 2.0 * side
    return count


@inner(error_model="numpy")
def _descend(flat, p, index, cursor, i, j, slope, curve, across, bent):  # type: ignore[no-untyped-def]
    """Moves a along eᵢ − eⱼ + γ p to the lowest point; gives γ, the step, and the new pᵀKp.

    `across` is (eᵢ − eⱼ)ᵀKp and `bent` pᵀKp (0: there is no p) of the last direction. What it has
    explained of the curvature is left out of the new one.
    """
    gamma, left = 0.0, curve
    if bent > 0.0 and cursor[TAKEN] >= cursor[PLAIN] and cursor[WIDTH] < WIDEST_DIRECTION:
        left = curve - across * across / bent
        gamma = -across / bent if left > CURVED * curve else 0.0
    while True:
        cursor[WIDTH] = _direct(index, cursor[WIDTH], p, i, j, gamma)
        if gamma == 0.0:
            break
        if _along(flat, index, cursor[WIDTH], p, slope / left):
            return gamma, slope / left, left
        gamma = 0.0
    # A bound is in the way, or there is no direction: two variables, to a bound or the kink at
    # most. What is reached is set, not approached: rounding must not leave a hair's width.
    a, b = flat[i, A], flat[j, A]
    end_a = flat[i, UPPER] if a >= 0 else 0.0
    end_b = flat[j, LOWER] if b <= 0 else 0.0
    step = -larger(larger(-slope / curve, a - end_a), end_b - b)
    grown, less = end_a if step == end_a - a else a + step, end_b if step == b - end_b else b - step
    flat[i, A], flat[j, A] = grown, less
    if grown == a and less == b:  # below the rounding of a nothing moves any more
        return 0.0, 0.0, 0.0
    return 0.0, step, curve if step == slope / curve else 0.0


@njit(nogil=True, error_model="numpy")
def solve_problem(  # type: ignore[no-untyped-def]
    flat, rows, group, K, source, F, Q, p, up, low, diagonal, index, cursor, wanted, ends, table,
    stride, tol, rounding, limit, stop,
):  # fmt: skip
    """One problem, in place, from F = K a; gives the steps that were taken.

    `flat` has PLUS … A of every variable. `limit`: steps at most. `rounding`: that of K. `stop`:
    the work ends when it is not 0. The last entry of `ends` is pᵀKp. wanted[TOGETHER] is not 0
    where the loop waits for rows.
    """
    last, none, real = len(up), np.int64(-1), table.dtype.type
    wanted[TOGETHER], cursor[MADE] = 0, 0
    gamma, step, steps, row_i, row_j = 0.0, 0.0, 0, none - none, none - none
    for t in range(len(rows)):
        _mark(flat, t, group[t], up, low)
    while True:
        # F += step Q. Of every group the row that most wants to grow, with its partner; the pair
        # (i, j) is that of most gain, and row i of K stays in the table.
        gap, best, busy, i, j = -np.inf, real(0), none, none, none
        for g in range(last):
            masks = g * up.shape[1]
            begins = (step != 0.0) & (ends[last] > 0.0) & (cursor[TAKEN] >= cursor[PLAIN])
            if begins | (gamma != 0.0):
                t, top = _move_along(F, Q, up, masks, table, row_i, row_j, stride, step, gamma)
            else:
                t, top = _move(F, Q, up, masks, table, row_i, row_j, stride, step, gamma)
            gamma, step, ends[g] = 0.0, 0.0, top
            if index[SLOT, t] < 0 and not _make(
                t, busy, rows, K, source, F, up, low, masks, diagonal, index, cursor, wanted, table,
                stride,
            ):  # fmt: skip
                return steps
            index[RECENT, index[SLOT, t]], row = 1, index[SLOT, t] * cursor[PITCH]
            floor = larger(real(TAU), real(rounding) * diagonal[t])
            j_t, gain, end = partner(F, low, masks, table, row, diagonal, stride, t, top, floor)
            gap = larger(gap, top + end)
            if gain > best and top + end > tol:  # without a partner there is no gain
                best, busy, i, j = gain, row, t, j_t
        if (gap <= tol) | (j < 0) | (steps >= limit) | (stop[0] != 0):
            return steps
        g = group[i]
        if index[SLOT, j] < 0 and not _make(
            j, busy, rows, K, source, F, up, low, g * up.shape[1], diagonal, index, cursor, wanted,
            table, stride,
        ):  # fmt: skip
            return steps
        index[RECENT, index[SLOT, j]], row_i, row_j = 1, busy, index[SLOT, j] * cursor[PITCH]
        own, other = np.float64(diagonal[i]), np.float64(diagonal[j])
        curve = own + other - 2.0 * np.float64(table[row_i + j])
        curve = larger(larger(curve, TAU), rounding * own)
        gamma, step, ends[last] = _descend(
            flat, p, index, cursor, i, j, ends[g] + low[g, j] + F[j], curve, Q[i] - Q[j], ends[last]
        )
        if step == 0.0:
            return steps
        _mark(flat, i, group[i], up, low)
        _mark(flat, j, group[j], up, low)
        steps += 1
        cursor[TAKEN] += 1
