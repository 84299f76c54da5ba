"""A matrix's most negative direction, and how few of its rows already show one."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

MAX_SUBSETS = 5000
MANY = 32


class Worst(NamedTuple):
    """The smallest eigenvalue of K scaled to a unit diagonal, and the c that belongs to K."""

    value: float
    vector: np.ndarray


def scaled(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """K with rows and columns divided by √|Kᵢᵢ|, which leaves its signature as it is."""
    K = (K + K.T) / 2
    diagonal = np.abs(np.diagonal(K))
    length = np.sqrt(np.where(diagonal > 0, diagonal, np.abs(K).max(axis=1, initial=0.0)))
    length = np.where(length > 0, length, 1.0)
    return K / length[:, None] / length[None, :], length


def worst(K: np.ndarray) -> Worst | None:
    """The most negative direction of K; None if K is not finite, or too uneven for LAPACK."""
    if not K.size or not np.isfinite(K).all():
        return None
    unit, length = scaled(K)
    if not np.isfinite(unit).all():
        return None
    try:
        values, vectors = np.linalg.eigh(unit)
    except np.linalg.LinAlgError:
        return None
    c = vectors[:, 0] / length
    largest = c[np.argmax(np.abs(c))]
    return Worst(float(values[0]), c / largest)


def fewest(K: np.ndarray, below: float) -> np.ndarray | None:
    """The numbers of as few rows as possible whose submatrix has an eigenvalue under ``below``.

    Points go one by one, the least missed first; small subsets are then looked through in full.
    """
    unit, _ = scaled(K)
    values, vectors = np.linalg.eigh(unit)
    if not values[0] < below:
        return None
    kept = _heaviest(unit, vectors[:, 0], below)
    for size in (1, 2, 3):  # before the greedy removal, which may lose the best triple
        found = _best_subset(unit, kept, size, below)
        if found is not None:
            return found
    while len(kept) > 4:
        smaller = np.array([np.delete(kept, i) for i in range(len(kept))])
        values = _least(unit[smaller[:, :, None], smaller[:, None, :]])
        if not values.min() < below:
            break
        kept = smaller[int(values.argmin())]
        for size in range(4, min(len(kept), 7)):
            found = _best_subset(unit, kept, size, below)
            if found is not None:
                return found
    return kept


def _least(parts: np.ndarray) -> np.ndarray:
    """The smallest eigenvalue of each matrix; 0, which refutes nothing, where LAPACK finds none."""
    try:
        least: np.ndarray = np.linalg.eigvalsh(parts)[..., 0]
    except np.linalg.LinAlgError:
        return np.zeros(parts.shape[:-2])
    return least


def _heaviest(unit: np.ndarray, direction: np.ndarray, below: float) -> np.ndarray:
    """All rows if they are few; else those with the largest part in the negative direction."""
    n = len(unit)
    order = np.argsort(-np.abs(direction), kind="stable")
    size = n if n <= MANY else MANY // 2
    while size < n:
        rows = np.sort(order[:size])
        if _least(unit[np.ix_(rows, rows)]) < below:
            return rows
        size *= 2
    return np.arange(n)


def _best_subset(unit: np.ndarray, among: np.ndarray, size: int, below: float) -> np.ndarray | None:
    subsets = _combinations(len(among), size)
    if subsets is None:
        return None
    rows = among[subsets]
    parts = unit[rows[:, :, None], rows[:, None, :]]
    # by the largest entry: where the diagonal is zero, only the shape of a part matters
    values = _least(parts) / np.maximum(np.abs(parts).max(axis=(1, 2)), 1e-300)
    if not values.min() < below:
        return None
    # shapes list their plainest points first: the first good subset reads better than the best
    return rows[int(np.argmax(values <= 0.6 * values.min()))]


@cache
def _combinations(n: int, size: int) -> np.ndarray | None:
    small = 0 < comb(n, size) <= MAX_SUBSETS
    return np.array(list(combinations(range(n), size))) if small else None


def plain_vector(K: np.ndarray, c: np.ndarray) -> np.ndarray:
    """A shorter way to write c: small integers or few decimals, if half of the dip survives."""
    goal = _relative(K, c) / 2
    if not goal < 0:
        return c
    smallest = np.abs(c).min()
    trials = [np.round(c / smallest * m) for m in (1, 2, 3)] if smallest > 0.02 else []
    trials += [np.round(c, digits) for digits in (1, 2, 3, 4)]
    for trial in trials:
        if np.abs(trial).min() > 0 and _relative(K, trial) <= goal:
            return trial if trial[np.argmax(np.abs(trial))] > 0 else -trial
    return c


def _relative(K: np.ndarray, c: np.ndarray) -> float:
    terms = c[:, None] * K * c[None, :]
    size = np.abs(terms).sum()
    return float(terms.sum() / size) if size > 0 else 0.0
