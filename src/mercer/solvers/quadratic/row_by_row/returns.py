"""F of rows that return to a problem: Σ δ_c k(x_c, x_t) more, for what has changed since they left.

Between the two only some variables have moved, and only some rows were away: a block of K that is
far smaller than the rows of K of all support vectors. It is made in pieces that stay in the cache.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING

import numpy as np

from mercer._config import get_config
from mercer._machine.threads import run_threads
from mercer.gram.rows.prepared import BLOCK, TOGETHER

if TYPE_CHECKING:
    from mercer.solvers.quadratic.row_by_row.worker import Worker

#: Entries of K that are made before they are added up, and rows of it at most.
ENTRIES, PIECE = 1 << 18, 16 * TOGETHER
#: Entries of the block from which threads share it.
SHARED = 1 << 20
_ROWS = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6)


def images(
    worker: Worker, rows: np.ndarray, moved: np.ndarray, by: np.ndarray, place: np.ndarray
) -> np.ndarray:
    """Σ by_c k(x_c, x_t) over c in `moved`, for every t in `rows`: examples by their numbers.

    `place`: where each of `moved` is in `rows`, or −1.
    """
    if not len(moved):
        return np.zeros(len(rows))
    if worker.source.K is not None:
        block = worker.source.K[rows[:, None], moved].astype(np.float64, copy=False)
        return np.asarray(block @ by)
    return _Block(worker, rows, moved, by, place).sums()


class _Block:
    """The columns `rows` of K as its row function reads them; pieces of rows go to the table."""

    def __init__(
        self,
        worker: Worker,
        rows: np.ndarray,
        moved: np.ndarray,
        by: np.ndarray,
        place: np.ndarray,
    ) -> None:
        self.worker, self.rows, self.moved, self.by, self.place = worker, rows, moved, by, place
        self.stride = -(-len(rows) // BLOCK) * BLOCK
        right = worker.right
        padded = np.zeros(self.stride, dtype=np.intp)
        padded[: len(rows)] = rows
        shape = self.stride // BLOCK, right.shape[1], BLOCK
        self.Z = worker.Z[: self.stride * right.shape[1]].reshape(shape)
        for panel in range(len(self.Z)):
            self.Z[panel] = right[padded[panel * BLOCK : (panel + 1) * BLOCK]].T

    def sums(self) -> np.ndarray:
        threads = get_config().n_threads if len(self.moved) * self.stride >= SHARED else 1
        room = len(self.worker.table) // self.stride
        threads = max(1, min(threads, len(self.moved) // PIECE, room))
        tables = np.array_split(self.worker.table, threads)
        parts = np.array_split(np.arange(len(self.moved)), threads)
        found = np.zeros((threads, self.stride))

        def add(thread: int) -> None:
            self._add(parts[thread], tables[thread], found[thread])

        run_threads(add, threads, threading.Event())
        return np.asarray(found.sum(axis=0)[: len(self.rows)])

    def _add(self, part: np.ndarray, table: np.ndarray, total: np.ndarray) -> None:
        given, stride = self.worker.source.function, self.stride
        few = TOGETHER if len(table) >= TOGETHER * stride else 1
        piece = min(PIECE, max(min(ENTRIES, len(table)) // (few * stride), 1) * few)
        shape, calls = self.worker.shape.copy(), -(-len(part) // few)
        shape[0] = stride
        # Per call: how many rows, where each begins in x, and where in the table.
        chosen = np.zeros((calls, 1 + 2 * TOGETHER), dtype=np.int64)
        each = np.minimum(np.arange(calls * few), len(part) - 1).reshape(calls, few)
        chosen[:, 0] = np.minimum(few, len(part) - few * np.arange(calls))
        chosen[:, 1 : 1 + few] = self.moved[part[each]] * given.left.shape[1]
        chosen[:, 1 + TOGETHER : 1 + TOGETHER + few] = each % piece * stride
        make, arrays = _ROWS(given.address), (given.numbers, given.left, self.Z, shape, table)
        places = [array.ctypes.data for array in arrays]
        at = iter(range(chosen.ctypes.data, chosen.ctypes.data + chosen.nbytes, chosen.strides[0]))
        for start in range(0, len(part), piece):
            some = part[start : start + piece]
            for _ in range(0, len(some), few):
                make(*places, next(at))
            block = table[: len(some) * stride].reshape(len(some), stride)
            # As in the rows that steps read, the diagonal of K has all its digits.
            on = np.flatnonzero(self.place[some] >= 0)
            block[on, self.place[some[on]]] = self.worker.source.diagonal[self.moved[some[on]]]
            total += self.by[some] @ block.astype(np.float64, copy=False)
