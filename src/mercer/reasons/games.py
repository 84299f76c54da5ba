"""Shapley values of products, compiled: see `rules` for the formula."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import inner, njit
from mercer._machine.lanes import choose, everywhere_of, lanes_of, larger, largest, load_of, store

#: Backgrounds that are computed side by side.
LANES = lanes_of(8)
#: Smaller factors have the inverse of this number.
LEAST_FACTOR = 1e-300
load, everywhere = load_of(LANES), everywhere_of(LANES)


@inner
def _integrals(a: Any, b: Any, weight: Any, nodes: Any, weights: Any, n: Any, room: Any) -> None:
    """room[1][j] += ∫ Π_{i≠j} uᵢ times (aⱼ − bⱼ), for the backgrounds in the lanes.

    Two nodes and two columns at a time: a product of the columns before and after serves both.
    """
    before, total, gaps = room
    d = len(a)
    for j in range(d):
        store(everywhere(a[j]) - load(b, j * LANES), gaps, j * LANES)
    for q in range(0, n, 2):
        s, t = everywhere(nodes[q]), everywhere(nodes[q + 1])
        one = load(weight, 0) * everywhere(weights[q])
        two = load(weight, 0) * everywhere(weights[q + 1])
        for j in range(0, d, 2):
            left, right = j * LANES, (j + 1) * LANES
            store(one, before, left)
            store(two, before, right)
            own, gap = load(b, left), load(gaps, left)
            other, step = load(b, right), load(gaps, right)
            one = one * ((own + s * gap) * (other + s * step))
            two = two * ((own + t * gap) * (other + t * step))
        one, two = everywhere(1.0), everywhere(1.0)
        for i in range(0, d, 2):
            left, right = (d - 2 - i) * LANES, (d - 1 - i) * LANES
            own, gap = load(b, left), load(gaps, left)
            other, step = load(b, right), load(gaps, right)
            u, v = own + s * gap, other + s * step
            x, y = own + t * gap, other + t * step
            rest, ends = load(before, left) * one, load(before, right) * two
            store(load(total, left) + gap * (rest * v + ends * y), total, left)
            store(load(total, right) + step * (rest * u + ends * x), total, right)
            one, two = one * (u * v), two * (x * y)


@inner
def _spread(a: Any, inverse: Any, b: Any, inverses: Any) -> Any:
    """R of the bound in `rules`, of the background in the lanes that is farthest from a.

    1/max(|aⱼ|, |bⱼ|) is the smaller of the two inverses.
    """
    total = everywhere(0.0)
    for j in range(len(a)):
        gap = everywhere(a[j]) - load(b, j * LANES)
        one, two = everywhere(inverse[j]), load(inverses, j * LANES)
        total = total + larger(gap, everywhere(0.0) - gap) * choose(one < two, one, two)
    return 0.5 * largest(total)


@njit(nogil=True)
def product_games(
    A: Any, B: Any, inverses: Any, weight: Any, coef: Any, rule: Any, out: Any
) -> None:
    """out[x, j, c] += Σ_z coef[z, c] φⱼ, averaged over backgrounds.

    A has the factors of (x, z, j), an even number of columns, B those of (z, block of backgrounds,
    j, lane), `inverses` the 1/|B|, and `weight` the share of each background.
    """
    sizes, reach, nodes, weights = rule
    n, m, d = A.shape
    room = np.empty(d * LANES), np.empty(d * LANES), np.empty(d * LANES)
    inverse = np.empty(d)
    for z in range(m):
        for x in range(n):
            for j in range(d):
                inverse[j] = 1.0 / max(abs(A[x, z, j]), LEAST_FACTOR)
            for i in range(d * LANES):
                room[1][i] = 0.0
            for block in range(B.shape[1]):
                spread, r = _spread(A[x, z], inverse, B[z, block], inverses[z, block]), 0
                while reach[r] < spread:
                    r += 1
                _integrals(
                    A[x, z], B[z, block], weight[block], nodes[r], weights[r], sizes[r], room
                )
            for j in range(d):
                value = 0.0
                for lane in range(LANES):
                    value += room[1][j * LANES + lane]
                for c in range(coef.shape[1]):
                    out[x, j, c] += coef[z, c] * value
