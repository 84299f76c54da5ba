"""‖A‖ by power iteration: x ← Ax/‖x‖, again and again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def operator_norm(
    apply: Callable[[np.ndarray], np.ndarray], start: np.ndarray, rounds: int
) -> float:
    """The largest |eigenvalue| of a symmetric operator, from below; ∞ where it overflows.

    >>> A = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> round(operator_norm(lambda x: A @ x, np.array([1.0, 0.0]), 12), 6)
    3.0
    """
    x = start / np.linalg.norm(start)
    norm = 0.0
    for _ in range(rounds):
        x = np.asarray(apply(x), dtype=np.float64)
        norm = float(np.linalg.norm(x))
        if not np.isfinite(norm):
            return np.inf
        if norm == 0:
            return 0.0
        x = x / norm
    return norm
