"""From one score a pair of classes to one a class."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def pair_votes(values: np.ndarray, classes: int) -> np.ndarray:
    """Votes a class; a positive score of the pair (i, j) votes for i."""
    votes = np.zeros((len(values), classes))
    for column, (i, j) in enumerate(combinations(range(classes), 2)):
        for_first = values[:, column] > 0
        votes[:, i] += for_first
        votes[:, j] += ~for_first
    return votes


def one_against_rest(values: np.ndarray, classes: int) -> np.ndarray:
    """Votes, and within equal votes the sum of scores, squeezed into (−1/3, 1/3)."""
    sums = np.zeros((len(values), classes))
    for column, (i, j) in enumerate(combinations(range(classes), 2)):
        sums[:, i] += values[:, column]
        sums[:, j] -= values[:, column]
    return pair_votes(values, classes) + sums / (3 * (np.abs(sums) + 1))
