"""S K S as one dense array, S = diag(√w): what the exact solvers factorise in place."""

from __future__ import annotations

import warnings

import numpy as np

from mercer._arrays import host
from mercer._tiles import Scratch
from mercer.gram.base import Gram

#: Rows handled at a time where a pass over the matrix needs temporaries.
PANEL = 512


def scaled_matrix(
    gram: Gram, scale: np.ndarray | None = None, double: bool = False, triangle: bool = False
) -> np.ndarray:
    """Kᵢⱼ sᵢ sⱼ, symmetric, in the dtype of the Gram or in double precision.

    With `triangle` only what is on or above the diagonal need be right.
    """
    if double and gram.dtype != np.float64:
        A = dense_in_double(gram)
    else:
        A = upper_triangle(gram) if triangle and gram.symmetric else gram.dense()
    if not gram.symmetric:
        _make_symmetric(A)
    if scale is not None:
        s = scale.astype(A.dtype)
        for start in range(0, len(A), PANEL):
            first = start if triangle else 0
            A[start : start + PANEL, first:] *= s[start : start + PANEL, None]
            A[start : start + PANEL, first:] *= s[first:]
    return A


def upper_triangle(gram: Gram) -> np.ndarray:
    """K on and above the diagonal; a factorisation never reads what is below it."""
    A = np.zeros(gram.shape, dtype=gram.dtype)  # pages that are never touched take no memory

    def made(rows: slice, columns: slice, tile: np.ndarray, scratch: Scratch) -> None:
        """Nothing is left to do: the tile was made in its place."""

    gram.sweep(made, out=A, triangle=True, exact_diagonal=True, what="Gram matrix")
    return A


def dense_in_double(gram: Gram, positions: np.ndarray | None = None) -> np.ndarray:
    """K of the same examples (or some of them), computed in float64."""
    return host(gram.in_double(positions))  # type: ignore[no-any-return]


def _make_symmetric(A: np.ndarray) -> None:
    """(K + Kᵀ)/2 in place; said, if it is more than rounding."""
    largest = gap = 0.0
    for start in range(0, len(A), PANEL):
        rows = slice(start, start + PANEL)
        rest = slice(start, None)
        above, below = A[rows, rest], A[rest, rows].T
        mean = 0.5 * (above + below)
        gap = max(gap, float(np.abs(above - below).max()))
        largest = max(largest, float(np.abs(mean).max()))
        A[rows, rest] = mean
        A[rest, rows] = mean.T
    if gap > 1e-6 * largest:
        warnings.warn(
            f"k(x, z) and k(z, x) differ by up to {gap:.3g}: the kernel is not symmetric; "
            "its symmetric part (K + Kᵀ)/2 is used",
            UserWarning,
            stacklevel=5,
        )
