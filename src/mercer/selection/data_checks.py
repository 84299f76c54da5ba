"""What would make a score a lie: identifiers, leaks, copies, order in time. Each is said, with what
was done about it.

Nothing here changes an answer in silence. A column that numbers or names the rows is left out
(where there are others), since new rows have new numbers. Copies of a row stay together when rows
are held out. All else is only told: see `mercer.selection.leaks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer.data.columns import listed
from mercer.data.dataset import Dataset, Note
from mercer.data.schema import DATES, Schema
from mercer.selection.leaks import Telling, named_classes
from mercer.selection.numbering import HUGE, IDENTIFIER, huge_numbers, numbers_rows

#: Fewer rows than this show no pattern worth a warning.
CHECKED_ROWS = 30
#: Columns looked at for one that gives the target away.
CHECKED_COLUMNS = 200
#: A column has one value in nearly all rows where at most such a share, or one row, has another.
OTHER_VALUES = 0.005
#: Rows that are looked at first, since they decide about most columns.
FIRST_CHECKED = 1_000
#: Classes that hold less than this share of the rows are rare.
RARE = 0.05
#: Values that an identifier of groups of rows has at least.
LEAST_GROUPS = 5
#: Targets of neighboring rows that are so alike are sorted, or in order of time.
ALIKE = 0.5


@dataclass(frozen=True)
class Checked:
    """The data without what was left out, what to say, and which rows are copies of each other.

    Tables lose columns; of arrays, `left_out` are those that the model is to do without.
    """

    found: Dataset
    notes: tuple[Note, ...]
    groups: np.ndarray | None = None
    left_out: tuple[int, ...] = ()
    times: np.ndarray | None = None  # when a row was, where rows are held out by time

    def part(self, rows: np.ndarray) -> Checked:
        """Some of the rows."""
        found = self.found
        assert found.y is not None
        some = replace(found, X=found.take(rows), y=found.y[rows])
        groups = None if self.groups is None else self.groups[rows]
        times = None if self.times is None else self.times[rows]
        return replace(self, found=some, groups=groups, times=times)


def check(found: Dataset, groups: Any = None, time: Any = None) -> Checked:
    """Look for what would make a score a lie, in examples and targets.

    `groups` and `time` are values per row, or the name of a column, which is then taken out.
    """
    together, found = _per_row(found, groups, "groups")
    times, found = _per_row(found, time, "time")
    notes = [
        _said(f"{name!r} is left out of the columns: rows are held out {how}")
        for name, how in ((groups, "by its values"), (time, "after those before it"))
        if isinstance(name, str)
    ]
    if times is not None and times.dtype.kind not in "iufbmM":
        raise ValueError(f"time holds {times.dtype}; it takes numbers or dates, one per row")
    assert found.y is not None
    gone: list[int] = []
    if len(found) >= CHECKED_ROWS:
        gone = _numbering(found, notes)
        if found.kind == "table" and gone:
            told = found.notes  # why they are left out is said below; nobody has asked for it
            found = replace(found.without([found.X.columns[j] for j in gone]), notes=told)
            gone = []
        notes += [*_columns(found, gone), *named_classes(found), *_targets(found)]
        notes += [] if times is not None else _order(found)
        notes += [] if together is not None else _shared(found)
    copies = _copies(found, gone, notes) if together is None and times is None else None
    if together is not None:
        copies = np.unique(together.astype(str), return_inverse=True)[1]
    return Checked(found, tuple(notes), copies, tuple(gone), times)


def _per_row(found: Dataset, given: Any, what: str) -> tuple[np.ndarray | None, Dataset]:
    """A value per row, and the data without the column that it was in."""
    if given is None:
        return None, found
    if isinstance(given, str):
        rest = found.without([given])
        return found.X[given].to_numpy(), rest
    values = np.arange(len(found)) if given is True else np.asarray(given)
    if values.shape != (len(found),):
        raise ValueError(
            f"{what} has shape {values.shape}; it takes one value per row, {len(found)}"
        )
    return values, found


def _said(text: str) -> Note:
    return Note("trap", text)


# --- columns -------------------------------------------------------------------------------------


def _each(found: Dataset) -> Iterator[tuple[str, np.ndarray]]:
    """Columns by name, as numbers; words as the order of their first appearance."""
    if found.kind == "table":
        import pandas as pd

        for name, column in found.X.items():
            if column.dtype.kind in "biuf":
                yield str(name), column.to_numpy(dtype=np.float64)
            else:
                codes = pd.factorize(column)[0].astype(np.float64)
                yield str(name), np.where(codes < 0, np.nan, codes)
    elif found.kind == "vectors" and not is_sparse(found.X):
        for j in range(found.X.shape[1]):
            yield f"x{j}", np.asarray(found.X[:, j], dtype=np.float64)


def _numbering(found: Dataset, notes: list[Note]) -> list[int]:
    """Indices of columns that number the rows, or are too large to be told apart."""
    if found.kind not in ("table", "vectors") or found.X.shape[1] < 2:
        return []
    kinds = list(found.X.dtypes) if found.kind == "table" else [found.X.dtype] * found.X.shape[1]
    numbering: list[str] = []
    huge: list[str] = []
    gone, dates = [], _dates(found)
    for j, (name, values) in enumerate(_each(found)):
        if kinds[j].kind not in "iuf" or name in dates:
            continue
        told = numbers_rows(name, values)
        if told or huge_numbers(values):
            (numbering if told else huge).append(name)
            gone.append(j)
    if len(gone) == found.X.shape[1]:
        return []
    for names, words in (
        (numbering, "columns left out, because they number the rows"),
        (huge, HUGE),
    ):
        if names:
            notes.append(_said(f"{words}: {listed(names)}"))
    return gone


def _columns(found: Dataset, gone: list[int]) -> list[Note]:
    still, telling = [], Telling(found)
    for i, (name, values) in enumerate(_each(found)):
        if i in gone or not np.isfinite(values).any():
            continue
        if _nearly_constant(values):
            still.append(name)
        elif i < CHECKED_COLUMNS:
            telling.look(name, values)
    words = f"columns with one value in nearly all rows: {listed(still)}; kept"
    return ([_said(words)] if still else []) + telling.notes()


def _nearly_constant(values: np.ndarray) -> bool:
    most = max(1.0, OTHER_VALUES * len(values))
    for some in (values[:FIRST_CHECKED], values):  # the first rows decide about most columns
        known = some[np.isfinite(some)]
        others = len(some) - np.unique(known, return_counts=True)[1].max(initial=0)
        if others > most:
            return False
    return bool(others > 0)


def _dates(found: Dataset) -> set[str]:
    schema: Schema | None = found.schema
    if schema is None or not schema.types:
        return set()
    pairs = zip(schema.columns, schema.types, strict=True)
    return {c for c, kind in pairs if kind in DATES}


# --- targets and rows ----------------------------------------------------------------------------


def _targets(found: Dataset) -> list[Note]:
    """Rare classes."""
    if found.task != "classification":
        return []
    assert found.y is not None
    classes, sizes = np.unique(found.y, return_counts=True)
    rare = sizes < RARE * len(found) * min(1.0, 2 / len(classes))
    if not rare.any():
        return []
    return [_said(
        f"rare classes: {listed([repr(c) for c in classes[rare].tolist()])}; folds hold them in "
        "their shares; accuracy hardly sees them, metric='balanced_accuracy' does"
    )]  # fmt: skip


def _order(found: Dataset) -> list[Note]:
    """Rows in the order of a date, or sorted by their targets."""
    assert found.y is not None
    notes, y, dates = [], found.y, _dates(found)
    for name, values in _each(found):
        known = values[np.isfinite(values)]
        if name in dates and (np.diff(known) >= 0).all() and known[0] < known[-1]:
            notes.append(_said(
                f"rows are in the order of {name!r}: rows held out at random lie between rows that "
                f"were learned from; to predict the future, time={name!r}"
            ))  # fmt: skip
    if found.task == "classification":
        classes, index, sizes = np.unique(y, return_inverse=True, return_counts=True)
        # How much rarer neighbors of different classes are than if the rows were shuffled.
        chance = 1 - float(np.sum((sizes / len(y)) ** 2))
        alike = 1 - float(np.mean(index[1:] != index[:-1])) / chance if len(classes) > 1 else 0.0
    else:
        alike = float(np.corrcoef(y[:-1], y[1:])[0, 1])
    if alike > ALIKE:
        notes.append(_said(
            f"targets of neighboring rows are alike ({alike:.2f}): the rows are sorted or in order "
            "of time; they are held out at random; to predict the future, time=…"
        ))  # fmt: skip
    return notes


def _shared(found: Dataset) -> list[Note]:
    """Rows that belong to the same customer, patient or other thing with an identifier."""
    names = [
        name
        for name, values in _each(found)
        if IDENTIFIER.search(name) and LEAST_GROUPS <= len(np.unique(values)) <= len(values) / 2
    ]
    return [
        _said(f"rows share values of {name!r}, and are held out one by one; where new rows come "
              f"from others, groups={name!r}")
        for name in names
    ]  # fmt: skip


def _copies(found: Dataset, gone: list[int], notes: list[Note]) -> np.ndarray | None:
    """A number per row, the same for copies; None where there are none, or hardly anything else."""
    groups = _groups(found, gone)
    if groups is None:
        return None
    distinct = int(groups.max()) + 1
    copies = len(groups) - distinct
    if not copies:
        return None
    if distinct < 0.5 * len(groups):
        return None  # few columns of few values: equal rows are no copies of one another
    words = "1 row is a copy of another" if copies == 1 else f"{copies} rows are copies of others"
    notes.append(_said(f"{words}: they are held out together"))
    return groups


def _groups(found: Dataset, gone: list[int]) -> np.ndarray | None:
    if is_sparse(found.X):
        return None
    if found.kind == "table":
        from pandas.util import hash_pandas_object

        keys = hash_pandas_object(found.X, index=False).tolist()
    elif isinstance(found.X, list):
        keys = [x if isinstance(x, (str, bytes)) else id(x) for x in found.X]
    else:
        rows = np.delete(found.X, gone, axis=1) if gone else np.asarray(found.X)
        keys = [row.tobytes() for row in rows + 0]  # makes 0 of −0, whose bytes differ
    number: dict[Any, int] = {}
    return np.array([number.setdefault(key, len(number)) for key in keys])
