"""What would make a score a lie: identifiers, leaks, copies, order in time. Each is said, with what
was done about it.

Nothing here changes an answer in silence. A column that numbers the rows is left out of a table
(where there are others), since new rows have new numbers. Copies of a row stay together when rows
are held out. All else is only told: a column that decides the target alone may be a leak or the
point of the exercise, and only the reader knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mercer._arrays import is_sparse
from mercer.data.columns import listed
from mercer.data.dataset import Dataset, Note
from mercer.data.schema import DATES, Schema
from mercer.selection.metrics import r2

#: Fewer rows than this show no pattern worth a warning.
LEAST_ROWS = 30
#: Rows and columns looked at for a column that decides the target alone.
SAMPLE, MOST_COLUMNS = 2_000, 200
#: How well it must do so: the share of right answers, or R², on rows not fitted on.
DECIDES = {"classification": 0.995, "regression": 0.999}
#: A value that so large a share of the rows has.
NEARLY_ALL = 0.995
#: Classes that hold less than this share of the rows are rare.
RARE = 0.05
#: Whole numbers from here on are rounded when they become floats.
EXACT = 2.0**53
#: Targets of neighboring rows that are so alike are sorted, or in order of time.
ALIKE = 0.5


@dataclass(frozen=True)
class Checked:
    """The data without what was left out, what to say, and which rows are copies of each other."""

    found: Dataset
    notes: tuple[Note, ...]
    groups: np.ndarray | None = None

    def part(self, rows: np.ndarray) -> Checked:
        """Some of the rows."""
        found = self.found
        assert found.y is not None
        some = replace(found, X=found.take(rows), y=found.y[rows])
        return Checked(some, self.notes, None if self.groups is None else self.groups[rows])


def check(found: Dataset) -> Checked:
    """Look for traps in examples and targets."""
    assert found.y is not None
    notes: list[Note] = []
    if len(found) >= LEAST_ROWS:
        found = _without_numbering(found, notes)
        notes += _columns(found)
        notes += _targets(found)
    groups = _copies(found, notes)
    return Checked(found, tuple(notes), groups)


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


def _without_numbering(found: Dataset, notes: list[Note]) -> Dataset:
    """Tables lose columns that number their rows, and whole numbers too large to be told apart."""
    if found.kind != "table" or found.X.shape[1] < 2:
        return found
    numbers = [c for c in found.X.columns if found.X[c].dtype.kind in "iuf"]
    numbering = [c for c in numbers if _numbers_rows(found.X[c].to_numpy(dtype=np.float64))]
    huge = [c for c in numbers if c not in numbering and _huge(found.X[c].to_numpy(np.float64))]
    for names, words in (
        (numbering, "left out, because they number the rows"),
        (huge, "left out, because whole numbers beyond 2⁵³ cannot be told apart"),
    ):
        if names:
            notes.append(_said(f"columns {words}: {listed(names)}"))
    gone = {*numbering, *huge}
    kept = [c for c in found.X.columns if c not in gone]
    if not gone or not kept:
        return found
    schema = found.schema
    if schema is not None:
        types = dict(zip(schema.columns, schema.types, strict=True))
        schema = replace(schema, columns=tuple(kept), types=tuple(types[c] for c in kept))
    return replace(found, X=found.X[kept], names=tuple(kept), schema=schema)


def _numbers_rows(values: np.ndarray) -> bool:
    """Whole, all different, and hardly a gap between them: 1, 2, 3 …, in any order."""
    n = len(values)
    if not np.isfinite(values).all() or np.abs(values).max() >= EXACT:
        return False
    whole = np.array_equal(values, np.round(values))
    return whole and np.ptp(values) < 1.2 * n and len(np.unique(values)) == n


def _huge(values: np.ndarray) -> bool:
    known = values[np.isfinite(values)]
    return bool(len(known) and np.abs(known).min() >= EXACT)


def _columns(found: Dataset) -> list[Note]:
    notes, still, decide = [], [], []
    order = np.random.default_rng(0).permutation(len(found))[:SAMPLE]
    dates = _dates(found)
    for i, (name, values) in enumerate(_each(found)):
        known = values[np.isfinite(values)]
        if not len(known):
            continue
        share = np.unique(known, return_counts=True)[1].max() / len(values)
        if NEARLY_ALL <= share < 1:
            still.append(name)
        elif i < MOST_COLUMNS and _decides(values[order], found, order):
            decide.append(name)
        if name in dates and (np.diff(known) >= 0).all() and known[0] < known[-1]:
            notes.append(_said(
                f"rows are in the order of {name!r}: rows held out at random lie between rows that "
                "were learned from; to predict the future, cv=TimeSeriesSplit()"
            ))  # fmt: skip
    if still:
        notes.append(_said(f"columns with one value in nearly all rows: {listed(still)}"))
    if decide:
        notes.append(_said(
            f"columns that decide the target alone: {listed(decide)}; if they are not known when "
            "a prediction is made, leave them out"
        ))  # fmt: skip
    return notes


def _dates(found: Dataset) -> set[str]:
    schema: Schema | None = found.schema
    if schema is None or not schema.types:
        return set()
    pairs = zip(schema.columns, schema.types, strict=True)
    return {c for c, kind in pairs if kind in DATES}


def _decides(values: np.ndarray, found: Dataset, order: np.ndarray) -> bool:
    """Whether this column alone answers nearly every row of the other half right."""
    assert found.y is not None
    assert found.task is not None
    y, half = found.y[order], len(order) // 2
    rule = _answers_by_value if found.task == "classification" else _answers_between
    score = rule(values[:half], y[:half], values[half:], y[half:])
    return score >= DECIDES[found.task]


def _answers_by_value(
    values: np.ndarray, y: np.ndarray, others: np.ndarray, truth: np.ndarray
) -> float:
    """The share that a tree over one column has right; 0 where guessing is nearly as good."""
    from sklearn.tree import DecisionTreeClassifier

    base = np.unique(truth, return_counts=True)[1].max() / len(truth)
    if base > 0.97 or len(np.unique(y)) < 2:
        return 0.0
    tree = DecisionTreeClassifier(max_leaf_nodes=200, random_state=0).fit(values[:, None], y)
    return float(tree.score(others[:, None], truth))


def _answers_between(
    values: np.ndarray, y: np.ndarray, others: np.ndarray, truth: np.ndarray
) -> float:
    """R² of a line through the means of the targets at each value."""
    known, asked = np.isfinite(values), np.isfinite(others)
    if known.mean() < 0.9 or asked.mean() < 0.9:
        return 0.0
    at, index = np.unique(values[known], return_inverse=True)
    means = np.bincount(index, y[known]) / np.bincount(index)
    return r2(truth[asked], np.interp(others[asked], at, means))


# --- targets and rows ----------------------------------------------------------------------------


def _targets(found: Dataset) -> list[Note]:
    assert found.y is not None
    if found.task == "classification":
        classes, sizes = np.unique(found.y, return_counts=True)
        rare = sizes < RARE * len(found.y) * min(1.0, 2 / len(classes))
        if not rare.any():
            return []
        names = listed([repr(c) for c in classes[rare].tolist()])
        return [_said(
            f"rare classes: {names}; accuracy hardly sees them, metric='balanced_accuracy' does"
        )]  # fmt: skip
    steps = np.corrcoef(found.y[:-1], found.y[1:])[0, 1]
    if not steps > ALIKE:
        return []
    return [_said(
        f"targets of neighboring rows are alike (correlation {steps:.2f}): the rows are sorted or "
        "in order of time; to predict the future, cv=TimeSeriesSplit()"
    )]  # fmt: skip


def _copies(found: Dataset, notes: list[Note]) -> np.ndarray | None:
    """A number per row, the same for copies; None where there are none, or hardly anything else."""
    groups = _groups(found)
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


def _groups(found: Dataset) -> np.ndarray | None:
    import pandas as pd

    if found.kind == "table":
        keys = pd.util.hash_pandas_object(found.X, index=False).to_numpy()
    elif isinstance(found.X, list):
        keys = np.array([hash(x) if isinstance(x, (str, bytes)) else id(x) for x in found.X])
    elif is_sparse(found.X):
        return None
    else:
        rows = np.asarray(found.X) + 0  # makes 0 of −0, whose bytes differ
        keys = np.array([hash(row.tobytes()) for row in rows])
    return np.asarray(pd.factorize(keys)[0])
