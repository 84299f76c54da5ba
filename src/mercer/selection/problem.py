"""What `compare` is asked: examples and targets in any of their forms, looked at and made plain."""

from __future__ import annotations

from dataclasses import dataclass
from email.message import Message
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._examples import count, take
from mercer.data.dataset import Dataset, guess_task

TASKS = ("classification", "regression")


@dataclass(frozen=True)
class Problem:
    """`X` raw, as it will be given to the fitted pipeline; `y` labels or float64 numbers."""

    X: Any
    y: np.ndarray
    kind: str
    task: str
    reason: str
    notes: tuple[str, ...]
    classes: np.ndarray | None
    column: str | None = None  # of a table, that the strings came from

    @property
    def n(self) -> int:
        return len(self.y)

    def take(self, rows: np.ndarray) -> Any:
        return self.X.iloc[rows] if hasattr(self.X, "iloc") else take(self.X, rows)


def as_problem(X: Any, y: Any = None, task: str | None = None) -> Problem:
    """From a `Dataset`, or examples and targets; the error says what is missing."""
    if task is not None and task not in TASKS:
        raise ValueError(f"task is 'classification' or 'regression', got {task!r}")
    notes: tuple[str, ...] = ()
    kind = None
    column = None
    if hasattr(X, "iloc") and isinstance(y, str):
        X, y, notes = _taken_out(X, y)
    if isinstance(X, Dataset):
        kind = X.kind
        # The task is said anyway, and so is what happens to gaps.
        notes = tuple(n for n in X.notes if not n.startswith((*TASKS, "missing values")))
        y = X.y if y is None else y
        task = task or X.task
        column = X.schema.columns[0] if kind == "strings" and X.schema is not None else None
        X = X.X
    if y is None:
        raise ValueError("compare needs targets: give y, the name of a column, or a data set's")
    X, kind = _examples(X, kind)
    y, notes = _targets(y, count(X), notes)
    guessed, reason = guess_task(y)
    task = task or guessed
    reason = reason if guessed == task else "as asked for"
    find = _regression if task == "regression" else _classification
    y, classes = find(y)
    return Problem(X, y, kind, task, reason, notes, classes, column)


def _taken_out(frame: Any, target: str) -> tuple[Any, np.ndarray, tuple[str, ...]]:
    """The column of targets apart from the others; rows without a target left out."""
    import difflib

    names = [str(c) for c in frame.columns]
    if target not in names:
        near = difflib.get_close_matches(target, names, 1, cutoff=0.4)
        hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(names[:20])}."
        raise ValueError(f"there is no column {target!r}. {hint}")
    place = names.index(target)
    missing = frame.iloc[:, place].isna().to_numpy()
    notes: tuple[str, ...] = ()
    if missing.any():
        notes = (f"{int(missing.sum())} rows without a target were left out",)
        frame = frame[~missing]
    others = [i for i in range(len(names)) if i != place]
    if not others:
        raise ValueError("there is no column beside the target")
    return frame.iloc[:, others], frame.iloc[:, place].to_numpy(), notes


def _examples(X: Any, kind: str | None) -> tuple[Any, str]:
    if hasattr(X, "iloc"):
        return X, kind or "table"
    if is_sparse(X):
        return X.tocsr(), kind or "vectors"
    if isinstance(X, np.ndarray):
        if X.ndim == 1 and X.dtype.kind in "OUS":
            return _objects(list(X), kind)
        if X.ndim == 3 and X.dtype.kind in "biuf":
            return X.reshape(len(X), -1), kind or "images"
        if X.ndim != 2:
            raise ValueError(f"X must have rows and columns, got an array of shape {X.shape}")
        if X.dtype.kind in "OUSM":
            from mercer.maps.table import as_frame

            return as_frame(X), "table"
        return X, kind or "vectors"
    X = list(X)
    if X and isinstance(X[0], (str, bytes, Message)):
        return _objects(X, kind)
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError("the rows of X have different lengths") from None
    return _examples(array, kind)


def _objects(X: list[Any], kind: str | None) -> tuple[list[Any], str]:
    if kind is None:
        kind = "strings" if all(isinstance(x, str) for x in X) else "mail"
    return X, kind


def _targets(y: Any, n: int, notes: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"one target a row is needed, got an array of shape {y.shape}")
    if len(y) != n:
        raise ValueError(f"{n} rows but {len(y)} targets")
    if n < 4:
        raise ValueError(f"{n} rows are too few to hold some out; at least 4 are needed")
    if y.dtype.kind == "O":
        gone = np.array([v is None or v != v for v in y])
        if not gone.any() and all(isinstance(v, (int, float, np.number)) for v in y):
            y = y.astype(np.float64)
        elif not gone.any():
            y = y.astype(str)
    else:
        gone = np.isnan(y) if y.dtype.kind == "f" else np.zeros(n, dtype=bool)
    if gone.any():
        raise ValueError(f"{int(gone.sum())} targets are missing; leave those rows out")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("targets must be finite")
    return y, notes


def _regression(y: np.ndarray) -> tuple[np.ndarray, None]:
    if y.dtype.kind not in "biuf":
        raise ValueError(f"regression needs numbers as targets, got {y.dtype}: {y[:3]!r}")
    y = y.astype(np.float64)
    if np.ptp(y) == 0:
        raise ValueError(f"the target is {y[0]:g} in every row: nothing can be learnt")
    return y, None


def _classification(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    classes, sizes = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"every row has the class {str(classes[0])!r}: nothing can be learnt")
    if sizes.max() < 2:
        raise ValueError(
            f"{len(classes)} classes of one row each: is this a regression? (task='regression')"
        )
    if len(classes) > max(100, len(y) // 3):
        raise ValueError(
            f"{len(classes)} classes in {len(y)} rows are too many to learn; is this a "
            "regression? (task='regression')"
        )
    return y, classes


def seconds_of(budget: Any) -> float | None:
    """Seconds from a number or a text such as "60s", "5min", "1h".

    >>> seconds_of("1.5min"), seconds_of(30), seconds_of(None)
    (90.0, 30.0, None)
    """
    import re

    if budget is None:
        return None
    if isinstance(budget, (int, float)) and not isinstance(budget, bool):
        value = float(budget)
    else:
        match = re.fullmatch(r"\s*([\d.]+)\s*(ms|s|sec|min|m|h)?\s*", str(budget))
        if not match or match[1].count(".") > 1 or match[1] == ".":
            raise ValueError(f"a budget looks like 60, '60s', '5min' or '1h', got {budget!r}")
        unit = {"ms": 1e-3, "min": 60.0, "m": 60.0, "h": 3600.0}.get(match[2] or "s", 1.0)
        value = float(match[1]) * unit
    if not 0 < value < float("inf"):
        raise ValueError(f"the budget must be a positive time, got {budget!r}")
    return value
