"""Columns that are zero in every row change no statistic: they are left out of the products.

Images have borders, tables have indicators that never occur. Dropping them costs a copy of the
rows, so it is done only where it saves a visible share of the work and the copy is small beside
the memory limit.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer.formula.nodes import Input

#: Rows that are read first: most columns have a number other than 0 among them.
FIRST = 256
#: Narrower data is not searched for empty columns: dropping some would save too little.
WIDE = 64
#: The least share of columns worth a copy, and the largest share of the memory limit it may take.
SAVED, ROOM = 0.04, 0.125
#: Multiplications of a product in the time that a number takes to be copied: 2 ns at 25 per ns.
COPYING = 50


def without_empty_columns(
    left: dict[Input, Any], right: dict[Input, Any], *fixed: Collection[Input]
) -> tuple[dict[Input, Any], dict[Input, Any]]:
    """The numbers of both operands, each input without the columns that are zero in both.

    Inputs in one of `fixed` are left as they are.
    """
    x, z = left, right
    for key in left:
        sides = [left[key]] if right is left else [left[key], right[key]]
        if any(m.shape[1] < WIDE or is_sparse(m) for m in sides) or any(key in f for f in fixed):
            continue
        if sum(m.nbytes for m in sides) > ROOM * get_config().memory_bytes:
            continue
        used = used_columns(*sides)
        empty = sides[0].shape[1] - len(used)
        saved = len(sides[0]) * len(sides[-1]) * empty
        pays = saved >= COPYING * len(used) * sum(len(m) for m in sides)
        if pays and 0 < len(used) <= (1 - SAVED) * left[key].shape[1]:
            taken = left[key].take(used, axis=1)
            x = {**x, key: taken}
            z = x if right is left else {**z, key: right[key].take(used, axis=1)}
    return x, z


def used_columns(*sides: np.ndarray) -> np.ndarray:
    """The columns that hold anything but zeros on either side."""
    return np.flatnonzero(np.logical_or.reduce([_used(m) for m in sides]))


def _used(matrix: np.ndarray) -> np.ndarray:
    """Which columns hold anything but zeros.

    The first rows decide for most columns. If few columns are still all zero after them, the rest
    of the rows is not read and these columns count as used.
    """
    used = (matrix[:FIRST] != 0).any(axis=0)
    rest = np.flatnonzero(~used)
    few = len(rest) < SAVED * len(used)
    used[rest] = True if few else matrix[FIRST:, rest].any(axis=0)
    return used
