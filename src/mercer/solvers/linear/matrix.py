"""S K S as one dense array, S = diag(√w): what the exact solvers factorise in place."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mercer._tiles import Scratch, Tiling, sweep
from mercer.gram.dispatch import host
from mercer.gram.host import Gram
from mercer.gram.rows.prepared import _select
from mercer.gram.triangle import set_diagonal
from mercer.kernels import Kernel

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
        A = upper_triangle(gram) if triangle and gram._symmetric else gram.dense()
    if not gram._symmetric:
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
    n = gram.shape[0]
    A = np.zeros(gram.shape, dtype=gram.dtype)  # pages that are never touched take no memory
    plan = gram._plan(dense=True, fixed=A.nbytes)
    engine, diagonal = gram._engine(plan), gram._exact_diagonal()

    def body(rows: slice, columns: slice, scratch: Scratch) -> None:
        tile = A[rows, columns]
        engine.fill(rows, columns, tile, scratch)
        set_diagonal(tile, rows, columns, diagonal)

    sweep(Tiling((n, n), plan.tile, plan.threads, triangle=True), body, "Gram matrix")
    return A


def dense_in_double(gram: Gram, positions: np.ndarray | None = None) -> np.ndarray:
    """K of the same examples (or some of them), computed in float64."""
    if gram.on_device:
        return host(gram.in_double(positions))  # type: ignore[attr-defined, no-any-return]
    kernel = gram.kernel
    opaque = isinstance(kernel, Kernel) and kernel.is_opaque
    if gram.dtype == np.float64 or opaque:  # a given matrix or a black box has no more digits
        K = gram.dense() if positions is None else gram.block(positions, positions)
    else:
        raw = gram._x.raw if positions is None else _select(gram._x.raw, positions)
        K = Gram(kernel, _widened(raw)).dense()
    return K.astype(np.float64, copy=False)


def _widened(raw: Any) -> Any:
    if hasattr(raw, "iloc"):
        single = [c for c in raw.columns if raw[c].dtype == np.float32]
        return raw.astype(dict.fromkeys(single, np.float64))
    return raw.astype(np.float64) if hasattr(raw, "astype") else raw


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
