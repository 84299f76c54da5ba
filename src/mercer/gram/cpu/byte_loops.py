"""The matrix product of rows of bytes, in tiles that stay in registers; and bytes from numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mercer._machine.jit import njit
from mercer._machine.lanes import Shape, larger, processor, tile_sums


@lru_cache(maxsize=1)
def tile_shape() -> Shape | None:
    """The tile for this processor; None where it cannot add four products of bytes at once."""
    features = processor()
    if features.get("avx512vnni") and features.get("avx512f"):
        return Shape(16, 6, 4)
    return Shape(8, 3, 4) if features.get("avxvnni") else None


#: On a processor without the instruction `multiply` is never called, but Numba still needs a shape
#: to define it.
SHAPE = tile_shape() or Shape(16, 6, 4)
ROWS, COLUMNS = SHAPE.rows, SHAPE.columns
#: Turns four bytes into signed ones: 128 less each.
SIGNED = np.uint32(0x80808080)

_tile = tile_sums("bytes", *SHAPE, COLUMNS)


@njit(nogil=True)
def multiply(
    a: Any, b: Any, left: Any, right: Any, scale: Any, out: Any, packed: Any, sums: Any
) -> None:
    """out[i, j] ← scale · (Σ a (b − 128) + left[i] + right[j]), exactly but for the last rounding.

    a: bytes; b: the same as words of four. `packed` and `sums` are room to work in.
    """
    n = len(a)
    m, steps = b.shape
    for start in range(0, m, COLUMNS):
        width = COLUMNS if m - start > COLUMNS else m - start
        for j in range(width):
            row = b[start + j]
            for t in range(steps):
                packed[t, j] = row[t] ^ SIGNED
        beside = right[start : start + width]
        for at in range(0, n, ROWS):
            first = at if at < n - ROWS else n - ROWS  # the last tile reaches back
            _tile(a, (first * steps, steps), packed, 0, steps, sums, 0)
            for i in range(ROWS):
                target = out[first + i, start : start + width]
                total, lacking = sums[i], left[first + i]
                for j in range(width):
                    target[j] = scale * (total[j] + (lacking + beside[j]))


@lru_cache(maxsize=1)
def works() -> bool:
    """Whether this processor and compiler can do it: a small product is tried and checked."""
    if tile_shape() is None:
        return False
    a, b = (
        (np.arange(rows * 8) * step % 256).astype(np.uint8).reshape(rows, 8)
        for rows, step in ((ROWS + 1, 37), (COLUMNS + 1, 91))
    )
    left, right = 128.0 * a.sum(axis=1), np.zeros(len(b))
    packed = np.empty((2, COLUMNS), dtype=np.uint32)
    sums = np.empty((ROWS, COLUMNS), dtype=np.int32)
    out = np.empty((len(a), len(b)), np.float32)  # which holds these numbers
    try:
        multiply(a, b.view(np.uint32), left, right, 1.0, out, packed, sums)
    except Exception:  # any failure to compile: BLAS is used instead
        return False
    return bool((out == a.astype(float) @ b.T.astype(float)).all())


@njit(nogil=True, error_model="numpy", fastmath={"contract", "nsz"})
def encode(rows: Any, used: Any, step: Any, low: Any, tolerance: Any, chosen: Any, out: Any) -> Any:
    """out ← rows[:, used] / step − low; the largest |x − step k| / |x|, ∞ beyond tolerance.

    `chosen`: a buffer for the columns of a row.
    """
    per_step, tiny = 1.0 / step, 1e-300
    whole = len(used) == rows.shape[1]
    worst = 0.0
    for i in range(rows.shape[0]):
        source, target = rows[i], out[i]
        if not whole:
            for d in range(len(used)):
                chosen[d] = source[used[d]]
            source = chosen
        for d in range(len(used)):
            x = np.float64(source[d])
            k = np.rint(x * per_step)
            worst = larger(worst, abs(x - k * step) / larger(abs(x), tiny))
            target[d] = np.uint8(np.int32(k) - low)
        if worst > tolerance:
            return np.inf
    return worst


def row_sums(codes: np.ndarray, columns: int) -> Any:
    """Σ u for every row: u² − (u − 1)² = 2 u − 1."""
    zeros = np.zeros(columns)
    squares, less = (squared_distances(codes, center) for center in (zeros, zeros + 1.0))
    return 0.5 * (squares - less + columns)


def squared_distances(codes: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Σ (u − c)² for every row."""
    result = np.empty(len(codes))
    _add_squares(codes, center, result)
    return result


@njit(nogil=True, fastmath={"reassoc"})
def _add_squares(codes: Any, center: Any, result: Any) -> None:
    """Whole numbers are summed exactly in any order."""
    for i in range(len(codes)):
        row = codes[i]
        total = 0.0
        for d in range(len(center)):
            gap = row[d] - center[d]
            total += gap * gap
        result[i] = total
