"""Columns that number or name the rows, and whole numbers too large to be told apart."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

#: Whole numbers from here on are rounded when they become floats.
EXACT: Final = 2.0**53
#: Rows that decide most columns.
FIRST_NUMBERED = 100
#: What is done about them.
HUGE = "columns left out, because whole numbers beyond 2⁵³ cannot be told apart"
#: How columns of identifiers are called: id, user_id, userId, orderNumber, key, serial no, …
_NAMES = r"id|key|uuid|guid|nr|no|num|number|index|idx|row|serial"
NAMED = re.compile(rf"(?i:(?:^|[_\W])(?:{_NAMES})s?)$|[a-z](?:Id|ID|Key|Nr|No|Number|Index)$")

#: How those are called whose values several rows may share.
IDENTIFIER = re.compile(r"(?i:(?:^|[_\W])(?:id|key|uuid|guid))$|[a-z](?:Id|ID|Key)$")


def numbers_rows(name: str, values: np.ndarray) -> bool:
    """Whole, all different, and either with hardly a gap between them (1, 2, 3 …, in any order), or
    rising from row to row, or called an identifier.

    >>> near, far = np.array([3.0, 1.0, 2.0]), np.array([30.0, 10.0, 20.0])
    >>> [numbers_rows("a", near), numbers_rows("a", far), numbers_rows("a", np.sort(far))]
    [True, False, True]
    >>> numbers_rows("user_id", far), numbers_rows("paid", far)
    (True, False)
    """
    n = len(values)
    if len(np.unique(values[:FIRST_NUMBERED])) < min(n, FIRST_NUMBERED):
        return False  # what most columns show soon
    if not np.isfinite(values).all() or np.abs(values).max() >= EXACT:
        return False
    if not np.array_equal(values, np.round(values)) or len(np.unique(values)) < n:
        return False
    steps = np.diff(values)
    running = bool((steps > 0).all() or (steps < 0).all())
    return bool(np.ptp(values) < 1.2 * n or running or NAMED.search(name))


def huge_numbers(values: Any) -> bool:
    """Whether all known values are beyond what a float tells apart: a scaler makes noise of them.

    >>> huge_numbers(np.array([2.0**62, 2.0**62 + 4096])), huge_numbers(np.array([1.0, 2.0**62]))
    (True, False)
    """
    values = np.asarray(values, dtype=np.float64)
    if np.any(np.abs(values[:FIRST_NUMBERED]) < EXACT):
        return False
    known = values[np.isfinite(values)]
    whole = np.array_equal(known, np.round(known))
    return bool(len(known) and whole and np.abs(known).min() >= EXACT)
