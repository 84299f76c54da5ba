"""A = UᵀU in place of A, and what is solved with it, by the LAPACK under NumPy (or SciPy's).

All of it in one library: where a factorization is NumPy's and a solution SciPy's, the threads of
either wait for the other's, and a Gaussian process learns half as fast. `lower` is meant as LAPACK
sees it, which reads rows as columns: our upper triangle is its lower one.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

from mercer._machine.numpy_blas import lapack_function

_PREFIX = {"d": "d", "f": "s"}


def factorize(A: np.ndarray, lower: int) -> bool:
    """The factor in one triangle of A; False where A is not positive definite.

    The other triangle is neither read nor written.

    >>> A = np.array([[4.0, 2.0], [0.0, 5.0]])
    >>> factorize(A, lower=1), A
    (True, array([[2., 1.],
           [0., 2.]]))
    """
    _check_square(A)
    if not len(A):
        return True
    if _works(A.dtype.char):
        return _told("potrf", _which(lower), len(A), A, len(A)) == 0
    return bool(_scipys("potrf", A)(A.T, lower=lower, overwrite_a=1, clean=0)[1] == 0)


def solve(U: np.ndarray, B: np.ndarray, lower: int) -> np.ndarray:
    """A⁻¹B from the factor of A, in Fortran's order."""
    _check_square(U)
    X, n = np.array(B, dtype=U.dtype, order="F"), len(U)
    if n == 0:
        return X
    if _works(U.dtype.char):
        _told("potrs", _which(lower), n, X.size // n, U, n, X, n)
        return X
    return _scipys("potrs", U)(U.T, X, lower=lower, overwrite_b=1)[0]  # type: ignore[no-any-return]


def solve_triangular(U: np.ndarray, B: np.ndarray, lower: int, transposed: bool) -> np.ndarray:
    """U⁻¹B of a triangle as LAPACK sees it, or U⁻ᵀB; where it is singular, an error says so."""
    _check_square(U)
    X, n = np.array(B, dtype=U.dtype, order="F"), len(U)
    if n == 0:
        return X
    if _works(U.dtype.char):
        texts = _which(lower) + (b"T" if transposed else b"N") + b"N"
        info = _told("trtrs", texts, n, X.size // n, U, n, X, n)
    else:
        X, info = _scipys("trtrs", U)(U.T, X, lower=lower, trans=int(transposed), overwrite_b=1)
    _check_regular(info)
    return X


def invert(U: np.ndarray, lower: int) -> None:
    """A⁻¹ from the factor of A, in place of it: one triangle."""
    _check_square(U)
    if _works(U.dtype.char):
        info = _told("potri", _which(lower), len(U), U, max(1, len(U)))
    else:
        info = _scipys("potri", U)(U.T, lower=lower, overwrite_c=1)[1]
    _check_regular(info)


def invert_triangle(U: np.ndarray, lower: int) -> None:
    """U⁻¹ in place of a triangle; the other one is left alone."""
    _check_square(U)
    if _works(U.dtype.char):
        info = _told("trtri", _which(lower) + b"N", len(U), U, max(1, len(U)))
    else:
        info = _scipys("trtri", U)(U.T, lower=lower, overwrite_c=1)[1]
    _check_regular(info)


def _which(lower: int) -> bytes:
    return b"L" if lower else b"U"


def _check_square(A: np.ndarray) -> None:
    if not A.flags.c_contiguous or A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"a factor is a square matrix in C order, not one of shape {A.shape}")


def _check_regular(info: int) -> None:
    if info:
        raise np.linalg.LinAlgError(f"a triangular matrix is singular: its row {info} has a 0")


def _scipys(name: str, A: np.ndarray) -> Any:
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs((name,), (A,))[0]


@lru_cache(maxsize=2)
def _works(kind: str) -> bool:
    """Whether NumPy's LAPACK is found and does what is meant, in float64 ("d") or float32 ("f")."""
    if lapack_function(_PREFIX[kind] + "potrf") is None:
        return False
    A, B = np.array([[4.0, 2.0], [7.0, 5.0]], kind), np.array([[-1.0]], kind)
    found = _told("potrf", b"L", 2, A, 2), _told("potrf", b"L", 1, B, 1)
    return found == (0, 1) and np.array_equal(A, [[2.0, 1.0], [7.0, 2.0]])


def _told(name: str, texts: bytes, *arguments: int | np.ndarray) -> int:
    """What LAPACK says of a call: 0, or where it stopped. `texts`: its arguments of one letter."""
    kind = next(a.dtype.char for a in arguments if isinstance(a, np.ndarray))
    info = ctypes.c_int64(0)
    given: list[Any] = [ctypes.byref(ctypes.c_char(letter)) for letter in texts]
    for a in arguments:
        if isinstance(a, np.ndarray):
            given.append(a.ctypes.data_as(ctypes.c_void_p))
        else:
            given.append(ctypes.byref(ctypes.c_int64(a)))
    # Last the lengths of texts, which Fortran passes by value and behind everything else.
    lengths = [ctypes.c_size_t(1)] * len(texts)
    lapack_function(_PREFIX[kind] + name)(*given, ctypes.byref(info), *lengths)
    return ctypes.c_int32(info.value).value
