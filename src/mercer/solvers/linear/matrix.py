"""S K S as one dense array, S = diag(√w), and the norm of a matrix that need not exist."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgWarning

from mercer._arrays import host, namespace
from mercer._config import get_config
from mercer._linalg import dot
from mercer._notices import KernelWarning, NumericalWarning, warn
from mercer.gram import Gram
from mercer.tuning import PANEL_ROWS


class IllConditioned(NumericalWarning, LinAlgWarning):
    """The equations are so nearly singular that their solution has few certain digits."""


def scaled_matrix(
    gram: Gram, scale: np.ndarray | None = None, double: bool = False, triangle: bool = False
) -> np.ndarray:
    """Kᵢⱼ sᵢ sⱼ, symmetric, in the dtype of the Gram or in double precision.

    With `triangle` only what is on or above the diagonal need be right.
    """
    if double and gram.dtype != np.float64:
        A = host(gram.in_double())
    else:
        A = upper_triangle(gram) if triangle and gram.symmetric else gram.dense()
    if not gram.symmetric:
        _make_symmetric(A)
    if scale is not None:
        s = scale.astype(A.dtype)
        for start in range(0, len(A), PANEL_ROWS):
            first = start if triangle else 0
            A[start : start + PANEL_ROWS, first:] *= s[start : start + PANEL_ROWS, None]
            A[start : start + PANEL_ROWS, first:] *= s[first:]
    return A


def upper_triangle(gram: Gram) -> np.ndarray:
    """K on and above the diagonal; a factorization never reads what is below it."""
    if gram.shape[0] <= PANEL_ROWS:
        return gram.dense()
    A = np.zeros(gram.shape, dtype=gram.dtype)  # pages that are never touched take no memory
    # Nothing is left to do with a tile: it is made in its place.
    gram.sweep(lambda *tile: None, out=A, triangle=True, exact_diagonal=True, what="Gram matrix")
    return A


def matrix_fits(count: int, n: int, itemsize: int, columns: int = 1) -> bool:
    """Whether so many N×N arrays are within the memory limit of the host, with a few N×T ones."""
    return matrix_bytes(count, n, itemsize, columns) <= get_config().memory_bytes


def matrix_bytes(count: int, n: int, itemsize: int, columns: int = 1) -> int:
    return count * n * n * itemsize + 24 * n * (columns + 2)


def _make_symmetric(A: np.ndarray) -> None:
    """(K + Kᵀ)/2 in place, with a warning where that changes K by more than rounding."""
    largest = gap = 0.0
    for start in range(0, len(A), PANEL_ROWS):
        rows = slice(start, start + PANEL_ROWS)
        rest = slice(start, None)
        above, below = A[rows, rest], A[rest, rows].T
        mean = 0.5 * (above + below)
        gap = max(gap, float(np.abs(above - below).max()))
        largest = max(largest, float(np.abs(mean).max()))
        A[rows, rest] = mean
        A[rest, rows] = mean.T
    if gap > 1e-6 * largest:
        warn(
            f"k(x, z) and k(z, x) differ by up to {gap:.3g}: the kernel is not symmetric; "
            "its symmetric part (K + Kᵀ)/2 is used",
            KernelWarning,
        )


def operator_norm(apply: Callable[[Any], Any], start: Any, rounds: int) -> float:
    """The largest |eigenvalue| of a symmetric operator by power iteration; ∞ where it overflows.

    The result is never too large, but for rounding.

    >>> A = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> round(operator_norm(lambda x: A @ x, np.array([1.0, 0.0]), 12), 6)
    3.0
    """
    xp = namespace(start)
    x = start / math.sqrt(dot(start, start))
    norm = 0.0
    for _ in range(rounds):
        x = xp.astype(apply(x), xp.float64)
        norm = math.sqrt(dot(x, x))
        if not math.isfinite(norm):
            return math.inf
        if norm == 0:
            return 0.0
        x = x / norm
    return norm
