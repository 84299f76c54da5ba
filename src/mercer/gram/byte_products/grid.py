"""The grid that numbers are on: x = s·k with whole numbers k, at most 255 steps apart.

Pixels, counts and indicators are such numbers, whatever they were divided by.
"""

from __future__ import annotations

import numpy as np

from mercer._lazy import record

#: Numbers looked at first, how many distinct ones may be among them, and so few that they nearly
#: always show that there are more.
FIRST, DISTINCT, GLANCE = 1 << 12, 512, 1 << 10


@record
class Grid:
    """s and l: x = s (l + u) with u in 0 … 255."""

    step: float
    low: int

    def snap(self, center: np.ndarray) -> np.ndarray:
        """The whole numbers of the nearest point of the grid."""
        return np.rint(center.astype(np.float64) / self.step)


def find_grid(*sides: np.ndarray) -> Grid | None:
    """The grid that the first rows suggest, wide enough for all; the rest is yet to be checked.

    >>> find_grid(np.array([[0.0, 0.5, 2.0], [1.5, 0.0, 1.0]]))
    Grid(step=0.5, low=0)
    >>> find_grid(np.random.default_rng(0).random((100, 30)))
    """
    if len(np.unique(sides[0].ravel()[:GLANCE])) > DISTINCT:
        return None
    some = np.unique(np.concatenate([side.ravel()[:FIRST] for side in sides]))
    if len(some) > DISTINCT:
        return None
    lowest = min(float(side.min()) for side in sides)
    highest = max(float(side.max()) for side in sides)
    tolerance = rounding(some.dtype)
    for step in _steps(some.astype(np.float64)):
        k = np.rint(some / step)
        low, high = round(lowest / step), round(highest / step)
        if high - low <= 255 and (np.abs(some - k * step) <= tolerance * np.abs(some)).all():
            return Grid(step, 0 if low >= 0 and high <= 255 else low)
    return None


def _steps(numbers: np.ndarray) -> list[float]:
    """What numbers may be multiples of: common ones first, then what these suggest."""
    gaps = np.diff(np.unique(np.append(np.abs(numbers), 0.0)))
    steps = [1.0, 1 / 255, 1 / 256]
    if len(gaps):
        largest = float(np.abs(numbers).max())
        steps.append(largest / round(largest / float(gaps[gaps > 1e-6 * largest].min())))
    return steps


def rounding(dtype: np.dtype) -> float:
    """How far a number may be from its multiple of s: division and multiplication were rounded."""
    return 2 * float(np.finfo(dtype).eps)
