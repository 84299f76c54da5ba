"""Walking K: panels of rows against a list of columns that grows, for learners that go in order.

An online learner meets the rows one after the other and the columns of K it needs are those of the
examples it has chosen so far. The chosen rows are copied side by side, so that K between a panel
and any stretch of the list is one matrix product.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mercer.gram.numpy_engine import NumpyEngine
from mercer.gram.operator import Gram
from mercer.gram.sides import GrowingSide, Side
from mercer.gram.tiles import Scratch

#: Flops below which the start of threads costs more than they save.
WORTH_THREADS = 6e7


class Walk:
    """The list of columns: `append` positions, and `rows` gives panels to walk along."""

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        self._list = GrowingSide(gram._z)
        # Loops are compiled, or not, for the whole matrix: its tiles are too small to tell.
        self.compiled = gram._walker.compiled
        self.scratch = Scratch(0)

    def __len__(self) -> int:
        return self._list.n

    def append(self, positions: Any) -> None:
        self._list.append(np.atleast_1d(positions))

    def stretch(self, columns: slice) -> Side:
        return self._list.view(columns)

    def rows(self, index: Any) -> Panel:
        """Some rows, by slice (nothing is copied) or positions."""
        return Panel(self, self.gram._x.take(index))

    def without(self, first: int) -> Walk:
        """A new list that starts at column `first` of this one."""
        walk = Walk(self.gram)
        if first < len(self):
            walk.append(self._list.positions[first:])
        return walk


@dataclasses.dataclass(frozen=True)
class Panel:
    """A few rows of K, to be multiplied with stretches of the list."""

    walk: Walk
    x: Side

    def column(self, rows: slice, column: int, out: np.ndarray) -> np.ndarray:
        """k between some rows of the panel and one entry of the list, into `out` (n, 1)."""
        z = self.walk.stretch(slice(column, column + 1))
        self._engine(z).fill(rows, slice(0, 1), out, self.walk.scratch)
        return out

    def product(self, rows: slice, columns: slice, V: np.ndarray) -> np.ndarray:
        """K[rows, columns] V, by the one loop over tiles and within the memory limit."""
        gram = self.walk.gram
        x, z = self.x.take(rows), self.walk.stretch(columns)
        part = Gram._of(gram, x, z, False, gram._swapped)
        V = np.ascontiguousarray(V, dtype=gram.dtype)
        result = np.zeros((x.n, V.shape[1]), dtype=gram.dtype)
        plan = part._plan(fixed=V.nbytes + result.nbytes)
        if plan.cost.flops < WORTH_THREADS:
            plan = dataclasses.replace(plan, threads=1)
        engine = NumpyEngine(gram.program, x, z, self.walk.compiled, gram._swapped)
        if engine.compiled is not None:
            for source in gram.program.sources:
                if source.kind == "direct":
                    z.packed(source.rows)  # now, before several threads ask for it at once
        if engine.compiled is not None and gram.program.fused and V.shape[1] <= 16:
            part._fused_product(plan, engine, V, result)
        else:
            part._tiled_product(plan, engine, V, result)
        return result

    def _engine(self, z: Side) -> NumpyEngine:
        gram = self.walk.gram
        return NumpyEngine(gram.program, self.x, z, self.walk.compiled, gram._swapped)
