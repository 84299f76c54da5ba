"""log p(y) of a Gaussian process with noise, and its derivatives in all numbers of the kernel.

    log p(y) = −½ yᵀA⁻¹y − ½ log|A| − (n/2) log 2π,   A = K + λI
    ∂ log p/∂p = Σᵢⱼ Wᵢⱼ ∂Aᵢⱼ/∂p,   W = ½(ααᵀ − A⁻¹),   α = A⁻¹y

Weights w stand for so many equal examples: with S = diag(√w), SKS + λI and Sy take the places of
A and y, and what repeated targets add is −½(Σw − n) log 2πλ.

A⁻¹ takes the place of the factor, W the place of A⁻¹: one N×N array in all, where the examples are.
Several columns of y are processes of their own with the same kernel and noise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dsyrk

from mercer._lazy import record
from mercer._linalg import add_to_diagonal, cholesky, cholesky_solve, mirror
from mercer._machine.cholesky import invert
from mercer._machine.threads import single_threaded_blas
from mercer.gram import Gram, weighted_slopes

LOG_2PI = math.log(2.0 * math.pi)


@record
class Evidence:
    """The logarithm of the evidence, and its slopes by the names of parameters, if asked for.

    `noise` is the slope in λ.
    """

    value: float
    slopes: dict[str, Any] | None = None
    noise: float = 0.0


def evidence(
    gram: Gram,
    y: np.ndarray,
    noise: float,
    slopes: bool = True,
    weights: np.ndarray | None = None,
) -> Evidence:
    """log p(y) for targets (N, T); an error where K + λI is not positive definite.

    Without noise, what repeated targets add is left out: it is infinite, whatever k is.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> gram = Gaussian(1.0).gram(np.array([[0.0], [1.0]]))
    >>> round(evidence(gram, np.array([[1.0], [2.0]]), 0.5).value, 4)
    -3.502
    """
    scale = None if weights is None else np.sqrt(weights)
    y = y if scale is None else scale[:, None] * y
    alpha, logdet, W = gram.solver("evidence", factorized)(gram, y, noise, slopes, scale)
    if alpha is None:
        raise LinAlgError(
            f"K + λI is not positive definite to rounding (λ = {noise:.3g}): examples that are "
            "equal or nearly so need some noise"
        )
    n, targets = y.shape
    more = repeated(weights, noise, n)
    logdet += (n + more) * LOG_2PI + (more * math.log(noise) if more else 0.0)
    value = -0.5 * (float((y * alpha).sum()) + targets * logdet)
    if W is None:
        return Evidence(value)
    of_noise = float(W.diagonal().sum()) - (0.5 * targets * more / noise if more else 0.0)
    if scale is not None:
        scaling = gram.asarray(scale)
        W *= scaling[:, None]
        W *= scaling
    return Evidence(value, weighted_slopes(gram, W), of_noise)


def repeated(weights: np.ndarray | None, noise: float, n: int) -> float:
    """Σw − n: the targets that weights stand for beyond those that are there."""
    return 0.0 if weights is None or noise == 0 else float(weights.sum()) - n


def factorized(
    gram: Gram, y: np.ndarray, noise: float, slopes: bool, scale: np.ndarray | None
) -> tuple[np.ndarray | None, float, Any]:
    """α, log|A| and, for slopes, W; α is None where A is not positive definite."""
    A = gram.in_double()
    if scale is not None:
        A *= scale[:, None]
        A *= scale
    add_to_diagonal(A, noise)
    L = cholesky(A)
    if L is None:
        return None, 0.0, None
    alpha = cholesky_solve(L, y)
    logdet = 2.0 * float(np.log(L.diagonal()).sum())
    if not slopes:
        return alpha, logdet, None
    # The lower triangle of our rows is the upper one of LAPACK's columns.
    invert(L, lower=0)
    with single_threaded_blas():  # SciPy's, whose threads would keep NumPy's waiting
        W = dsyrk(0.5, alpha, beta=-0.5 * y.shape[1], c=L.T, lower=0, overwrite_c=1)
    return alpha, logdet, mirror(W)
