"""A = UᵀU in place of A, and what is solved with it, by SciPy's LAPACK.

`lower` is meant as LAPACK sees it, which reads rows as columns: our upper triangle is its lower
one. Each function hands LAPACK a transposed view, which is in the order that it wants, so that
nothing is copied.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from mercer._machine.threads import WORTH_FLOPS, single_threaded_blas

# --- B T in place for an upper triangular T, by SciPy's BLAS --------------------------------------
# NumPy multiplies triangular matrices as it does any others. BLAS has a product that leaves out the
# zeros and overwrites B: for rows of 200 numbers it takes 0.57 of the time.


def multiply_upper(B: np.ndarray, T: np.ndarray) -> None:
    """B ← B T, of one dtype and in C order; what is below the diagonal of T is not looked at.

    >>> B = np.array([[1.0, 2.0]])
    >>> multiply_upper(B, np.array([[1.0, 3.0], [0.0, 2.0]]))
    >>> B
    array([[1., 7.]])
    """
    from scipy.linalg import get_blas_funcs

    in_order = B.flags.c_contiguous and T.flags.c_contiguous
    if not in_order or B.dtype != T.dtype or T.shape != (B.shape[1], B.shape[1]):
        raise ValueError(f"no product in place of {B.dtype} {B.shape} and {T.dtype} {T.shape}")
    if not B.size:
        return
    (trmm,) = get_blas_funcs(("trmm",), (B,))
    together = B.size * len(T) >= WORTH_FLOPS
    with nullcontext() if together else single_threaded_blas():
        # BLAS reads rows as columns: to it this is Tᵀ Bᵀ, and our upper triangle is its lower one.
        trmm(1.0, T.T, B.T, lower=1, overwrite_b=1)


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
    return bool(_lapack("potrf", A)(A.T, lower=lower, overwrite_a=1, clean=0)[1] == 0)


def solve(U: np.ndarray, B: np.ndarray, lower: int) -> np.ndarray:
    """A⁻¹B from the factor of A, in Fortran's order."""
    _check_square(U)
    X = np.array(B, dtype=U.dtype, order="F")
    if X.size:
        X = _lapack("potrs", U)(U.T, X, lower=lower, overwrite_b=1)[0]
    return X


def solve_triangular(U: np.ndarray, B: np.ndarray, lower: int, transposed: bool) -> np.ndarray:
    """U⁻¹B of a triangle as LAPACK sees it, or U⁻ᵀB; where it is singular, an error says so."""
    _check_square(U)
    X = np.array(B, dtype=U.dtype, order="F")
    if X.size:
        trtrs = _lapack("trtrs", U)
        X, info = trtrs(U.T, X, lower=lower, trans=int(transposed), overwrite_b=1)
        _check_regular(info)
    return X


def invert(U: np.ndarray, lower: int) -> None:
    """A⁻¹ from the factor of A, in place of it: one triangle."""
    _check_square(U)
    if len(U):
        _check_regular(_lapack("potri", U)(U.T, lower=lower, overwrite_c=1)[1])


def invert_triangle(U: np.ndarray, lower: int) -> None:
    """U⁻¹ in place of a triangle; the other one is left alone."""
    _check_square(U)
    if len(U):
        _check_regular(_lapack("trtri", U)(U.T, lower=lower, overwrite_c=1)[1])


def _lapack(name: str, A: np.ndarray) -> Any:
    (function,) = get_lapack_funcs((name,), (A,))
    return function


def _check_square(A: np.ndarray) -> None:
    if not A.flags.c_contiguous or A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"a factor is a square matrix in C order, not one of shape {A.shape}")


def _check_regular(info: int) -> None:
    if info:
        raise np.linalg.LinAlgError(f"a triangular matrix is singular: its row {info} has a 0")
