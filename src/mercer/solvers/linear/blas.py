"""Multiply matrices by threads of this library, each with a BLAS of one thread.

A tall matrix times a few columns is over in milliseconds, and a BLAS of several threads spends
them waiting for each other, the more so on a machine that others use, too.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_blas_funcs

import mercer.tuning as tuning
from mercer._config import get_config
from mercer._linalg import mirror
from mercer._tiles import Scratch, Tiling, cut, sweep

__all__ = [
    "add_squares",
    "mirror",
    "mirror_beside_diagonal",
    "symmetric_times",
    "times",
    "transposed_times",
]


def add_squares(P: np.ndarray, C: np.ndarray) -> None:
    """C += PᵀP in the upper triangle of C, some rows of C at a time.

    All of PᵀP at once would take a second C. Square blocks on the diagonal are written whole.
    """
    if P.dtype != C.dtype or C.shape != (P.shape[1], P.shape[1]):
        raise ValueError(f"PᵀP of {P.dtype} {P.shape} does not fit into {C.dtype} {C.shape}")
    for rows in cut(0, len(C), tuning.SQUARE_ROWS):
        some = P[:, rows]
        C[rows, rows] += some.T @ some  # NumPy makes one triangle of a square, and copies it
        C[rows, rows.stop :] += some.T @ P[:, rows.stop :]


def times(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B in double precision, multiplied in the precision of A; the rows of A go to threads."""
    B = np.ascontiguousarray(B, dtype=A.dtype)
    result = np.empty((len(A), B.shape[1]))

    def body(rows: slice, columns: slice, scratch: Scratch) -> None:
        result[rows] = A[rows] @ B

    sweep(_shares(A), body, "product")
    return result


def symmetric_times(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B for a symmetric A, of which only the upper triangle is read, in the precision of A.

    Reading A is all that such a product costs: each square of it serves its own rows and, as long
    as it is in the cache, the rows of its mirror image.
    """
    B = np.ascontiguousarray(B, dtype=A.dtype)
    n = len(A)
    # In single precision BLAS adds up with a fifth of the digits that squares leave.
    if A.dtype == np.float64 and B.shape[1] <= tuning.SYMV_COLUMNS and A.flags.c_contiguous:
        (symv,) = get_blas_funcs(("symv",), (A,))
        # BLAS reads rows as columns: our upper triangle is its lower one.
        return np.stack([symv(1.0, A.T, b, lower=1) for b in B.T], axis=1)
    cuts = list(cut(0, n, tuning.SQUARE_ROWS))
    pairs = [(i, j) for i in range(len(cuts)) for j in range(i, len(cuts))]
    threads = min(len(pairs), _shares(A).threads)
    sums = np.zeros((threads, n, B.shape[1]))
    # A square is over in 30 microseconds: what Python does besides has to be little.
    parts = [B[part] for part in cuts]

    def body(share: slice, _: slice, scratch: Scratch) -> None:
        outs = [sums[share.start, part] for part in cuts]
        for i, j in pairs[share.start :: threads]:
            block, above, below = A[cuts[i], cuts[j]], outs[i], outs[j]
            above += block @ parts[j]
            if i != j:
                below += block.T @ parts[i]

    sweep(Tiling((threads, 1), (1, 1), threads, fixed=True), body, "product")
    return sums.sum(axis=0)


def mirror_beside_diagonal(A: np.ndarray) -> np.ndarray:
    """Copy from above the diagonal what `symmetric_times` reads below it, in place."""
    for start in range(0, len(A), tuning.SQUARE_ROWS):
        rows = slice(start, start + tuning.SQUARE_ROWS)
        before = slice(max(0, start - tuning.SQUARE_ROWS), start)
        A[rows, before] = A[before, rows].T
        mirror(A[rows, rows])
    return A


def transposed_times(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Aᵀ B, multiplied in the precision of A; threads' sums are added in double precision."""
    plan = _shares(A)
    parts = np.zeros((plan.threads, A.shape[1], B.shape[1]))

    def body(rows: slice, columns: slice, scratch: Scratch) -> None:
        parts[scratch.thread] += A[rows].T @ B[rows].astype(A.dtype, copy=False)

    sweep(plan, body, "product")
    return parts.sum(axis=0)


def _shares(A: np.ndarray) -> Tiling:
    n, m = A.shape
    threads = get_config().n_threads if A.size >= tuning.THREADED_ELEMENTS else 1
    return Tiling((n, m), (max(1, -(-n // threads)), m), threads, fixed=True)
