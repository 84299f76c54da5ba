"""A = UᵀU in place of A, by the LAPACK under NumPy, and by SciPy's where that is not found."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from mercer._machine.numpy_blas import lapack_function


def factorize(A: np.ndarray, lower: int) -> bool:
    """The factor in one triangle of A, in C order; False where A is not positive definite.

    `lower` as LAPACK sees it, which reads rows as columns: our upper triangle is its lower one.
    The other triangle is neither read nor written.

    >>> A = np.array([[4.0, 2.0], [0.0, 5.0]])
    >>> factorize(A, lower=1), A
    (True, array([[2., 1.],
           [0., 2.]]))
    """
    if not A.flags.c_contiguous or A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"a square matrix in C order is factorized in place, not {A.shape}")
    own = _by_numpy(A.dtype.char)
    if own is not None:
        return own(A, lower) == 0
    from scipy.linalg import get_lapack_funcs

    (potrf,) = get_lapack_funcs(("potrf",), (A,))
    return bool(potrf(A.T, lower=lower, overwrite_a=1, clean=0)[1] == 0)


@lru_cache(maxsize=2)
def _by_numpy(kind: str) -> Callable[[np.ndarray, int], int] | None:
    """LAPACK's function for float64 ("d") or float32 ("f"), if it is found and works."""
    function = lapack_function({"d": "dpotrf", "f": "spotrf"}[kind])
    if function is None:
        return None

    def potrf(A: np.ndarray, lower: int) -> int:
        n, info = ctypes.c_int64(len(A)), ctypes.c_int64(0)
        size, told = ctypes.byref(n), ctypes.byref(info)
        which = ctypes.c_char(b"L" if lower else b"U")
        # Last the length of the text, which Fortran passes by value and behind everything else.
        place = A.ctypes.data_as(ctypes.c_void_p)
        function(ctypes.byref(which), size, place, size, told, ctypes.c_size_t(1))
        return ctypes.c_int32(info.value).value

    A = np.array([[4.0, 2.0], [7.0, 5.0]], kind)
    found = potrf(A, 1) == 0 and np.array_equal(A, [[2.0, 1.0], [7.0, 2.0]])
    return potrf if found and potrf(np.array([[-1.0]], kind), 1) == 1 else None
