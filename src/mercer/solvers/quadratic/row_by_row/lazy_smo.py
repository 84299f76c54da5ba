"""SMO over rows of K that are made when a step first needs them: no Gram, no working set.

    while the gap is open:
        i: the largest −f that may grow                    known from the pass before
        row i of K, if it is not kept                      one call of the formula's machine code
        j: the largest second-order gain with i            pass 1; the gap comes with it
        p = eᵢ − eⱼ + γ p, with γ so that the new p is conjugate to the last one
        a += step p;  Q = kᵢ − kⱼ + γ Q;  F += step Q      pass 2; the next i comes with it

Steps along conjugate directions go down a long narrow valley, where steps of two variables zigzag:
a large C takes 2 to 4 times fewer of them. In the first steps, and where a bound is in the way, γ
is 0, which is plain SMO.

The passes go over vectors of rows (`passes`); a bound is an additive mask there.

F = K a and Q = K p are kept; the linear terms are in the masks. For a variable with value a the
slope of the objective is F + plus where a > 0 and F + minus where a < 0: an SVR with its ±ε is one
variable per example with a kink at 0, where a step ends. Classification has plus = minus, and one
bound at 0.

Problems of thousands of rows shrink between calls (`shrinking`).
"""

from __future__ import annotations

import numpy as np

from mercer._machine.jit import inner, njit
from mercer._machine.lanes import call_at, larger
from mercer.gram.rows.prepared import BLOCK, TOGETHER
from mercer.solvers.quadratic.row_by_row.flat_problems import (
    COMPUTED,
    FRESH,
    IMAGE,
    LOWER,
    MINUS,
    PLUS,
    SAME,
    STEPS,
    TAU,
    UPPER,
    A,
)
from mercer.solvers.quadratic.row_by_row.panels import lay_out
from mercer.solvers.quadratic.row_by_row.passes import move, partner, violators

#: Steps of plain SMO before the first conjugate direction: one per row, within these. Until then
#: bounds are in the way of most steps.
FEWEST, MOST = 128, 512
#: Variables of a conjugate direction at most: each is compared with its bounds in every step.
WIDEST = 24
#: A direction is given up for a new one where conjugacy leaves less of its curvature.
CURVED = 1e-3
#: Rows of the table `index`: the slot of the kept rows that a row of K is in (−1: none), the row in
#: a slot, whether a slot was used lately, the variables of the direction, and where the stretch of
#: examples that are neighbors in K ends.
SLOT, OWNER, RECENT, MOVING, UNTIL = range(5)
#: Entries of `cursor`: slots in use, the slot to be looked at next, rows of K that were computed,
#: variables of the direction, steps, slots that there is room for, and steps of plain SMO.
USED, NEXT, MADE, WIDTH, TAKEN, CAPACITY, PLAIN = range(7)
#: Entries of `source` behind what the function of rows takes: the numbers of a row of x, and rows
#: that are made at a time.
LENGTH, EACH = 7, 8


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
    begins in x, and where in the table.
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
        start, at = slot * stride, 0
        wanted[TOGETHER + 1 + r] = rows[own] * source[LENGTH]
        wanted[2 * TOGETHER + 1 + r] = start
        while at < n and len(K):
            until, first = index[UNTIL, at], rows[at] - at
            for u in range(at, until):
                table[start + u] = K[rows[own], first + u]
            at = until
    if not len(K):
        call_at(source[0], source[1], source[2], source[3], source[4], source[5], source[6])
    for r in range(count):
        start = wanted[2 * TOGETHER + 1 + r]
        for u in range(n, stride):
            table[start + u] = 0
        table[start + wanted[r]] = diagonal[wanted[r]]


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
    if bent > 0.0 and cursor[TAKEN] >= cursor[PLAIN] and cursor[WIDTH] < WIDEST:
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


@inner(error_model="numpy")
def _start(  # type: ignore[no-untyped-def]
    flat, rows, group, diagonals, K, right, shape, Z, F, Q, p, up, low, diagonal, index, cursor,
    ends, table, keep,
):  # fmt: skip
    """F, masks, the diagonal and the panels of a problem, padded to a multiple of BLOCK."""
    n = len(rows)
    stride = (n + BLOCK - 1) // BLOCK * BLOCK
    if keep == FRESH:
        for t in range(len(cursor)):
            cursor[t] = 0
        for t in range(stride):
            index[SLOT, t] = -1
            Q[t] = p[t] = table[t] = 0  # the first pass adds row 0 of the table, 0 times
        ends[len(up)] = 0.0
    shape[0], cursor[CAPACITY], cursor[MADE] = stride, len(table) // stride, 0
    cursor[PLAIN] = FEWEST if n < FEWEST else n if n < MOST else MOST
    for t in range(n - 1, -1 if len(K) else n - 1, -1):
        together = t + 1 < n and rows[t + 1] == rows[t] + 1
        index[UNTIL, t] = index[UNTIL, t + 1] if together else t + 1
    for t in range(stride):
        for g in range(len(up)):
            up[g, t] = low[g, t] = -np.inf
        F[t], diagonal[t] = 0.0, 1.0
        if t < n:
            F[t], diagonal[t] = flat[t, IMAGE], diagonals[rows[t]]
            _mark(flat, t, group[t], up, low)
    if keep != SAME:
        lay_out(right, rows, Z, stride)
    return stride


