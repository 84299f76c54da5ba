"""Newton steps on the free variables: what SMO would need millions of small steps for.

With a large C, or a kernel of low rank, the quadratic is long and narrow and SMO zigzags down it.
Once the set of free variables has settled, the rest is one linear system,

    [K_ff  1] [d]   [−f]
    [1ᵀ    0] [λ] = [ 0],

as far as the first bound on the way. The objective falls with every step, so it is always safe.
`step` is written for arrays of NumPy and PyTorch alike; `newton` moves the state of the host's SMO.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import is_tensor, namespace


def newton(
    K: np.ndarray,
    f: np.ndarray,
    a: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    up: np.ndarray,
    low: np.ndarray,
    work: float,
) -> None:
    """Moves the state of `smo` in place, as long as that takes no more than `work` operations."""
    m = a.shape[1]
    while True:
        free = np.nonzero((a > lower) & (a < upper))
        side, row = free
        work -= len(row) ** 3 / 3
        if len(row) < 2 or work < 0:
            return
        groups = (up[:, side, row] == 0).astype(np.float64).T
        A = K[row[:, None], row[None, :]]
        found = step(A, f[free], groups, a[free], lower[free], upper[free])
        if found is None:
            return
        values, change, whole = found
        a[free] = values
        net = np.zeros(m)
        np.add.at(net, row, change)
        touched = np.unique(row)
        f[:, :m] += net[touched] @ K[touched, :m]
        up[:, side, row] = np.where(values < upper[free], up[:, side, row], -np.inf)
        low[:, side, row] = np.where(values > lower[free], low[:, side, row], -np.inf)
        if whole:
            return


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
