"""Shapley values of products, compiled: see `rules` for the formula."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import inner, njit
from mercer._machine.lanes import everywhere_of, lanes_of, load_of, store

#: Backgrounds that are computed side by side.
LANES = lanes_of(8)
load, everywhere = load_of(LANES), everywhere_of(LANES)


@inner
def _integrals(a: Any, b: Any, weight: Any, nodes: Any, weights: Any, n: Any, room: Any) -> None:
    """room[1][j] += ∫ Π_{i≠j} uᵢ times (aⱼ − bⱼ), for the backgrounds in the lanes; two nodes at
    a time."""
    before, total, acc = room
    d = len(a)
    for j in range(d):
        store(everywhere(0.0), acc, j * LANES)
    for q in range(0, n, 2):
        s, t = nodes[q], nodes[q + 1]
        one = load(weight, 0) * everywhere(weights[q])
        two = load(weight, 0) * everywhere(weights[q + 1])
        rest_s, rest_t = everywhere(1.0 - s), everywhere(1.0 - t)
        for j in range(d):
            store(one, before, 2 * j * LANES)
            store(two, before, (2 * j + 1) * LANES)
            own = load(b, j * LANES)
            one = one * (everywhere(s * a[j]) + rest_s * own)
            two = two * (everywhere(t * a[j]) + rest_t * own)
        one, two = everywhere(1.0), everywhere(1.0)
        for i in range(d):
            j = d - 1 - i
            own = load(b, j * LANES)
            both = load(before, 2 * j * LANES) * one + load(before, (2 * j + 1) * LANES) * two
            store(load(acc, j * LANES) + both, acc, j * LANES)
            one = one * (everywhere(s * a[j]) + rest_s * own)
            two = two * (everywhere(t * a[j]) + rest_t * own)
    for j in range(d):
        gap = everywhere(a[j]) - load(b, j * LANES)
        store(load(total, j * LANES) + load(acc, j * LANES) * gap, total, j * LANES)


@inner
def _spread(a: Any, low: Any, high: Any) -> Any:
    """R of the bound above, for the backgrounds between `low` and `high` that are farthest off."""
    total = 0.0
    for j in range(len(a)):
        # From one sign to the other |a − b| may be twice as large as either.
        most = 2.0 if min(a[j], low[j]) < 0.0 < max(a[j], high[j]) else 0.0
        for end in (low[j], high[j]):
            size = max(abs(a[j]), abs(end))
            if size > 0.0:
                most = max(most, abs(a[j] - end) / size)
        total += 0.5 * most
    return total


@njit(nogil=True)
def product_games(
    A: Any, B: Any, weight: Any, coef: Any, low: Any, high: Any, rule: Any, out: Any
) -> None:
    """out[x, j, c] += Σ_z coef[z, c] φⱼ, averaged over backgrounds.

    A has the factors of (x, z, j), B those of (z, block of backgrounds, j, lane), `weight` is the
    share of each background, and `low`, `high` bound the factors of (z, j) over the backgrounds.
    """
    sizes, reach, nodes, weights = rule
    n, m, d = A.shape
    room = np.empty(2 * d * LANES), np.empty(d * LANES), np.empty(d * LANES)
    for z in range(m):
        for x in range(n):
            spread, r = _spread(A[x, z], low[z], high[z]), 0
            while reach[r] < spread:
                r += 1
            for i in range(d * LANES):
                room[1][i] = 0.0
            for block in range(B.shape[1]):
                _integrals(
                    A[x, z], B[z, block], weight[block], nodes[r], weights[r], sizes[r], room
                )
            for j in range(d):
                value = 0.0
                for lane in range(LANES):
                    value += room[1][j * LANES + lane]
                for c in range(coef.shape[1]):
                    out[x, j, c] += coef[z, c] * value
