"""Σⱼ (L⁻¹ P)²ⱼᵥ for a banded L and many columns v: forward substitution, two rows at a time.

The columns of P lie side by side in memory, so many of them are worked on by one instruction, and
the rows that a step looks back on, no more than the width of the band, stay in the nearest cache.
Two rows at a time use every number that is read twice, eight earlier rows at a time keep the two
sums in registers. That every step reads and writes at distances known in advance lets the compiler
see that they do not overlap.
"""

from __future__ import annotations

import numpy as np

from mercer._machine.jit import njit

#: Columns worked on at a time.
COLUMNS = 64
#: Earlier rows taken together; the width of the band is a multiple.
TOGETHER = 8
#: Rows whose squares are summed in the precision of P, before the sum goes on in double.
STRETCH = 64


def coefficients(factor: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """yᵢ = sᵢ pᵢ + Σ cᵢₖ yₖ from `factor[d, j]` = L[j + d, j]: c of two rows side by side, and s.

    With each pair of rows go the `width` rows before it, and in the last place the first of the
    pair, for the second. An odd last row gets a companion that is zero.
    """
    width, n = len(factor) - 1, factor.shape[1]
    if width % TOGETHER:
        raise ValueError(f"the width of the band is {width}, not a multiple of {TOGETHER}")
    pairs = -(-n // 2)
    own = np.zeros(2 * pairs)
    own[:n] = 1.0 / factor[0]
    c = np.zeros((2 * pairs, width + 1))
    for d in range(1, width + 1):
        # From row i back to i − d: of a pair, the second row is one further from the same one.
        values = -factor[d, : n - d] * own[d:n]
        rows = np.arange(d, n)
        c[rows, width - d + rows % 2] = values
    together = c.reshape(pairs, 2, width + 1).transpose(0, 2, 1)
    return np.ascontiguousarray(together, dtype=dtype), own.astype(dtype)


# Indices without a sign: an index that may be negative would have to be looked at before each read,
# and nothing could be done to many columns at once.
_PLACE = np.uint64
_R, _R2, _R3, _R4 = (_PLACE(i * COLUMNS) for i in (1, 2, 3, 4))
_R5, _R6, _R7 = (_PLACE(i * COLUMNS) for i in (5, 6, 7))


@njit(nogil=True, fastmath={"contract", "reassoc", "nsz"})
def solved_squares(P, C, own, Y, total):  # type: ignore[no-untyped-def]
    """Into total[v]; P and Y are flat, (rows, COLUMNS), Y with `width` rows of zeros before."""
    pairs, width = C.shape[0], C.shape[1] - 1
    sums = np.zeros(COLUMNS, dtype=P.dtype)
    total[:] = 0.0
    for pair in range(pairs):
        p = _PLACE(2 * pair * COLUMNS)
        y = _PLACE(2 * pair * COLUMNS + width * COLUMNS)
        s0, s1 = own[2 * pair], own[2 * pair + 1]
        for v in range(_R):
            Y[y + v] = s0 * P[p + v]
            Y[y + _R + v] = s1 * P[p + _R + v]
        for k in range(0, width, TOGETHER):
            a0, b0 = C[pair, k, 0], C[pair, k, 1]
            a1, b1 = C[pair, k + 1, 0], C[pair, k + 1, 1]
            a2, b2 = C[pair, k + 2, 0], C[pair, k + 2, 1]
            a3, b3 = C[pair, k + 3, 0], C[pair, k + 3, 1]
            a4, b4 = C[pair, k + 4, 0], C[pair, k + 4, 1]
            a5, b5 = C[pair, k + 5, 0], C[pair, k + 5, 1]
            a6, b6 = C[pair, k + 6, 0], C[pair, k + 6, 1]
            a7, b7 = C[pair, k + 7, 0], C[pair, k + 7, 1]
            z = _PLACE((2 * pair + k) * COLUMNS)
            for v in range(_R):
                z0, z1 = Y[z + v], Y[z + _R + v]
                z2, z3 = Y[z + _R2 + v], Y[z + _R3 + v]
                z4, z5 = Y[z + _R4 + v], Y[z + _R5 + v]
                z6, z7 = Y[z + _R6 + v], Y[z + _R7 + v]
                Y[y + v] += (a0 * z0 + a1 * z1 + a2 * z2 + a3 * z3) + (
                    a4 * z4 + a5 * z5 + a6 * z6 + a7 * z7
                )
                Y[y + _R + v] += (b0 * z0 + b1 * z1 + b2 * z2 + b3 * z3) + (
                    b4 * z4 + b5 * z5 + b6 * z6 + b7 * z7
                )
        last = C[pair, width, 1]
        for v in range(_R):
            first = Y[y + v]
            second = Y[y + _R + v] + last * first
            Y[y + _R + v] = second
            sums[v] += first * first + second * second
        if pair % STRETCH == STRETCH - 1 or pair == pairs - 1:
            for v in range(COLUMNS):
                total[v] += sums[v]
                sums[v] = 0.0
