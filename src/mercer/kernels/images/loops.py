"""Compiled loops over pairs of tangent planes; imported on first use, because Numba is."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import njit


@njit(nogil=True)
def one_sided(meet: Any, own_x: Any, own_z: Any, spring: Any, unit: Any, out: Any) -> None:
    """‖x − z‖² less its part along the tangents of x."""
    n, t = own_x.shape
    m = own_z.shape[0]
    for i in range(n):
        for j in range(m):
            value = own_x[i, 0] - 2.0 * meet[i * t, j * t] + own_z[j, 0]
            for a in range(1, t):
                u = own_x[i, a] - meet[i * t + a, j * t]
                value -= u * u / (1.0 + spring)
            # What rounding leaves of 0 is 0: an image is at no distance from itself.
            out[i, j] = value if value > unit * (own_x[i, 0] + own_z[j, 0]) else 0.0


@njit(nogil=True, fastmath={"contract", "reassoc", "nsz"})
def two_sided(meet: Any, own_x: Any, own_z: Any, spring: Any, unit: Any, out: Any) -> None:
    """min over a, b of ‖x + A a − z − B b‖² + s(‖a‖² + ‖b‖²) for bases A, B; r = x − z, M = AᵀB.

    With u = Aᵀr, v = Bᵀr, e = 1 + s:  ‖r‖² − ‖u‖²/e − wᵀ (eI − MᵀM/e)⁻¹ w,  w = v − Mᵀu/e.
    `meet` holds all products of [x, A] and [z, B]; the small system is solved by Cholesky.
    """
    n, t = own_x.shape
    m = own_z.shape[0]
    size = t - 1
    e = 1.0 + spring
    M = np.empty((size, size))
    L = np.empty((size, size))
    u = np.empty(size)
    w = np.empty(size)
    for i in range(n):
        for j in range(m):
            value = own_x[i, 0] - 2.0 * meet[i * t, j * t] + own_z[j, 0]
            for a in range(size):
                u[a] = own_x[i, a + 1] - meet[i * t + a + 1, j * t]
                value -= u[a] * u[a] / e
                for b in range(size):
                    M[a, b] = meet[i * t + a + 1, j * t + b + 1]
            for b in range(size):
                total = meet[i * t, j * t + b + 1] - own_z[j, b + 1]
                for a in range(size):
                    total -= M[a, b] * u[a] / e
                w[b] = total
            for b in range(size):
                for c in range(b + 1):
                    total = 0.0
                    for a in range(size):
                        total += M[a, b] * M[a, c]
                    total = -total / e
                    if b == c:
                        total += e
                    for a in range(c):
                        total -= L[b, a] * L[c, a]
                    if b == c:
                        # Rounding of parallel tangents: no pivot is below that of the spring.
                        L[b, b] = np.sqrt(max(total, spring))
                    else:
                        L[b, c] = total / L[c, c]
                total = w[b]
                for a in range(b):
                    total -= L[b, a] * w[a]
                w[b] = total / L[b, b]
                value -= w[b] * w[b]
            # What rounding leaves of 0 is 0: an image is at no distance from itself.
            out[i, j] = value if value > unit * (own_x[i, 0] + own_z[j, 0]) else 0.0
