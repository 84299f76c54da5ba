"""Rows of K by index, kept in a buffer or computed again: for solvers that need some of them.

Which loops are compiled and how rows are prepared is settled once for all of K, because the rows
that are asked for are too few to plan each set of them. `load` decides what the buffer keeps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import mercer.tuning as tuning
from mercer._arrays import is_sparse
from mercer._tiles import Scratch, Tiling, cut, sweep
from mercer.gram.fill import Filler
from mercer.gram.operand import Operand

if TYPE_CHECKING:
    from mercer.gram.host import HostGram


class RowsOfK:
    """k(xᵢ, xⱼ) between examples i and j of a Gram, counted among the chosen ones in their order.

    `examples`: which ones (all, if not given); rows and columns of a square Gram are the same ones.
    `threads`: how many compute a set of rows together. `computed`: how many rows were.

    >>> import numpy as np
    >>> from mercer import Linear
    >>> rows = Linear().gram(np.array([[1.0], [2.0], [3.0]])).rows_of_k(np.array([2, 0]))
    >>> rows.rows(np.array([0]))
    array([[9., 3.]])
    """

    def __init__(self, gram: HostGram, examples: Any = None, threads: int = 1) -> None:
        n = gram.shape[0]
        self.gram, self.dtype, self.threads = gram, gram.dtype, threads
        self.examples = np.arange(n) if examples is None else np.asarray(examples, dtype=np.intp)
        whole = len(self.examples) == n and bool((self.examples == np.arange(n)).all())
        # Without the raw rows: a solver copies only what the products read.
        self._x, z = (replace(operand, raw=None) for operand in gram.operands())
        self._z = z if whole else z.take(self.examples)
        self._filler = gram._tile_filler
        if self._filler.compiled is not None:
            for key in gram.program.direct:
                self._z.packed(key)  # now, before several threads ask for it at once
        self.diagonal = gram.diagonal()[self.examples]
        sources = gram.program.sources
        buffered = max(16, tuning.BUFFERED_ELEMENTS // max(1, self._z.n))
        alone = len(sources) == 1 and not gram.program.opaque
        self._height = tuning.PRODUCT_ROWS if alone else min(tuning.PRODUCT_ROWS, buffered)
        self.set_buffer(np.empty(0, dtype=self.dtype))

    def set_buffer(self, buffer: np.ndarray) -> None:
        """Keep rows in this flat array, as many as fit it, none of them yet."""
        n = self._z.n
        capacity = min(n, buffer.size // n)
        self._table = buffer[: capacity * n].reshape(capacity, n)
        # Where in the table a row is (−1: nowhere), and whose row it has in each place.
        self._slot, self._owner = np.full(n, -1, dtype=np.intp), np.empty(capacity, dtype=np.intp)
        self._used: int = 0
        self.computed: int = 0

    def _fill(self, x: Operand, z: Operand, columns: slice, out: Any, scratch: Scratch) -> None:
        """Write k of all rows of x and these rows of z into `out`."""
        of_k = self._filler
        Filler(of_k.program, x, z, of_k.compiled, of_k.swapped).fill(
            slice(0, x.n), columns, out, scratch
        )

    def rows(self, chosen: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """k between some examples and all columns, computed now."""
        n = self._z.n
        if out is None:
            out = np.empty((len(chosen), n), dtype=self.dtype)
        sparse = any(is_sparse(m) for m in self._z.matrices.values())

        def body(rows: slice, columns: slice, scratch: Scratch) -> None:
            side = self._x.take(self.examples[chosen[rows]])
            if not sparse:
                self._fill(side, self._z, columns, out[rows], scratch)
                return
            # Sparse columns become dense for the product: a few at a time.
            for part in cut(columns.start, columns.stop, tuning.ROW_TILE_COLUMNS):
                tile = scratch.get("rows", (side.n, part.stop - part.start), self.dtype)
                self._fill(side, self._z, part, tile, scratch)
                out[rows, part] = tile

        height = max(1, min(self._height, -(-len(chosen) // self.threads)))
        sweep(Tiling((len(chosen), n), (height, n), self.threads), body, "kernel rows")
        out[np.arange(len(chosen)), chosen] = self.diagonal[chosen]
        self.computed += len(chosen)
        return out

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """k between some examples and others: kept rows are read, the rest is computed."""
        from mercer.gram.cpu.loops import gather

        out = np.empty((len(rows), len(columns)), dtype=self.dtype)
        slots = self._slot[rows]
        kept, late = slots >= 0, rows[slots < 0]
        if kept.any():
            part = out if kept.all() else np.empty((int(kept.sum()), len(columns)), out.dtype)
            gather(self._table, slots[kept], columns, part)
            out[kept] = part
        if len(late):
            values = np.empty((len(late), len(columns)), dtype=self.dtype)
            x, z = self._x.take(self.examples[late]), self._z.take(columns)
            self._fill(x, z, slice(0, z.n), values, Scratch(0))
            same = late[:, None] == columns[None, :]
            values[same] = self.diagonal[late[np.nonzero(same)[0]]]
            out[~kept] = values
        return out

    def combine(self, coef: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Σᵢ cᵢ k(xᵢ, xⱼ) for every column j, in float64."""
        from mercer.gram.cpu.loops import add_rows

        slots, total = self._slot[rows], np.zeros(self._z.n)
        late = np.flatnonzero(slots < 0)
        for part in cut(0, len(late), tuning.PRODUCT_ROWS):
            some = late[part]
            self._add_computed(coef[some].astype(self.dtype), rows[some], total)
        self.computed += len(late)
        slots, weights = slots[slots >= 0], coef[slots >= 0]

        def body(columns: slice, _: slice, scratch: Scratch) -> None:
            add_rows(self._table, slots, weights, columns.start, total[columns])

        if len(slots):
            n = len(total)
            sweep(Tiling((n, 1), (-(-n // self.threads), 1), self.threads), body, "kernel rows")
        return total

    def _add_computed(self, coef: np.ndarray, rows: np.ndarray, total: np.ndarray) -> None:
        side = self._x.take(self.examples[rows])

        def body(columns: slice, _: slice, scratch: Scratch) -> None:
            tile = scratch.get("rows", (side.n, columns.stop - columns.start), self.dtype)
            self._fill(side, self._z, columns, tile, scratch)
            inside = np.flatnonzero((rows >= columns.start) & (rows < columns.stop))
            tile[inside, rows[inside] - columns.start] = self.diagonal[rows[inside]]
            total[columns] += coef @ tile

        # Threads share the columns, so that nothing has to be summed across them.
        width = min(tuning.ROW_TILE_COLUMNS, -(-len(total) // self.threads))
        sweep(Tiling((len(total), side.n), (width, side.n), self.threads), body, "kernel rows")

    def load(self, rows: np.ndarray, wanted: np.ndarray) -> None:
        """Keep these rows, computed in one batch, as far as they fit; `wanted` (a mask) stay."""
        new = rows[self._slot[rows] < 0]
        fresh = min(len(new), len(self._table) - self._used)
        if fresh:
            slots = np.arange(self._used, self._used + fresh)
            self.rows(new[:fresh], self._table[slots[0] : slots[-1] + 1])
            self._owner[slots], self._slot[new[:fresh]] = new[:fresh], slots
            self._used += fresh
        idle = np.flatnonzero(~wanted[self._owner[: self._used]])
        late, slots = new[fresh : fresh + len(idle)], idle[: len(new) - fresh]
        if len(late):
            self._slot[self._owner[slots]] = -1
            self._table[slots] = self.rows(late)
            self._owner[slots], self._slot[late] = late, slots
