"""Where the functions of a logistic model live: all of the span of the examples, or of m centres.

An element is a pair (coefficients, intercept). A space evaluates it at the examples, gives the
coefficients of a gradient, an inner product, and a preconditioner for the Newton system

    H = Φᵀ W Φ + α,   W = w (diag(p) − ppᵀ) for each example

`Span`: f = Σ aᵢ k(xᵢ, ·), ⟨a, a'⟩ = aᵀKa'. A gradient g in the scores has coefficients g: nothing
is solved for, and the product K a that the inner product needs is the evaluation itself.
`CenterSpan`: f = Σ βⱼ k(cⱼ, ·) in coordinates q = Lᵀβ, LLᵀ = K_mm, where the inner product is qᵀq.

The preconditioner is H with W = diag(w p (1 − p)) on the examples S that are hardest to tell, and 0
on all others: most examples of a fitted model are certain, and bend the objective hardly at all.
It is exact where S is everything and there are two classes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dtrtri

from mercer._config import get_config
from mercer._tiles import Scratch, Tiling, sweep
from mercer.gram.base import Gram
from mercer.solvers.linear import blas
from mercer.solvers.linear.normal_equations import times, transposed_times
from mercer.solvers.linear.nystrom import Centers, center_matrix
from mercer.solvers.linear.preconditioner import independent
from mercer.solvers.linear.primal import lower_factor
from mercer.solvers.requirements import resident
from mercer.solvers.smooth.losses import Loss

#: (residual of the coefficients, of the intercept) → an approximate solution of H z = r.
Precondition = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

#: Multiplications that the preconditioners of all classes may cost in a step.
CLASS_WORK = 7e9


class Space(Protocol):
    size: int

    def zeros(self, shape: tuple[int, int]) -> Any: ...

    @property
    def rounding(self) -> float:
        """aᵀa times this is what rounding may do to ⟨a, a⟩."""

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
        self.gram = gram
        self._K = gram.dense() if need <= keep * get_config().memory_bytes else None

    def times(self, V: np.ndarray) -> np.ndarray:
        if self._K is not None and self.gram.symmetric:
            return blas.symmetric_times(self._K, V)
        return _product(self.gram if self._K is None else self._K, V)

    @property
    def kept(self) -> bool:
        return self._K is not None

    def rows(self, chosen: np.ndarray) -> Any:
        return self.gram.take(rows=chosen) if self._K is None else self._K[chosen]


def _product(K: Any, V: np.ndarray) -> np.ndarray:
    if isinstance(K, Gram):
        return (K @ V).astype(np.float64)
    return blas.times(K, V)


class Span:
    """All N examples; the preconditioner knows at most `rank` of them at a time."""

    def __init__(self, K: Kernels, rank: int, random: np.random.RandomState) -> None:
        self.K, self.size, self.rank, self.random = K, K.gram.shape[0], rank, random

    def zeros(self, shape: tuple[int, int]) -> np.ndarray:
        return np.zeros(shape)

    def evaluate(self, coef: np.ndarray) -> np.ndarray:
        return self.K.times(coef)

    def gradient(self, g: np.ndarray) -> np.ndarray:
        return g

    def inner(self, left: np.ndarray, right: np.ndarray, right_values: np.ndarray) -> float:
        return float(np.vdot(left, right_values))

    def preconditioner(self, diagonal: np.ndarray, alpha: float, intercept: bool) -> Precondition:
        hard = _hardest(diagonal, self.rank, self.random)
        kept, L = independent(center_matrix(self.K.gram, hard), self.K.gram.dtype)
        pivots, basis = hard[kept], inverse_lower(L)
        rows = self.K.rows(pivots)
        if self._few(len(pivots), diagonal.shape[1]):  # a kernel of low rank: take everything
            hard = np.arange(self.size)
        F = np.asarray(rows[:, hard] if self.K.kept else self.K.gram.block(hard, pivots).T).T
        F = F.astype(np.float64) @ basis.T
        solve = _bordered(F, diagonal[hard], diagonal.sum(axis=0), alpha, intercept)

        def precondition(r: np.ndarray, rb: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            # In an orthonormal basis of the span of S: solved there, r/α outside of it.
            inside = basis @ _product(rows, r)
            solved, b = solve(inside, rb)
            z = r / alpha
            z[pivots] += basis.T @ (solved - inside / alpha)
            return z, b

        return precondition

    def _few(self, rank: int, columns: int) -> bool:
        return columns * self.size * rank**2 <= CLASS_WORK

    @cached_property
    def rounding(self) -> float:
        """Relative to aᵀa, aᵀKa is known to this: more than that below zero is no rounding."""
        trace = float(np.abs(self.K.gram.diagonal()).sum(dtype=np.float64))
        return 100 * float(np.finfo(self.K.gram.dtype).eps) * trace

    def expansion(self, coef: np.ndarray) -> np.ndarray:
        return coef


class CenterSpan:
    """m centres; K_nm is kept where it fits."""

    rounding = 0.0

    def __init__(
        self, centers: Centers, rank: int, random: np.random.RandomState, keep: float = 0.5
    ) -> None:
        self.centers, self.size = centers, len(centers.positions)
        self.rank, self.random = rank, random
        self.L = lower_factor(centers.penalty)
        self._basis = inverse_lower(self.L).T
        centers.panels.keep(keep)

    def zeros(self, shape: tuple[int, int]) -> np.ndarray:
        return np.zeros(shape)

    def evaluate(self, coef: np.ndarray) -> np.ndarray:
        return times(self.centers.panels, self._basis @ coef, "scores")

    def gradient(self, g: np.ndarray) -> np.ndarray:
        return self._basis.T @ transposed_times(self.centers.panels, g, "gradient")

    def inner(self, left: np.ndarray, right: np.ndarray, right_values: np.ndarray) -> float:
        return float(np.vdot(left, right))

    def preconditioner(self, diagonal: np.ndarray, alpha: float, intercept: bool) -> Precondition:
        """S among the centres, each of which stands for N/m examples; k(s, ·) is row s of L."""
        own = diagonal[self.centers.positions]
        chosen = _hardest(own, self.rank, self.random)
        kept, L = independent(self.centers.penalty[np.ix_(chosen, chosen)], np.dtype(np.float64))
        Q = inverse_lower(L) @ self.L[chosen[kept]]
        F = self.L[chosen] @ Q.T
        share = len(diagonal) / self.size
        solve = _bordered(F, share * own[chosen], diagonal.sum(axis=0), alpha, intercept)

        def precondition(r: np.ndarray, rb: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            inside = Q @ r
            solved, b = solve(inside, rb)
            return r / alpha + Q.T @ (solved - inside / alpha), b

        return precondition

    def expansion(self, coef: np.ndarray) -> np.ndarray:
        return self._basis @ coef


def space_for(
    gram: Gram, loss: Loss, random: np.random.RandomState, centers: Centers | None = None
) -> tuple[Any, Any]:
    """Where f lives, and the loss, both where the data is."""
    make = gram.solver("smooth spaces", None)
    if make is not None:
        return make(gram if centers is not None else resident(gram), loss, centers)  # type: ignore[no-any-return]
    rank = rank_for(gram.shape[0], loss.columns)
    if centers is not None:
        return CenterSpan(centers, rank, random), loss
    return Span(Kernels(gram), rank, random), loss


def rank_for(n: int, columns: int) -> int:
    """How many examples the preconditioner knows: 10 √N, or what its matrices may cost."""
    most = (CLASS_WORK / (2 * columns)) ** (1 / 3)
    return int(max(1, min(n, max(200, 10 * np.sqrt(n)), most)))


def _hardest(diagonal: np.ndarray, rank: int, random: np.random.RandomState) -> np.ndarray:
    """Where the objective bends most; at random among equals."""
    bend = diagonal.sum(axis=1)
    if rank >= len(bend):
        return np.arange(len(bend))
    bend = bend * (1.0 + 1e-6 * random.random_sample(len(bend)))
    return np.sort(np.argpartition(-bend, rank)[:rank])


def inverse_lower(L: np.ndarray) -> np.ndarray:
    """L⁻¹. Products with it are NumPy's; solves would wake SciPy's own BLAS at every step."""
    if not len(L):
        return L
    inverse, info = dtrtri(np.asfortranarray(L), lower=1)
    if info:
        raise LinAlgError("the kernel matrix of the chosen examples is singular")
    return np.ascontiguousarray(np.tril(inverse))


def _bordered(
    F: np.ndarray, diagonal: np.ndarray, totals: np.ndarray, alpha: float, intercept: bool
) -> Precondition:
    """Solve [FᵀDF + αI, FᵀD1; 1ᵀDF, ΣD] (q, b) = (r, rb) for each class; ΣD over all examples."""
    rank = F.shape[1]
    size = rank + intercept
    inverses = np.empty((diagonal.shape[1], size, size))

    def invert(classes: slice, _: slice, scratch: Scratch) -> None:
        """A class a thread: small matrices gain nothing from a BLAS of several."""
        c, inner = classes.start, inverses[classes.start]
        root = np.sqrt(diagonal[:, c])
        scaled = root[:, None] * F
        inner[:rank, :rank] = scaled.T @ scaled
        inner.flat[:: size + 1] += alpha
        if intercept:
            inner[rank, :rank] = inner[:rank, rank] = root @ scaled
            total = max(float(totals[c]), float(diagonal[:, c].sum()))
            inner[rank, rank] = total * (1 + 1e-10) + 1e-300
        inner[...] = np.linalg.inv(inner)

    threads = get_config().n_threads if F.size >= 10_000 else 1
    sweep(Tiling((len(inverses), 1), (1, 1), threads), invert, "preconditioner")

    def solve(r: np.ndarray, rb: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        right = np.vstack([r, rb[None]]) if intercept else r
        solved = np.matmul(inverses, right.T[:, :, None])[:, :, 0].T
        return (solved[:-1], solved[-1]) if intercept else (solved, np.zeros_like(rb))

    return solve
