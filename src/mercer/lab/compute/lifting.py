"""Where φ sends the points: coordinates along the first directions of kernel PCA."""

from __future__ import annotations

import numpy as np


def principal(K: np.ndarray, n: int) -> np.ndarray:
    """The first n coordinates of the points in feature space, centered, widest first.

    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> np.abs(principal(X @ X.T, 1)).ravel().round(6).tolist()
    [1.0, 0.0, 1.0]
    """
    K = np.asarray(K, dtype=np.float64)
    centered = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values, vectors = np.linalg.eigh((centered + centered.T) / 2)
    values, vectors = values[::-1][:n], vectors[:, ::-1][:, :n]
    # The sign of an eigenvector is free: its largest entry is positive, so that no picture flips.
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0, 1.0, signs) * np.sqrt(np.maximum(values, 0.0)))
