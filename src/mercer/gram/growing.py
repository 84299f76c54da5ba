"""A list of columns that grows: what an online learner walks over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.gram.numpy_engine import NumpyEngine
from mercer.gram.sides import GrowingSide
from mercer.gram.tiles import Scratch, stretch

if TYPE_CHECKING:
    from mercer.gram.operator import Gram


class GrowingColumns:
    """k(x, z) for all rows x and a list of z that grows: the log of an online learner.

    The chosen rows are copied side by side, so that any stretch of the list is one matrix product.
    """

    def __init__(self, gram: Gram) -> None:
        self._gram = gram
        self._log = GrowingSide(gram._z)
        self._compiled = gram._walker.compiled
        self._scratch = Scratch(0)

    def __len__(self) -> int:
        return self._log.n

    @property
    def positions(self) -> np.ndarray:
        """Which columns of the full matrix the list holds, in order."""
        return self._log.positions

    def append(self, positions: Any) -> None:
        self._log.append(np.atleast_1d(positions))

    def tile(self, rows: slice, columns: slice, out: np.ndarray | None = None) -> np.ndarray:
        """k between some rows and a stretch of the list."""
        rows, columns = stretch(rows, self._gram.shape[0]), stretch(columns, len(self))
        if out is None:
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            out = np.empty(shape, dtype=self._gram.dtype)
        part = self._log.view(columns)
        engine = NumpyEngine(
            self._gram.program, self._gram._x, part, self._compiled, self._gram._swapped
        )
        engine.fill(rows, slice(0, part.n), out, self._scratch)
        return out
