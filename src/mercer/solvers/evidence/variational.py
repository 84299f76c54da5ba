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
from mercer.gram import Gram, diagonal_slopes, solver_gram, weighted_slopes
from mercer.solvers.evidence.exact import LOG_2PI, Evidence, repeated
from mercer.tuning import UNSEEN_JITTER


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
    matrices = _Matrices(whole, centers, y, noise, weights, slopes)
    if not slopes:
        return Evidence(matrices.value())
    return Evidence(matrices.value(), *matrices.slopes())


class _Matrices:
    """Those of the bound, as they are named above; weights scale y and the columns of A."""

    def __init__(
        self,
        whole: Gram,
        centers: np.ndarray,
        y: np.ndarray,
        noise: float,
        weights: np.ndarray | None,
        slopes: bool,
    ) -> None:
        X, xp, n = whole.points(), whole.xp, len(y)
        points = take(X, centers)
        self.whole, self.noise, self.targets = whole, noise, y.shape[1]
        self.weights = np.ones(n) if weights is None else weights
        self.n_examples = n + repeated(weights, noise, n)
        self.across = solver_gram(whole.kernel, X, points)
        self.inner = solver_gram(whole.kernel, points)
        self.L = self._factor_of_centers()
        self.scale = whole.asarray(np.sqrt(self.weights))
        self.y = self.scale[:, None] * whole.asarray(y)
        Knm = whole.asarray(self.across.dense(), xp.float64)
        self.A = solve_lower(self.L, Knm.T) * self.scale
        B = self.A @ self.A.T / noise
        add_to_diagonal(B, 1.0)
        self.trace_q = noise * (float(B.diagonal().sum()) - len(B))
        self.B = xp.asarray(B, copy=True) if slopes else B
        LB = cholesky(B)
        if LB is None:
            raise LinAlgError("the noise is too small for this kernel to be told from rounding")
        self.LB = xp.tril(LB)
        self.projected = self.A @ self.y
        self.solved = cholesky_solve(self.LB, self.projected)
        own = float(self.weights @ host(whole.diagonal()))
        self.slack = (own - self.trace_q) / (2.0 * noise)

    def _factor_of_centers(self) -> Any:
        Kmm = self.inner.in_double()
        # Nearly equal centers stay apart.
        add_to_diagonal(Kmm, UNSEEN_JITTER * float(Kmm.diagonal().mean()))
        L = cholesky(Kmm)
        if L is None:
            raise LinAlgError("the centers are equal or nearly so: take fewer, or more noise")
        return self.whole.xp.tril(L)

    def value(self) -> float:
        y, noise, n = self.y, self.noise, self.n_examples
        fit = (float((y * y).sum()) - float((self.projected * self.solved).sum()) / noise) / noise
        logdet = n * np.log(noise) + 2.0 * float(self.whole.xp.log(self.LB.diagonal()).sum())
        likelihood = -0.5 * (fit + self.targets * (logdet + n * LOG_2PI))
        return float(likelihood - self.targets * self.slack)

    def slopes(self) -> tuple[dict[str, Any], float]:
        """The derivatives in the numbers of the kernel, and in the noise."""
        L, A, noise, targets = self.L, self.A, self.noise, self.targets
        a = (self.y - A.T @ self.solved / noise) / noise
        one = self.whole.asarray(np.eye(len(L)))
        inverse = cholesky_solve(self.LB, one)
        Aa = A @ a
        sides = (Aa @ a.T + targets / noise * (A - inverse @ A)) * self.scale
        outer = Aa @ Aa.T + targets * (self.B - 2.0 * one + inverse)
        of_across = weighted_slopes(self.across, solve_lower(L, sides, transposed=True).T)
        left = solve_lower(L, outer, transposed=True)
        of_inner = weighted_slopes(self.inner, -0.5 * solve_lower(L, left.T, transposed=True))
        of_own = diagonal_slopes(self.whole, -0.5 * targets / noise * self.weights)
        of_kernel: dict[str, Any] = {
            name: of_across[name] + of_inner[name] + of_own[name] for name in of_across
        }
        trace_inverse = (self.n_examples - len(L) + float(inverse.diagonal().sum())) / noise
        of_fit = 0.5 * (float((a * a).sum()) - targets * trace_inverse)
        return of_kernel, of_fit + targets * self.slack / noise
