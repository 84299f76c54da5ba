"""K + λI on a GPU for the evidence of a Gaussian process: α, log|A| and W = ½(ααᵀ − TA⁻¹).

One N×N array in double precision holds K, then L, then L⁻¹, then A⁻¹ = L⁻ᵀL⁻¹, then W. Blocks of
rows and columns make nearly all the work matrix products, N³ multiplications and additions in all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mercer._arrays import host
from mercer._linalg import mirror
from mercer._tiles import cut
from mercer.engines.cuda.memory import room_for
from mercer.engines.cuda.solvers.cholesky import (
    FACTOR_COLUMNS,
    cholesky_in_place,
    solve_lower,
    solve_upper,
)


def factorized(
    gram: Any, y: np.ndarray, noise: float, slopes: bool, scale: np.ndarray | None
) -> tuple[np.ndarray | None, float, Any]:
    """The result of `mercer.solvers.evidence.exact`'s function of this name, W as a tensor."""
    with room_for(gram.points()):
        A = gram.in_double()
        if scale is not None:
            s = torch.as_tensor(scale, device=A.device)
            A *= s[:, None]
            A *= s
        A.diagonal().add_(noise)
        if not cholesky_in_place(A):
            return None, 0.0, None
        alpha = torch.as_tensor(y, device=A.device).clone()
        solve_lower(A, alpha)
        solve_upper(A, alpha)
        logdet = 2.0 * float(A.diagonal().log().sum())
        if slopes:
            invert_lower(A)
            squares_of_inverse(A)
            A *= -0.5 * y.shape[1]
            A.addmm_(alpha, alpha.T, alpha=0.5)
            mirror(A.T, FACTOR_COLUMNS)
    return host(alpha), logdet, A if slopes else None


def invert_lower(L: torch.Tensor, block: int = FACTOR_COLUMNS) -> None:
    """L⁻¹ in the lower triangle in place of L, from the last block of columns to the first.

    Of a block of columns, (L⁻¹)₂₁ = −(L⁻¹)₂₂ L₂₁ (L₁₁)⁻¹, where (L⁻¹)₂₂ is there already.
    """
    for part in reversed(list(cut(0, len(L), block))):
        corner, stop = L[part, part], part.stop
        one = torch.eye(len(corner), dtype=L.dtype, device=L.device)
        inverse = torch.linalg.solve_triangular(corner, one, upper=False)
        corner.copy_(inverse)
        below = L[stop:, part] @ inverse
        for rows in cut(stop, len(L), block):
            L[rows, part] = -(L[rows, stop : rows.stop] @ below[: rows.stop - stop])


def squares_of_inverse(L: torch.Tensor, block: int = FACTOR_COLUMNS) -> None:
    """LᵀL, its lower triangle, in place of L: a block of rows needs only itself and those below."""
    for part in cut(0, len(L), block):
        L[part, : part.stop] = L[part.start :, part].T @ L[part.start :, : part.stop]
