"""Targets: one per row, none missing, and what is to be learned about them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from mercer.data.schema import COMMA, DataError

TASKS = ("classification", "regression")
#: A numeric target with at most this many distinct whole values is read as classes; with up to so
#: many, if they are 0, 1, 2 … or 1, 2, 3 … and about as frequent: labels are, counts are not.
MAX_CLASSES, MAX_LABELS = 20, 100
#: From so many on, values that are more than 1 apart, and all equally far, are numbers: 0, 10, 20 …
LEAST_STEPS = 5
#: "About as frequent": every one at least so often as this share of the average.
EVEN = 0.25


def guess_task(y: Any) -> tuple[str, str]:
    """Say what the targets ask for, and why: ("classification" | "regression", why).

    Parameters
    ----------
    y : array or list
        The targets.

    Returns
    -------
    tuple of str
        The task, and a sentence.

    Examples
    --------
    >>> from mercer import data
    >>> data.guess_task(["a", "b", "a"])[0], data.guess_task([0.5, 1.25, 3.75])[0]
    ('classification', 'regression')
    """
    y = np.asarray(y)
    if y.dtype.kind in "OUSb":
        return "classification", "the target is not a number"
    distinct = np.unique(y[np.isfinite(y)] if y.dtype.kind == "f" else y)
    whole = bool(np.all(distinct == np.round(distinct)))
    steps = np.unique(np.diff(distinct.astype(np.float64)))
    if whole and len(steps) == 1 and steps[0] > 1 and len(distinct) >= LEAST_STEPS:
        return "regression", (
            f"the target takes {len(distinct)} values that are equally far apart; for classes, "
            "task='classification'"
        )
    most = MAX_LABELS if whole and _labels(y, distinct) else MAX_CLASSES
    if whole and len(distinct) <= min(most, max(2, len(y) // 3)):
        return "classification", f"the target takes {len(distinct)} whole values"
    return "regression", f"the target takes {len(distinct)} different values"


def _labels(y: np.ndarray, distinct: np.ndarray) -> bool:
    """Whether whole values look like labels: without gaps from 0 or 1 on, and evenly spread."""
    first, last = distinct[0], distinct[-1]
    if first not in (0, 1) or last - first + 1 != len(distinct) or len(distinct) > MAX_LABELS:
        return False
    sizes = np.unique(y, return_counts=True)[1]
    return bool(sizes.min() >= EVEN * sizes.mean())


def read_targets(y: Any, n: int, name: str = "the target") -> np.ndarray:
    """An array of numbers, truths or strings, one per row; gaps and single values are refused."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise DataError(f"one target per row is needed, got an array of shape {y.shape}")
    if len(y) != n:
        raise DataError(f"{n} rows but {len(y)} targets")
    missing = _missing(y)
    if missing.any():
        raise DataError(f"{int(missing.sum())} targets are missing; leave those rows out")
    y = _with_points(_plain(y))
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError(f"{name} holds infinite values; targets must be finite")
    if n and (y == y[0]).all():
        raise DataError(f"{name} takes a single value, {y[0].item()!r}: nothing can be learned")
    return y


def _missing(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "O":
        return np.array([v is None or v is not v or v != v for v in y], dtype=bool)
    return np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)


def _plain(y: np.ndarray) -> np.ndarray:
    """Objects as numbers or strings, and other types (dates) as strings."""
    if y.dtype.kind in "biufUS":
        return y
    if y.dtype.kind == "O" and all(isinstance(v, (int, float, np.number)) for v in y):
        return y.astype(bool if all(isinstance(v, bool) for v in y) else np.float64)
    return y.astype(str)


def _with_points(y: np.ndarray) -> np.ndarray:
    """Numbers of texts that all are numbers, some with a decimal comma: as columns are read."""
    if y.dtype.kind != "U" or not all(re.fullmatch(COMMA, v) for v in y.tolist()):
        return y
    plain = np.char.replace(np.char.replace(np.char.strip(y), ".", ""), ",", ".")
    return plain.astype(np.float64) if (plain != y).any() else y


def whole_numbers(y: np.ndarray) -> np.ndarray:
    """Floats that are all whole as int64: a format without integers, or a gap, made them floats."""
    if y.dtype.kind != "f" or not np.isfinite(y).all():
        return y
    small = np.abs(y).max(initial=0.0) < 2**53
    return y.astype(np.int64) if small and (y == np.round(y)).all() else y


def for_task(y: np.ndarray, task: str | None) -> tuple[np.ndarray, str]:
    """The targets as a task takes them; the task is read off them where it is not given."""
    if task is not None and task not in TASKS:
        raise DataError(f"task is 'classification' or 'regression', got {task!r}")
    task = task or guess_task(y)[0]
    if task == "classification":
        return y, task
    if y.dtype.kind not in "biuf":
        raise DataError(f"regression needs numbers as targets, got {y.dtype}: {y[:3]!r}")
    return y.astype(np.float64), task
