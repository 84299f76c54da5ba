"""Σⱼ wᵢⱼ (zⱼ − xᵢ)ᵅ and Σⱼ wᵢⱼ (zⱼ − xᵢ)ᵅ tⱼ for all monomials α: one compiled pass over a tile.

Differences are taken before they are multiplied, so nothing cancels however far the data lies from
the origin. Each monomial is an earlier one times a coordinate, and the weight is carried along.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import njit


@njit(nogil=True, fastmath={"contract", "reassoc", "nsz"})
def add_moments(
    w: Any, x: Any, z: Any, t: Any, parent: Any, column: Any, size: Any, out: Any
) -> None:
    """Add the sums of a tile to `out`: all moments, then for each target those up to `size`.

    `z` and `t` hold one coordinate, one target per row (their columns are those of the tile).
    `parent` and `column` are those of a `MonomialTable`.
    """
    total = parent.shape[0]
    width = 128
    gap = np.empty((x.shape[1], width))
    chain = np.empty((total, width))
    for i in range(w.shape[0]):
        for begin in range(0, w.shape[1], width):
            n = min(width, w.shape[1] - begin)
            weight = w[i, begin : begin + n]
            first = chain[0, :n]
            any_weight = 0.0
            for j in range(n):
                first[j] = weight[j]
                any_weight += first[j]
            if any_weight == 0.0:
                continue
            for d in range(x.shape[1]):
                row, here, at = gap[d, :n], z[d, begin : begin + n], x[i, d]
                for j in range(n):
                    row[j] = here[j] - at
            out[i, 0] += any_weight
            for a in range(1, total):
                this, before, by = chain[a, :n], chain[parent[a], :n], gap[column[a], :n]
                part = 0.0
                for j in range(n):
                    value = before[j] * by[j]
                    this[j] = value
                    part += value
                out[i, a] += part
            for o in range(t.shape[0]):
                target = t[o, begin : begin + n]
                for a in range(size):
                    this = chain[a, :n]
                    part = 0.0
                    for j in range(n):
                        part += this[j] * target[j]
                    out[i, total + o * size + a] += part
