"""Where the functions of a logistic model live: all of the span of the examples, or of m centres.

An element is a pair (coefficients, intercept). A space evaluates it at the examples, gives the
coefficients of a gradient, an inner product, and a preconditioner for the Newton system

    H = Φᵀ W Φ + α,   W = diag(w p (1 − p)) class by class

`Span`: f = Σ aᵢ k(xᵢ, ·), ⟨a, a'⟩ = aᵀKa'. A gradient g in the scores has coefficients g: nothing
is solved for, and the product K a that the inner product needs is the evaluation itself.
`CenterSpan`: f = Σ βⱼ k(cⱼ, ·) in coordinates q = Lᵀβ, LLᵀ = K_mm, where the inner product is qᵀq.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dtrtri

from mercer._config import get_config
from mercer.gram.operator import Gram
from mercer.solvers.normal import times, transposed_times
from mercer.solvers.nystrom import Centers
from mercer.solvers.preconditioner import LowRank
from mercer.solvers.primal import lower_factor

#: (residual of the coefficients, of the intercept) → an approximate solution of H z = r.
Precondition = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

#: One preconditioner a class costs at most this many multiplications; beyond, one for all.
CLASS_WORK = 6e10


class Space(Protocol):
    size: int

    def evaluate(self, coef: np.ndarray) -> np.ndarray: ...

    def gradient(self, g: np.ndarray) -> np.ndarray: ...

    def inner(self, left: np.ndarray, right: np.ndarray, right_values: np.ndarray) -> float: ...

    def preconditioner(
        self, diagonal: np.ndarray, alpha: float, intercept: bool
    ) -> Precondition: ...

    def expansion(self, coef: np.ndarray) -> np.ndarray: ...


class Kernels:
    """K itself: kept where it fits, multiplied by tile by tile where it does not."""

    def __init__(self, gram: Gram, keep: float = 0.5) -> None:
        need = gram.shape[0] ** 2 * gram.dtype.itemsize
        self._gram = gram
        self._K = gram.dense() if need <= keep * get_config().memory_bytes else None

    def times(self, V: np.ndarray) -> np.ndarray:
        if self._K is None:
            return (self._gram @ V).astype(np.float64)
        return (self._K @ V.astype(self._K.dtype)).astype(np.float64)


class Span:
    """All N examples."""

    def __init__(self, K: Kernels, low_rank: LowRank) -> None:
        self.K, self.size, self.low_rank = K, len(low_rank.F), low_rank
        self._basis = inverse_lower(low_rank.L).T

    def evaluate(self, coef: np.ndarray) -> np.ndarray:
        return self.K.times(coef)

    def gradient(self, g: np.ndarray) -> np.ndarray:
        return g

    def inner(self, left: np.ndarray, right: np.ndarray, right_values: np.ndarray) -> float:
        return float(np.vdot(left, right_values))

    def preconditioner(self, diagonal: np.ndarray, alpha: float, intercept: bool) -> Precondition:
        """H on the span of the chosen examples, α outside of it: exact where all are chosen.

        In an orthonormal basis of that span the rows of Φ are those of F.
        """
        F, pivots = self.low_rank.F, self.low_rank.pivots
        solve = _bordered(F, diagonal, alpha, intercept)

        def precondition(r: np.ndarray, rb: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            inside = (F.T @ r.astype(F.dtype)).astype(np.float64)
            solved, b = solve(inside, rb)
            z = r / alpha
            z[pivots] += self._basis @ (solved - inside / alpha)
            return z, b

        return precondition

    def expansion(self, coef: np.ndarray) -> np.ndarray:
        return coef


class CenterSpan:
    """m centres; K_nm is kept where it fits."""

    def __init__(self, centers: Centers, keep: float = 0.5) -> None:
        self.centers, self.size = centers, len(centers.positions)
        self.L = lower_factor(centers.penalty)
        self._basis = inverse_lower(self.L).T
        centers.panels.keep(keep)

    def evaluate(self, coef: np.ndarray) -> np.ndarray:
        return times(self.centers.panels, self._basis @ coef, "scores")

    def gradient(self, g: np.ndarray) -> np.ndarray:
        return self._basis.T @ transposed_times(self.centers.panels, g, "gradient")

    def inner(self, left: np.ndarray, right: np.ndarray, right_values: np.ndarray) -> float:
        return float(np.vdot(left, right))

    def preconditioner(self, diagonal: np.ndarray, alpha: float, intercept: bool) -> Precondition:
        """ΦᵀWΦ from the centres alone, where Φ = L: a sample of the sum, N/m times as large."""
        share = len(diagonal) / self.size
        return _bordered(self.L, share * diagonal[self.centers.positions], alpha, intercept)

    def expansion(self, coef: np.ndarray) -> np.ndarray:
        return self._basis @ coef


def inverse_lower(L: np.ndarray) -> np.ndarray:
    """L⁻¹. Products with it are NumPy's; solves would wake SciPy's own BLAS at every step."""
    if not len(L):
        return L
    inverse, info = dtrtri(np.asfortranarray(L), lower=1)
    if info:
        raise LinAlgError("the kernel matrix of the chosen examples is singular")
    return np.ascontiguousarray(np.tril(inverse))


def _bordered(F: np.ndarray, diagonal: np.ndarray, alpha: float, intercept: bool) -> Precondition:
    """Solve [FᵀDF + αI, FᵀD1; 1ᵀDF, 1ᵀD1] (q, b) = (r, rb), for each class, or for all as one."""
    n, rank = F.shape
    classes = diagonal.shape[1]
    if classes > 1 and classes * n * rank**2 > CLASS_WORK:
        diagonal = diagonal.mean(axis=1, keepdims=True)
    size = rank + intercept
    inverses = np.empty((diagonal.shape[1], size, size))
    for inner, d in zip(inverses, diagonal.T, strict=True):
        root = np.sqrt(d)
        scaled = root[:, None].astype(F.dtype) * F
        inner[:rank, :rank] = scaled.T @ scaled
        inner.flat[:: size + 1] += alpha
        if intercept:
            inner[rank, :rank] = inner[:rank, rank] = root @ scaled
            inner[rank, rank] = d.sum() * (1 + 1e-10) + 1e-300
        inner[...] = np.linalg.inv(inner)

    def solve(r: np.ndarray, rb: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        right = np.vstack([r, rb[None]]) if intercept else r
        if len(inverses) == 1:
            solved = inverses[0] @ right
        else:
            solved = np.matmul(inverses, right.T[:, :, None])[:, :, 0].T
        return (solved[:-1], solved[-1]) if intercept else (solved, np.zeros_like(rb))

    return solve
