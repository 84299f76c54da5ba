"""Rows that one half-precision part holds without loss: one product of tensor cores, not three.

Pixels, counts and indicators are whole multiples of a step, x = s·k, whatever they were divided by,
and half precision holds every whole number up to 2048. So the tensor cores multiply the k
themselves, with a center that is on the grid, too, and the sum in float32 is all that is rounded.
Tensors in half precision need one part as well, as long as no center has to be subtracted.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import torch

from mercer._arrays import host
from mercer.engines.cuda.ops import widened
from mercer.gram.byte_rows import GRID_SAMPLE, find_grid, rounding

#: Types of numbers that may be halves as they are.
HALVES = (torch.float16, torch.bfloat16)
#: Steps from zero that a row may have; from a center on the grid it then has twice as many.
FARTHEST: Final = 1024.0
#: How far a number may be from its multiple of s, relative to it.
ROUNDING = rounding(np.dtype(np.float32))


class Exact(NamedTuple):
    """The factor with which one part holds the rows; `grid`: they are whole numbers then, about a
    center of this norm."""

    scale: float
    grid: bool
    center: float = 0.0


def grid_step(X: torch.Tensor, Z: torch.Tensor) -> float:
    """The step s of which the first numbers of both are whole multiples; 0 where there is none."""
    sides = [X] if X is Z else [X, Z]
    heads = [widened(side[: -(-GRID_SAMPLE // side.shape[1])]).flatten() for side in sides]
    first, *rest = np.split(host(torch.cat(heads)), np.cumsum([len(h) for h in heads[:-1]]))
    found = find_grid(first, *rest)
    return 0.0 if found is None else found.step
