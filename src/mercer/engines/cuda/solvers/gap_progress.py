"""How far a support vector machine has come: its gap, on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Callable


class GapProgress:
    """One problem's share of a progress bar: how far the logarithm of its gap has come."""

    def __init__(self, advance: Callable[[float], None], tol: float) -> None:
        self._advance, self._tol = advance, tol
        self._first: float | None = None
        self._done = 0.0

    def __call__(self, gap: float) -> None:
        if not gap > self._tol or not math.isfinite(gap):
            return
        self._first = gap if self._first is None else max(gap, self._first)
        whole = math.log(2 * self._first / self._tol)
        self._move(min(0.99, math.log(2 * self._first / gap) / whole))

    def finish(self) -> None:
        self._move(1.0)

    def _move(self, done: float) -> None:
        if done > self._done:
            self._advance(done - self._done)
            self._done = done
