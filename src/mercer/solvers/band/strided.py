"""C ← α A B + β C in place, on parts of larger arrays.

NumPy makes an array for every product, and SciPy's wrappers copy whatever is not contiguous. The
routine beneath takes a part of an array as it lies there: all it asks for is the distance from one
row to the next. It is called here by the address that SciPy publishes, without the interpreter.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.solvers.linear.blas import routine

# void gemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
_ROUTINES: dict[np.dtype, tuple[Callable[..., None] | None, Any]] = {
    np.dtype(np.float64): (routine("dgemm", 13, 6), ctypes.c_double),
    np.dtype(np.float32): (routine("sgemm", 13, 6), ctypes.c_float),
}


def product(
    A: np.ndarray, B: np.ndarray, C: np.ndarray, alpha: float = 1.0, beta: float = 0.0
) -> None:
    """Rows of C lie in memory one number after the other; A and B may be transposed."""
    (m, k), n = A.shape, B.shape[1]
    if B.shape[0] != k or C.shape != (m, n) or not A.dtype == B.dtype == C.dtype:
        raise ValueError(f"{A.shape} times {B.shape} does not fit into {C.shape} of {C.dtype}")
    gemm, number = _ROUTINES[C.dtype]
    a, b, c = _stored(A), _stored(B), _stored(C)
    if gemm is None or a is None or b is None or c is None or c[2] != b"N" or 0 in (m, n, k):
        # β = 0 means that nothing need be in C yet, not even numbers.
        C[...] = alpha * (A @ B) + (beta * C if beta else 0.0)
        return
    at, integer = ctypes.byref, ctypes.c_int
    # BLAS reads rows as columns: to it this is Cᵀ = Bᵀ Aᵀ.
    gemm(
        at(ctypes.c_char(b[2])), at(ctypes.c_char(a[2])), at(integer(n)), at(integer(m)),
        at(integer(k)), at(number(alpha)), b[0], at(integer(b[1])), a[0], at(integer(a[1])),
        at(number(beta)), c[0], at(integer(c[1])),
    )  # fmt: skip


def _stored(A: np.ndarray) -> tuple[int, int, bytes] | None:
    """Address, distance of the rows, and whether they are our rows (N) or our columns (T)."""
    rows, columns = A.strides
    one = A.itemsize
    if (columns == one or A.shape[1] == 1) and rows >= A.shape[1] * one:
        return A.ctypes.data, rows // one, b"N"
    if (rows == one or A.shape[0] == 1) and columns >= A.shape[0] * one:
        return A.ctypes.data, columns // one, b"T"
    return None
