"""K ≈ F Fᵀ from a few columns of K: what makes conjugate gradients converge in a few steps.

Both ways choose examples S and give F with F Fᵀ = K₍ₙₛ₎ K₍ₛₛ₎⁻¹ K₍ₛₙ₎, so that F Fᵀ = K on the rows
and columns of S: `nystrom` takes S at random; `by_residual` takes each next one where K − FFᵀ
is still large.
"""

from __future__ import annotations

import numpy as np

from mercer._arrays import host
from mercer._config import get_config
from mercer._linalg import solve_lower
from mercer.gram.base import Gram
from mercer.maps.centers import LowRank, center_matrix, independent, pivoted_cholesky
from mercer.solvers.linear import blas


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
        empty = np.zeros((gram.shape[0], 0), dtype=gram.dtype)
        return LowRank(empty, pivots, L)
    columns = gram.take(columns=pivots).dense()
    F = solve_lower(L.astype(gram.dtype), columns.T).T
    return LowRank(np.ascontiguousarray(F), pivots, L)


def by_residual(gram: Gram, rank: int, random: np.random.RandomState) -> LowRank:
    """S grows in blocks, drawn with probability proportional to the diagonal of K − FFᵀ."""

    def pick(rest: np.ndarray, size: int) -> np.ndarray:
        return random.choice(len(rest), size=size, p=rest / rest.sum())

    return pivoted_cholesky(gram, rank, pick, max(1, min(64, rank // 8)))


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


CHOICES = {"nystrom": nystrom, "cholesky": by_residual}
