"""Compiled loops that no formula changes: squared distances from a product, near pairs again."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import njit


@njit(nogil=True, fastmath={"contract", "reassoc", "nsz"})
def distances_from_product(out: Any, x: Any, z: Any, norms_x: Any, norms_z: Any, near: Any) -> None:
    """out ← ‖x‖² + ‖z‖² − 2 out; where that is below near·(‖x‖² + ‖z‖²), from x − z.

    In place: two names for one array would keep the compiler from vectorizing.
    """
    columns = 256
    for i in range(out.shape[0]):
        nx = norms_x[i]
        for start in range(0, out.shape[1], columns):
            stop = min(start + columns, out.shape[1])
            row, nz = out[i, start:stop], norms_z[start:stop]
            closest = nx
            for t in range(stop - start):
                total = nx + nz[t]
                s = total - row[t] - row[t]
                row[t] = s
                gap = s - near * total
                closest = gap if gap < closest else closest
            if closest >= 0 * nx:
                continue
            for t in range(stop - start):
                if row[t] < near * (nx + nz[t]):
                    s = 0 * nx
                    for d in range(x.shape[1]):
                        g = x[i, d] - z[start + t, d]
                        s += g * g
                    row[t] = s


#: Columns whose sums stay in the first-level cache while the rows stream by.
STRIP = 2048


@njit(nogil=True, fastmath={"contract", "reassoc", "nsz"})
def add_rows(table, slots, coef, start, total):  # type: ignore[no-untyped-def]
    """total += Σᵢ coefᵢ table[slotᵢ, start : start + len(total)]."""
    real = table.dtype.type
    fours = len(slots) // 4 * 4
    for s in range(0, len(total), STRIP):
        width = min(STRIP, len(total) - s)
        part = total[s : s + width]
        at = start + s
        # Four rows at a time: fewer trips of the sums through the registers.
        for i in range(0, fours, 4):
            a, b = table[slots[i], at : at + width], table[slots[i + 1], at : at + width]
            c, d = table[slots[i + 2], at : at + width], table[slots[i + 3], at : at + width]
            p, q, r, u = real(coef[i]), real(coef[i + 1]), real(coef[i + 2]), real(coef[i + 3])
            for t in range(width):
                part[t] += np.float64(p * a[t] + q * b[t] + r * c[t] + u * d[t])
        for i in range(fours, len(slots)):
            a, p = table[slots[i], at : at + width], real(coef[i])
            for t in range(width):
                part[t] += np.float64(p * a[t])


@njit(nogil=True)
def gather(table, slots, columns, out):  # type: ignore[no-untyped-def]
    """out = table[slots][:, columns]."""
    for i in range(len(slots)):
        row, into = table[slots[i]], out[i]
        for j in range(len(columns)):
            into[j] = row[columns[j]]
