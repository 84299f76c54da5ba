"""λ that the data chooses: the one of the least leave-one-out error, on a sample of the examples.

λ is the variance of the noise where k is that of f, so that it does not depend on how many examples
there are: what a sample chooses serves them all.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from scipy.linalg import LinAlgError

from mercer._arrays import host, is_sparse, unit_of
from mercer._config import get_config
from mercer._examples import take
from mercer._machine.threads import single_threaded_blas
from mercer.gram import host_gram
from mercer.kernels import Kernel, Precomputed
from mercer.solvers.linear.exact import eigh_path
from mercer.solvers.linear.problem import RidgeProblem
from mercer.solvers.linear.tridiagonal import path_of_matrix
from mercer.tuning import CHOOSING_ROWS

#: Matrices of that size that are held at a time, counted from the code.
MATRICES: Final = 6
#: What is tried, in units of the mean of k(x, x); of equally good ones the first, smoothest counts.
GRID = 10.0 ** np.arange(1, -7, -1)
#: The least that a solver in single precision is given: below, rounding of K is as large.
LEAST_SINGLE = 1e-3


def leave_one_out_alpha(
    kernel: Kernel,
    X: Any,
    targets: np.ndarray,
    weights: np.ndarray | None,
    *,
    intercept: bool,
    single: bool,
) -> float:
    """One λ for targets (N, T), whose errors count in units of their variances."""
    rows = np.arange(len(targets)) if weights is None else np.flatnonzero(weights)
    fitting = math.isqrt(get_config().memory_bytes // (8 * MATRICES))
    if len(rows) > min(CHOOSING_ROWS, fitting):
        draw = np.random.default_rng(0).choice(rows, min(CHOOSING_ROWS, fitting), replace=False)
        rows = np.sort(draw)
    K = _matrix(kernel, X, rows)
    w = np.ones(len(rows)) if weights is None else weights[rows]
    K, t, w = _without_copies(K, targets[rows] / unit_of(targets[rows]), w)
    unit = float(np.mean(np.diag(K))) if len(K) else 0.0
    unit = unit if unit > 0.0 else 1.0
    grid = unit * (GRID[GRID >= LEAST_SINGLE] if single else GRID)
    try:
        # Eigenvectors take ten times the operations, in many calls of BLAS that are short: on a
        # busy machine their threads wait for one another, and a fit of 500 rows took 11 × as long.
        with single_threaded_blas():
            problem = RidgeProblem(t, grid, w, intercept)
            path = path_of_matrix(problem.s[:, None] * K * problem.s, problem, None)
            path = path or eigh_path(host_gram(Precomputed(), K), problem)
    except LinAlgError:  # k is not positive semi-definite
        return unit
    spread = np.average(np.square(t - np.average(t, axis=0, weights=w)), axis=0, weights=w)
    errors = np.square(path.loo - t) / np.where(spread > 0.0, spread, 1.0)
    means = np.average(errors.mean(axis=2), axis=1, weights=w)
    return float(grid[np.argmin(np.where(np.isnan(means), np.inf, means))])


def _matrix(kernel: Kernel, X: Any, rows: np.ndarray) -> np.ndarray:
    """K of some examples, in double precision and on the host."""
    if kernel.takes_matrix:
        part = host(X)[np.ix_(rows, rows)]
    else:
        part = host(take(X, rows))
    if isinstance(part, np.ndarray) or is_sparse(part):
        part = part.astype(np.float64) if part.dtype.kind == "f" else part
    return np.asarray(host_gram(kernel, part).dense(), dtype=np.float64)


def _without_copies(
    K: np.ndarray, targets: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Examples that k cannot tell apart become one, of the mean target and of all their weight.

    Left out alone, a copy would be predicted by the others, and noise would look like signal.
    """
    own = np.diag(K)
    apart = own[:, None] + own[None, :] - 2.0 * K
    first = (apart <= 1e-12 * np.abs(own).max(initial=0.0)).argmax(axis=1)
    kept, group = np.unique(first, return_inverse=True)
    total = np.bincount(group, weights)
    sums = np.stack([np.bincount(group, weights * t) for t in targets.T], axis=1)
    return np.ascontiguousarray(K[np.ix_(kept, kept)]), sums / total[:, None], total
