"""Newton steps on the free variables: what SMO would need millions of small steps for.

With a large C, or a kernel of low rank, the quadratic is long and narrow and SMO zigzags down it.
Once the set of free variables has settled, the rest is one linear system,

    [K_ff  1] [d]   [−f]
    [1ᵀ    0] [λ] = [ 0],

as far as the first bound on the way. The objective falls with every step, so it is always safe.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg


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
    ridge = 1e-13 if K.dtype == np.float64 else 1e-7
    while True:
        side, row = np.nonzero((a > lower) & (a < upper))
        work -= len(row) ** 3 / 3
        if len(row) < 2 or work < 0:
            break
        A = K[row[:, None], row[None, :]].astype(np.float64)
        group = up[:, side, row] == 0
        slope = f[side, row]
        d = _direction(A, slope, group.astype(np.float64).T, ridge)
        if d is None:
            break
        # As far as the nearest bound; the objective must fall on the way.
        room = np.where(d > 0, upper[side, row] - a[side, row], lower[side, row] - a[side, row])
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(d != 0, room / d, np.inf)
        t = min(1.0, float(reach.min()))
        if not t * float(slope @ d) + 0.5 * t * t * float(d @ (A @ d)) < 0:
            break
        stop = reach <= t
        a[side, row] += t * d
        a[side[stop], row[stop]] = np.where(d > 0, upper[side, row], lower[side, row])[stop]
        change = np.zeros(m)
        np.add.at(change, row, t * d)
        touched = np.unique(row)
        f[:, :m] += change[touched] @ K[touched, :m]
        for s, r, d_r in zip(side[stop], row[stop], d[stop], strict=True):
            mask = up if d_r > 0 else low
            mask[:, s, r] = -np.inf
        if t == 1.0:
            break


def _direction(
    A: np.ndarray, slope: np.ndarray, groups: np.ndarray, ridge: float
) -> np.ndarray | None:
    """d with Σd = 0 in every group, from the Cholesky factor of K_ff."""
    n = len(A)
    A = A + ridge * np.trace(A) / n * np.eye(n)
    used = groups[:, groups.any(axis=0)]
    try:
        factor = scipy.linalg.cho_factor(A, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return None
    solved = scipy.linalg.cho_solve(factor, np.column_stack([slope, used]), check_finite=False)
    x, Y = solved[:, 0], solved[:, 1:]
    d: np.ndarray = -x + Y @ np.linalg.solve(used.T @ Y, used.T @ x)
    # Where K_ff is nearly singular the sums come out wrong: to be feasible they must be zero.
    d -= used @ ((used.T @ d) / used.sum(axis=0))
    return d if np.isfinite(d).all() else None
