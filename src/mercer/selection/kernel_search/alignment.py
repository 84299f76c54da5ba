"""⟨K, T⟩ / (‖K‖ ‖T‖): how well the similarities of a kernel agree with those of the targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels import Kernel, as_kernel


def alignment(kernel: Any, X: Any, y: Any) -> float:
    """The cosine between K and T = ttᵀ, both centered in feature space; 1 is perfect.

    T holds tᵢtⱼ for numbers and labels ±1, and for several classes 1 where they are the same.

    Parameters
    ----------
    kernel : Kernel, expression or square matrix
        With a matrix, X is not looked at.
    X : array or list
        The examples.
    y : array of shape (n,)
        Numbers or labels.

    Returns
    -------
    float
        From −1 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, Linear
    >>> X, y = np.array([[-1.0, 5.0], [1.0, 5.0], [-1.0, -5.0], [1.0, -5.0]]), [0, 1, 0, 1]
    >>> round(alignment(Linear(), X, y), 3), round(alignment(Linear().on([0]), X, y), 3)
    (0.04, 1.0)
    """
    K = np.asarray(kernel, dtype=np.float64) if isinstance(kernel, np.ndarray) else None
    if K is None:
        made: Kernel = as_kernel(kernel)
        K = np.asarray(made(X), dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"a square kernel matrix is needed, got shape {K.shape}")
    T = targets_of(np.asarray(y))
    if len(T) != len(K):
        raise ValueError(f"{len(K)} examples but {len(T)} targets")
    return matrix_alignment(K, T)


def targets_of(y: np.ndarray) -> np.ndarray:
    """One centered column for numbers and two classes, one per class for more."""
    classes = np.unique(y)
    if y.dtype.kind == "f" and len(classes) > 2:
        T = y[:, None].astype(np.float64)
    elif len(classes) <= 2:
        T = np.where(y == classes[-1], 1.0, -1.0)[:, None]
    else:
        T = (y[:, None] == classes).astype(np.float64)
    return np.asarray(T - T.mean(axis=0))


def matrix_alignment(K: np.ndarray, T: np.ndarray) -> float:
    """From K and centered targets: ⟨HKH, TTᵀ⟩ = tr(TᵀKT), so only the norm needs a centered K."""
    centered = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    square = T.T @ T
    norm = float(np.linalg.norm(centered)) * float(np.linalg.norm(square))
    return float(np.einsum("ij,ij->", T, K @ T)) / norm if norm > 0 else 0.0
