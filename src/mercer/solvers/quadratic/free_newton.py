"""Newton steps on the free variables: what SMO would need millions of small steps for.

With a large C, or a kernel of low rank, the quadratic is long and narrow and SMO zigzags down it.
Once the set of free variables has settled, the rest is one linear system,

    [K_ff  1] [d]   [−f]
    [1ᵀ    0] [λ] = [ 0],

as far as the first bound on the way. The objective falls with every step, so it is always safe.
`step` takes arrays of NumPy and PyTorch alike; `newton` moves the variables of the host's SMO.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import is_tensor, namespace
from mercer.gram import HostGram
from mercer.solvers.quadratic.problem import Problems


def newton(gram: HostGram, one: Problems, work: float) -> bool:
    """Move a single problem in place by no more than `work` operations; whether anything moved."""
    plus, minus, lower, upper, a, F = one.variables.T
    block, any_moved = None, False
    while True:
        # The kink of two sides is at 0: a step ends there.
        low, high = np.where(a > 0, 0.0, lower), np.where(a < 0, 0.0, upper)
        free = np.flatnonzero((a > low) & (a < high) & ((a != 0) | (plus == minus)))
        work -= len(free) ** 3 / 3
        if len(free) < 2 or work < 0:
            return any_moved
        if block is None:
            first, block = free, gram.block(one.rows[free], one.rows)
        K = block[np.searchsorted(first, free)]  # variables that reach a bound stay there
        slope = F[free] + np.where(a[free] > 0, plus[free], minus[free])
        groups = (one.groups[free, None] == np.arange(one.n_groups)).astype(np.float64)
        moved = step(K[:, free], slope, groups, a[free], low[free], high[free])
        if moved is None:
            return any_moved
        a[free], change, whole = moved
        F += change @ K
        any_moved = True
        if whole:
            return True


def step(A: Any, slope: Any, groups: Any, a: Any, lower: Any, upper: Any) -> Any:
    """The new values of free variables, their change, and whether no bound cut the step short.

    `A` is K between them, `slope` their f, `groups` (variables, groups) 1 where a variable belongs.
    None where the step is not possible, or would not lower the objective.
    """
    xp = namespace(A)
    ridge = 1e-13 if A.dtype == xp.float64 else 1e-7
    A = xp.astype(A, xp.float64)
    d = _direction(A, slope, groups, ridge)
    if d is None:
        return None
    # As far as the nearest bound; the objective must fall on the way.
    end = xp.where(d > 0, upper, lower)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = xp.where(d != 0, (end - a) / d, xp.inf)
    t = min(1.0, float(xp.min(reach)))
    if not t * float(slope @ d) + 0.5 * t * t * float(d @ (A @ d)) < 0:
        return None
    return xp.where(reach <= t, end, a + t * d), t * d, t == 1.0


def _direction(A: Any, slope: Any, groups: Any, ridge: float) -> Any:
    """d with Σd = 0 in every group, from the Cholesky factor of K_ff."""
    xp = namespace(A)
    groups = groups[:, xp.any(groups != 0, axis=0)]
    shift = ridge * xp.mean(xp.linalg.diagonal(A))
    eye = xp.eye(len(A), dtype=A.dtype, device=A.device) if is_tensor(A) else xp.eye(len(A))
    solved = _solve(A + shift * eye, xp.concat([slope[:, None], groups], axis=1))
    if solved is None:
        return None
    x, Y = solved[:, 0], solved[:, 1:]
    d = Y @ xp.linalg.solve(groups.T @ Y, groups.T @ x) - x
    # Where K_ff is nearly singular the sums come out wrong: to be feasible they must be zero.
    d = d - groups @ ((groups.T @ d) / xp.sum(groups, axis=0))
    return d if bool(xp.all(xp.isfinite(d))) else None


def _solve(A: Any, B: Any) -> Any:
    """A⁻¹B of a positive definite A; None where it is not."""
    from mercer._linalg import cholesky, cholesky_solve  # with SciPy, which takes its time

    L = cholesky(A)
    return None if L is None else cholesky_solve(L, B)
