"""Fisher's discriminants in feature space: directions far apart between classes, narrow within.

    maximize wᵀS_b w subject to wᵀ(S_w + λI)w = 1,   S_b = HHᵀ,   H = Σᵢ φ(xᵢ) Eᵢ

S_b has the rank of the classes less one, so w = (S_w + λI)⁻¹ H v with v from a matrix as small as
there are classes. With W = I − (means within classes), S_w = ΦᵀWΦ, and

    (ΦᵀWΦ + λI)⁻¹Φᵀ E = Φᵀ A,   A = (E − C)/λ,   (WKW + λI) C = W K E,

a symmetric positive definite system: one Cholesky factor, or conjugate gradients where that does
not fit. Weights w stand for so many equal examples: √wᵢ φ(xᵢ) takes the place of φ(xᵢ).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from mercer._arrays import host
from mercer._lazy import record
from mercer._linalg import add_to_diagonal, cholesky, cholesky_solve
from mercer.gram import Gram
from mercer.solvers.linear.iterations import conjugate_gradients
from mercer.solvers.linear.matrix import matrix_fits, scaled_matrix
from mercer.solvers.linear.panels import panels_of
from mercer.tuning import EXACT_ROWS


@record
class Directions:
    """`coef`: wⱼ = Σᵢ coefᵢⱼ φ(xᵢ), strongest first; `strengths`: wᵀS_b w / wᵀ(S_w + λI)w.

    `values`: wⱼ·φ(xᵢ) of the examples themselves, 0 for those without weight.
    """

    coef: np.ndarray
    strengths: np.ndarray
    values: np.ndarray
    n_iter: int = 0
    stopped: str = ""


def directions(
    gram: Gram,
    labels: np.ndarray,
    groups: int,
    alpha: float,
    tol: float,
    max_iter: int,
    weights: np.ndarray | None = None,
) -> Directions:
    """As many directions as there are classes, less one, with wᵀ(S_w + λI)w = 1."""
    w = np.ones(len(labels)) if weights is None else weights
    scale = np.sqrt(w)[:, None]
    sizes = np.bincount(labels, w, groups)
    E = scale * ((labels[:, None] == np.arange(groups)) / np.sqrt(sizes) - np.sqrt(sizes) / w.sum())

    def within(V: np.ndarray) -> np.ndarray:
        """W V: subtract the mean of each class."""
        sums = np.stack([np.bincount(labels, v, groups) for v in (scale * V).T], axis=1)
        return np.asarray(V - scale * (sums / sizes[:, None])[labels])

    solve, times, run = _solver(gram, within, scale, alpha, tol, max_iter)
    # C = WC, and what rounding leaves besides would be divided by λ, too.
    A = (E - within(solve(within(times(E))))) / alpha
    image = times(A)
    S = E.T @ image
    strengths, V = np.linalg.eigh((S + S.T) / 2)
    strengths, V = strengths[::-1][: groups - 1], V[:, ::-1][:, : groups - 1]
    V = V / np.sqrt(np.where(strengths > 0, strengths, np.inf))
    coef = scale * A @ V
    each = coef / np.where(w > 0, w, np.inf)[:, None]  # of one of the equal examples
    signs = np.sign(each[np.abs(each).argmax(axis=0), np.arange(groups - 1)])
    signs = np.where(signs == 0, 1.0, signs)
    iterations, stopped = (run[0].n_iter, run[0].stopped) if run else (0, "")
    values = image @ V / np.where(scale > 0, scale, np.inf)
    return Directions(coef * signs, strengths, values * signs, iterations, stopped)


def _solver(
    gram: Gram, within: Any, scale: np.ndarray, alpha: float, tol: float, max_iter: int
) -> Any:
    """(WKW + λI)⁻¹ and K of the scaled φ, and what conjugate gradients say of themselves."""
    n = gram.shape[0]
    if n <= EXACT_ROWS and matrix_fits(2, n, 8, 16):
        K = scaled_matrix(gram, None if (scale == 1).all() else scale[:, 0], double=True)
        inner = within(within(K).T)
        add_to_diagonal(inner, alpha)
        inner = (inner + inner.T) / 2
        L = cholesky(inner)
        if L is None:  # a kernel that is none is used as it is, as everywhere
            return lambda B: linalg.solve(inner, B, assume_a="sym"), lambda V: K @ V, []
        return lambda B: cholesky_solve(L, B), lambda V: K @ V, []
    panels, run = panels_of(gram), []
    panels.keep(0.4)

    def times(V: np.ndarray) -> np.ndarray:
        return scale * np.asarray(host(panels.product(panels.asarray(scale * V))))

    def solve(B: np.ndarray) -> np.ndarray:
        found = conjugate_gradients(
            lambda P, _: within(times(within(P))) + alpha * P, B, lambda R, _: R, tol, max_iter
        )
        run.append(found)
        return np.asarray(found.X)

    return solve, times, run
