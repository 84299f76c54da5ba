"""Rows of K that a decomposition has asked for, and the compact K[W, W] cut from them."""

from __future__ import annotations

import numpy as np

from mercer._tiles import Scratch, Tiling, sweep
from mercer.gram.panels import RowPanels
from mercer.solvers.quadratic.problem import Quadratic
from mercer.solvers.quadratic.row_loops import add_rows, gather
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


class RowCache:
    """k(xᵢ, ·) for the rows asked for so far; those that do not fit are computed when needed."""

    def __init__(self, panels: RowPanels, room: np.ndarray, threads: int) -> None:
        self._panels, self._threads = panels, threads
        n = panels.n
        self._capacity = min(n, room.size // n)
        self._table = room[: self._capacity * n].reshape(self._capacity, n)
        self._slot = np.full(n, -1, dtype=np.intp)
        self._owner = np.empty(self._capacity, dtype=np.intp)
        self._used = 0
        self.computed = 0

    def load(self, rows: np.ndarray, wanted: np.ndarray) -> None:
        """Bring rows in, in one batch, as far as there is room; `wanted` (a mask) stay."""
        new = rows[self._slot[rows] < 0]
        fresh = min(len(new), self._capacity - self._used)
        if fresh:
            place = slice(self._used, self._used + fresh)
            self._panels.rows(new[:fresh], self._table[place], self._threads)
            self._place(new[:fresh], np.arange(place.start, place.stop))
            self._used += fresh
        idle = np.flatnonzero(~wanted[self._owner[: self._used]])
        late, slots = new[fresh : fresh + len(idle)], idle[: len(new) - fresh]
        if len(late):
            self._slot[self._owner[slots]] = -1
            self._table[slots] = self._panels.rows(late, threads=self._threads)
            self._place(late, slots)

    def _place(self, rows: np.ndarray, slots: np.ndarray) -> None:
        self._owner[slots], self._slot[rows] = rows, slots
        self.computed += len(rows)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """k between some rows and some columns."""
        out = np.empty((len(rows), len(columns)), dtype=self._panels.dtype)
        slots = self._slot[rows]
        kept = slots >= 0
        if kept.all():
            gather(self._table, slots, columns, out)
        else:
            part = np.empty((int(kept.sum()), len(columns)), dtype=out.dtype)
            gather(self._table, slots[kept], columns, part)
            out[kept] = part
            out[~kept] = self._panels.block(rows[~kept], columns)
        return out

    def combine(self, coef: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Σᵢ cᵢ k(xᵢ, ·) over all columns."""
        slots = self._slot[rows]
        kept = slots >= 0
        n, threads = self._panels.n, self._threads
        if kept.all():
            total = np.zeros(n)
        else:
            total = self._panels.combine(coef[~kept], rows[~kept], threads)
            self.computed += int((~kept).sum())
        slots, weights = slots[kept], coef[kept]

        def body(columns: slice, _: slice, scratch: Scratch) -> None:
            add_rows(self._table, slots, weights, columns.start, total[columns])

        if len(slots):
            sweep(Tiling((n, 1), (-(-n // threads), 1), threads), body, "kernel rows")
        return total


class Block:
    """K[W, W], compact and padded for SMO; rows are appended, and dropped in bulk."""

    def __init__(self, panels: RowPanels, workspace: Workspace, most: int) -> None:
        self._panels, self._workspace, self._most = panels, workspace, most
        self._size = 0
        self.K = np.empty((0, 0), dtype=panels.dtype)
        self.rows = np.empty(0, dtype=np.intp)

    def __len__(self) -> int:
        return len(self.rows)

    def append(self, rows: np.ndarray, cache: RowCache) -> None:
        m, total = len(self.rows), len(self.rows) + len(rows)
        self._grow(total)
        self.rows = np.concatenate([self.rows, rows])
        new = cache.block(rows, self.rows)
        self.K[m:total, :total] = new
        self.K[:m, m:total] = new[:, :m].T

    def keep(self, stay: np.ndarray) -> None:
        places = np.flatnonzero(stay)
        m = len(places)
        # Row by row in place: a place never lies before the one it moves to.
        for to, place in enumerate(places):
            self.K[to, :m] = self.K[place, places]
        self.rows = self.rows[places]

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
        diagonal[:m] = self._panels.diagonal[rows]
        mine, lower, upper = a[:, rows], problem.lower[:, rows], problem.upper[:, rows]
        up = np.full((len(groups), sides, padded), -np.inf)
        low = up.copy()
        for g, members in enumerate(groups):
            up[g, :, :m][members[:, rows] & (mine < upper)] = 0
            low[g, :, :m][members[:, rows] & (mine > lower)] = 0
        return self.K, diagonal, f, mine, lower, upper, up, low

    def _grow(self, size: int) -> None:
        if size <= self._size:
            return
        m = len(self.rows)
        old = self.K[:m, :m].copy() if m else None
        room = min(max(size, 3 * size // 2, 8 * LANES), max(size, self._most))
        self._size = -(-room // LANES) * LANES
        flat = self._workspace.get("block", self._size**2, self._panels.dtype)
        self.K = flat.reshape(self._size, self._size)
        if old is not None:
            self.K[:m, :m] = old
