"""The collapsed variational bound of log p(y) with m centers (Titsias 2009), and its derivatives.

    log p(y) ≥ log N(y | 0, Q + λI) − tr(K − Q)/(2λ),    Q = K_nm K_mm⁻¹ K_mn

It costs N m² and needs K_nm alone. With L of K_mm = LLᵀ, A = L⁻¹K_mn and B = I + AAᵀ/λ it is
stable; its derivatives are sums of weights times ∂K_nm, ∂K_mm and ∂k(x, x). The posterior that
belongs to it is that of ridge regression in the span of the centers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from mercer._arrays import host
from mercer._examples import take
from mercer._linalg import add_to_diagonal, cholesky, cholesky_solve, solve_lower
from mercer.gram.base import Gram
from mercer.gram.dispatch import solver_gram
from mercer.gram.slopes import diagonal_slopes, weighted_slopes
from mercer.solvers.evidence.exact import LOG_2PI, Evidence, repeated

#: What is added to the diagonal of K_mm, in units of its mean: nearly equal centers stay apart.
JITTER = 1e-10


def bound(
    whole: Gram,
    centers: np.ndarray,
    y: np.ndarray,
    noise: float,
    slopes: bool = True,
    weights: np.ndarray | None = None,
) -> Evidence:
    """The bound for targets (N, T) and the examples at these indices as centers.

    Weights stand for so many equal examples, as in `evidence`.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.solvers.evidence.exact import evidence
    >>> x, y = np.linspace(0, 1, 6)[:, None], np.ones((6, 1))
    >>> gram = Gaussian(0.3).gram(x)
    >>> loose, tight = (bound(gram, np.arange(m), y, 0.1).value for m in (2, 6))
    >>> abs(evidence(gram, y, 0.1).value - tight) < 1e-6, loose < tight
    (True, True)
    """
    if not noise > 0:
        raise LinAlgError("the variational bound needs some noise")
    X, xp = whole.points(), whole.xp
    points = take(X, centers)
    across, inner = solver_gram(whole.kernel, X, points), solver_gram(whole.kernel, points)
    Kmm = inner.in_double()
    unit = float(Kmm.diagonal().mean())
    add_to_diagonal(Kmm, JITTER * unit)
    L = cholesky(Kmm)
    if L is None:
        raise LinAlgError("the centers are equal or nearly so: take fewer, or more noise")
    L, y = xp.tril(L), whole.asarray(y)
    n, targets, m = len(y), y.shape[1], len(L)
    w = np.ones(n) if weights is None else weights
    scale, more = whole.asarray(np.sqrt(w)), repeated(weights, noise, n)
    y = scale[:, None] * y
    A = solve_lower(L, whole.asarray(across.dense(), xp.float64).T) * scale
    B = A @ A.T / noise
    add_to_diagonal(B, 1.0)
    trace_q = noise * (float(B.diagonal().sum()) - m)
    full = xp.asarray(B, copy=True) if slopes else B
    LB = cholesky(B)
    if LB is None:
        raise LinAlgError("the noise is too small for this kernel to be told from rounding")
    LB = xp.tril(LB)
    projected = A @ y
    solved = cholesky_solve(LB, projected)
    own = float(w @ host(whole.diagonal()))
    fit = (float((y * y).sum()) - float((projected * solved).sum()) / noise) / noise
    logdet = (n + more) * np.log(noise) + 2.0 * float(xp.log(LB.diagonal()).sum())
    slack = (own - trace_q) / (2.0 * noise)
    value = float(-0.5 * (fit + targets * (logdet + (n + more) * LOG_2PI)) - targets * slack)
    if not slopes:
        return Evidence(value)
    a = (y - A.T @ solved / noise) / noise
    one = whole.asarray(np.eye(m))
    inverse = cholesky_solve(LB, one)
    Aa = A @ a
    sides = (Aa @ a.T + targets / noise * (A - inverse @ A)) * scale
    outer = Aa @ Aa.T + targets * (full - 2.0 * one + inverse)
    of_across = weighted_slopes(across, solve_lower(L, sides, transposed=True).T)
    left = solve_lower(L, outer, transposed=True)
    of_inner = weighted_slopes(inner, -0.5 * solve_lower(L, left.T, transposed=True))
    of_own = diagonal_slopes(whole, -0.5 * targets / noise * w)
    found: dict[str, Any] = {
        name: of_across[name] + of_inner[name] + of_own[name] for name in of_across
    }
    trace_inverse = (n + more - m + float(inverse.diagonal().sum())) / noise
    of_noise = 0.5 * (float((a * a).sum()) - targets * trace_inverse) + targets * slack / noise
    return Evidence(value, found, of_noise)
