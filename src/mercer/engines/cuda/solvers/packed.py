"""Both triangular factors of the preconditioner of ridge by centers, in one float32 matrix.

With K_mm = LLᵀ the normal equations K_nmᵀWK_nm + λK_mm are about L (c LᵀL + λI) Lᵀ = L RᵀR Lᵀ,
where c = Σw/m. L is written below the diagonal of one m×m array, R above it; only the diagonal
blocks of R stand apart. That is 4 m² bytes, an eighth of what double precision takes, so 100 000
centers fit a device. Rounding, and the jitter that it needs, make the factors slightly wrong. The
solution is not, since conjugate gradients multiply by the equations themselves; but where λ/c is
below the jitter, the directions between the two take more iterations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from scipy.linalg import LinAlgError

from mercer._tiles import cut
from mercer.engines.cuda.gram import CudaGram
from mercer.engines.cuda.solvers.cholesky import BLOCK, cholesky_in_place, solve_lower, solve_upper

#: Jitter relative to the mean of the diagonal, in units of ε √m, tried one after the other.
JITTERS = (4.0, 64.0, 1024.0)


def bytes_needed(m: int) -> int:
    """The array, the diagonal blocks of R, and the columns that a step of factorizing copies."""
    return 4 * m * m + 4 * 4 * m * min(m, BLOCK)


class PackedFactors:
    """L and R for `weight` = c and `alpha` = λ; `solve` applies (L RᵀR Lᵀ)⁻¹."""

    def __init__(self, gram: Any, positions: np.ndarray, weight: float, alpha: float) -> None:
        points = torch.as_tensor(gram.points(positions), device=gram.device)
        self.small = CudaGram(gram.kernel, points)
        m = len(positions)
        for jitter in JITTERS:
            A = self.small.tensor()
            size = float(A.diagonal().mean()) or 1.0
            A.diagonal().add_(jitter * torch.finfo(A.dtype).eps * math.sqrt(m) * size)
            if cholesky_in_place(A):
                corners = _gram_above(A, weight, alpha)
                if _cholesky_above(A, corners):
                    self.A, self.corners = A, corners
                    return
            del A
        raise LinAlgError(
            f"the kernel matrix of {m} centers is not positive definite in single precision: take "
            "fewer centers, raise alpha, or use a positive semi-definite kernel"
        )

    def kernel_product(self, V: torch.Tensor) -> torch.Tensor:
        """K_mm V."""
        return self.small.product(V.to(self.small.torch_dtype)).double()

    def solve(self, V: torch.Tensor) -> torch.Tensor:
        B = V.to(self.A.dtype, copy=True)
        solve_lower(self.A, B)
        self._solve_above(B)
        solve_upper(self.A, B)
        return B.double()

    def _solve_above(self, B: torch.Tensor) -> None:
        """(RᵀR)⁻¹B in place of B: forward with Rᵀ, backward with R."""
        A, blocks = self.A, list(cut(0, len(self.A), BLOCK))
        for rows, corner in zip(blocks, self.corners, strict=True):
            above = slice(0, rows.start)
            B[rows] -= A[above, rows].T @ B[above]
            B[rows] = torch.linalg.solve_triangular(corner.T, B[rows], upper=False)
        for rows, corner in zip(reversed(blocks), reversed(self.corners), strict=True):
            right = slice(rows.stop, len(A))
            B[rows] -= A[rows, right] @ B[right]
            B[rows] = torch.linalg.solve_triangular(corner, B[rows], upper=True)


def _gram_above(A: torch.Tensor, weight: float, alpha: float) -> list[torch.Tensor]:
    """c LᵀL + λI above the diagonal, L being below it; its diagonal blocks are given back."""
    corners = []
    for columns in cut(0, len(A), BLOCK):
        # Entry (i, j) with i < j is a sum over the rows from j on: those of L above are zero.
        below = A[columns.start :, columns]
        A[: columns.start, columns].addmm_(
            A[columns.start :, : columns.start].T, below, beta=0.0, alpha=weight
        )
        corner = weight * (below.T @ below)
        corner.diagonal().add_(alpha)
        corners.append(corner)
    return corners


def _cholesky_above(A: torch.Tensor, corners: list[torch.Tensor]) -> bool:
    """R with RᵀR = S in place of S, whose blocks above the diagonal are in A."""
    blocks = list(cut(0, len(A), BLOCK))
    for k, rows in enumerate(blocks):
        L, info = torch.linalg.cholesky_ex(corners[k])
        if int(info):
            return False
        corners[k] = L.T.contiguous()
        right = A[rows, rows.stop :]
        if not right.shape[1]:
            break
        right.copy_(torch.linalg.solve_triangular(L, right, upper=False))
        for j in range(k + 1, len(blocks)):
            columns = A[rows, blocks[j]]
            A[rows.stop : blocks[j].start, blocks[j]].addmm_(
                A[rows, rows.stop : blocks[j].start].T, columns, alpha=-1.0
            )
            corners[j].addmm_(columns.T, columns, alpha=-1.0)
    return True
