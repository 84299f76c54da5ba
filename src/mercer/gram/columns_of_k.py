"""Columns of K that are appended as a learner chooses examples, on the road of a Gram.

An online learner multiplies panels of rows with slices of the columns, from several threads. What
can be settled beforehand (which loops are compiled, how rows are prepared) is settled once for all
of K, because the pieces that are asked for are many and too small to plan each of them.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import mercer.tuning as tuning
from mercer._config import get_config
from mercer._tiles import Scratch, Tiling, sweep
from mercer.gram.fill import Filler
from mercer.gram.operand import GrowingOperand, Operand

if TYPE_CHECKING:
    from mercer.gram.host import HostGram


class ColumnsOfK:
    """k(xᵢ, xⱼ) between all examples i of a Gram and those j that were appended, in their order.

    >>> import numpy as np
    >>> from mercer import Linear
    >>> columns = Linear().gram(np.array([[1.0], [2.0], [3.0]])).columns_of_k()
    >>> columns.append([2, 0])
    >>> columns.take(columns=slice(0, 2)).fill(slice(0, 3), np.empty((3, 2)))
    array([[3., 1.],
           [6., 2.],
           [9., 3.]])
    """

    def __init__(self, gram: HostGram) -> None:
        self.gram, self.dtype, self.scratch = gram, gram.dtype, Scratch(0)
        self._examples = np.arange(gram.shape[0])
        # Without the raw rows: a solver copies only what the products read.
        self._x, self._z = (replace(side, raw=None) for side in (gram._x, gram._z))
        self._compiled = gram._tile_filler.compiled
        self._packed(self._z)
        self._list: GrowingOperand | None = GrowingOperand(self._z)
        #: Whether a black box is called, which may not bear several threads at once.
        self.opaque = any(source.kind == "opaque" for source in gram.program.sources)

    def _packed(self, z: Operand) -> Operand:
        if self._compiled is not None:
            for source in self.gram.program.sources:
                if source.kind == "direct":
                    z.packed(source.rows)  # now, before several threads ask for it at once
        return z

    def _filler(self, x: Operand, z: Operand) -> Filler:
        return Filler(self.gram.program, x, z, self._compiled, self.gram._swapped)

    @property
    def count(self) -> int:
        """The number of columns."""
        return self._z.n if self._list is None else self._list.n

    def take(self, rows: Any = None, columns: slice | None = None) -> ColumnsOfK:
        """Return some rows, by slice (nothing is copied) or indices, and a slice of the columns.

        Columns that are appended later do not touch the slice. Diagonal entries are as computed.
        """
        part = copy(self)
        if rows is not None:
            part._x, part._examples = self._x.take(rows), self._examples[rows]
        if columns is not None:
            listed = self._list
            part._z = self._packed((listed.view if listed is not None else self._z.take)(columns))
            part._list = None
        return part

    def append(self, examples: Any) -> None:
        """Append the columns of these examples."""
        assert self._list is not None
        self._list.append(np.atleast_1d(examples))

    def forget(self, first: int) -> None:
        """Drop the columns before `first`."""
        assert self._list is not None
        self._list.forget(first)

    def fill(self, rows: slice, out: np.ndarray) -> np.ndarray:
        """Write a slice of rows against all columns into `out`, on the calling thread."""
        self._filler(self._x, self._z).fill(rows, slice(0, self._z.n), out, self.scratch)
        return out

    def square(self, rows: slice, scratch: Scratch) -> np.ndarray:
        """Compute a slice of rows against the same examples as columns, in scratch memory."""
        z = self._packed(replace(self.gram._z, raw=None).take(self._examples[rows]))
        out = scratch.get("square", (z.n, z.n), self.dtype)
        self._filler(self._x, z).fill(rows, slice(0, z.n), out, scratch)
        return out

    def product(self, V: np.ndarray, rows: slice, memory: Scratch) -> np.ndarray:
        """K V for a slice of the rows, on the calling thread."""
        V = np.ascontiguousarray(V, dtype=self.dtype)
        result = np.zeros((rows.stop - rows.start, V.shape[1]), dtype=self.dtype)
        filler = self._filler(self._x, self._z)
        if (
            filler.compiled is not None
            and filler.program.fused
            and V.shape[1] <= tuning.FUSED_COLUMNS
        ):
            # All in one compiled loop: no tile exists.
            filler.compiled.multiply(self._x, self._z, rows, np.ascontiguousarray(V.T), result)
            return result

        def body(part: slice, columns: slice, _: Scratch) -> None:
            here = slice(rows.start + part.start, rows.start + part.stop)
            shape = (part.stop - part.start, columns.stop - columns.start)
            # From a scratch that outlives this product: fresh memory is slow at first touch.
            tile = memory.get("result", shape, self.dtype)
            filler.fill(here, columns, tile, memory)
            result[part] += tile @ V[columns]

        sweep(self._tiling(len(result), len(V)), body, "kernel times matrix")
        return result

    def _tiling(self, n: int, m: int) -> Tiling:
        """Tiles of a product on one thread, within the memory limit."""
        settings, sources = get_config(), self.gram.program.sources
        per_pair = self.dtype.itemsize * (1 + len(sources))
        per_pair += sum(s.node.value[0].bytes_per_pair() for s in sources if s.kind == "opaque")
        room = min(tuning.SCRATCH_BYTES, settings.memory_bytes // (4 * settings.n_threads))
        height = max(1, min(tuning.PRODUCT_ROWS, n))
        while height > 16 and room < height * min(m, 64) * per_pair:
            height //= 2
        width = max(1, min(m, int(room / (height * per_pair))))
        return Tiling((n, m), (height, width), 1)
