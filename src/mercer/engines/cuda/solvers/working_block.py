"""The working sets of several problems, side by side, and Newton steps on them.

SMO itself is one launch of `smo_triton`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

from mercer.solvers.quadratic.free_newton import step

#: What stands for a curvature that is not positive (LIBSVM's value).
TAU: Final = 1e-12


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


#: Newton steps in a row: each but the last ends at a bound, which then holds its variable.
ATTEMPTS = 4


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
