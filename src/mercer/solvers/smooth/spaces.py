"""Where f lives: in all of the span of the examples, or of m centers.

An element is a pair (coefficients, intercept). A space evaluates it at the examples, gives the
coefficients of a gradient, an inner product, and a preconditioner for the Newton system

    H = Φᵀ W Φ + α,   W the curvature of the loss, one block per example

`Span`: f = Σ aᵢ k(xᵢ, ·), ⟨a, a'⟩ = aᵀKa'. A gradient g in the scores has coefficients g: nothing
is solved for, and the product K a that the inner product needs is the evaluation itself.
`CenterSpan`: f = Σ βⱼ k(cⱼ, ·) in coordinates q = Lᵀβ, LLᵀ = K_mm, where the inner product is qᵀq.

The preconditioner of `Span` is H with the diagonal of W on the examples S where the loss is curved
most, and 0 on all others: most examples of a fitted model are certain, and curve the objective
hardly at all. It is exact where S is everything and examples have one score. That of `CenterSpan`
has one curvature per column, the mean: one eigendecomposition serves all columns and steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from mercer._arrays import host, is_tensor
from mercer._config import get_config
from mercer._linalg import add_to_diagonal, dot, inverse_lower
from mercer._tiles import Scratch, Tiling, sweep
from mercer.gram.base import Gram
from mercer.maps.centers import center_matrix, independent
from mercer.solvers.linear.nystrom import Centers
from mercer.solvers.linear.panels import Panels, panels_of
from mercer.solvers.linear.primal import lower_factor

#: The share of the memory limit that a preconditioner may take; products take most of the rest.
SHARE = 1 / 8
#: Matrices of the rank of a preconditioner that are there at once, in float64.
SQUARES = 8
#: An eigendecomposition takes about as long as this many products and inverses of its size.
MODES = 4

#: (residual of the coefficients, of the intercept) → an approximate solution of H z = r.
Precondition = Callable[[Any, Any], tuple[Any, Any]]


class Space(ABC):
    """Coordinates for f, as arrays of the place where `panels` are."""

    size: int
    #: aᵀa times this is what rounding may do to ⟨a, a⟩.
    rounding: float = 0.0
    #: Examples of which a preconditioner fits into the memory.
    most: int = 2**62

    def __init__(
        self, panels: Panels, size: int, rank: int | None, random: np.random.RandomState
    ) -> None:
        """The preconditioner knows at most `rank` examples at a time; None: what is affordable."""
        self.panels, self.size, self.rank, self.random = panels, size, rank, random
        self.asarray, self.zeros = panels.asarray, panels.zeros

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

    def bordered(self, F: Any, own: Any, total: Any, alpha: float, intercept: bool) -> Precondition:
        """Solve [FᵀDF + αI, FᵀD1; 1ᵀDF, ΣD] (q, b) = (r, rb) per column, D = diag(own).

        ΣD is taken over all examples: `total`.
        """
        xp, rank = self.panels.xp, F.shape[1]
        size = rank + intercept
        totals = host(total), host(own.sum(0))
        inverses: list[Any] = [None] * own.shape[1]

        def invert(columns: slice, _: slice, scratch: Scratch) -> None:
            """A column per thread: small matrices gain nothing from a BLAS of several."""
            c = columns.start
            root = xp.sqrt(own[:, c])
            scaled = root[:, None] * F
            inner = self.zeros(size, size)
            inner[:rank, :rank] = scaled.T @ scaled
            add_to_diagonal(inner, alpha)
            if intercept:
                inner[rank, :rank] = inner[:rank, rank] = root @ scaled
                inner[rank, rank] = max(totals[0][c], totals[1][c]) * (1 + 1e-10) + 1e-300
            inverses[c] = xp.linalg.inv(inner)

        threads = get_config().n_threads if not is_tensor(F) and F.size >= 10_000 else 1
        sweep(Tiling((len(inverses), 1), (1, 1), threads), invert, "preconditioner")
        together = xp.stack(inverses)

        def solve(r: Any, rb: Any) -> tuple[Any, Any]:
            right = xp.concat([r, rb[None]]) if intercept else r
            solved = xp.matmul(together, right.T[:, :, None])[:, :, 0].T
            return (solved[:-1], solved[-1]) if intercept else (solved, 0.0 * rb)

        return solve


class Span(Space):
    """All N examples; K is kept where it fits, and multiplied by tile by tile where it does not."""

    def __init__(
        self, gram: Gram, random: np.random.RandomState, rank: int | None = None, keep: float = 0.5
    ) -> None:
        super().__init__(panels_of(gram), gram.shape[0], rank, random)
        self.gram = gram
        self.room = SHARE * gram.limit_bytes
        self.most = max(1, int((self.room / (8 * SQUARES)) ** 0.5))
        self.panels.keep(keep)

    def evaluate(self, coef: Any) -> Any:
        return self.panels.product(coef)

    def gradient(self, g: Any) -> Any:
        return g

    def inner(self, left: Any, right: Any, right_values: Any) -> float:
        return dot(left, right_values)

    def preconditioner(self, diagonal: Any, alpha: float, intercept: bool) -> Precondition:
        chosen = self.most_curved(diagonal)
        kept, F = independent(center_matrix(self.gram, chosen), self.gram.dtype)
        pivots, basis = chosen[kept], inverse_lower(F[kept])
        rows, at = self.panels.take(pivots), self.asarray(pivots)
        own = diagonal[self.asarray(chosen)]
        columns, tall = diagonal.shape[1], 8 * self.size * len(pivots)
        cheap = columns * self.size * len(pivots) ** 2 <= self.panels.affordable
        # F, the sums it comes from and a weighted copy, each per thread.
        if cheap and (1 + 2 * get_config().n_threads) * tall <= self.room:
            # A kernel of low rank: take everything.
            F, own = rows.transposed_product(basis.T), diagonal
        solve = self.bordered(F, own, diagonal.sum(0), alpha, intercept)

        def precondition(r: Any, rb: Any) -> tuple[Any, Any]:
            # In an orthonormal basis of the span of S: solved there, r/α outside of it.
            inside = basis @ rows.product(r)
            solved, b = solve(inside, rb)
            z = r / alpha
            z[at] += basis.T @ (solved - inside / alpha)
            return z, b

        return precondition

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
        super().__init__(centers.panels, centers.panels.shape[1], rank, random)
        self.centers = centers
        self.L = lower_factor(centers.penalty)
        self.basis = inverse_lower(self.L).T
        self.panels.keep(keep)

    def evaluate(self, coef: Any) -> Any:
        return self.panels.product(self.basis @ coef)

    def gradient(self, g: Any) -> Any:
        return self.basis.T @ self.panels.transposed_product(g)

    def inner(self, left: Any, right: Any, right_values: Any) -> float:
        return dot(left, right)

    @cached_property
    def _modes(self) -> tuple[Any, Any, Any]:
        """Directions in which ΦᵀΦ is about diagonal, that diagonal, and Φᵀ1.

        By the values at some of the centers, each of which stands for as many examples. k(s, ·) is
        row s of L.
        """
        xp, (n, m) = self.panels.xp, self.panels.shape
        rank = rank_for(n, MODES, self.panels.affordable) if self.rank is None else self.rank
        if rank >= m:
            Q, F = None, self.L
        else:
            chosen = self.asarray(np.sort(self.random.choice(m, rank, replace=False)))
            kept, F = independent(self.centers.penalty[chosen][:, chosen], np.dtype(np.float64))
            Q = inverse_lower(F[kept]) @ self.L[chosen[self.asarray(kept)]]
            F = self.L[chosen] @ Q.T
        share = n / len(F)
        sizes, U = xp.linalg.eigh(share * (F.T @ F))
        return U if Q is None else Q.T @ U, sizes, share * (F.sum(0) @ U)

    def preconditioner(self, diagonal: Any, alpha: float, intercept: bool) -> Precondition:
        return self.preconditioner_of_mean(diagonal.mean(0), alpha, intercept)

    def preconditioner_of_mean(self, mean: Any, alpha: float, intercept: bool) -> Precondition:
        """H with the mean curvature of each column in place of every example's.

        Then all columns and all steps share the directions in which it is diagonal, and the border
        of the intercept is one vector per column.
        """
        U, sizes, sums = self._modes
        mean = mean + 1e-300
        stiff = mean * sizes[:, None] + alpha
        border = mean * sums[:, None]
        across = border / stiff
        own = mean * self.panels.shape[0] * (1 + 1e-10) - (border * across).sum(0)

        def precondition(r: Any, rb: Any) -> tuple[Any, Any]:
            inside = U.T @ r
            solved, b = inside / stiff, 0.0 * rb
            if intercept:
                b = (rb - (border * solved).sum(0)) / own
                solved = solved - across * b
            if U.shape[1] == self.size:
                return U @ solved, b
            return r / alpha + U @ (solved - inside / alpha), b  # r/α outside of their span

        return precondition

    def expansion(self, coef: Any) -> Any:
        return self.basis @ coef


def rank_for(n: int, columns: int, affordable: float = Panels.affordable) -> int:
    """How many examples the preconditioner knows: 10 √N, or what its matrices may cost."""
    most = (affordable / (2 * columns)) ** (1 / 3)
    return int(max(1, min(n, max(200, 10 * np.sqrt(n)), most)))
