"""Newton steps on the free variables of one working set, on a device.

The host's counterpart is `mercer.solvers.quadratic.free_newton`.

Where SMO zigzags (a large C, a kernel of low rank) the set of free variables settles long before
their values do, and the rest is one linear system. The objective falls with every step.
"""

from __future__ import annotations

import torch

from mercer.engines.cuda.solvers.working_block import Block

#: Steps in a row: each but the last ends at a bound, which then holds its variable.
ATTEMPTS = 16


def newton(block: Block, p: int, before: torch.Tensor, groups: int) -> None:
    """Move `block.a[p]`; `before` is where SMO began, where `block.f` is F."""
    K, a, lower, upper = block.K[p], block.a[p], block.lower[p], block.upper[p]
    moved = torch.nonzero(a != before)[:, 0]
    f = block.f[p] + K[:, moved].double() @ (a - before)[moved]
    ridge = 1e-13 if K.dtype == torch.float64 else 1e-7
    for _ in range(ATTEMPTS):
        free = torch.nonzero((a > lower) & (a < upper))[:, 0]
        if len(free) < 2:
            return
        A = K[free][:, free].double()
        members = torch.nn.functional.one_hot(block.group[p, free].long(), groups).double()
        d = _direction(A, f[free], members[:, members.any(dim=0)], ridge)
        if d is None:
            return
        # As far as the nearest bound; the objective must fall on the way.
        end = torch.where(d > 0, upper[free], lower[free])
        reach = torch.where(d != 0, (end - a[free]) / d, torch.inf)
        t = min(1.0, float(reach.min()))
        gain = t * (f[free] @ d) + 0.5 * t * t * (d @ (A @ d))
        if not float(gain) < 0:
            return
        a[free] = torch.where(reach <= t, end, a[free] + t * d)
        f += K[:, free].double() @ (t * d)
        if t == 1.0:
            return


def _direction(
    A: torch.Tensor, slope: torch.Tensor, members: torch.Tensor, ridge: float
) -> torch.Tensor | None:
    """d with Σd = 0 in every group, from the Cholesky factor of K over the free variables."""
    A = A + ridge * A.diagonal().mean() * torch.eye(len(A), dtype=A.dtype, device=A.device)
    factor, failed = torch.linalg.cholesky_ex(A)
    if int(failed):
        return None
    solved = torch.cholesky_solve(torch.cat([slope[:, None], members], dim=1), factor)
    x, Y = solved[:, 0], solved[:, 1:]
    d = Y @ torch.linalg.solve(members.T @ Y, members.T @ x) - x
    # Where K is nearly singular the sums come out wrong: to be feasible they must be zero.
    d = d - members @ ((members.T @ d) / members.sum(dim=0))
    return d if bool(d.isfinite().all()) else None
