"""Loops over rows of K that are kept in a table: sums in float64 and gathers, without copies."""

from __future__ import annotations

import numpy as np

from mercer._machine.jit import njit

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
