"""From raw rows to what kernels take: scikit-learn steps, fitted without a look at the targets.

Because no step sees a target, all folds may share one fitted preprocessing (and so one kernel
matrix): a held-out row lends the others its mean and spread, never its answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer.selection.problem import Problem

#: Distinct values of a category that get a column of their own; the rest share one.
MOST_CATEGORIES = 100
#: One-hot columns beyond this many stay sparse.
WIDE = 2_000


@dataclass(frozen=True)
class Preprocessing:
    """`steps` for a Pipeline, not yet fitted; `kind` of what comes out; what is to be said."""

    steps: tuple[tuple[str, Any], ...]
    kind: str
    notes: tuple[str, ...]


def preprocessing(problem: Problem) -> Preprocessing:
    """By the kind of data."""
    if problem.kind == "table":
        return _table(problem.X, problem.n)
    if problem.kind == "mail":
        from mercer.maps import EmailFeatures

        steps = (("features", EmailFeatures(min_df=2)),)
        return Preprocessing(steps, "sparse", ("mail is read as words, hosts, dates, senders …",))
    if problem.kind == "strings":
        from mercer.maps.table import TextColumn

        # So that a table with that column is read as well as a list of strings.
        return Preprocessing((("text", TextColumn(problem.column)),), "strings", ())
    return _numbers(problem.X, problem.kind)


def _numbers(X: Any, kind: str) -> Preprocessing:
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    from mercer.maps.table import CommonScale

    if is_sparse(X):
        if not np.isfinite(X.data).all():
            raise ValueError("sparse rows hold NaN or infinite values")
        return Preprocessing(
            (("scale", MaxAbsScaler()),), "sparse", ("sparse columns are divided by their maximum",)
        )
    values = np.asarray(X, dtype=np.float64) if X.dtype.kind != "f" else X
    if np.isinf(values).any():
        raise ValueError("X holds infinite values; replace them or take the logarithm first")
    steps: list[tuple[str, Any]] = []
    notes = []
    gaps = np.isnan(values)
    if gaps.any():
        empty = int(gaps.all(axis=0).sum())
        if empty == values.shape[1]:
            raise ValueError("every value of X is missing: nothing can be learnt")
        steps.append(("fill", _median(True)))
        notes.append(
            f"{int(gaps.sum())} missing values in {int(gaps.any(axis=0).sum())} columns are filled "
            "in by the median and marked by a column"
        )
        if empty:
            notes.append(f"{empty} columns hold nothing and count as 0")
    if not gaps.any() and (values == values[0]).all():
        raise ValueError("every column of X is constant: nothing can be learnt")
    if kind == "images" or (not gaps.any() and looks_like_pixels(values)):
        steps.append(("scale", CommonScale()))
        notes.append("all columns are divided by one number, their common maximum")
        return Preprocessing(tuple(steps), "pixels", tuple(notes))
    bits = np.flatnonzero(((values == 0) | (values == 1)).all(axis=0))
    rest = np.setdiff1d(np.arange(values.shape[1]), bits)
    if not len(rest):
        notes.append("columns of zeros and ones stay as they are")
        return Preprocessing((*steps, ("scale", CommonScale())), "vectors", tuple(notes))
    scale: Any = StandardScaler()
    note = "columns are shifted and scaled to mean 0 and spread 1"
    if len(bits) and not gaps.any():
        # A rare bit scaled to spread 1 would outweigh everything else in its few rows.
        parts = [("numbers", scale, rest.tolist()), ("bits", CommonScale(), bits.tolist())]
        scale = ColumnTransformer(parts)
        note += ", but for those of zeros and ones"
    steps.append(("scale", scale))
    notes.append(note)
    return Preprocessing(tuple(steps), "vectors", tuple(notes))


def looks_like_pixels(X: np.ndarray) -> bool:
    """Many columns ≥ 0 that mostly reach the same maximum: counts of ink, not measurements.

    >>> import numpy as np
    >>> looks_like_pixels(np.tile([[0.0], [9.0], [255.0]], (1, 16))), looks_like_pixels(np.eye(2))
    (True, False)
    """
    if X.shape[1] < 16 or X.min() < 0:
        return False
    tops = X.max(axis=0)
    whole = tops.max()
    # A table of 0s and 1s reaches the same maximum for another reason.
    return bool(whole > 0 and np.mean(tops > 0.8 * whole) > 0.5 and len(np.unique(X[:50])) > 2)


def _table(frame: Any, n: int) -> Preprocessing:
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from mercer.maps.table import CommonScale, TableColumns, TextColumn

    columns = TableColumns().fit(frame)
    notes = []
    if columns.dropped_:
        notes.append(f"constant columns are left out: {_some(columns.dropped_)}")
    texts = [c for c in columns.categories_ if _is_text(frame[c], n)]
    others = [c for c in columns.categories_ if c not in texts]
    if texts and not (columns.numbers_ or columns.dates_ or others):
        note = f"column {texts[0]!r} is read as text"
        if len(texts) > 1:
            note += f"; {_some(texts[1:])} are left out"
        return Preprocessing((("text", TextColumn(texts[0])),), "strings", (*notes, note))
    if texts:
        notes.append(f"left out, because nearly every row differs: {_some(texts)}")
    numbers = [*columns.numbers_, *columns.dates_]
    if columns.dates_:
        notes.append(f"dates are read as seconds: {_some(columns.dates_)}")
    clean = columns.transform(frame)
    # By place: `TableColumns` fixes the order, and names would be looked up one by one.
    place = {c: i for i, c in enumerate(clean.columns)}
    parts: list[tuple[str, Any, Any]] = []
    values = clean[numbers].to_numpy(dtype=np.float64) if numbers else np.empty((n, 0))
    missing = np.asarray(np.isnan(values).any(axis=0))
    gaps = [c for c, gap in zip(numbers, missing, strict=True) if gap]
    if gaps:
        notes.append(f"missing numbers are filled in by the median and marked: {_some(gaps)}")
    width = len(numbers)
    pixels = not others and not gaps and width > 0 and looks_like_pixels(values)
    bit = np.asarray(((values == 0) | (values == 1)).all(axis=0) & (not pixels))
    for name, chosen in (("numbers", ~bit), ("bits", bit)):
        if not chosen.any():
            continue
        scale = CommonScale() if pixels or name == "bits" else StandardScaler()
        # Also where nothing is missing now: a later table may have gaps.
        steps = [("fill", _median(bool(missing[chosen].any()))), ("scale", scale)]
        where = [place[c] for c, mine in zip(numbers, chosen, strict=True) if mine]
        parts.append((name, Pipeline(steps), where))
    if others:
        encode = OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, dtype=np.float64
        )
        parts.append(("categories", encode, [place[c] for c in others]))
        notes.append(f"categories become one column a value: {_some(others)}")
        for c in others:
            distinct = clean[c].nunique()
            width += min(distinct, MOST_CATEGORIES)
            if distinct > MOST_CATEGORIES:
                notes.append(f"rare values of {c!r} share one column")
    encoder = ColumnTransformer(parts, sparse_threshold=0.3 if width > WIDE else 0.0)
    kind = "sparse" if width > WIDE and others else ("pixels" if pixels else "vectors")
    first = (("columns", TableColumns()), ("encode", encoder))
    return Preprocessing(first, kind, tuple(notes))


def _is_text(column: Any, n: int) -> bool:
    """Long or nearly always different: no category."""
    values = column.dropna().astype(str)
    if not len(values):
        return False
    distinct = values.nunique()
    return bool(
        (distinct > 0.5 * len(values) and distinct > 30)
        or (distinct > 10 and values.str.len().median() > 40)
    )


def _median(mark: bool) -> Any:
    from sklearn.impute import SimpleImputer

    return SimpleImputer(strategy="median", add_indicator=mark, keep_empty_features=True)


def _some(names: list[str]) -> str:
    shown = ", ".join(map(str, names[:6]))
    return shown if len(names) <= 6 else f"{shown} and {len(names) - 6} more"
