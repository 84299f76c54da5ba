"""The largest eigenpairs of K, or of JKJ with J = I − 11ᵀ/N, which centers φ(x) on its mean.

Few of many are found by products with blocks of vectors, K kept where half of the memory limit
holds it and computed tile by tile where it does not; all of them, or those of a small matrix, from
the matrix itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh

import mercer.tuning as tuning
from mercer._arrays import host
from mercer._config import show_bytes
from mercer._lazy import record
from mercer.gram import Gram
from mercer.solvers.linear.matrix import matrix_bytes, scaled_matrix
from mercer.solvers.linear.panels import Panels, panels_of
from mercer.solvers.spectral import krylov


@record
class Components:
    """λ (largest first) and vectors u as columns; the means K1/N that centering takes off.

    `total` is the sum of all eigenvalues, the trace; `stopped` says why products ended early.
    """

    values: np.ndarray
    vectors: np.ndarray
    means: np.ndarray
    total: float
    n_iter: int = 0
    stopped: str = ""

    def zeros(self, dtype: np.dtype) -> np.ndarray:
        """Which eigenvalues are zero up to rounding, or negative."""
        return np.asarray(
            self.values <= tuning.SPECTRAL_RESIDUAL[dtype.name] * np.abs(self.values).max()
        )


def components(
    gram: Gram, count: int | None, *, center: bool = True, solver: str = "auto"
) -> Components:
    """The `count` largest eigenpairs (all for None), by the solver "dense" or "blocks"."""
    n = gram.shape[0]
    k = n if count is None else min(count, n)
    small = n <= tuning.SPECTRAL_DENSE_ROWS or k > tuning.SPECTRAL_DENSE_SHARE * n
    if solver == "dense" or (solver == "auto" and small) or 2 * krylov.fewest(k) > n:
        return _dense(gram, k, center)
    return _by_blocks(gram, k, center)


def _dense(gram: Gram, k: int, center: bool) -> Components:
    n = gram.shape[0]
    need = matrix_bytes(1 if k < n else 2, n, 8, k)
    if need > gram.limit_bytes:
        raise MemoryError(
            f"{k} of {n} eigenvectors need {show_bytes(need)}, but the memory limit is "
            f"{show_bytes(gram.limit_bytes)}: fewer components (at most "
            f"{int(tuning.SPECTRAL_DENSE_SHARE * n)}) are found without the matrix; or raise the "
            "limit with mercer.set_config(memory=…)."
        )
    A = scaled_matrix(gram, double=True)
    means = A.mean(axis=0)
    if center:
        A -= means
        A -= (means - means.mean())[:, None]
    total = float(np.trace(A))
    subset = None if k == n else (n - k, n - 1)
    values, U = eigh(A, overwrite_a=True, check_finite=False, subset_by_index=subset)
    return Components(
        values[::-1].copy(), np.ascontiguousarray(U[:, ::-1] * signs(U[:, ::-1])), means, total
    )


def _by_blocks(gram: Gram, k: int, center: bool) -> Components:
    """By products with K alone, for any number of rows."""
    n = gram.shape[0]
    check_basis(gram, k)
    panels = panels_of(gram)
    kept = panels.keep(0.5, triangle=True)
    means = np.zeros(n)

    def multiply(V: Any) -> Any:
        nonlocal means
        if not center:
            return _product(panels, gram, V)
        V = V - V.mean(0)
        if means.any():
            W = _product(panels, gram, V)
        else:  # K1 comes along with the first product
            W = _product(panels, gram, panels.xp.concat([V, panels.zeros(n, 1) + 1.0], axis=1))
            W, means = W[:, :-1], host(W[:, -1]) / n
        return W - W.mean(0)

    found = pairs_by_blocks(gram, panels, multiply, k, kept)
    total = float(np.sum(host(gram.diagonal()), dtype=np.float64))
    if center:
        total -= float(means.sum())
    U = host(found.vectors)
    vectors = np.ascontiguousarray(U * signs(U))
    return Components(found.values, vectors, means, total, found.n_iter, found.stopped)


def check_basis(gram: Gram, k: int) -> None:
    """An error where not even the smallest basis fits into its share of the memory."""
    n = gram.shape[0]
    need = 8 * n * krylov.fewest(k) / tuning.WORK_SHARE
    if need > gram.limit_bytes:
        raise MemoryError(
            f"{k} eigenvectors of {n} examples need {show_bytes(need)}, but the memory limit is "
            f"{show_bytes(gram.limit_bytes)}: take fewer components, or raise the limit with "
            "mercer.set_config(memory=…)."
        )


def pairs_by_blocks(
    gram: Gram, panels: Panels, multiply: Callable[[Any], Any], k: int, kept: bool
) -> krylov.Eigenpairs:
    """The k largest eigenpairs of an operator made of products with K, within the memory limit.

    Where K is kept, a narrow block needs fewer products with single vectors; where it is not, a
    wide one needs fewer passes over it. A narrow one that may have missed copies is widened.
    """
    n = gram.shape[0]
    most = min(n // 2, int(tuning.WORK_SHARE * gram.limit_bytes / (8 * n)))
    for width in (tuning.SPECTRAL_BLOCK,) * kept + (k + tuning.SPECTRAL_BLOCK,):
        start = panels.asarray(np.random.default_rng(0).normal(size=(n, width)))
        found = krylov.largest_eigenpairs(
            multiply, start, k, tuning.SPECTRAL_RESIDUAL[gram.dtype.name], most=most
        )
        if found.stopped or not krylov.crowded(found.values, width):
            break
    return found


def _product(panels: Panels, gram: Gram, V: Any) -> Any:
    """K V, or that of the symmetric part of K."""
    if gram.symmetric:
        return panels.product(V)
    return (panels.product(V) + panels.transposed_product(V)) / 2


def signs(U: np.ndarray) -> np.ndarray:
    """The signs that make the largest entry of every column positive, so that signs are fixed."""
    at = np.abs(U).argmax(axis=0)
    return np.where(U[at, np.arange(U.shape[1])] < 0, -1.0, 1.0)
