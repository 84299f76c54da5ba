"""The working sets of several problems, side by side: SMO and Newton steps on them.

SMO is one launch of `smo_triton`, or a loop of PyTorch's own functions where there is no Triton.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass

import torch

from mercer.solvers.quadratic.free_newton import step

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


#: Newton steps in a row: each but the last ends at a bound, which then holds its variable.
ATTEMPTS = 16


def newton(block: Block, p: int, before: torch.Tensor, groups: int) -> None:
    """Newton steps on the free variables of problem p, for what SMO zigzags along.

    `before` is where SMO began, where `block.f` is F.
    """
    K, a, lower, upper = block.K[p], block.a[p], block.lower[p], block.upper[p]
    moved = torch.nonzero(a != before)[:, 0]
    f = block.f[p] + K[:, moved].double() @ (a - before)[moved]
    for _ in range(ATTEMPTS):
        free = torch.nonzero((a > lower) & (a < upper))[:, 0]
        if len(free) < 2:
            return
        members = torch.nn.functional.one_hot(block.group[p, free].long(), groups).double()
        found = step(K[free][:, free], f[free], members, a[free], lower[free], upper[free])
        if found is None:
            return
        a[free], change, whole = found
        f += K[:, free].double() @ change
        if whole:
            return


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
        i, members_of_i = torch.zeros_like(every), torch.zeros_like(up)
        for g in range(groups):
            members = block.group == g
            high, at = torch.where(up & members, -f, never).max(dim=1)
            violation = high + torch.where(low & members, f, never).amax(dim=1)
            worse = violation > gap
            gap, top = torch.where(worse, violation, gap), torch.where(worse, high, top)
            i = torch.where(worse, at, i)
            members_of_i = torch.where(worse[:, None], members, members_of_i)
        live = (gap > tol) & (steps < limit) & moves
        if not bool(live.any()):
            return steps
        top = torch.where(live, top, torch.zeros_like(top))
        slope = f + top[:, None]
        k_i = K[every, i]
        curve = (diagonal[every, i, None] + diagonal - 2 * k_i).clamp_(min=TAU)
        gain = slope.to(K.dtype).square() / curve
        j = torch.where(low & members_of_i & (slope > 0), gain, torch.full_like(gain, -1.0)).argmax(
            dim=1
        )
        a_i, a_j, end_i, end_j = a[every, i], a[every, j], upper[every, i], lower[every, j]
        move = slope[every, j] / curve[every, j].double()
        move = torch.minimum(move, torch.minimum(end_i - a_i, a_j - end_j))
        move = torch.where(live, move, torch.zeros_like(move))
        # A bound that is reached is set, not approached: no hair's width is left by rounding.
        new_i = torch.where(move >= end_i - a_i, end_i, a_i + move)
        new_j = torch.where(move >= a_j - end_j, end_j, a_j - move)
        # Below the rounding of a nothing can move any more.
        moves = torch.where(live, (new_i != a_i) | (new_j != a_j), moves)
        a[every, i] = torch.where(live, new_i, a_i)
        a[every, j] = torch.where(live, new_j, a[every, j])
        f += move[:, None] * (k_i - K[every, j]).double()
        steps += (live & moves).to(steps.dtype)
