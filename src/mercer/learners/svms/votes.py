"""From one score per pair of classes to one per class; arrays and tensors alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import like


def pair_votes(values: Any, classes: int) -> Any:
    """Votes a class; a positive score of the pair (i, j) votes for i.

    >>> pair_votes(np.array([[1.0, -1.0, 2.0]]), 3)
    array([[1., 1., 1.]])
    """
    ones = 2 * _like(values > 0, values) - 1
    # Half a vote for or against, from each of the pairs of a class.
    return 0.5 * (_sums(ones, classes) + (classes - 1))


def one_against_rest(values: Any, classes: int) -> Any:
    """Votes, and within equal votes the sum of scores, squeezed into (−1/3, 1/3)."""
    sums = _sums(values, classes)
    return pair_votes(values, classes) + sums / (3 * (abs(sums) + 1))


def pairs_per_class(chosen: np.ndarray, classes: int) -> np.ndarray:
    """How many of the chosen pairs each class is one of.

    >>> pairs_per_class(np.array([[True, False, True]]), 3)
    array([[1., 2., 1.]])
    """
    return _sums(chosen.astype(np.float64), classes, 1)


def _sums(values: Any, classes: int, second: int = -1) -> Any:
    """For each class the scores of the pairs that it is the first of, less those of the others.

    With ``second=1`` those are added.
    """
    sums = _like(like(np.zeros((len(values), classes)), values), values)
    start = 0
    for i in range(classes - 1):
        pairs = values[:, start : start + classes - 1 - i]  # (i, i + 1), (i, i + 2), …
        sums[:, i] += pairs.sum(axis=1)
        sums[:, i + 1 :] += second * pairs
        start += classes - 1 - i
    return sums


def _like(array: Any, values: Any) -> Any:
    """The same numbers in the precision of `values`."""
    return array.astype(values.dtype) if isinstance(array, np.ndarray) else array.to(values.dtype)
