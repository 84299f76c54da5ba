"""Walking K: panels of rows against a list of columns that grows, for learners that go in order.

An online learner meets the rows one after the other, and the columns of K it needs are those of the
examples it has chosen so far. The chosen rows are copied side by side, so that K between a panel
and any stretch of the list is one matrix product. Such products are many and small, so that what
can be settled beforehand (tiles, threads, buffers) is settled once for the whole walk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer.gram.numpy_engine import NumpyEngine
from mercer.gram.operator import Gram
from mercer.gram.plan import PRODUCT_ROWS, SCRATCH, cost
from mercer.gram.sides import GrowingSide, Side
from mercer.gram.tiles import Scratch, Tiling, sweep

#: Flops below which the start of threads costs more than they save.
WORTH_THREADS = 6e7


class Walk:
    """The list of columns: `append` positions, and `rows` gives panels to walk along."""

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        self._list = GrowingSide(gram._z)
        # Loops are compiled, or not, for the whole matrix: its tiles are too small to tell.
        self.compiled = gram._walker.compiled
        settings = get_config()
        self.threads = settings.n_threads
        self.scratch = [Scratch(thread) for thread in range(self.threads)]
        self.flops = cost(gram.program, (1, 1), gram._widths()).flops
        opaque = [s.node.value[0] for s in gram.program.sources if s.kind == "opaque"]
        self._per_pair = gram.dtype.itemsize * (1 + len(gram.program.sources))
        self._per_pair += sum(leaf.bytes_per_pair() for leaf in opaque)
        self._room = min(SCRATCH, settings.memory_bytes // (4 * self.threads))

    def __len__(self) -> int:
        return self._list.n

    def append(self, positions: Any) -> None:
        self._list.append(np.atleast_1d(positions))

    def stretch(self, columns: slice) -> Side:
        return self._list.view(columns)

    def rows(self, index: Any) -> Panel:
        """Some rows, by slice (nothing is copied) or positions."""
        return Panel(self, self.gram._x.take(index))

    def forget(self, first: int) -> None:
        """Let the list start at what was its column `first`."""
        left = self._list.positions[first:].copy()
        self._list = GrowingSide(self.gram._z)
        if len(left):
            self._list.append(left)

    def tiling(self, n: int, m: int) -> Tiling:
        """Panels for every thread where there is work enough, within the memory limit."""
        threads = self.threads if n * m * self.flops >= WORTH_THREADS else 1
        height = max(1, min(PRODUCT_ROWS, -(-n // threads)))
        while height > 16 and self._room < height * min(m, 64) * self._per_pair:
            height //= 2
        width = max(1, min(m, int(self._room / (height * self._per_pair))))
        return Tiling((n, m), (height, width), threads)


@dataclass(frozen=True)
class Panel:
    """A few rows of K, to be multiplied with stretches of the list."""

    walk: Walk
    x: Side

    def column(self, rows: slice, column: int, out: np.ndarray) -> np.ndarray:
        """k between some rows of the panel and one entry of the list, into `out` (n, 1)."""
        engine = self._engine(self.walk.stretch(slice(column, column + 1)))
        engine.fill(rows, slice(0, 1), out, self.walk.scratch[0])
        return out

    def product(self, rows: slice, columns: slice, V: np.ndarray) -> np.ndarray:
        """K[rows, columns] V, by the one loop over tiles and within the memory limit."""
        walk, dtype = self.walk, self.walk.gram.dtype
        V = np.ascontiguousarray(V, dtype=dtype)
        result = np.zeros((rows.stop - rows.start, V.shape[1]), dtype=dtype)
        engine = self._engine(walk.stretch(columns))
        tiling = walk.tiling(len(result), len(V))
        fused = engine.compiled is not None and engine.program.fused and V.shape[1] <= 16
        if engine.compiled is not None:
            for source in engine.program.sources:
                if source.kind == "direct":
                    engine.z.packed(source.rows)  # now, before several threads ask for it at once
        transposed = np.ascontiguousarray(V.T) if fused else V

        def body(part: slice, stretch: slice, scratch: Scratch) -> None:
            here = slice(rows.start + part.start, rows.start + part.stop)
            if fused:
                engine.compiled.multiply(engine.x, engine.z, here, transposed, result[part])
                return
            scratch = walk.scratch[scratch.thread]  # of the walk: touched once, not every time
            shape = (part.stop - part.start, stretch.stop - stretch.start)
            tile = scratch.get("result", shape, dtype)
            engine.fill(here, stretch, tile, scratch)
            result[part] += tile @ V[stretch]

        if fused:
            tiling = Tiling(tiling.shape, (tiling.tile[0], len(V)), tiling.threads)
        sweep(tiling, body, "kernel times matrix")
        return result

    def _engine(self, z: Side) -> NumpyEngine:
        gram = self.walk.gram
        return NumpyEngine(gram.program, self.x, z, self.walk.compiled, gram._swapped)
