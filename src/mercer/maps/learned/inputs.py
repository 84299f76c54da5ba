"""Columns as a learned metric takes them: values, ranks or both, all of comparable spread."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from mercer._lazy import record

#: What a metric may be learned on.
INPUTS = ("values", "ranks", "both")
#: Points of the empirical distribution of a column that its ranks are interpolated between.
KNOTS = 256
#: The standard deviation of ranks between 0 and 1, which are brought to 1.
SPREAD_OF_RANKS: Final = 12.0**-0.5


@record
class Inputs:
    """x ↦ (x − center)/scale, ranks of x among the training rows, or both side by side.

    A column of two values becomes 0 and 1, so that one-hot columns keep their distances; a constant
    one becomes 0. `knots` holds quantiles, one column per column that has ranks.
    """

    kind: str
    center: np.ndarray
    scale: np.ndarray
    ranked: np.ndarray
    knots: np.ndarray

    @classmethod
    def of(cls, kind: str, X: np.ndarray, weights: np.ndarray) -> Inputs:
        """Learned from rows that count by their weights."""
        total = weights.sum()
        mean = weights @ X / total
        spread = np.sqrt(weights @ np.square(X - mean) / total)
        low, high = X.min(axis=0), X.max(axis=0)
        two = ((low == X) | (high == X)).all(axis=0)
        flat = spread <= 1e-12 * np.maximum(np.abs(low), np.abs(high))
        center = np.where(two, low, mean)
        scale = np.where(flat, np.inf, np.where(two, high - low, spread))
        ranked = np.flatnonzero(~two & ~flat) if kind != "values" else np.arange(0)
        knots = [_quantiles(X[:, j], weights) for j in ranked]
        shape = (min(KNOTS, len(X)), len(ranked))
        return cls(kind, center, scale, ranked, np.array(knots).T.reshape(shape))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        values = (X - self.center) / self.scale
        if not len(self.ranked):
            return values
        ranks = np.empty((len(X), len(self.ranked)))
        share = np.linspace(0.0, 1.0, len(self.knots))
        for i, j in enumerate(self.ranked):
            knots, x = self.knots[:, i], X[:, j]
            # From below and from above: a value that many rows have is ranked in their middle.
            left = np.interp(x, knots, share)
            right = -np.interp(-x, -knots[::-1], -share[::-1])
            ranks[:, i] = (0.5 * (left + right) - 0.5) / SPREAD_OF_RANKS
        if self.kind == "both":
            return np.hstack([values, ranks])
        values[:, self.ranked] = ranks
        return values

    def folded(self, per_input: np.ndarray) -> np.ndarray:
        """Numbers per input, added up per column of the data."""
        d = len(self.center)
        totals = per_input[:d].copy()
        totals[self.ranked[: len(per_input) - d]] += per_input[d:]
        return totals


def _quantiles(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Values at equal steps of the distribution of a column."""
    order = np.argsort(x, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    steps = np.linspace(0.0, 1.0, min(KNOTS, len(x)))
    at = np.minimum(np.searchsorted(share, steps - 1e-12), len(x) - 1)
    quantiles: np.ndarray = x[order][at]
    return quantiles


def merged(
    X: np.ndarray, targets: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Equal rows as one, of their mean target and all their weight; in an order of their own.

    Left out alone, a copy would be predicted by the others, and noise would look like signal.
    """
    weights = np.ones(len(X)) if weights is None else weights
    X, targets, weights = X[weights > 0], targets[weights > 0], weights[weights > 0]
    rows, group = np.unique(X, axis=0, return_inverse=True)
    group = group.ravel()
    total = np.bincount(group, weights)
    sums: list[Any] = [np.bincount(group, weights * t) for t in targets.T]
    return rows, np.stack(sums, axis=1) / total[:, None], total
