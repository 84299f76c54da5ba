"""A data set: examples, targets, and what was noticed on the way in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mercer._escape.terminal import printable
from mercer._examples import count, take
from mercer.data.schema import DataError, Schema
from mercer.data.targets import guess_task


class Note(str):
    """A sentence for the user, and what it is about.

    `kind` is "task", "target", "missing" (values), "columns" (what they hold, which are left out)
    or "file". A note is a string, so it prints and joins like one.

    Parameters
    ----------
    kind : {"task", "target", "missing", "columns", "file"}
        What it is about.
    text : str
        The sentence.

    Examples
    --------
    >>> Note("target", "2 rows without a target were left out").kind
    'target'
    """

    kind: str

    def __new__(cls, kind: str, text: str) -> Note:
        made = super().__new__(cls, text)
        made.kind = kind
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return self.kind, str(self)


class Pair(NamedTuple):
    """Examples and targets of a data set that is made; a `Dataset` unpacks to the same."""

    X: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Dataset:
    """`X` is a DataFrame (tables), an array (numbers, images) or a list (texts, messages, …).

    `kind` says which: "table", "vectors", "images", "strings" or "mail". `task` is
    "classification", "regression" or None without a target; the targets of a regression are
    float64. `notes` are sentences for the user. `Dataset.of` makes one of anything.

    Parameters
    ----------
    X : DataFrame, array or list
        The examples.
    y : ndarray or None
        Their targets.
    kind : {"table", "vectors", "images", "strings", "mail"}
        What the examples are.
    task : {"classification", "regression"} or None
        What is to be predicted.
    target : str or None
        Name of the target.
    source : str
        Where it comes from.
    notes : tuple of str
        Sentences for the user.
    shape : (height, width) or None
        Of images.
    names : tuple of str
        Of the columns.
    schema : Schema or None
        What new rows must look like.
    given : tuple of str
        Columns that the file has, those left out included.

    Examples
    --------
    >>> from mercer import data
    >>> X, y = data.Dataset.of([[0.0], [1.0]], ["a", "b"])
    >>> y.tolist()
    ['a', 'b']
    """

    X: Any
    y: np.ndarray | None
    kind: str
    task: str | None
    target: str | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    shape: tuple[int, int] | None = None  # height and width of images
    names: tuple[str, ...] = ()  # of columns, or of sequences
    schema: Schema | None = None  # how to read new rows
    given: tuple[str, ...] = ()  # all columns of a table that came from Python, in their order

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any = None,
        target: str | None = None,
        *,
        task: str | None = None,
        columns: str | Sequence[str] | None = None,
        source: str = "",
    ) -> Dataset:
        """Examples and targets in any of their forms: the one way in for data.

        Column types, the task, gaps and rows without a target are found here and nowhere else;
        the `schema` says what was found, and new rows are brought into the same form by it.

        Parameters
        ----------
        X : path, DataFrame (pandas, Polars), Arrow table, array, CSR matrix, or list
            Lists hold rows of numbers, strings, or messages (bytes or `email.message.Message`). A
            `Dataset` is taken as it is, but for `y` and `task`.
        y : array, or the name of a column
        target : name of the column (array, header) to predict
        task : "classification", "regression" or None
            None reads it off the targets.
        columns : names of the columns to use, of a table
        source : what to call the data in messages

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [30, 41], "town": ["Ulm", None], "label": ["u", "v"]})
        >>> found = Dataset.of(frame, target="label")
        >>> found.kind, found.task, found.schema.types
        ('table', 'classification', ('number', 'category'))
        """
        from mercer.data.making import make

        if isinstance(X, (str, Path)):
            from mercer.data.formats import load

            X = load(X, target, columns=columns)
        return make(X, y, target, task=task, columns=columns, source=source)

    def __len__(self) -> int:
        return count(self.X)

    def __iter__(self) -> Iterator[Any]:
        """Examples and targets, as of the toys: ``X, y = data.digits()``."""
        return iter((self.X, self.y))

    def __getitem__(self, index: int) -> Any:
        return (self.X, self.y)[index]

    def take(self, rows: np.ndarray) -> Any:
        """Some of the examples, by index."""
        return take(self.X, rows)

    def without(self, columns: Iterable[str]) -> Dataset:
        """A table without some of its columns.

        >>> import pandas as pd
        >>> found = Dataset.of(pd.DataFrame({"a": [1, 2], "b": [3, 4], "y": [0, 1]}), "y")
        >>> found.without(["a"]).names, found.without(["a"]).notes[-1]
        (('b',), 'left out as asked for: a')
        """
        gone = set(columns)
        known = [str(c) for c in self.X.columns] if self.kind == "table" else []
        for name in gone.difference(known):
            what = f"its columns: {', '.join(known[:20])}" if known else "it is no table"
            raise DataError(f"{self.source or 'the data'} has no column {name!r}; {what}")
        kept = [c for c in self.X.columns if c not in gone]
        schema = self.schema
        if schema is not None:
            types = dict(zip(schema.columns, schema.types, strict=True))
            schema = replace(schema, columns=tuple(kept), types=tuple(types[c] for c in kept))
        told = Note("columns", f"left out as asked for: {', '.join(sorted(gone))}")
        notes = (*self.notes, told) if gone else self.notes
        return replace(self, X=self.X[kept], names=tuple(kept), schema=schema, notes=notes)

    @property
    def classes(self) -> np.ndarray | None:
        """The labels of a classification, sorted."""
        return None if self.y is None or self.task == "regression" else np.unique(self.y)

    @property
    def reason(self) -> str:
        """How the task is known."""
        guessed, why = guess_task(self.y)
        return why if guessed == self.task else "as asked for"

    @printable
    def __str__(self) -> str:
        width = f" × {self.X.shape[1]}" if hasattr(self.X, "shape") else ""
        lines = [f"{self.source or 'data'}: {len(self)}{width} ({self.kind})"]
        if self.y is not None:
            detail = f"{len(np.unique(self.y))} classes" if self.task == "classification" else ""
            lines.append(f"target {self.target!r}: {self.task} {detail}".rstrip())
        return "\n".join([*lines, *self.notes])
