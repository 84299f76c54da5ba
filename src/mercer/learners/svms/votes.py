"""From one score a pair of classes to one a class; arrays and tensors alike."""

from __future__ import annotations

from itertools import combinations
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
    return 0.5 * (ones @ _signs(values, classes) + (classes - 1))


def one_against_rest(values: Any, classes: int) -> Any:
    """Votes, and within equal votes the sum of scores, squeezed into (−1/3, 1/3)."""
    sums = values @ _signs(values, classes)
    return pair_votes(values, classes) + sums / (3 * (abs(sums) + 1))


def _signs(values: Any, classes: int) -> Any:
    """(pairs, classes): 1 for the first class of a pair, −1 for the second."""
    table = np.zeros((values.shape[1], classes))
    for pair, (i, j) in enumerate(combinations(range(classes), 2)):
        table[pair, i], table[pair, j] = 1.0, -1.0
    return _like(like(table, values), values)


def _like(array: Any, values: Any) -> Any:
    """The same numbers in the precision of `values`."""
    return array.astype(values.dtype) if isinstance(array, np.ndarray) else array.to(values.dtype)
