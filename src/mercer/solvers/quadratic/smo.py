"""Sequential minimal optimization: ½ aᵀKa + cᵀa, two coordinates at a time, on a compact K.

Each step takes the coordinate i that most wants to grow (largest −f over those below their upper
bound, f = Ka + c) and the partner j whose decrease by the same amount gains most, by the second
order of the objective: (fⱼ − fᵢ)² / (kᵢᵢ + kⱼⱼ − 2kᵢⱼ). It is LIBSVM's selection and LIBSVM's
stopping rule, written so that the compiler makes vectors of it:

- a bound is an additive mask (0 or −∞), so no loop over coordinates branches;
- a maximum is kept for each of `LANES` lanes, because a running maximum over one scalar would
  serialize the loop; the lanes are folded at the end, and the position is found in one lane only.

Variables come as (sides, rows): one side for classification, two for regression, where a⁺ ≥ 0 and
a⁻ ≤ 0 of an example share its row of K. Masks come as (groups, sides, rows): the ν problems have
one equality constraint a sign, and a pair must lie in one group.
"""

from __future__ import annotations

import numpy as np

from mercer._machine.jit import inner, njit

#: Maxima kept side by side; arrays are padded to a multiple of this.
LANES = 128
#: What stands for a curvature that is not positive (LIBSVM's value).
TAU = 1e-12

_FAST = {"nnan", "nsz", "arcp", "contract", "reassoc"}


@inner(fastmath=_FAST)
def _fold(lanes, spare):  # type: ignore[no-untyped-def]
    """The largest of the lanes, and the first lane that holds it."""
    half = LANES // 2
    for t in range(half):
        spare[t] = lanes[t] if lanes[t] > lanes[t + half] else lanes[t + half]
    while half > 8:
        half //= 2
        for t in range(half):
            spare[t] = spare[t] if spare[t] > spare[t + half] else spare[t + half]
    top = spare[0]
    for t in range(1, 8):
        top = spare[t] if spare[t] > top else top
    lane = 0
    while lane < LANES - 1 and lanes[lane] != top:
        lane += 1
    return top, lane


@inner(fastmath=_FAST)
def _move(f, row_i, row_j, step):  # type: ignore[no-untyped-def]
    """f += step (kᵢ − kⱼ), on every side."""
    for side in range(f.shape[0]):
        for s in range(0, f.shape[1], LANES):
            part, ki, kj = f[side, s : s + LANES], row_i[s : s + LANES], row_j[s : s + LANES]
            for t in range(LANES):
                part[t] += step * (ki[t] - kj[t])


@inner(fastmath=_FAST)
def _extremes(f, up, low, highs, lows, spare):  # type: ignore[no-untyped-def]
    """Largest −f that may grow, with its index, and largest f that may shrink."""
    for t in range(LANES):
        highs[t] = -np.inf
        lows[t] = -np.inf
    for side in range(f.shape[0]):
        for s in range(0, f.shape[1], LANES):
            part = f[side, s : s + LANES]
            may_grow, may_shrink = up[side, s : s + LANES], low[side, s : s + LANES]
            for t in range(LANES):
                v = part[t]
                high, least = may_grow[t] - v, may_shrink[t] + v
                highs[t] = high if high > highs[t] else highs[t]
                lows[t] = least if least > lows[t] else lows[t]
    top, lane = _fold(highs, spare)
    bottom, _ = _fold(lows, spare)
    for side in range(f.shape[0]):
        for t in range(lane, f.shape[1], LANES):
            if up[side, t] - f[side, t] == top:
                return side, t, top, bottom
    return 0, 0, top, bottom


@inner(fastmath=_FAST)
def _partner(f, low, row_i, diagonal, own, top, lanes, spare, gains):  # type: ignore[no-untyped-def]
    """The j that may shrink and gains most together with i; −1 where none gains."""
    for t in range(LANES):
        lanes[t] = 0.0
    for side in range(f.shape[0]):
        for s in range(0, f.shape[1], LANES):
            part, may_shrink = f[side, s : s + LANES], low[side, s : s + LANES]
            ki, kjj = row_i[s : s + LANES], diagonal[s : s + LANES]
            gain = gains[side, s : s + LANES]
            for t in range(LANES):
                slope = top + part[t] + may_shrink[t]
                slope = slope if slope > 0.0 else 0.0
                curve = own + kjj[t] - 2.0 * ki[t]
                curve = curve if curve > TAU else TAU
                g = slope * slope / curve
                gain[t] = g
                lanes[t] = g if g > lanes[t] else lanes[t]
    best, lane = _fold(lanes, spare)
    if best > 0.0:
        for side in range(f.shape[0]):
            for t in range(lane, f.shape[1], LANES):
                if gains[side, t] == best:
                    return side, t, best
    return -1, -1, best


@inner
def _mark(a, lower, upper, up, low, side, t):  # type: ignore[no-untyped-def]
    """Note whether a variable may still grow and shrink."""
    up[side, t] = 0.0 if a[side, t] < upper[side, t] else -np.inf
    low[side, t] = 0.0 if a[side, t] > lower[side, t] else -np.inf


@njit(nogil=True)
def smo(K, diagonal, f, a, lower, upper, up, low, tol, limit):  # type: ignore[no-untyped-def]
    """Solve to a gap of `tol` or for `limit` steps, in place; gives (steps, gap).

    `K` (rows, rows) may be float32, all else is float64: `diagonal` (rows), `f` (sides, rows), `up`
    and `low` (groups, sides, rows) padded to a multiple of `LANES`, with masks −∞ there, and `a`,
    `lower` and `upper` (sides, rows) as they are.
    """
    groups = up.shape[0]
    highs, lows = np.empty(LANES), np.empty(LANES)
    spare = np.empty(LANES // 2)
    gains = np.empty(f.shape)
    steps = 0
    while True:
        gap = -np.inf
        gain = -1.0
        si, i, sj, j, g = 0, 0, -1, 0, 0
        for h in range(groups):
            side, t, top, bottom = _extremes(f, up[h], low[h], highs, lows, spare)
            violation = top + bottom
            gap = max(gap, violation)
            if violation <= tol:
                continue
            side_j, u, won = _partner(
                f, low[h], K[t], diagonal, diagonal[t], top, highs, spare, gains
            )
            if side_j >= 0 and won > gain:
                si, i, sj, j, g, gain = side, t, side_j, u, h, won
        if gap <= tol or steps >= limit or sj < 0:
            return steps, gap
        curve = diagonal[i] + diagonal[j] - 2.0 * K[i, j]
        step = (f[sj, j] - f[si, i]) / max(curve, TAU)
        room_i, room_j = upper[si, i] - a[si, i], a[sj, j] - lower[sj, j]
        step = min(step, room_i, room_j)
        if a[si, i] + step == a[si, i] and a[sj, j] - step == a[sj, j]:
            return steps, gap  # below the rounding of a: nothing can move any more
        # A bound that is reached is set, not approached: rounding must not leave a hair's width.
        a[si, i] = upper[si, i] if step == room_i else a[si, i] + step
        a[sj, j] = lower[sj, j] if step == room_j else a[sj, j] - step
        _mark(a, lower, upper, up[g], low[g], si, i)
        _mark(a, lower, upper, up[g], low[g], sj, j)
        _move(f, K[i], K[j], step)
        steps += 1
