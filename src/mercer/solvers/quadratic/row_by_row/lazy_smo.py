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

The passes are written as instructions (`passes`); a bound is an additive mask there.

F = K a is kept; the linear terms are in the masks. For a variable with value a the slope of the
objective is F + plus where a > 0 and F + minus where a < 0: an SVR with its ±ε is one variable per
example with a kink at 0, where a step ends. Classification has plus = minus, and one bound at 0.

Problems of thousands of rows shrink between calls (`shrinking`).
"""

from __future__ import annotations

import numpy as np

from mercer._machine.jit import njit
from mercer.gram.cpu.bits import call_at, larger
from mercer.gram.rows.prepared import BLOCK, TOGETHER
from mercer.solvers.quadratic.row_by_row.flat_problems import (
    BOTTOM,
    COMPUTED,
    FREE,
    GROUPS,
    IMAGE,
    LOWER,
    MINUS,
    OBJECTIVE,
    PLUS,
    SAME,
    STEPS,
    SUM,
    TAU,
    TOP,
    UPPER,
    A,
)  # fmt: skip
from mercer.solvers.quadratic.row_by_row.panels import lay_out
from mercer.solvers.quadratic.row_by_row.passes import (  # noqa: F401 - LANES is for the caller
    LANES,
    begin,
    go_on,
    move,
    partner,
    violators,
)

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
#: Rows of the table `vectors`: K a, and with the direction p of the last step K p and p.
F_ROW, Q_ROW, P_ROW = range(3)
#: Entries of `cursor`: slots in use, the slot to be looked at next, rows of K that were computed,
#: variables of the direction, and steps.
USED, NEXT, MADE, WIDTH, TAKEN = range(5)
#: Entries of `source` behind what the function of rows takes: the numbers of a row of x, and rows
#: that are made at a time.
LENGTH, EACH = 7, 8


@njit(part=True, error_model="numpy", _nrt=False)
def _mark(flat, t, up, low):  # type: ignore[no-untyped-def]
    """The masks of variable t: whether it may grow and shrink, and what its slope has beside F."""
    a = flat[t, A]
    up[t] = -flat[t, MINUS] if a < 0 else -flat[t, PLUS] if a < flat[t, UPPER] else -np.inf
    low[t] = flat[t, PLUS] if a > 0 else flat[t, MINUS] if a > flat[t, LOWER] else -np.inf


@njit(part=True, error_model="numpy", _nrt=False)
def _begin(n, flat, rows, group, right, diagonals, F, up, low, diagonal, Z, shape, keep):  # type: ignore[no-untyped-def]
    """The rows of a problem side by side, in panels as a row of K reads Z, and padded."""
    stride = shape[0]
    for t in range(stride):
        F[t], diagonal[t] = 0.0, 1.0
        for g in range(len(up)):
            up[g, t] = low[g, t] = -np.inf
        if t < n:
            F[t], diagonal[t] = flat[t, IMAGE], diagonals[rows[t]]
            _mark(flat, t, up[group[t]], low[group[t]])
    if keep != SAME:
        lay_out(right, rows, Z, stride)


@njit(part=True, error_model="numpy", _nrt=False)
def _room(t, busy, index, cursor, capacity):  # type: ignore[no-untyped-def]
    """A slot for row t of K, which gets it; slot `busy` stays as it is."""
    slot = cursor[USED]
    if slot < capacity:
        cursor[USED] += 1
    else:
        # The first slot that was not used since it was passed the last time.
        slot = cursor[NEXT] if cursor[NEXT] < capacity else 0
        while slot == busy or index[RECENT, slot]:
            index[RECENT, slot] = 0
            slot = slot + 1 if slot + 1 < capacity else 0
        cursor[NEXT] = slot + 1
        index[SLOT, index[OWNER, slot]] = -1
    index[OWNER, slot], index[SLOT, t] = t, slot
    cursor[MADE] += 1
    return slot


@njit(part=True, error_model="numpy", _nrt=False)
def _make(wanted, count, busy, rows, K, source, diagonal, index, cursor, table):  # type: ignore[no-untyped-def]
    """The first `count` rows of K of those that are `wanted`, over the rows of the problem."""
    n, stride = len(rows), len(diagonal)
    capacity = min(len(table) // stride, index.shape[1])
    chosen = wanted[TOGETHER:]
    chosen[0] = count
    for r in range(count):
        t = wanted[r]
        start = _room(t, busy, index, cursor, capacity) * stride
        chosen[1 + r], chosen[1 + TOGETHER + r] = rows[t] * source[LENGTH], start
        at = np.int64(0)
        while at < n and len(K):
            until, first = index[UNTIL, at], rows[at] - at
            for u in range(at, until):
                table[start + u] = K[rows[t], first + u]
            at = until
    if not len(K):
        call_at(source[0], source[1], source[2], source[3], source[4], source[5], source[6])
    for r in range(count):
        start = chosen[1 + TOGETHER + r]
        for u in range(n, stride):
            table[start + u] = 0
        table[start + wanted[r]] = diagonal[wanted[r]]


@njit(part=True, error_model="numpy", _nrt=False)
def _choose(violation, violator, wanted):  # type: ignore[no-untyped-def]
    """Rows beside wanted[0] that violate most, in turn of those that may shrink and may grow."""
    count = 1
    for turn in range(violation.size):
        side, lane = turn % 2, 0
        for other in range(1, violation.shape[1]):
            lane = other if violation[side, other] > violation[side, lane] else lane
        known = violation[side, lane] == -np.inf
        violation[side, lane] = -np.inf
        for other in range(count):
            known |= wanted[other] == violator[side, lane]
        if not known:
            wanted[count] = violator[side, lane]
            count += 1
        if count == TOGETHER:
            break
    return count


@njit(part=True, error_model="numpy", _nrt=False)
def _fetch(  # type: ignore[no-untyped-def]
    t, busy, rows, K, source, F, up, low, diagonal, index, cursor, wanted, violation, violator,
    table,
):  # fmt: skip
    """Makes row t of K; slot `busy` of the kept rows stays.

    Rows that are made together with it are those that violate the conditions most: nearly all of
    them are needed soon.
    """
    wanted[0], count = t, 1
    free = min(len(table) // len(F), index.shape[1]) - cursor[USED]
    if min(source[EACH], free) >= TOGETHER:
        violators(F, up, low, index[SLOT], len(F), violation, violator)
        count = _choose(violation, violator, wanted)
    _make(wanted, count, busy, rows, K, source, diagonal, index, cursor, table)


@njit(part=True, error_model="numpy", _nrt=False)
def _add_up(flat, rows, K, source, F, diagonal, index, cursor, wanted, table):  # type: ignore[no-untyped-def]
    """F = K a."""
    stride, t = len(F), 0
    capacity = min(len(table) // stride, index.shape[1])
    while t < len(rows):
        # Of several rows none must take the place of another.
        count, room = np.int64(0), TOGETHER if capacity - cursor[USED] >= TOGETHER else 1
        while t < len(rows) and count < room:
            if flat[t, A] != 0.0:
                wanted[count] = t
                count += 1
            t += 1
        made = np.int64(0)
        for r in range(count):
            if index[SLOT, wanted[r]] < 0:
                wanted[made], wanted[r] = wanted[r], wanted[made]
                made += 1
        if made:
            _make(wanted, made, np.int64(-1), rows, K, source, diagonal, index, cursor, table)
        for r in range(count):
            slot = index[SLOT, wanted[r]]
            row = table[slot * stride : slot * stride + stride]
            for u in range(stride):
                F[u] += flat[wanted[r], A] * np.float64(row[u])


@njit(part=True, error_model="numpy", _nrt=False)
def _change(flat, p, q, slope, curve):  # type: ignore[no-untyped-def]
    """a_p grows by as much as a_q shrinks, to a bound or the kink at most; gives how much."""
    a, b = flat[p, A], flat[q, A]
    end_a = 0.0 if a < 0 else flat[p, UPPER]
    end_b = 0.0 if b > 0 else flat[q, LOWER]
    step = min(min(slope / curve, end_a - a), b - end_b)
    # What is reached is set, not approached: rounding must not leave a hair's width.
    flat[p, A] = end_a if step == end_a - a else a + step
    flat[q, A] = end_b if step == b - end_b else b - step
    # Below the rounding of a nothing moves any more.
    return step if flat[p, A] != a or flat[q, A] != b else 0.0


@njit(part=True, error_model="numpy", _nrt=False)
def _along(flat, moving, count, p, step):  # type: ignore[no-untyped-def]
    """a += step p over the first `count` variables of `moving`; False at a bound, and no change."""
    moved, free = False, True
    for r in range(count):  # without branches, whose outcome nothing predicts
        t = moving[r]
        a, d = flat[t, A], step * p[t]
        high = flat[t, UPPER] if a >= 0 else 0.0
        least = flat[t, LOWER] if a <= 0 else 0.0
        free &= ((a + d < high) & (a + d > least)) | (d == 0.0)
        moved |= a + d != a
    moved &= free
    for r in range(count if moved else 0):
        flat[moving[r], A] += step * p[moving[r]]
    return moved


@njit(part=True, error_model="numpy", _nrt=False)
def _direct(moving, count, p, i, j, gamma):  # type: ignore[no-untyped-def]
    """p = eᵢ − eⱼ + γ p; gives how many variables it has."""
    for r in range(count):
        p[moving[r]] *= gamma
    if gamma == 0.0:
        count = 0
    for side in range(2):
        t = j if side else i
        known = p[t] != 0.0
        for r in range(0 if known else count):
            known |= moving[r] == t
        if not known:
            moving[count] = t
            count += 1
        p[t] += -1.0 if side else 1.0
    return count


@njit(part=True, error_model="numpy", _nrt=False)
def _descend(flat, p, moving, cursor, i, j, slope, curve, across, bent, plain):  # type: ignore[no-untyped-def]
    """Moves a along eᵢ − eⱼ + γ p to the lowest point; gives γ, the step, and the new pᵀKp.

    `across` is (eᵢ − eⱼ)ᵀKp and `bent` pᵀKp (0: there is no p) of the last direction. What it has
    explained of the curvature is left out of the new one.
    """
    gamma, left = 0.0, curve
    if bent > 0.0 and cursor[TAKEN] >= plain and cursor[WIDTH] < WIDEST:
        left = curve - across * across / bent
        gamma = -across / bent if left > CURVED * curve else 0.0
    cursor[WIDTH] = _direct(moving, cursor[WIDTH], p, i, j, gamma)
    if gamma != 0.0 and _along(flat, moving, cursor[WIDTH], p, slope / left):
        return gamma, slope / left, left
    # A bound is in the way, or there is no direction: two variables, as far as they go.
    cursor[WIDTH] = _direct(moving, cursor[WIDTH], p, i, j, 0.0)
    step = _change(flat, i, j, slope, curve)
    return 0.0, step, curve if step == slope / curve else 0.0


@njit(part=True, error_model="numpy", _nrt=False)
def _move(F, Q, up, row_i, row_j, step, gamma, bent):  # type: ignore[no-untyped-def]
    """F after a step, and who now most wants to grow; Q where a next step may go on from `bent`."""
    if gamma != 0.0:
        return go_on(F, Q, up, row_i, row_j, len(F), step, gamma)
    if step != 0.0 and bent > 0.0:
        return begin(F, Q, up, row_i, row_j, len(F), step, gamma)
    return move(F, Q, up, row_i, row_j, len(F), step, gamma)


@njit(part=True, error_model="numpy", _nrt=False)
def _advance(  # type: ignore[no-untyped-def]
    flat, rows, group, K, source, F, Q, p, up, low, diagonal, index, cursor, wanted,
    violation, violator, table, ends, tol, rounding, limit, stop,
):  # fmt: skip
    """At most `limit` steps to a gap of `tol`; gives how many. The last entry of `ends` is pᵀKp."""
    stride, groups, real = len(F), len(up), table.dtype.type
    row_i, row_j, gamma, step, steps = diagonal, diagonal, 0.0, 0.0, 0
    plain = max(FEWEST, min(MOST, len(flat)))
    while True:
        gap, best, busy, i, j = -np.inf, real(0), np.int64(-1), np.int64(-1), np.int64(-1)
        for phase in range(groups + 1):
            # The row of every group that most wants to grow, then the partner of the best one.
            if phase < groups:
                bent = ends[groups] if cursor[TAKEN] >= plain else 0.0
                t, ends[phase] = _move(F, Q, up[phase], row_i, row_j, step, gamma, bent)
                gamma, step = 0.0, 0.0
            elif gap <= tol or j < 0 or steps >= limit or stop[0]:
                return steps
            else:
                t = j
            if index[SLOT, t] < 0:
                _fetch(
                    t, busy, rows, K, source, F, up[group[t]], low[group[t]], diagonal, index,
                    cursor, wanted, violation, violator, table,
                )  # fmt: skip
            slot = index[SLOT, t]
            index[RECENT, slot] = 1
            row = table[slot * stride : slot * stride + stride]
            if phase == groups:
                break
            floor = larger(real(TAU), real(rounding) * diagonal[t])
            u, gain, bottom = partner(F, low[phase], row, diagonal, stride, t, ends[phase], floor)
            gap = max(gap, ends[phase] + bottom)
            if u >= 0 and gain > best and ends[phase] + bottom > tol:
                best, busy, i, j = gain, slot, t, u
        row_i, row_j = table[busy * stride : busy * stride + stride], row
        g = group[i]
        curve = np.float64(diagonal[i]) + np.float64(diagonal[j]) - 2.0 * np.float64(row_i[j])
        curve = max(max(curve, TAU), rounding * np.float64(diagonal[i]))
        slope, bent = ends[g] + low[g, j] + F[j], ends[groups]
        gamma, step, ends[groups] = _descend(
            flat, p, index[MOVING], cursor, i, j, slope, curve, Q[i] - Q[j], bent, plain
        )
        if step == 0.0:
            return steps
        _mark(flat, i, up[g], low[g])
        _mark(flat, j, up[g], low[g])
        steps += 1
        cursor[TAKEN] += 1


@njit(part=True, error_model="numpy", _nrt=False)
def _measure(flat, group, F, up, low, found):  # type: ignore[no-untyped-def]
    """The objective, and per group the range and the mean that its threshold is found from."""
    found[OBJECTIVE] = 0.0
    for t in range(GROUPS, len(found), 4):
        found[t + TOP], found[t + BOTTOM], found[t + SUM], found[t + FREE] = -np.inf, np.inf, 0, 0
    for t in range(len(flat)):
        flat[t, IMAGE] = F[t]
        g, a = group[t], flat[t, A]
        linear = flat[t, PLUS] if a > 0 else flat[t, MINUS]
        found[OBJECTIVE] += a * (0.5 * F[t] + linear)
        grows, shrinks = up[g, t] - F[t], -low[g, t] - F[t]
        own = found[GROUPS + 4 * g : GROUPS + 4 * g + 4]
        own[TOP], own[BOTTOM] = max(own[TOP], grows), min(own[BOTTOM], shrinks)
        if grows == shrinks:  # not at a bound, and not at the kink
            own[SUM] += grows
            own[FREE] += 1


@njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, _nrt=False)
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


@njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, _nrt=False)
def solve_problems(  # type: ignore[no-untyped-def]
    order, starts, variables, examples, groups, diagonals, K, right, source, shape, Z, vectors, up,
    low, diagonal, index, cursor, wanted, violation, violator, ends, table, found, tol, rounding,
    limits, keep, stop,
):  # fmt: skip
    """Problems `order`, one after the other, in place.

    `variables` has PLUS … IMAGE of every variable, those of problem p from starts[p] on; `found`
    gets STEPS … GROUPS. `limits`: steps that each may take. `rounding`: that of K. `keep`: FRESH,
    or else IMAGE is known, and the kept rows are those of this one problem. `stop`: the work ends
    when it is not 0, and what was not begun stays where it starts.
    """
    for p in order:
        s, n = starts[p], starts[p + 1] - starts[p]
        flat, rows, group = variables[s : s + n], examples[s : s + n], groups[s : s + n]
        stride = (n + BLOCK - 1) // BLOCK * BLOCK
        shape[0] = stride
        begun = False
        for t in range(0 if keep else stride):
            index[SLOT, t] = -1
        for t in range(n - 1, -1 if len(K) else n - 1, -1):
            together = t + 1 < n and rows[t + 1] == rows[t] + 1
            index[UNTIL, t] = index[UNTIL, t + 1] if together else t + 1
        for t in range(0 if keep else n):
            flat[t, IMAGE] = 0.0
            begun |= flat[t, A] != 0.0
        for t in range(0 if keep else len(cursor)):
            cursor[t] = 0
        cursor[MADE] = 0
        F, Q, direction = vectors[F_ROW, :stride], vectors[Q_ROW, :stride], vectors[P_ROW, :stride]
        own = diagonal[:stride]
        _begin(n, flat, rows, group, right, diagonals, F, up, low, diagonal, Z, shape, keep)
        for t in range(0 if cursor[TAKEN] else stride):
            Q[t] = direction[t] = ends[len(up)] = 0.0
        if begun:
            _add_up(flat, rows, K, source, F, own, index, cursor, wanted, table)
        found[p, STEPS] = _advance(
            flat, rows, group, K, source, F, Q, direction, up, low, own, index, cursor, wanted,
            violation, violator, table, ends, tol, rounding, limits[p], stop,
        )  # fmt: skip
        found[p, COMPUTED] = cursor[MADE]
        _measure(flat, group, F, up, low, found[p])
