"""Recursive feature machines: fit, see along which directions f changes, bend the metric, again.

A round, for a kernel k of ‖A(x − z)‖:
  1. α = (K + λI)⁻¹ Y, length and λ by the closed form of the leave-one-out errors;
  2. G = (1/n) Σᵢ ∇f(xᵢ) ∇f(xᵢ)ᵀ, over all outputs;
  3. AᵀA = M ← G / max|G|, or only its diagonal.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import pdist
from sklearn.exceptions import ConvergenceWarning

from mercer._lazy import record
from mercer._machine.cholesky import factorize, solve
from mercer._machine.threads import single_threaded_blas
from mercer._progress import progress
from mercer.gram.gradients import outer_product
from mercer.kernels import PowerExponential
from mercer.kernels.core import Kernel
from mercer.kernels.on_inputs import root_of_metric

#: λ that are tried, k(x, x) being 1; of equally good ones the first, smoothest counts.
PENALTIES = 10.0 ** np.arange(1.0, -6.5, -0.5)
#: Rows from which a solution takes several threads of BLAS. These wait busily for more work: four
#: solutions of 2000 rows with products between them took 0.4 s with two threads, 0.26 s with one.
THREADED_ROWS = 4000
#: Rows whose median distance is the unit of lengths.
MEDIAN_ROWS = 256


@record
class Shape:
    """A kernel without its metric: exp(−(‖A(x − z)‖ₚ / (length · median))^power)."""

    norm: float
    length: float
    power: float = 1.0


@record
class Fitted:
    """One solution: the kernel with its numbers, λ, α, and the leave-one-out predictions.

    `path` has α for every λ that was tried, one after the other in its columns.
    """

    shape: Shape
    kernel: Kernel
    penalty: float
    coef: np.ndarray
    loo: np.ndarray
    error: float
    path: np.ndarray


def kernel_of(shape: Shape, root: np.ndarray | None, Z: np.ndarray) -> Kernel:
    """The kernel on rows Z; its length is in units of their median distance after A."""
    some = Z[:: max(1, len(Z) // MEDIAN_ROWS)]
    if root is not None:
        some = some * root if root.ndim == 1 else some @ root.T
    apart = pdist(some, "minkowski", p=shape.norm) if len(some) > 1 else np.ones(1)
    unit = float(np.median(apart))
    unit = unit if unit > 1e-100 else float(apart.max(initial=0.0)) or 1.0
    kernel: Kernel = PowerExponential(shape.length * unit, shape.power, shape.norm)
    return kernel if root is None else kernel.warp(root)


def solved(
    kernel: Kernel, shape: Shape, Z: np.ndarray, Y: np.ndarray, w: np.ndarray, penalties: Any
) -> Fitted:
    """α = (K + λW⁻¹)⁻¹ Y for the λ of the least leave-one-out error, one factorization for all."""
    root = np.sqrt(w)
    K = np.asarray(kernel.gram(Z).dense(), dtype=np.float64) * root[:, None] * root
    values, vectors = eigh(K, driver="evd", overwrite_a=True, check_finite=False)
    rotated = vectors.T @ (root[:, None] * Y)
    shrink = 1.0 / (np.maximum(values, 0.0)[:, None] + np.asarray(penalties))
    spread = np.square(vectors) @ shrink
    choices = [
        (vectors @ (s[:, None] * rotated), o) for s, o in zip(shrink.T, spread.T, strict=True)
    ]
    best, least = 0, np.inf
    for i, (beta, spread) in enumerate(choices):
        error = float(
            np.average((np.square(beta / spread[:, None]) / w[:, None]).sum(1), weights=w)
        )
        if error < least * (1 - 1e-9):
            best, least = i, error
    beta, spread = choices[best]
    coef = root[:, None] * beta
    loo = Y - beta / (root * spread)[:, None]
    path = root[:, None] * np.hstack([beta for beta, _ in choices])
    return Fitted(shape, kernel, float(penalties[best]), coef, loo, least, path)


def best_of(
    shapes: list[Shape],
    root: np.ndarray | None,
    Z: np.ndarray,
    Y: np.ndarray,
    w: np.ndarray,
    penalties: Any = PENALTIES,
) -> Fitted:
    """The shape of the least leave-one-out error, with its λ."""
    fits = [solved(kernel_of(s, root, Z), s, Z, Y, w, penalties) for s in shapes]
    return min(fits, key=lambda one: one.error)


def bent(G: np.ndarray) -> np.ndarray | None:
    """A with AᵀA = G / max|G|; None where f is constant."""
    top = float(np.abs(G).max(initial=0.0))
    return root_of_metric(G / top) if top > 0 else None


def threads_for(n: int) -> AbstractContextManager[None]:
    """Several threads of BLAS, or one where a solution has few rows."""
    return single_threaded_blas() if n < THREADED_ROWS else nullcontext()


def coefficients(
    kernel: Kernel, Z: np.ndarray, Y: np.ndarray, w: np.ndarray, penalty: float
) -> np.ndarray:
    """α = (K + λW⁻¹)⁻¹ Y."""
    K = np.asarray(kernel.gram(Z).dense(), dtype=np.float64)
    K[np.diag_indices(len(K))] += penalty / w
    with threads_for(len(K)):
        if (refined := _refined(K, Y)) is not None:
            return refined
        if not factorize(K, 1):
            raise np.linalg.LinAlgError(f"K + {penalty:g} I is not positive definite: raise alpha")
        return solve(K, Y, 1)


def _refined(A: np.ndarray, Y: np.ndarray) -> np.ndarray | None:
    """A⁻¹Y as exact as from A's own factor: by one in float32, in half of the time, step by step
    from what is left while that shrinks; None where it stays. No number in A is far above 1."""
    U, X, rest = A.astype(np.float32), np.zeros(Y.shape), Y
    least = np.inf if factorize(U, 1) else 0.0
    while (left := float(np.abs(rest).max(initial=0.0))) < least / 2:
        least, X = left, X + solve(U, rest, 1)
        rest = Y - A @ X
        rounding = 4 * np.finfo(float).eps * np.abs(X).sum(axis=0)
        if (np.abs(rest).max(axis=0, initial=0.0) <= rounding).all():
            return X
    return None


def learned(
    shapes: Any, penalties: Any, Z: np.ndarray, Y: np.ndarray, w: np.ndarray, diagonal: bool
) -> list[np.ndarray]:
    """A after each round, of which each has a shape and a λ; Ctrl-C leaves those so far."""
    roots: list[np.ndarray] = []
    with progress("rounds", len(shapes)) as bar:
        try:
            for shape, penalty in zip(shapes, penalties, strict=True):
                kernel = kernel_of(shape, roots[-1] if roots else None, Z)
                coef = coefficients(kernel, Z, Y, w, penalty)
                root = bent(outer_product(kernel, Z, Z, coef, w, diagonal))
                if root is None:
                    break
                roots.append(root)
                bar.advance()
        except KeyboardInterrupt:
            warn_interrupted()
    return roots


def warn_interrupted() -> None:
    """Say that Ctrl-C came: what is found so far counts."""
    text = "interrupted: the metric is the best one that was found so far"
    warnings.warn(text, ConvergenceWarning, stacklevel=2)