@njit(nogil=True, error_model="numpy")
def solve_problems(  # type: ignore[no-untyped-def]
    order, starts, variables, examples, groups, diagonals, K, right, source, shape, Z, F, Q, p, up,
    low, diagonal, index, cursor, wanted, ends, table, found, tol, rounding, limits, keep, stop,
):  # fmt: skip
    """Problems `order`, one after the other, in place, from F = K a as IMAGE has it.

    `variables` has PLUS … IMAGE of every variable, those of problem p from starts[p] on; `found`
    gets STEPS and COMPUTED. `limits`: steps that each may take. `rounding`: that of K. `keep`:
    FRESH, or else the kept rows are those of this one problem. `stop`: the work ends when it is not
    0. The last entry of `ends` is pᵀKp.
    """
    real, last, none = table.dtype.type, len(up), np.int64(-1)
    for one in order:
        s, e = starts[one], starts[one + 1]
        flat, rows, group = variables[s:e], examples[s:e], groups[s:e]
        stride = _start(
            flat, rows, group, diagonals, K, right, shape, Z, F, Q, p, up, low, diagonal, index,
            cursor, ends, table, keep,
        )  # fmt: skip
        gamma, step, steps = 0.0, 0.0, 0
        row_i = row_j = none - none
        while True:
            gap, best, busy, i, j = -np.inf, real(0), none, none, none
            for g in range(last):
                # The row of every group that most wants to grow, and its partner.
                masks = g * up.shape[1]
                begins = (step != 0.0) & (ends[last] > 0.0) & (cursor[TAKEN] >= cursor[PLAIN])
                t, top = move(F, Q, up, masks, table, row_i, row_j, stride, step, gamma, begins)
                gamma, step, ends[g] = 0.0, 0.0, top
                if index[SLOT, t] < 0:
                    _make(
                        t, busy, rows, K, source, F, up, low, masks, diagonal, index, cursor,
                        wanted, table, stride,
                    )  # fmt: skip
                index[RECENT, index[SLOT, t]], row = 1, index[SLOT, t] * stride
                floor = larger(real(TAU), real(rounding) * diagonal[t])
                u, gain, low_end = partner(
                    F, low, masks, table, row, diagonal, stride, t, top, floor
                )
                gap = larger(gap, top + low_end)
                if u >= 0 and gain > best and top + low_end > tol:
                    best, busy, i, j = gain, row, t, u
            if gap <= tol or j < 0 or steps >= limits[one] or stop[0]:
                break
            g = group[i]
            if index[SLOT, j] < 0:
                _make(
                    j, busy, rows, K, source, F, up, low, g * up.shape[1], diagonal, index, cursor,
                    wanted, table, stride,
                )  # fmt: skip
            index[RECENT, index[SLOT, j]], row_i, row_j = 1, busy, index[SLOT, j] * stride
            curve = np.float64(diagonal[i]) + np.float64(diagonal[j])
            curve -= 2.0 * np.float64(table[row_i + j])
            curve = larger(larger(curve, TAU), rounding * np.float64(diagonal[i]))
            gamma, step, ends[last] = _descend(
                flat, p, index, cursor, i, j, ends[g] + low[g, j] + F[j], curve, Q[i] - Q[j],
                ends[last],
            )  # fmt: skip
            if step == 0.0:
                break
            _mark(flat, i, g, up, low)
            _mark(flat, j, g, up, low)
            steps += 1
            cursor[TAKEN] += 1
        found[one, STEPS], found[one, COMPUTED] = steps, cursor[MADE]
        for t in range(e - s):
            flat[t, IMAGE] = F[t]


@njit(nogil=True, error_model="numpy")
def move_together(table, slots, stay, old, stride):  # type: ignore[no-untyped-def]
    """Rows of length `old` in these slots become the first ones, with the columns that stay.

    In place: neither a row nor a column ever moves up.
    """
    for to in range(len(slots)):
        source, target = slots[to] * old, to * stride
        for t in range(len(stay)):
            table[target + t] = table[source + stay[t]]
        for t in range(len(stay), stride):
            table[target + t] = 0
