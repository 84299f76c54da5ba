"""Σ wᵢ log-loss, for two classes (one score an example) and for more (one score a class).

Two classes: P(y = 1|x) = 1/(1 + exp(−f)), so P(y = 0|x) = 1/(1 + exp(f)), lecture 000's formula.
C classes: P(y = c|x) = exp(f_c) / Σ exp(f).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.special import expit, log_softmax, softmax


class Loss(Protocol):
    """`columns` scores an example; W = ∂²/∂f² is block diagonal, one block an example."""

    columns: int
    weights: np.ndarray

    def value(self, scores: np.ndarray) -> float: ...

    def probabilities(self, scores: np.ndarray) -> np.ndarray: ...

    def residual(self, p: np.ndarray) -> np.ndarray:
        """∂/∂f = w (p − y)."""

    def curvature(self, p: np.ndarray, V: np.ndarray) -> np.ndarray:
        """W V."""

    def start(self) -> np.ndarray:
        """The intercept of the best constant f."""


class Binary:
    """y in {0, 1}."""

    columns = 1

    def __init__(self, y: np.ndarray, weights: np.ndarray) -> None:
        self.y, self.weights = y.astype(np.float64)[:, None], weights

    def value(self, scores: np.ndarray) -> float:
        return float(self.weights @ (np.logaddexp(0.0, scores) - self.y * scores)[:, 0])

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        return expit(scores)

    def residual(self, p: np.ndarray) -> np.ndarray:
        return self.weights[:, None] * (p - self.y)

    def curvature(self, p: np.ndarray, V: np.ndarray) -> np.ndarray:
        return (self.weights[:, None] * p * (1 - p)) * V

    def start(self) -> np.ndarray:
        mean = float(self.weights @ self.y[:, 0]) / float(self.weights.sum())
        return np.array([np.log(mean / (1 - mean))])


class Multinomial:
    """y in {0, …, C − 1}."""

    def __init__(self, y: np.ndarray, columns: int, weights: np.ndarray) -> None:
        self.y, self.columns, self.weights = y, columns, weights
        self._at = np.arange(len(y))

    def value(self, scores: np.ndarray) -> float:
        return -float(self.weights @ log_softmax(scores, axis=1)[self._at, self.y])

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        return softmax(scores, axis=1)

    def residual(self, p: np.ndarray) -> np.ndarray:
        g = p.copy()
        g[self._at, self.y] -= 1.0
        g *= self.weights[:, None]
        return g

    def curvature(self, p: np.ndarray, V: np.ndarray) -> np.ndarray:
        pV = p * V
        pV -= p * pV.sum(axis=1, keepdims=True)
        pV *= self.weights[:, None]
        return pV

    def start(self) -> np.ndarray:
        share = np.bincount(self.y, self.weights, self.columns) / self.weights.sum()
        log = np.log(share)
        return log - log.mean()
