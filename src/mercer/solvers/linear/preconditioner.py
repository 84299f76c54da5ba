"""K ≈ F Fᵀ from a few columns of K: what makes conjugate gradients converge in a few steps.

Both ways choose examples S and give F with F Fᵀ = K₍ₙₛ₎ K₍ₛₛ₎⁻¹ K₍ₛₙ₎, so that F Fᵀ = K on the rows
and columns of S: `nystrom` takes S at random; `pivoted_cholesky` takes each next one where K − FFᵀ
is still large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import _linalg
from mercer._arrays import host
from mercer._config import get_config
from mercer._linalg import solve_lower
from mercer.gram.base import Gram
from mercer.solvers.linear import blas
from mercer.solvers.linear.nystrom import center_matrix


@dataclass(frozen=True)
class LowRank:
    """`F` (N, r), the examples `pivots` it was made from, and L = F[pivots], lower triangular."""

    F: np.ndarray
    pivots: np.ndarray
    L: np.ndarray


def default_rank(n: int, itemsize: int) -> int:
    """10 √N columns, at most what a fifth of the memory limit holds."""
    room = int(0.2 * get_config().memory_bytes / (2 * itemsize * n))
    return max(1, min(n, round(10 * np.sqrt(n)), room))


def nystrom(gram: Gram, rank: int, random: np.random.RandomState) -> LowRank:
    """S a uniform sample."""
    n = gram.shape[0]
    pivots = np.arange(n) if rank >= n else np.sort(random.permutation(n)[:rank])
    return from_columns(gram, pivots)


def from_columns(gram: Gram, pivots: np.ndarray) -> LowRank:
    """F = K₍ₙₛ₎ L⁻ᵀ with LLᵀ = K₍ₛₛ₎; columns that add nothing but rounding are dropped."""
    kept, F = independent(host(center_matrix(gram, pivots)), gram.dtype)
    pivots, L = pivots[kept], F[kept]
    if not len(pivots):  # zero or negative on all of them: nothing to go by
        return LowRank(np.zeros((gram.shape[0], 0), dtype=gram.dtype), pivots, L)
    columns = gram.take(columns=pivots).dense()
    F = solve_lower(L.astype(gram.dtype), columns.T).T
    return LowRank(np.ascontiguousarray(F), pivots, L)


def independent(K: Any, dtype: np.dtype) -> tuple[np.ndarray, Any]:
    """Rows of K that Cholesky can go through, and F with FFᵀ = K; F[rows] is lower triangular."""
    # Generous: L⁻¹ is multiplied by, and a direction left out costs an iteration at most.
    least = 1e-12 if dtype == np.float64 else 1e-5
    largest = float(K.diagonal().max()) if len(K) else 0.0
    return _linalg.independent(K, least * max(0.0, largest))


def pivoted_cholesky(gram: Gram, rank: int, random: np.random.RandomState) -> LowRank:
    """S grows in blocks, drawn with probability proportional to the diagonal of K − FFᵀ."""
    n = gram.shape[0]
    block = max(1, min(64, rank // 8))
    rest = np.maximum(gram.diagonal().astype(np.float64), 0.0)
    enough = 1e-10 * rest.sum()
    F = np.empty((n, min(rank, n)), dtype=gram.dtype)
    pivots = np.empty(0, dtype=np.intp)
    while len(pivots) < F.shape[1] and rest.sum() > enough:
        size = min(block, F.shape[1] - len(pivots))
        draws = random.choice(n, size=size, p=rest / rest.sum())
        drawn = np.setdiff1d(draws, pivots)
        done = F[:, : len(pivots)]
        small = host(center_matrix(gram, drawn)) - (done[drawn] @ done[drawn].T)
        kept, made = independent(small, gram.dtype)
        if not len(kept):
            rest[drawn] = 0.0
            continue
        new = drawn[kept]
        columns = gram.take(columns=new).dense() - done @ done[new].T
        added = solve_lower(made[kept].astype(gram.dtype), columns.T).T
        F[:, len(pivots) : len(pivots) + len(new)] = added
        pivots = np.concatenate([pivots, new])
        rest = np.maximum(rest - np.square(added, dtype=np.float64).sum(axis=1), 0.0)
        rest[drawn] = 0.0
    F = np.ascontiguousarray(F[:, : len(pivots)])
    return LowRank(F, pivots, np.tril(F[pivots].astype(np.float64)))


class Woodbury:
    """(SFFᵀS + λI)⁻¹ for any λ: σ² + λ in the span of SF, λ outside it."""

    def __init__(self, low_rank: LowRank, scale: np.ndarray | None = None) -> None:
        F = low_rank.F if scale is None else scale[:, None].astype(low_rank.F.dtype) * low_rank.F
        squares, V = np.linalg.eigh((F.T @ F).astype(np.float64))
        good = squares > squares.max(initial=0.0) * 10 * len(V) * np.finfo(F.dtype).eps
        self.squares = squares[good]
        self.U = F @ (V[:, good] / np.sqrt(self.squares)).astype(F.dtype)

    def solve(self, B: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """One λ for each column of B."""
        inside = blas.transposed_times(self.U, B)
        change = 1.0 / (self.squares[:, None] + shifts) - 1.0 / shifts
        return B / shifts + blas.times(self.U, change * inside)


CHOICES = {"nystrom": nystrom, "cholesky": pivoted_cholesky}
