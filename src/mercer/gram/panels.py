"""Rows of K by position: for solvers that ask for a few rows of a large K at a time.

A decomposition method learns only as it goes which rows it needs. `RowPanels` gives any of them
against a fixed set of columns, by one matrix product, from any thread: nothing is planned or
prepared again, and it has no state of its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer._arrays import is_sparse
from mercer._tiles import Scratch, Tiling, cut, sweep
from mercer.gram.cpu.engine import NumpyEngine
from mercer.gram.host import HostGram
from mercer.gram.rows.prepared import Side

#: Rows of a panel: fewer run at half the rate, more gain nothing.
HEIGHT = 1024
#: Elements of a panel of a kernel of several parts.
ROOM = 1 << 22
#: Columns of a tile that is multiplied and forgotten: with HEIGHT rows it stays near the cache.
WIDTH = 1024


class RowPanels:
    """k(xᵢ, xⱼ) for any rows i and the chosen columns j of a square Gram.

    Rows and columns are counted among the chosen ones, in their order.

    >>> import numpy as np
    >>> from mercer import Linear
    >>> panels = RowPanels(Linear().gram(np.array([[1.0], [2.0], [3.0]])), np.array([2, 0]))
    >>> panels.rows(np.array([0]))
    array([[9., 3.]])
    """

    def __init__(self, gram: HostGram, columns: np.ndarray | None = None) -> None:
        n = gram.shape[0]
        self.gram = gram
        self.columns = np.arange(n) if columns is None else np.asarray(columns, dtype=np.intp)
        self.n = len(self.columns)
        self.dtype = gram.dtype
        everything = self.n == n and bool((self.columns == np.arange(n)).all())
        self.diagonal = gram.diagonal()[self.columns]
        # Without the raw rows: a solver copies only what the products read.
        self._left, right = replace(gram._x, raw=None), replace(gram._z, raw=None)
        self._side = right if everything else right.take(self.columns)
        self._sparse = any(is_sparse(m) for m in self._side.matrices.values())
        sources = gram.program.sources
        alone = len(sources) == 1 and sources[0].kind != "opaque"
        # A kernel of several parts, or a black box, needs more room for each of its pairs.
        self._height = HEIGHT if alone else min(HEIGHT, max(16, ROOM // max(1, self.n)))
        self._compiled = gram._tile_engine.compiled
        if self._compiled is not None:
            for source in sources:
                if source.kind == "direct":
                    self._side.packed(source.rows)  # now, before several threads ask for it

    def take(self, chosen: np.ndarray) -> RowPanels:
        """The same over some of the columns."""
        return RowPanels(self.gram, self.columns[chosen])

    def rows(
        self, chosen: np.ndarray, out: np.ndarray | None = None, threads: int = 1
    ) -> np.ndarray:
        """k between some rows and all columns."""
        if out is None:
            out = np.empty((len(chosen), self.n), dtype=self.dtype)

        def body(rows: slice, columns: slice, scratch: Scratch) -> None:
            side = self._left.take(self.columns[chosen[rows]])
            engine, all_rows = self._engine(side), slice(0, side.n)
            if not self._sparse:
                engine.fill(all_rows, columns, out[rows], scratch)
                return
            # Sparse columns become dense for the product: a few at a time.
            for part in cut(columns.start, columns.stop, WIDTH):
                tile = scratch.get("rows", (side.n, part.stop - part.start), self.dtype)
                engine.fill(all_rows, part, tile, scratch)
                out[rows, part] = tile

        height = max(1, min(self._height, -(-len(chosen) // threads)))
        sweep(Tiling((len(chosen), self.n), (height, self.n), threads), body, "kernel rows")
        out[np.arange(len(chosen)), chosen] = self.diagonal[chosen]
        return out

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """k between some rows and some columns."""
        out = np.empty((len(rows), len(columns)), dtype=self.dtype)
        left = self._left.take(self.columns[rows])
        right, compiled = self._side.take(columns), self._compiled
        engine = NumpyEngine(self.gram.program, left, right, compiled, self.gram._swapped)
        engine.fill(slice(0, len(rows)), slice(0, len(columns)), out, Scratch(0))
        same = rows[:, None] == columns[None, :]
        out[same] = self.diagonal[rows[np.nonzero(same)[0]]]
        return out

    def combine(self, coef: np.ndarray, rows: np.ndarray, threads: int = 1) -> np.ndarray:
        """Σᵢ cᵢ k(xᵢ, xⱼ) for every column j; no row is kept."""
        coef = np.ascontiguousarray(coef, dtype=self.dtype)
        result = np.zeros(self.n)
        for part in cut(0, len(rows), HEIGHT):
            self._add(coef[part], rows[part], result, threads)
        return result

    def _add(self, coef: np.ndarray, rows: np.ndarray, result: np.ndarray, threads: int) -> None:
        side = self._left.take(self.columns[rows])

        def body(columns: slice, _: slice, scratch: Scratch) -> None:
            tile = scratch.get("rows", (side.n, columns.stop - columns.start), self.dtype)
            self._engine(side).fill(slice(0, side.n), columns, tile, scratch)
            inside = np.flatnonzero((rows >= columns.start) & (rows < columns.stop))
            tile[inside, rows[inside] - columns.start] = self.diagonal[rows[inside]]
            result[columns] += coef @ tile

        # Threads share the columns, so that nothing has to be summed across them.
        width = min(WIDTH, -(-self.n // threads))
        sweep(Tiling((self.n, side.n), (width, side.n), threads), body, "kernel rows")

    def _engine(self, side: Side) -> NumpyEngine:
        program, swapped = self.gram.program, self.gram._swapped
        return NumpyEngine(program, side, self._side, self._compiled, swapped)
