"""SKS + λI = LLᵀ on a GPU, in one N×N array, and what ridge regression asks of it.

Blocks of columns: a small Cholesky on the diagonal, a triangular solve below it, and one product
for everything to the right. So nearly all the work is matrix products, and no second array exists.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from scipy.linalg import LinAlgError

from mercer._arrays import host
from mercer._config import show_bytes
from mercer._tiles import cut
from mercer.engines.cuda.gram import CudaGram
from mercer.engines.cuda.memory import room_for
from mercer.solvers.linear.factor import Factor, warn_condition, warn_indefinite
from mercer.tuning import CORRECTIONS, FEW_DIGITS

#: Columns of a block.
FACTOR_COLUMNS = 4096
#: The residual of a corrected solution that is good enough.
GOOD = 1e-7
#: A residual that is worth a word.
ROUGH = 1e-3


def cholesky_in_place(A: torch.Tensor, block: int = FACTOR_COLUMNS) -> bool:
    """L in the lower triangle of A; False, with A spoiled, where A is not positive definite."""
    n = len(A)
    for part in cut(0, n, block):
        corner, stop = A[part, part], part.stop
        L, info = torch.linalg.cholesky_ex(corner)
        if int(info):
            return False
        corner.copy_(L)
        if stop == n:
            break
        below = A[stop:, part]
        below.copy_(torch.linalg.solve_triangular(L.mT, below, upper=True, left=False))
        for j in range(stop, n, block):
            rows = below[j - stop :]
            A[j:, j : j + block].addmm_(rows, rows[:block].T, alpha=-1.0)
    return True


def solve_lower(
    L: torch.Tensor, B: torch.Tensor, block: int = FACTOR_COLUMNS, first: int = 0
) -> None:
    """L⁻¹B in place of B; rows of B before `first` are zero."""
    for rows in cut(first, len(L), block):
        before = slice(first, rows.start)
        if rows.start > first:
            B[rows] -= L[rows, before] @ B[before]
        B[rows] = torch.linalg.solve_triangular(L[rows, rows], B[rows], upper=False)


def solve_upper(L: torch.Tensor, B: torch.Tensor, block: int = FACTOR_COLUMNS) -> None:
    """L⁻ᵀB in place of B."""
    for rows in reversed(list(cut(0, len(L), block))):
        if rows.stop < len(L):
            B[rows] -= L[rows.stop :, rows].T @ B[rows.stop :]
        B[rows] = torch.linalg.solve_triangular(L[rows, rows].mT, B[rows], upper=True)


def columns_of_identity(like: torch.Tensor) -> Iterator[tuple[slice, torch.Tensor]]:
    """Blocks of columns of an identity matrix with the shape of another matrix."""
    for part in cut(0, len(like), FACTOR_COLUMNS):
        columns = torch.zeros_like(like[:, part])
        columns[part].fill_diagonal_(1.0)
        yield part, columns


class DeviceShifted:
    """SKS + λI for one λ after the other: what `Shifted` of `solvers.linear.factor` is here."""

    def __init__(self, gram: CudaGram, scale: np.ndarray | None = None, once: bool = False) -> None:
        self.gram = gram
        self.scale = None if scale is None else torch.as_tensor(scale, device=gram.device)

    def factor(self, alpha: float) -> Factor:
        """Solve by Cholesky, in double precision if single is too coarse; by LU if K is not PSD."""
        with room_for(self.gram.points()):
            return self._factor(alpha)

    def _factor(self, alpha: float) -> Factor:
        A = self._matrix(alpha)
        if cholesky_in_place(A):
            return DeviceFactor(self, alpha, A)
        del A
        need = 8 * self.gram.shape[0] ** 2
        if self.gram.torch_dtype != torch.float64 and need <= self.gram.limit_bytes:
            A = self._matrix(alpha, double=True)
            if cholesky_in_place(A):
                return DeviceFactor(self, alpha, A)
            del A
        if 2 * need > self.gram.limit_bytes:
            raise LinAlgError(
                f"K + λI with λ = {alpha:g} is not positive definite. Raise alpha, or take "
                f"solver='cg', which copes with any symmetric K (LU does, too, but needs "
                f"{show_bytes(2 * need)} on the device)."
            )
        warn_indefinite(self.gram)
        return DeviceLU(self._matrix(alpha, double=True))

    def _matrix(self, alpha: float, double: bool = False) -> torch.Tensor:
        rows = slice(0, self.gram.shape[0])
        A = self.gram.in_double() if double else self.gram.tensor(rows, rows)
        if self.scale is not None:
            s = self.scale.to(A.dtype)
            A *= s[:, None]
            A *= s[None, :]
        A.diagonal().add_(alpha)
        return A

    def times(self, V: torch.Tensor, alpha: float) -> torch.Tensor:
        """(SKS + λI)V, K anew from the data: in the residual its rounding must not be the same."""
        s = None if self.scale is None else self.scale[:, None]
        product = self.gram.product((V if s is None else s * V).to(self.gram.torch_dtype))
        return (product.double() if s is None else s * product.double()) + alpha * V


class DeviceFactor:
    """(SKS + λI)⁻¹ as an operator on the host's arrays."""

    def __init__(self, of: DeviceShifted, alpha: float, L: torch.Tensor) -> None:
        self._of, self._alpha, self._L = of, alpha, L

    def solve(self, B: np.ndarray) -> np.ndarray:
        """Solved, and corrected by the residual while that helps."""
        right = torch.as_tensor(np.asarray(B, dtype=np.float64), device=self._L.device)
        flat = right.reshape(len(right), -1)
        X = self._once(flat)
        size = flat.norm(dim=0).clamp_min(torch.finfo(torch.float64).tiny)
        best, kept = float("inf"), X
        for _ in range(CORRECTIONS):
            residual = flat - self._of.times(X, self._alpha)
            worst = float((residual.norm(dim=0) / size).max())
            if not worst < 0.5 * best:
                break
            best, kept = worst, X
            if worst <= GOOD:
                break
            X = X + self._once(residual)
        else:
            kept = X
        self._say(best)
        return host(kept.reshape(right.shape))  # type: ignore[no-any-return]

    def _once(self, B: torch.Tensor) -> torch.Tensor:
        X = B.to(self._L.dtype)
        X = X.clone() if X.data_ptr() == B.data_ptr() else X
        solve_lower(self._L, X)
        solve_upper(self._L, X)
        return X.double()

    def _say(self, residual: float) -> None:
        """A large residual: K + λI has too few digits, which duplicated rows and a tiny λ do."""
        if residual <= ROUGH:
            return
        corners = self._L.diagonal().double().square()
        condition = float(corners.max() / corners.min())
        if condition * torch.finfo(self._L.dtype).eps > FEW_DIGITS:
            warn_condition(condition, self._alpha, f"; the relative residual is {residual:.1e}")

    def inverse_diagonal(self) -> np.ndarray:
        """Column sums of squares of L⁻¹, a block of columns at a time."""
        L = self._L
        total = torch.empty(len(L), dtype=torch.float64, device=L.device)
        for part, columns in columns_of_identity(L):
            solve_lower(L, columns, first=part.start)
            total[part] = columns.double().square().sum(0)
        return host(total)  # type: ignore[no-any-return]


class DeviceLU:
    """The inverse of a symmetric matrix that is not positive definite."""

    def __init__(self, A: torch.Tensor) -> None:
        self._factors = torch.linalg.lu_factor(A)

    def solve(self, B: np.ndarray) -> np.ndarray:
        LU, pivots = self._factors
        right = torch.as_tensor(np.asarray(B, dtype=np.float64), device=LU.device)
        flat = right.reshape(len(right), -1)
        return host(torch.linalg.lu_solve(LU, pivots, flat).reshape(right.shape))  # type: ignore[no-any-return]

    def inverse_diagonal(self) -> np.ndarray:
        LU, pivots = self._factors
        total = torch.empty(len(LU), dtype=LU.dtype, device=LU.device)
        for part, columns in columns_of_identity(LU):
            total[part] = torch.linalg.lu_solve(LU, pivots, columns)[part].diagonal()
        return host(total)  # type: ignore[no-any-return]
