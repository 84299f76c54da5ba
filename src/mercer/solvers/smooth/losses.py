"""Σ wᵢ ℓ(yᵢ, fᵢ) for a smooth convex ℓ: all that a minimizer needs to know of a loss.

A loss is one class: its value, its link from scores to means, and its curvature. Everything is
written over the array namespace `xp`, so that the same class serves NumPy arrays and tensors.

Two classes: P(y = 1|x) = 1/(1 + exp(−f)), so P(y = 0|x) = 1/(1 + exp(f)), Ritter's formula.
C classes: P(y = c|x) = exp(f_c) / Σ exp(f).
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from mercer._arrays import host, namespace


class SmoothLoss(ABC):
    """Targets y (N, columns) with `columns` scores per example, and weights w (N,).

    The derivative of ℓ in the scores is link(f) − y here, as it is for every loss that is the
    negative log-likelihood of an exponential family with its natural link (logistic regression,
    Poisson, least squares); another loss overrides `gradient`. ℓ must not be negative: tolerances
    are relative to the objective.
    """

    #: An upper bound of the eigenvalues of ℓ'' in the scores; ∞ where there is none.
    steepest: ClassVar[float] = math.inf
    #: Whether the same number added to all scores of an example changes nothing.
    shift_invariant: ClassVar[bool] = False

    def __init__(self, y: Any, weights: Any = None) -> None:
        y = np.asarray(y, dtype=np.float64)
        self.y: Any = y[:, None] if y.ndim == 1 else y
        self.weights: np.ndarray = (
            np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
        )

    @property
    def columns(self) -> int:
        return int(self.y.shape[1])

    @property
    def xp(self) -> Any:
        return namespace(self.y)

    def moved(self, asarray: Callable[[Any], Any]) -> Self:
        """The same loss with its arrays in another place."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(other, name, asarray(value))
        return other

    # --- what a loss defines ---------------------------------------------------------------

    @abstractmethod
    def values(self, scores: Any) -> Any:
        """ℓ of each example, (N,), for scores (N, columns)."""

    @abstractmethod
    def link(self, scores: Any) -> Any:
        """The mean of y that scores stand for: probabilities, rates, … (N, columns)."""

    @abstractmethod
    def diagonal(self, mean: Any) -> Any:
        """The diagonal of the curvature, w ∂²ℓ/∂f², (N, columns)."""

    def curvature(self, mean: Any, V: Any) -> Any:
        """The curvature times V; one block per example where an example has several scores."""
        return self.diagonal(mean) * V

    def start(self) -> Any:
        """The intercept of a good constant f, (columns,)."""
        return np.zeros(self.columns)

    # --- what follows ------------------------------------------------------------------------

    def value(self, scores: Any) -> float:
        """The weighted sum; ∞ where it overflows."""
        with np.errstate(over="ignore"):
            return float(self.weights @ self.values(scores))

    def gradient(self, mean: Any) -> Any:
        """∂/∂f = w (mean − y)."""
        return self.weights[:, None] * (mean - self.y)

    def bound(self) -> float:
        """No eigenvalue of the curvature of any example is larger."""
        return float(self.weights.max()) * self.steepest

    def mean(self) -> np.ndarray:
        """The weighted mean of y."""
        return host(self.weights @ self.y) / float(self.weights.sum())  # type: ignore[no-any-return]


class Binary(SmoothLoss):
    """y in {0, 1}: ℓ = log(1 + eᶠ) − yf."""

    steepest: ClassVar[float] = 0.25

    def values(self, scores: Any) -> Any:
        return (self.xp.logaddexp(0.0 * scores, scores) - self.y * scores)[:, 0]

    def link(self, scores: Any) -> Any:
        return self.xp.exp(-self.xp.logaddexp(0.0 * scores, -scores))

    def diagonal(self, mean: Any) -> Any:
        return self.weights[:, None] * mean * (1 - mean)

    def start(self) -> np.ndarray:
        mean = self.mean()
        return np.log(mean / (1 - mean))


class Squares(SmoothLoss):
    """ℓ = ½ Σ (y − f)², summed over the columns: targets that know nothing of each other."""

    steepest: ClassVar[float] = 1.0

    def values(self, scores: Any) -> Any:
        return 0.5 * self.xp.sum((self.y - scores) ** 2, axis=1)

    def link(self, scores: Any) -> Any:
        return scores

    def diagonal(self, mean: Any) -> Any:
        return self.weights[:, None] + 0.0 * mean

    def start(self) -> np.ndarray:
        return self.mean()


class Multinomial(SmoothLoss):
    """y in {0, …, C − 1}: ℓ = log Σ exp(f) − f_y."""

    steepest: ClassVar[float] = 0.5
    shift_invariant = True

    def __init__(self, y: np.ndarray, columns: int, weights: Any = None) -> None:
        super().__init__(np.asarray(y)[:, None] == np.arange(columns), weights)

    def values(self, scores: Any) -> Any:
        xp = self.xp
        shifted = scores - xp.max(scores, axis=1, keepdims=True)
        return xp.log(xp.sum(xp.exp(shifted), axis=1)) - xp.sum(self.y * shifted, axis=1)

    def link(self, scores: Any) -> Any:
        xp = self.xp
        powers = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
        return powers / xp.sum(powers, axis=1, keepdims=True)

    def diagonal(self, mean: Any) -> Any:
        return self.weights[:, None] * mean * (1 - mean)

    def curvature(self, mean: Any, V: Any) -> Any:
        """w (diag(p) − ppᵀ) V."""
        scaled = mean * V
        scaled -= mean * self.xp.sum(scaled, axis=1, keepdims=True)
        scaled *= self.weights[:, None]
        return scaled

    def start(self) -> np.ndarray:
        log = np.log(self.mean())
        return log - log.mean()
