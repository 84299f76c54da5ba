"""A X = B in double precision, by a Cholesky factor in single precision: half the work.

The factor solves for what is left of B, again and again, and what is left is computed in double
precision:

    r = B − A x,   x ← x + (UᵀU)⁻¹ r

Each step takes about the condition of A times the rounding of float32 off the error. So it is done
where that is certain to be small, until r is nothing but the rounding of A x. Where that is more
than what a factor in double precision leaves, A is factorized as it is.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import get_lapack_funcs

import mercer.tuning as tuning
from mercer._config import get_config
from mercer._lazy import record
from mercer._machine.cholesky import factorize
from mercer._machine.deadline import one_call
from mercer._machine.threads import single_threaded_blas
from mercer._tiles import Scratch, Tiling, cut, sweep
from mercer.solvers.linear.blas import mirror_beside_diagonal, symmetric_times


def pays(A: np.ndarray, condition: float) -> bool:
    """Whether a matrix of this condition, or less, is large enough and good enough."""
    if A.dtype != np.float64 or len(A) < tuning.REFINED_ROWS:
        return False
    return condition * float(np.finfo(np.float32).eps) <= tuning.REFINED_CONDITION


@record
class Rounded:
    """UᵀU in single precision, U in the upper triangle; and √Σ Aᵢⱼ², or a little more."""

    U: np.ndarray
    norm: float

    def solve(self, B: np.ndarray) -> np.ndarray:
        """(UᵀU)⁻¹ B, panel by panel: LAPACK's own runs at a third of the speed of the memory."""
        X, U = np.ascontiguousarray(B, dtype=np.float32), self.U
        parts = list(cut(0, len(U), tuning.PANEL_ROWS))
        for part in parts:
            X[part] = _triangular(U[part, part].T, X[part], lower=1)
            X[part.stop :] -= U[part, part.stop :].T @ X[part]
        for part in reversed(parts):
            X[part] -= U[part, part.stop :] @ X[part.stop :]
            X[part] = _triangular(U[part, part].T, X[part], lower=1, trans=1)
        return X


def _triangular(T: np.ndarray, B: np.ndarray, **how: int) -> np.ndarray:
    (trtrs,) = get_lapack_funcs(("trtrs",), (T,))
    return trtrs(T, B, **how)[0]  # type: ignore[no-any-return]


def factor(A: np.ndarray) -> Rounded | None:
    """A factor of A, which is left as it is; None where A is not positive definite."""
    n = len(A)
    U = np.zeros(A.shape, dtype=np.float32)  # pages that are never touched take no memory
    squares = np.zeros(-(-n // tuning.PANEL_ROWS))

    def body(rows: slice, columns: slice, scratch: Scratch) -> None:
        panel = U[rows, rows.start :]
        panel[...] = A[rows, rows.start :]
        squares[rows.start // tuning.PANEL_ROWS] = np.einsum("ij,ij->", panel, panel)

    with np.errstate(over="ignore"):
        sweep(Tiling((n, n), (tuning.PANEL_ROWS, n), get_config().n_threads), body, "rounding")
    with one_call(n**3 / 6):
        definite = factorize(U, lower=1)
    return Rounded(U, math.sqrt(2.0 * squares.sum())) if definite else None


def solved(A: np.ndarray, rounded: Rounded, B: np.ndarray) -> np.ndarray | None:
    """X with A X = B, from the upper triangle of A and its factor; None where it does not converge.

    Below the diagonal of A something is written. BLAS has one thread: products are NumPy's and
    triangular solutions SciPy's, and the threads of either would wait busily for the other's. With
    five columns that took nine times as long.
    """
    with single_threaded_blas():
        return _solved(A, rounded, B)


def _solved(A: np.ndarray, rounded: Rounded, B: np.ndarray) -> np.ndarray | None:
    mirror_beside_diagonal(A)
    X, left = np.zeros(B.shape), B
    size = rest = np.linalg.norm(B, axis=0)
    unit = float(np.finfo(np.float64).eps)
    for _ in range(tuning.REFINED_STEPS):
        scale, before = np.where(rest == 0, 1.0, rest), rest
        X += scale * rounded.solve(left / scale)
        left = B - symmetric_times(A, X)
        rest, rounding = (
            np.linalg.norm(left, axis=0),
            unit * rounded.norm * np.linalg.norm(X, axis=0),
        )
        # The largest eigenvalue is at least a √N-th of that norm.
        if (rest <= rounding / math.sqrt(len(A)) + unit * size).all():
            return X
        if (rest >= before).all():
            break
    return X if (rest <= rounding).all() else None
