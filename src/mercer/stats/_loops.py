"""Sums over pairs in permuted orders, compiled: the rows of a matrix are gathered on the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._config import get_config
from mercer._machine.jit import njit
from mercer._tiles import Scratch, Tiling, sweep

#: Permutations that a thread takes at a time.
PERMUTED_TOGETHER = 8


def over_permutations(function: Any, orders: np.ndarray, *arguments: Any) -> None:
    """``function(orders[some], *arguments[some])`` in threads; the last argument is the result."""
    *shared, out = arguments

    def body(rows: slice, columns: slice, scratch: Scratch) -> None:
        function(orders[rows], *shared, out[rows])

    tiling = Tiling((len(orders), 1), (PERMUTED_TOGETHER, 1), get_config().n_threads)
    sweep(tiling, body, "permutations")


@njit(nogil=True, fastmath={"contract", "reassoc", "nsz"})
def products(orders: Any, K: Any, L: Any, out: Any) -> None:
    """out[b, a] = Σᵢⱼ K[a, i, j] L[p(i), p(j)] for every order p = orders[b]; K and L symmetric."""
    n = L.shape[0]
    gathered = np.empty(n)
    for b in range(orders.shape[0]):
        p = orders[b]
        for a in range(K.shape[0]):
            out[b, a] = 0.0
        for i in range(n):
            row = L[p[i]]
            for j in range(i + 1):
                gathered[j] = row[p[j]]
            for a in range(K.shape[0]):
                own = K[a, i]
                total = 0.0
                for j in range(i):
                    total += own[j] * gathered[j]
                out[b, a] += 2.0 * total + own[i] * gathered[i]


@njit(nogil=True, fastmath={"contract", "reassoc", "nsz"})
def sums_before(orders: Any, K: Any, out: Any) -> None:
    """out[b, i] = k(i, i) + 2 Σ_{j before i} k(i, j), examples counted in the order orders[b]."""
    n = K.shape[0]
    for b in range(orders.shape[0]):
        p = orders[b]
        for i in range(n):
            row = K[p[i]]
            total = 0.0
            for j in range(i):
                total += row[p[j]]
            out[b, i] = 2.0 * total + row[p[i]]
