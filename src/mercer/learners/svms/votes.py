"""From one score per pair of classes to one per class; arrays and tensors alike."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mercer._arrays import like
from mercer._machine.threads import blas_for

#: Classes up to which votes are counted by a product, whose matrix has a row per pair: it is exact,
#: because votes are whole numbers, and takes a sixth of the time of a loop over 26 classes.
PRODUCT = 64


def pair_votes(values: Any, classes: int) -> Any:
    """Votes a class; a positive score of the pair (i, j) votes for i.

    >>> pair_votes(np.array([[1.0, -1.0, 2.0]]), 3)
    array([[1., 1., 1.]])
    """
    won = values > 0
    if isinstance(won, np.ndarray) and classes <= PRODUCT:
        # A pair that is lost is a vote for its second class, as a pair that is won is one less.
        signed, second = _members(classes)
        return _counted(won, signed) + second
    ones = 2 * _like(won, values) - 1
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
    if classes <= PRODUCT:
        return _counted(chosen, np.abs(_members(classes)[0]))
    return _sums(chosen.astype(np.float64), classes, 1)


def _counted(pairs: np.ndarray, members: np.ndarray) -> np.ndarray:
    with blas_for(2.0 * pairs.size * members.shape[1]):
        return (pairs.astype(np.float32) @ members).astype(np.float64)


@lru_cache(maxsize=8)
def _members(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """1 where a class is the first of a pair and −1 where it is the second; its pairs as second."""
    first, second = np.triu_indices(classes, 1)
    signed = np.zeros((len(first), classes), dtype=np.float32)
    signed[np.arange(len(first)), first] = 1.0
    signed[np.arange(len(first)), second] = -1.0
    return signed, np.arange(classes, dtype=np.float32)


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
