"""Walking K: panels of rows against a list of columns that grows, for learners that go in order.

An online learner meets the rows one after the other, and the columns of K it needs are those of the
examples it has chosen so far. The chosen rows are copied side by side, so that K between a panel
and any stretch of the list is one matrix product. Such products are many and small, so that what
can be settled beforehand is settled once for the whole walk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer._tiles import Scratch, Tiling, sweep
from mercer.gram.cpu.engine import NumpyEngine
from mercer.gram.host import HostGram
from mercer.gram.plan.planner import PRODUCT_ROWS, SCRATCH, cost
from mercer.gram.rows.prepared import GrowingSide, Side


class Walk:
    """The list of columns: `append` positions, and `rows` gives panels to walk along."""

    def __init__(self, gram: HostGram) -> None:
        self.gram = gram
        self._list = GrowingSide(gram._z)
        # Without the raw rows: a walk copies only what the products read.
        self._rows = replace(gram._x, raw=None)
        # Loops are compiled, or not, for the whole matrix: its tiles are too small to tell.
        self.compiled = gram._tile_engine.compiled
        self.scratch = Scratch(0)
        settings = get_config()
        opaque = [s.node.value[0] for s in gram.program.sources if s.kind == "opaque"]
        # A black box may not bear to be called from several threads at once.
        self.threads = 1 if opaque else settings.n_threads
        self.flops = cost(gram.program.sources, gram.program.epilogue, (1, 1), gram._widths()).flops
        self._per_pair = gram.dtype.itemsize * (1 + len(gram.program.sources))
        self._per_pair += sum(leaf.bytes_per_pair() for leaf in opaque)
        self._room = min(SCRATCH, settings.memory_bytes // (4 * self.threads))

    def __len__(self) -> int:
        return self._list.n

    def append(self, positions: Any) -> None:
        self._list.append(np.atleast_1d(positions))

    def stretch(self, columns: slice) -> Side:
        """Some of the columns; what is appended later does not touch them."""
        side = self._list.view(columns)
        if self.compiled is not None:
            for source in self.gram.program.sources:
                if source.kind == "direct":
                    side.packed(source.rows)  # now, before several threads ask for it at once
        return side

    def rows(self, index: Any) -> Panel:
        """Some rows, by slice (nothing is copied) or positions."""
        return Panel(self, self._rows.take(index))

    def forget(self, first: int) -> None:
        """Let the list start at what was its column `first`."""
        left = self._list.positions[first:].copy()
        self._list = GrowingSide(self.gram._z)
        if len(left):
            self._list.append(left)

    def tiling(self, n: int, m: int) -> Tiling:
        """Tiles of a panel within the memory limit, for one thread."""
        height = max(1, min(PRODUCT_ROWS, n))
        while height > 16 and self._room < height * min(m, 64) * self._per_pair:
            height //= 2
        width = max(1, min(m, int(self._room / (height * self._per_pair))))
        return Tiling((n, m), (height, width), 1)


@dataclass(frozen=True)
class Panel:
    """A few rows of K, to be multiplied with stretches of the list."""

    walk: Walk
    x: Side

    def column(self, rows: slice, column: int, out: np.ndarray) -> np.ndarray:
        """k between some rows of the panel and one entry of the list, into `out` (n, 1)."""
        engine = self._engine(self.walk.stretch(slice(column, column + 1)))
        engine.fill(rows, slice(0, 1), out, self.walk.scratch)
        return out

    def product(
        self, rows: slice, z: Side, V: np.ndarray, scratch: Scratch | None = None
    ) -> np.ndarray:
        """K[rows, z] V, on the calling thread; `z` is a stretch of the list.

        Several threads may ask at once if each brings a `scratch` of its own.
        """
        own = self.walk.scratch if scratch is None else scratch
        dtype = self.walk.gram.dtype
        V = np.ascontiguousarray(V, dtype=dtype)
        result = np.zeros((rows.stop - rows.start, V.shape[1]), dtype=dtype)
        engine = self._engine(z)
        if engine.compiled is not None and engine.program.fused and V.shape[1] <= 16:
            # All in one compiled loop: no tile exists.
            transposed = np.ascontiguousarray(V.T)
            engine.compiled.multiply(engine.x, z, rows, transposed, result)
            return result

        def body(part: slice, stretch: slice, _: Scratch) -> None:
            here = slice(rows.start + part.start, rows.start + part.stop)
            shape = (part.stop - part.start, stretch.stop - stretch.start)
            # From a scratch that outlives this product: fresh memory is slow at first touch.
            tile = own.get("result", shape, dtype)
            engine.fill(here, stretch, tile, own)
            result[part] += tile @ V[stretch]

        sweep(self.walk.tiling(len(result), len(V)), body, "kernel times matrix")
        return result

    def _engine(self, z: Side) -> NumpyEngine:
        gram = self.walk.gram
        return NumpyEngine(gram.program, self.x, z, self.walk.compiled, gram._swapped)
