"""Linear algebra that the array API standard lacks, for arrays of NumPy and PyTorch alike.

Matrices are in double precision. Only what is on and below the diagonal of a factor is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg.lapack import dpstrf

from mercer._arrays import host, is_tensor, namespace
from mercer._machine import cholesky as lapack


def dot(a: Any, b: Any) -> float:
    """Σ aᵢⱼ bᵢⱼ."""
    return float(a.reshape(-1) @ b.reshape(-1))


def add_to_diagonal(A: Any, value: Any) -> None:
    """A + diag(value), in place."""
    at = namespace(A).arange(len(A))
    A[at, at] += value


def cholesky(A: Any) -> Any | None:
    """L with LLᵀ = A; None where A is not positive definite.

    A tensor is left alone; an array is overwritten by its factor, and put back where it has none.
    """
    if is_tensor(A):
        import torch

        L, info = torch.linalg.cholesky_ex(A)
        return None if int(info) else L
    A = np.ascontiguousarray(A, dtype=np.float64)
    diagonal = A.diagonal().copy()
    if lapack.factorize(A, lower=0):
        return A
    mirror(A)
    A.flat[:: len(A) + 1] = diagonal
    return None


def cholesky_solve(L: Any, B: Any) -> Any:
    """(LLᵀ)⁻¹ B."""
    if is_tensor(L):
        import torch

        return torch.cholesky_solve(B, L)
    return lapack.solve(L, B, lower=0)


def definite_solver(A: Any) -> Callable[[Any], Any]:
    """B ↦ A⁻¹B for a positive definite A, which may be overwritten.

    Where rounding has made A indefinite, and for tensors, whose triangular solves are slow, A⁻¹
    is computed.
    """
    L = None if is_tensor(A) else cholesky(A)
    if L is None:
        return namespace(A).linalg.inv(A).__matmul__  # type: ignore[no-any-return]
    return lambda B: cholesky_solve(L, B)


def solve_lower(L: Any, B: Any, transposed: bool = False) -> Any:
    """L⁻¹ B, or L⁻ᵀ B."""
    if is_tensor(L):
        import torch

        return torch.linalg.solve_triangular(L.mT if transposed else L, B, upper=transposed)
    return lapack.solve_triangular(np.ascontiguousarray(L), B, 0, not transposed)


def inverse_lower(L: Any) -> Any:
    """L⁻¹."""
    if not len(L):
        return L
    if is_tensor(L):
        return solve_lower(L, namespace(L).eye(len(L), dtype=L.dtype, device=L.device))
    inverse = np.tril(L)
    try:
        lapack.invert_triangle(inverse, lower=0)
    except np.linalg.LinAlgError as error:
        raise linalg.LinAlgError("the kernel matrix of the chosen examples is singular") from error
    return inverse


def eigh(A: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of a symmetric matrix, which may be overwritten."""
    if is_tensor(A):
        return namespace(A).linalg.eigh(A)  # type: ignore[no-any-return]
    return linalg.eigh(A, overwrite_a=True, check_finite=False)  # type: ignore[no-any-return]


def independent(K: Any, tolerance: float) -> tuple[np.ndarray, Any]:
    """Rows of K that are independent up to `tolerance`, and F with FFᵀ = K; F[rows] is triangular.

    Where Cholesky stops, LAPACK's pivoted one goes on, on the host.
    """
    L = cholesky(1.0 * K)
    if L is not None and float(L.diagonal().min()) ** 2 > tolerance:
        return np.arange(len(K)), namespace(L).tril(L)
    factor, order, rank, _ = dpstrf(host(K), tol=tolerance, lower=1)
    order = order - 1
    F = np.zeros((len(K), rank))
    F[order] = np.tril(factor)[:, :rank]
    if is_tensor(K):
        return order[:rank], namespace(K).asarray(F, device=K.device)
    return order[:rank], F


def mirror(C: Any, square: int = 512) -> Any:
    """The upper triangle copied below the diagonal, in squares that fit the cache."""
    n, xp = len(C), namespace(C)
    for i in range(0, n, square):
        rows = slice(i, min(i + square, n))
        block = C[rows, rows]
        block[...] = xp.triu(block) + xp.triu(block, k=1).T
        for j in range(i + square, n, square):
            columns = slice(j, min(j + square, n))
            C[columns, rows] = C[rows, columns].T
    return C
