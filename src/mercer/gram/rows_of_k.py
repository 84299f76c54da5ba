"""Rows of K, kept or recomputed: for solvers that learn only as they go which entries they need.

`RowsOfK` gives rows and blocks of K, and products with them, from any thread. What can be settled
beforehand (which loops are compiled, how rows are prepared) is settled once for all of K, because
the pieces that are asked for are many and too small to plan each of them.

- A quadratic solver asks for rows by number. `with_room` keeps the rows that it loads.
- A solver that passes over K again and again keeps all of it where it fits: `keep`.
- An online learner appends columns as it chooses examples (`growing`), and multiplies panels of
  rows with slices of them: ``rows.take(rows=…)`` and ``.take(columns=…)`` are views.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import mercer.tuning as tuning
from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer._tiles import Scratch, Tiling, cut, sweep
from mercer.gram.fill import Filler
from mercer.gram.operand import GrowingOperand, Operand

if TYPE_CHECKING:
    from mercer.gram.host import HostGram


class RowsOfK:
    """k(xᵢ, xⱼ) between examples i and j of a Gram, counted among the chosen ones in their order.

    `examples`: which ones (all, if not given); rows and columns of a square Gram are the same ones.
    `threads`: how many compute a set of rows together.

    >>> import numpy as np
    >>> from mercer import Linear
    >>> rows = Linear().gram(np.array([[1.0], [2.0], [3.0]])).rows_of_k(np.array([2, 0]))
    >>> rows.rows(np.array([0]))
    array([[9., 3.]])
    """

    def __init__(self, gram: HostGram, examples: Any = None, threads: int = 1) -> None:
        n = gram.shape[0]
        self.gram, self.dtype, self.threads = gram, gram.dtype, threads
        self.examples: np.ndarray = (
            np.arange(n) if examples is None else np.asarray(examples, dtype=np.intp)
        )
        whole = len(self.examples) == n and bool((self.examples == np.arange(n)).all())
        # Without the raw rows: a solver copies only what the products read.
        self._x, z = (replace(side, raw=None) for side in (gram._x, gram._z))
        self._compiled = gram._tile_filler.compiled
        self._list: GrowingOperand | None = None
        self._z = self._packed(z if whole else z.take(self.examples))
        self._diagonal: np.ndarray | None = None
        self._table = np.empty((0, self._z.n), dtype=self.dtype)
        self._slot: np.ndarray | None = None  # where in the table a row is; −1: nowhere
        self.kept: np.ndarray | None = None  # all rows, if all are kept
        self.computed: int = 0
        self.scratch: Scratch = Scratch(0)
        sources = gram.program.sources
        #: Whether a black box is called, which may not bear several threads at once.
        self.opaque: bool = any(source.kind == "opaque" for source in sources)
        alone = len(sources) == 1 and not self.opaque
        self._height = (
            tuning.PRODUCT_ROWS
            if alone
            else min(tuning.PRODUCT_ROWS, max(16, tuning.BUFFERED_ELEMENTS // max(1, self._z.n)))
        )

    @classmethod
    def growing(cls, gram: HostGram) -> RowsOfK:
        """All rows of the Gram, and no columns yet."""
        rows = cls(gram)
        rows._list = GrowingOperand(replace(gram._z, raw=None))
        return rows

    def _packed(self, z: Operand) -> Operand:
        if self._compiled is not None:
            for source in self.gram.program.sources:
                if source.kind == "direct":
                    z.packed(source.rows)  # now, before several threads ask for it at once
        return z

    def _engine(self, x: Operand, z: Operand) -> Filler:
        return Filler(self.gram.program, x, z, self._compiled, self.gram._swapped)

    # --- which rows and columns --------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.examples), self._z.n if self._list is None else self._list.n

    @property
    def diagonal(self) -> np.ndarray:
        """k(x, x) of the chosen examples."""
        if self._diagonal is None:
            self._diagonal = self.gram.diagonal()[self.examples]
        return self._diagonal

    def among(self, chosen: np.ndarray) -> RowsOfK:
        """Rows of K between some of the examples."""
        return RowsOfK(self.gram, self.examples[chosen], self.threads)

    def take(self, rows: Any = None, columns: slice | None = None) -> RowsOfK:
        """Some rows, by slice (nothing is copied) or indices, and a slice of the columns.

        Columns that are appended later do not touch the slice. Diagonal entries are as computed.
        """
        part = object.__new__(RowsOfK)
        part.__dict__.update(self.__dict__)
        if rows is not None:
            part._x, part.examples = self._x.take(rows), self.examples[rows]
        if columns is not None:
            listed = self._list
            part._z = part._packed((listed.view if listed is not None else self._z.take)(columns))
            part._list = None
        return part

    def append(self, examples: Any) -> None:
        """More columns, of a list that grows."""
        assert self._list is not None
        self._list.append(np.atleast_1d(examples))

    def forget(self, first: int) -> None:
        """Drop the columns before `first`."""
        assert self._list is not None
        self._list.forget(first)

    # --- entries -----------------------------------------------------------------------------

    def rows(self, chosen: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """k between some examples and all columns, computed now."""
        n = self._z.n
        if out is None:
            out = np.empty((len(chosen), n), dtype=self.dtype)
        sparse = any(is_sparse(m) for m in self._z.matrices.values())

        def body(rows: slice, columns: slice, scratch: Scratch) -> None:
            side = self._x.take(self.examples[chosen[rows]])
            engine, all_rows = self._engine(side, self._z), slice(0, side.n)
            if not sparse:
                engine.fill(all_rows, columns, out[rows], scratch)
                return
            # Sparse columns become dense for the product: a few at a time.
            for part in cut(columns.start, columns.stop, tuning.ROW_TILE_COLUMNS):
                tile = scratch.get("rows", (side.n, part.stop - part.start), self.dtype)
                engine.fill(all_rows, part, tile, scratch)
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
        slots, kept = self._kept(rows)
        if kept.all():
            gather(self._table, slots, columns, out)
            return out
        if kept.any():
            part = np.empty((int(kept.sum()), len(columns)), dtype=out.dtype)
            gather(self._table, slots[kept], columns, part)
            out[kept] = part
        rest = rows[~kept]
        values = np.empty((len(rest), len(columns)), dtype=self.dtype)
        engine = self._engine(self._x.take(self.examples[rest]), self._z.take(columns))
        engine.fill(slice(0, len(rest)), slice(0, len(columns)), values, Scratch(0))
        same = rest[:, None] == columns[None, :]
        values[same] = self.diagonal[rest[np.nonzero(same)[0]]]
        out[~kept] = values
        return out

    def combine(self, coef: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Σᵢ cᵢ k(xᵢ, xⱼ) for every column j, in float64."""
        from mercer.gram.cpu.loops import add_rows

        slots, kept = self._kept(rows)
        total = np.zeros(self._z.n)
        if not kept.all():
            late, weights = rows[~kept], np.ascontiguousarray(coef[~kept], dtype=self.dtype)
            for part in cut(0, len(late), tuning.PRODUCT_ROWS):
                self._add_computed(weights[part], late[part], total)
            self.computed += len(late)
        slots, weights = slots[kept], coef[kept]

        def body(columns: slice, _: slice, scratch: Scratch) -> None:
            add_rows(self._table, slots, weights, columns.start, total[columns])

        if len(slots):
            n = len(total)
            tiling = Tiling((n, 1), (-(-n // self.threads), 1), self.threads)
            sweep(tiling, body, "kernel rows")
        return total

    def _add_computed(self, coef: np.ndarray, rows: np.ndarray, total: np.ndarray) -> None:
        side = self._x.take(self.examples[rows])
        engine = self._engine(side, self._z)

        def body(columns: slice, _: slice, scratch: Scratch) -> None:
            tile = scratch.get("rows", (side.n, columns.stop - columns.start), self.dtype)
            engine.fill(slice(0, side.n), columns, tile, scratch)
            inside = np.flatnonzero((rows >= columns.start) & (rows < columns.stop))
            tile[inside, rows[inside] - columns.start] = self.diagonal[rows[inside]]
            total[columns] += coef @ tile

        # Threads share the columns, so that nothing has to be summed across them.
        width = min(tuning.ROW_TILE_COLUMNS, -(-len(total) // self.threads))
        sweep(Tiling((len(total), side.n), (width, side.n), self.threads), body, "kernel rows")

    # --- panels of rows ----------------------------------------------------------------------

    def fill(self, rows: slice, out: np.ndarray, scratch: Scratch | None = None) -> np.ndarray:
        """Write a slice of rows against all columns into `out`, on the calling thread.

        Several threads may ask at once if each brings a `scratch` of its own.
        """
        engine = self._engine(self._x, self._z)
        engine.fill(rows, slice(0, self._z.n), out, self.scratch if scratch is None else scratch)
        return out

    def square(self, rows: slice, scratch: Scratch) -> np.ndarray:
        """A slice of rows against the same examples as columns, in scratch memory."""
        z = self._packed(self._z.take(self.examples[rows]))
        out = scratch.get("square", (z.n, z.n), self.dtype)
        self._engine(self._x, z).fill(rows, slice(0, z.n), out, scratch)
        return out

    def panel(self, rows: slice, scratch: Scratch) -> np.ndarray:
        """A slice of rows against all columns: from what is kept, or computed in scratch memory."""
        if self.kept is not None:
            return self.kept[rows]
        shape = (rows.stop - rows.start, self._z.n)
        return self.fill(rows, scratch.get("panel", shape, self.dtype), scratch)

    def product(
        self, V: np.ndarray, rows: slice | None = None, scratch: Scratch | None = None
    ) -> np.ndarray:
        """K V by all threads; with `rows`, only for these, and on the calling thread alone."""
        if rows is None:
            return np.asarray(self.gram @ V if self.kept is None else self.kept @ V)
        memory = self.scratch if scratch is None else scratch
        V = np.ascontiguousarray(V, dtype=self.dtype)
        result = np.zeros((rows.stop - rows.start, V.shape[1]), dtype=self.dtype)
        engine = self._engine(self._x, self._z)
        if (
            engine.compiled is not None
            and engine.program.fused
            and V.shape[1] <= tuning.FUSED_COLUMNS
        ):
            # All in one compiled loop: no tile exists.
            engine.compiled.multiply(self._x, self._z, rows, np.ascontiguousarray(V.T), result)
            return result

        def body(part: slice, columns: slice, _: Scratch) -> None:
            here = slice(rows.start + part.start, rows.start + part.stop)
            shape = (part.stop - part.start, columns.stop - columns.start)
            # From a scratch that outlives this product: fresh memory is slow at first touch.
            tile = memory.get("result", shape, self.dtype)
            engine.fill(here, columns, tile, memory)
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

    # --- what is kept ------------------------------------------------------------------------

    def keep(self, share: float = 0.5) -> bool:
        """Hold all of the Gram, if that takes no more than a share of the memory limit."""
        n, m = self.gram.shape
        fits = n * m * self.dtype.itemsize <= share * self.gram.limit_bytes
        if self.kept is None and fits:
            self.kept = self._table = self.gram.dense()
            self._slot = np.arange(n)
        return self.kept is not None

    def with_room(self, room: np.ndarray) -> RowsOfK:
        """These rows with a flat `buffer` for as many of them as fit it; `load` decides which."""
        part = self.take()
        n = self._z.n
        capacity = min(n, room.size // n)
        part._table = room[: capacity * n].reshape(capacity, n)
        part._slot, part._owner = np.full(n, -1, dtype=np.intp), np.empty(capacity, dtype=np.intp)
        part._used = part.computed = 0
        return part

    def load(self, rows: np.ndarray, wanted: np.ndarray) -> None:
        """Keep these rows, computed in one batch, as far as they fit; `wanted` (a mask) stay."""
        assert self._slot is not None
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

    _used: int
    _owner: np.ndarray

    def _kept(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The slots of these rows in the table, and a mask of those that are there."""
        slots = np.full(len(rows), -1) if self._slot is None else self._slot[rows]
        return slots, slots >= 0
