"""The working sets of several problems, side by side, and SMO on them in PyTorch's own functions.

`smo_triton` does the same in one launch; this is what runs where there is no Triton.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass

import torch

#: What stands for a curvature that is not positive (LIBSVM's value).
TAU = 1e-12


@dataclass
class Block:
    """K[W, W] as (problems, W, W), and (problems, W) of all else; what is not used cannot move."""

    K: torch.Tensor
    diagonal: torch.Tensor
    f: torch.Tensor
    a: torch.Tensor
    lower: torch.Tensor
    upper: torch.Tensor
    group: torch.Tensor


def triton_serves(device: torch.device) -> bool:
    """Whether Triton can run there; on the CPU its interpreter does, for tests."""
    ready = device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
    return ready and importlib.util.find_spec("triton") is not None


def smo(block: Block, tol: torch.Tensor, limit: torch.Tensor, groups: int) -> torch.Tensor:
    """Move `block.a` to a gap of `tol`, or for `limit` steps, each problem its own; gives steps."""
    if triton_serves(block.K.device):
        from mercer.engines.cuda.solvers.smo_triton import smo as launch

        return launch(block, tol, limit, groups)
    return smo_in_steps(block, tol, limit, groups)


def smo_in_steps(block: Block, tol: torch.Tensor, limit: torch.Tensor, groups: int) -> torch.Tensor:
    """The same, one step of all problems at a time."""
    K, f, a = block.K, block.f.clone(), block.a
    lower, upper, diagonal = block.lower, block.upper, block.diagonal
    never = torch.full_like(f, -torch.inf)
    steps = torch.zeros_like(limit)
    moves = torch.ones_like(limit, dtype=torch.bool)
    every = torch.arange(len(f), device=f.device)
    while True:
        up, low = a < upper, a > lower
        top, gap = never[:, 0], never[:, 0]
        i, mine = torch.zeros_like(every), torch.zeros_like(up)
        for g in range(groups):
            members = block.group == g
            high, place = torch.where(up & members, -f, never).max(dim=1)
            violation = high + torch.where(low & members, f, never).amax(dim=1)
            worse = violation > gap
            gap, top = torch.where(worse, violation, gap), torch.where(worse, high, top)
            i = torch.where(worse, place, i)
            mine = torch.where(worse[:, None], members, mine)
        live = (gap > tol) & (steps < limit) & moves
        if not bool(live.any()):
            return steps
        top = torch.where(live, top, torch.zeros_like(top))
        slope = f + top[:, None]
        k_i = K[every, i]
        curve = (diagonal[every, i, None] + diagonal - 2 * k_i).clamp_(min=TAU)
        gain = slope.to(K.dtype).square() / curve
        j = torch.where(low & mine & (slope > 0), gain, torch.full_like(gain, -1.0)).argmax(dim=1)
        a_i, a_j, end_i, end_j = a[every, i], a[every, j], upper[every, i], lower[every, j]
        step = slope[every, j] / curve[every, j].double()
        step = torch.minimum(step, torch.minimum(end_i - a_i, a_j - end_j))
        step = torch.where(live, step, torch.zeros_like(step))
        # A bound that is reached is set, not approached: no hair's width is left by rounding.
        new_i = torch.where(step >= end_i - a_i, end_i, a_i + step)
        new_j = torch.where(step >= a_j - end_j, end_j, a_j - step)
        # Below the rounding of a nothing can move any more.
        moves = torch.where(live, (new_i != a_i) | (new_j != a_j), moves)
        a[every, i] = torch.where(live, new_i, a_i)
        a[every, j] = torch.where(live, new_j, a[every, j])
        f += step[:, None] * (k_i - K[every, j]).double()
        steps += (live & moves).to(steps.dtype)
