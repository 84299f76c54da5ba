"""A data set: examples, targets, and what was noticed on the way in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.data.schema import Schema


@dataclass(frozen=True)
class Dataset:
    """`X` is a DataFrame (tables), an array (numbers, images) or a list (texts, messages, …).

    `kind` says which: "table", "vectors", "images", "strings" or "mail". `task` is
    "classification", "regression" or None without a target. `notes` are sentences for the user.
    """

    X: Any
    y: np.ndarray | None
    kind: str
    task: str | None
    target: str | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    shape: tuple[int, int] | None = None  # height and width of images
    names: tuple[str, ...] = field(default=())  # of columns, or of sequences
    schema: Schema | None = None  # how to read new rows

    def __len__(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    def __str__(self) -> str:
        width = f" × {self.X.shape[1]}" if hasattr(self.X, "shape") else ""
        lines = [f"{self.source or 'data'}: {len(self)}{width} ({self.kind})"]
        if self.y is not None:
            detail = f"{len(np.unique(self.y))} classes" if self.task == "classification" else ""
            lines.append(f"target {self.target!r}: {self.task} {detail}".rstrip())
        return "\n".join([*lines, *self.notes])


#: A numeric target with at most this many distinct whole values is read as classes.
MAX_CLASSES = 20


def guess_task(y: Any) -> tuple[str, str]:
    """("classification" | "regression", why)."""
    y = np.asarray(y)
    if y.dtype.kind in "OUSb":
        return "classification", "the target is not a number"
    distinct = np.unique(y[np.isfinite(y)] if y.dtype.kind == "f" else y)
    whole = bool(np.all(distinct == np.round(distinct)))
    if whole and len(distinct) <= min(MAX_CLASSES, max(2, len(y) // 3)):
        return "classification", f"the target takes {len(distinct)} whole values"
    return "regression", f"the target takes {len(distinct)} different values"
