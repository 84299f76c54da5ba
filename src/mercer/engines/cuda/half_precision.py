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
from mercer.engines.cuda.ops import NARROW, STEP_NUMBERS, widened
from mercer.gram.byte_rows import GRID_SAMPLE, find_grid, rounding

#: Types of numbers that may be halves as they are.
HALVES = (torch.float16, torch.bfloat16)
#: Steps from zero that a row may have; from a center on the grid it then has twice as many.
FARTHEST: Final = 1024
#: How far a number may be from its multiple of s, relative to it.
ROUNDING = rounding(np.dtype(np.float32))


class Exact(NamedTuple):
    """The factor with which one part holds the rows; `grid`: they are whole numbers then."""

    scale: float
    grid: bool


def exact_scale(X: torch.Tensor, Z: torch.Tensor) -> Exact | None:
    """How one part holds both without loss; None where it does not."""
    step = _grid_step(X, Z)
    if step is not None:
        return Exact(1.0 / step, True)
    return Exact(1.0, False) if _are_halves(X) and _are_halves(Z) else None


def _grid_step(X: torch.Tensor, Z: torch.Tensor) -> float | None:
    """s if all numbers of both are whole multiples of s, up to the rounding of float32."""
    sides = [X] if X is Z else [X, Z]
    if all(side.dtype in NARROW and not side.dtype.is_floating_point for side in sides):
        return 1.0
    heads = [widened(side[: -(-GRID_SAMPLE // side.shape[1])]).flatten() for side in sides]
    first, *rest = np.split(host(torch.cat(heads)), np.cumsum([len(h) for h in heads[:-1]]))
    found = find_grid(first, *rest)
    # The device is waited for once.
    off = [] if found is None else [_off_grid(side, found.step) for side in sides]
    return None if found is None or bool(torch.stack(off).any()) else found.step


def _off_grid(X: torch.Tensor, step: float) -> torch.Tensor:
    """Whether some number is no multiple of a step, or too many steps from zero."""
    parts = []
    for part in X.split(max(1, STEP_NUMBERS // X.shape[1])):
        numbers = widened(part)
        k = (numbers / step).round_()
        far = k.abs().max() > FARTHEST
        parts.append(far | (k.mul_(step).sub_(numbers).abs_() > ROUNDING * numbers.abs()).any())
    return torch.stack(parts).any()


def _are_halves(X: torch.Tensor) -> bool:
    """Whether half precision holds these numbers as they are."""
    if X.dtype not in HALVES:
        return False
    parts = X.split(max(1, STEP_NUMBERS // X.shape[1]))
    return all(bool((part.half().to(part.dtype) == part).all()) for part in parts)
