"""Where f lives: in all of the span of the examples, or of m centers.

An element is a pair (coefficients, intercept). A space evaluates it at the examples, gives the
coefficients of a gradient, an inner product, and a preconditioner for the Newton system

    H = Φᵀ W Φ + α,   W the curvature of the loss, one block per example

`Span`: f = Σ aᵢ k(xᵢ, ·), ⟨a, a'⟩ = aᵀKa'. A gradient g in the scores has coefficients g: nothing
is solved for, and the product K a that the inner product needs is the evaluation itself.
`CenterSpan`: f = Σ βⱼ k(cⱼ, ·) in coordinates q = Fᵀβ, FFᵀ = K_mm, where the inner product is qᵀq.

The preconditioner of `Span` is H with the diagonal of W on the examples S where the loss is curved
most, and 0 on all others: most examples of a fitted model are certain, and curve the objective
hardly at all. It is exact where S is everything. Where examples have several scores, and in
`CenterSpan`, it has one curvature per column, the mean: one eigendecomposition serves all columns,
and all steps with the same S. That costs less than an inverse per column and step, and takes
hardly more products, on noisy data fewer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

import mercer.tuning as tuning
from mercer._arrays import host
from mercer._config import get_config
from mercer._linalg import add_to_diagonal, definite_solver, dot, inverse_lower
from mercer.gram import Gram
from mercer.maps.centers import center_matrix, independent
from mercer.solvers.linear.nystrom import Centers
from mercer.solvers.linear.panels import Panels, panels_of

#: Directions, what ΦᵀΦ is in each of them, and Φᵀ1.
Modes = tuple[Any, Any, Any]
#: (residual of the coefficients, of the intercept) → an approximate solution of H z = r.
Precondition = Callable[[Any, Any], tuple[Any, Any]]


class Space(ABC):
    """Coordinates for f, as arrays of the place where `panels` are."""

    size: int
    #: aᵀa times this is what rounding may do to ⟨a, a⟩.
    rounding: float = 0.0
    #: Examples of which a preconditioner fits into the memory.
    most: int = 2**62
    #: Of every example; one of weight two counts as two of them.
    weights: Any = None

    def __init__(
        self, panels: Panels, size: int, rank: int | None, random: np.random.RandomState
    ) -> None:
        """The preconditioner knows at most `rank` examples at a time; None: what is affordable."""
        self.panels: Panels = panels
        self.rank: int | None = rank
        self.random: np.random.RandomState = random
        self.size = size
        self.asarray: Callable[..., Any] = panels.asarray
        self.zeros: Callable[..., Any] = panels.zeros

    @abstractmethod
    def evaluate(self, coef: Any) -> Any: ...

    @abstractmethod
    def gradient(self, g: Any) -> Any: ...

    @abstractmethod
    def inner(self, left: Any, right: Any, right_values: Any) -> float: ...

    @abstractmethod
    def preconditioner(self, diagonal: Any, alpha: float, intercept: bool) -> Precondition: ...

    @abstractmethod
    def expansion(self, coef: Any) -> Any:
        """The coefficients of k(xᵢ, ·) or k(cⱼ, ·)."""

    def most_curved(self, diagonal: Any) -> np.ndarray:
        """Where the objective is curved most; at random among equals."""
        curved = host(diagonal.sum(1))
        rank = self.rank
        if rank is None:
            rank = rank_for(self.panels.shape[0], diagonal.shape[1], self.panels.affordable)
            rank = min(rank, self.most)
        if rank >= len(curved):
            return np.arange(len(curved))
        curved = curved * (1.0 + 1e-6 * self.random.random_sample(len(curved)))
        return np.sort(np.argpartition(-curved, rank)[:rank])

    def by_example(self, F: Any, curves: Any, total: Any, alpha: float, intercept: bool) -> Any:
        """Solve [FᵀDF + αI, FᵀD1; 1ᵀDF, total] (q, b) = (r, rb) for one score, D = diag(curves)."""
        root = self.panels.xp.sqrt(curves)
        scaled = root[:, None] * F
        inner = scaled.T @ scaled
        rank = len(inner)
        add_to_diagonal(inner, alpha)
        if intercept:
            whole = self.zeros(rank + 1, rank + 1)
            whole[:rank, :rank] = inner
            whole[rank, :rank] = whole[:rank, rank] = root @ scaled
            total = max(float(total), float(curves.sum()))
            whole[rank, rank] = total * (1 + 1e-10) + 1e-300
            inner = whole
        solver, concat = definite_solver(inner), self.panels.xp.concat

        def solve(r: Any, rb: Any) -> tuple[Any, Any]:
            if not intercept:
                return solver(r), 0.0 * rb
            solved = solver(concat([r, rb[None]]))
            return solved[:-1], solved[-1]

        return solve

    def modes(self, F: Any, share: Any) -> Modes:
        """The eigenvectors of FᵀSF, its eigenvalues, and FᵀS1 in them, S = diag(share)."""
        shared = share * F
        sizes, U = self.panels.xp.linalg.eigh(shared.T @ F)
        return U, sizes, shared.sum(0) @ U

    def averaged(
        self, modes: Modes, mean: Any, total: Any, alpha: float, intercept: bool
    ) -> Precondition:
        """As `by_example`, with one curvature per column, the mean, in place of every example's.

        Then all columns share the directions in which the matrix is diagonal, and the border of
        the intercept, whose own entry is `total`, is one vector per column.
        """
        U, sizes, sums = modes
        mean = mean + 1e-300
        stiff = mean * sizes[:, None] + alpha
        border = mean * sums[:, None]
        across = border / stiff
        own = (total + 1e-300) * (1 + 1e-10) - (border * across).sum(0)

        def solve(r: Any, rb: Any) -> tuple[Any, Any]:
            solved, b = (U.T @ r) / stiff, 0.0 * rb
            if intercept:
                b = (rb - (border * solved).sum(0)) / own
                solved = solved - across * b
            return U @ solved, b

        return solve


class Span(Space):
    """All N examples; K is kept where it fits, and multiplied by tile by tile where it does not."""

    def __init__(
        self, gram: Gram, random: np.random.RandomState, rank: int | None = None, keep: float = 0.5
    ) -> None:
        super().__init__(panels_of(gram), gram.shape[0], rank, random)
        self.gram = gram
        self.limit: float = tuning.COPY_SHARE * gram.limit_bytes
        self.most: int = max(1, int((self.limit / (8 * tuning.PRECONDITIONER_MATRICES)) ** 0.5))
        #: S of the last step and its basis, which is the same where S is.
        self._basis: tuple[np.ndarray, tuple[Any, ...]] | None = None
        self.panels.keep(keep)

    def evaluate(self, coef: Any) -> Any:
        return self.panels.product(coef)

    def gradient(self, g: Any) -> Any:
        return g

    def inner(self, left: Any, right: Any, right_values: Any) -> float:
        return dot(left, right_values)

    def preconditioner(self, diagonal: Any, alpha: float, intercept: bool) -> Precondition:
        chosen = self.most_curved(diagonal)
        if self._basis is None or not np.array_equal(self._basis[0], chosen):
            self._basis = chosen, self._basis_of(chosen, diagonal.shape[1])
        at, rows, basis, F, modes = self._basis[1]
        curves = diagonal if len(F) == len(diagonal) else diagonal[self.asarray(chosen)]
        if curves.shape[1] == 1:
            solve = self.by_example(F, curves[:, 0], diagonal.sum(), alpha, intercept)
        else:
            total, weight = diagonal.sum(0), self._weights(chosen, F).sum()
            solve = self.averaged(modes, curves.sum(0) / weight, total, alpha, intercept)

        def precondition(r: Any, rb: Any) -> tuple[Any, Any]:
            # In an orthonormal basis of the span of S: solved there, r/α outside of it.
            inside = basis @ rows.product(r)
            solved, b = solve(inside, rb)
            z = r / alpha
            z[at] += basis.T @ (solved - inside / alpha)
            return z, b

        return precondition

    def _basis_of(self, chosen: np.ndarray, columns: int) -> tuple[Any, ...]:
        """The independent ones of S, their rows of K, what makes these an orthonormal basis, and
        the values of that basis on S."""
        kept, F = independent(center_matrix(self.gram, chosen), self.gram.dtype)
        pivots, basis = chosen[kept], inverse_lower(F[kept])
        rows = self.panels.take(pivots)
        tall = 8 * self.size * len(pivots)
        cheap = columns * self.size * len(pivots) ** 2 <= self.panels.affordable
        # F, the sums it comes from and a weighted copy, each per thread.
        if cheap and (1 + 2 * get_config().n_threads) * tall <= self.limit:
            # A kernel of low rank: take everything.
            F = rows.transposed_product(basis.T)
        modes = self.modes(F, self._weights(chosen, F)) if columns > 1 else None
        return self.asarray(pivots), rows, basis, F, modes

    def _weights(self, chosen: np.ndarray, F: Any) -> Any:
        """Of the examples that F has rows for, as a column."""
        if self.weights is None:
            return self.zeros(len(F), 1) + 1.0
        weights = self.weights if len(F) == self.size else self.weights[self.asarray(chosen)]
        return weights[:, None]

    @cached_property
    def rounding(self) -> float:  # type: ignore[override]
        """The error of aᵀKa relative to aᵀa: a value further below zero cannot be rounding."""
        trace = float(np.abs(self.gram.diagonal()).sum(dtype=np.float64))
        return 100 * float(np.finfo(self.gram.dtype).eps) * trace

    def expansion(self, coef: Any) -> Any:
        return coef


class CenterSpan(Space):
    """m centers; K_nm is kept where it fits."""

    def __init__(
        self,
        centers: Centers,
        random: np.random.RandomState,
        rank: int | None = None,
        keep: float = 0.5,
    ) -> None:
        kept, self.F = independent_centers(centers.penalty, centers.panels.dtype)
        super().__init__(centers.panels, len(kept), rank, random)
        self.centers = centers
        self.basis: Any = self.zeros(*self.F.shape)
        self.basis[self.asarray(kept)] = inverse_lower(self.F[kept]).T
        self.panels.keep(keep)

    def evaluate(self, coef: Any) -> Any:
        return self.panels.product(self.basis @ coef)

    def gradient(self, g: Any) -> Any:
        return self.basis.T @ self.panels.transposed_product(g)

    def inner(self, left: Any, right: Any, right_values: Any) -> float:
        return dot(left, right)

    @cached_property
    def _some(self) -> tuple[Any, Any]:
        """An orthonormal basis of the span of some centers, None for all, and its values there.

        k(s, ·) is row s of F.
        """
        n, m = self.panels.shape
        rank = rank_for(n, 1, self.panels.affordable) if self.rank is None else self.rank
        if rank >= m:
            return None, self.F
        chosen = self.asarray(np.sort(self.random.choice(m, rank, replace=False)))
        kept, F = independent(self.centers.penalty[chosen][:, chosen], np.dtype(np.float64))
        Q = inverse_lower(F[kept]) @ self.F[chosen[self.asarray(kept)]]
        return Q, self.F[chosen] @ Q.T

    @cached_property
    def _modes(self) -> Modes:
        """ΦᵀΦ in that basis by the values at these centers, each of which stands for as many
        examples."""
        F = self._some[1]
        return self.modes(F, self.panels.shape[0] / len(F))

    def preconditioner(self, diagonal: Any, alpha: float, intercept: bool) -> Precondition:
        return self.preconditioner_of_mean(diagonal.mean(0), alpha, intercept)

    def preconditioner_of_mean(self, mean: Any, alpha: float, intercept: bool) -> Precondition:
        Q, total = self._some[0], mean * self.panels.shape[0]
        solve = self.averaged(self._modes, mean, total, alpha, intercept)
        if Q is None:
            return solve

        def precondition(r: Any, rb: Any) -> tuple[Any, Any]:
            inside = Q @ r
            solved, b = solve(inside, rb)
            return r / alpha + Q.T @ (solved - inside / alpha), b  # r/α outside of their span

        return precondition

    def expansion(self, coef: Any) -> Any:
        return self.basis @ coef


def independent_centers(K: Any, dtype: np.dtype) -> tuple[np.ndarray, Any]:
    """Centers that span what all of them do, and F with FFᵀ = K; F[centers] is lower triangular.

    A direction in which columns of K have only rounding is no direction of the span.
    """
    kept, F = independent(K, dtype)
    rest = float(abs(K - F @ F.T).max()) if len(kept) < len(K) else 0.0
    if rest > tuning.INDEFINITE_SHARE * float(K.diagonal().max()):
        raise LinAlgError(
            "the kernel matrix of the centers has negative eigenvalues: this needs a positive "
            "semi-definite kernel (mercer.prove gives a counterexample)"
        )
    return kept, F


def rank_for(n: int, columns: int, affordable: float = Panels.affordable) -> int:
    """How many examples the preconditioner knows: 4 √N, at least 200, or what matrices may cost.

    With 10 √N of them, fits of 2000 to 8000 examples took 1.1 to 4 times as long.
    """
    most = (affordable / (2 * columns)) ** (1 / 3)
    return int(max(1, min(n, max(200, 4 * np.sqrt(n)), most)))
