"""K[W, W] of the working set of a decomposition, compact and padded for SMO."""

from __future__ import annotations

import numpy as np

from mercer.gram.rows_of_k import RowsOfK
from mercer.solvers.quadratic.problem import Quadratic
from mercer.solvers.quadratic.smo import LANES


class Workspace:
    """Memory of one thread, used again for every problem it solves: first touch is what costs."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._buffers: dict[str, np.ndarray] = {}

    def get(self, name: str, size: int, dtype: np.dtype) -> np.ndarray:
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            # Pages that are never touched cost nothing, so asking for all at once is no waste.
            buffer = self._buffers[name] = np.empty(size, dtype=dtype)
        return buffer[:size]


class Block:
    """K[W, W], compact and padded for SMO; rows are appended, and dropped in bulk."""

    def __init__(self, kernel: RowsOfK, workspace: Workspace, most: int) -> None:
        self._kernel, self._workspace, self._most = kernel, workspace, most
        self._size = 0
        self.K = np.empty((0, 0), dtype=kernel.dtype)
        self.rows = np.empty(0, dtype=np.intp)

    def __len__(self) -> int:
        return len(self.rows)

    def append(self, rows: np.ndarray) -> None:
        m, total = len(self.rows), len(self.rows) + len(rows)
        self._grow(total)
        self.rows = np.concatenate([self.rows, rows])
        new = self._kernel.block(rows, self.rows)
        self.K[m:total, :total] = new
        self.K[:m, m:total] = new[:, :m].T

    def keep(self, stay: np.ndarray) -> None:
        index = np.flatnonzero(stay)
        m = len(index)
        # Row by row in place: a row never moves down.
        for to, row in enumerate(index):
            self.K[to, :m] = self.K[row, index]
        self.rows = self.rows[index]

    def state(
        self, problem: Quadratic, a: np.ndarray, image: np.ndarray, groups: list[np.ndarray]
    ) -> tuple[np.ndarray, ...]:
        """What `smo` takes."""
        rows, m, sides = self.rows, len(self.rows), len(a)
        padded = -(-m // LANES) * LANES
        self._grow(padded)
        self.K[:m, m:padded] = 0
        f = np.zeros((sides, padded))
        f[:, :m] = image[rows] + problem.linear[:, rows]
        diagonal = np.ones(padded)
        diagonal[:m] = self._kernel.diagonal[rows]
        values, lower, upper = a[:, rows], problem.lower[:, rows], problem.upper[:, rows]
        up = np.full((len(groups), sides, padded), -np.inf)
        low = up.copy()
        for g, members in enumerate(groups):
            up[g, :, :m][members[:, rows] & (values < upper)] = 0
            low[g, :, :m][members[:, rows] & (values > lower)] = 0
        return self.K, diagonal, f, values, lower, upper, up, low

    def _grow(self, size: int) -> None:
        if size <= self._size:
            return
        m = len(self.rows)
        old = self.K[:m, :m].copy() if m else None
        room = min(max(size, 3 * size // 2, 8 * LANES), max(size, self._most))
        self._size = -(-room // LANES) * LANES
        flat = self._workspace.get("block", self._size**2, self._kernel.dtype)
        self.K = flat.reshape(self._size, self._size)
        if old is not None:
            self.K[:m, :m] = old
