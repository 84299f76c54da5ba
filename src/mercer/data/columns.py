"""What the columns of a table hold: the one place where types are found out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.data.dataset import Note
from mercer.data.schema import COMMA, DATES, DataError, convert

#: A column of words of which more than half are different, and more than this many, is text.
MAX_CATEGORIES = 30
#: So is one with more than this many different words that are mostly longer than this.
FEW_WORDS, LONG_WORDS = 10, 40
#: Dates as people write them.
WRITTEN = r"^(\d{1,2})[./-](\d{1,2})[./-]\d{2,4}\b"
#: Names that a note lists.
MOST_NAMES = 8


def find_types(frame: Any, notes: list[str] | None = None) -> dict[str, str]:
    """A type of `mercer.data.schema.TYPES` per column, or "constant".

    >>> import pandas as pd
    >>> find_types(pd.DataFrame({"n": [1, 2], "w": ["a", "b"], "c": 1, "t": ["True", "false"]}))
    {'n': 'number', 'w': 'category', 'c': 'constant', 't': 'truth'}
    """
    said: list[str] = [] if notes is None else notes
    plain = np.array([dtype.kind in "iuf" for dtype in frame.dtypes], dtype=bool)
    varied = np.ones(frame.shape[1], dtype=bool)
    # All columns of numbers at once: of a hundred thousand columns, each look at one costs.
    varied[plain] = _varied(frame.iloc[:, np.flatnonzero(plain)])
    types = {}
    for i, name in enumerate(frame.columns):
        if plain[i]:
            types[name] = "number" if varied[i] else "constant"
        else:
            column = frame.iloc[:, i]
            constant = column.nunique(dropna=False) <= 1
            types[name] = "constant" if constant else column_type(column, said)
    return types


def typed(frame: Any, types: dict[str, str], notes: list[str]) -> Any:
    """The columns that are not constant, each in its type; what is odd about them is noted."""
    import pandas as pd

    constant = [c for c, kind in types.items() if kind == "constant"]
    kept = [c for c, kind in types.items() if kind != "constant"]
    frame = frame[kept] if constant else frame
    plain = [kind.kind in "iuf" for kind in frame.dtypes]
    values = as_floats(frame.loc[:, plain])
    endless = [c for c, bad in zip(frame.columns[plain], np.isinf(values).any(axis=0), strict=True)
               if bad]  # fmt: skip
    if endless or not all(plain):
        same = set(frame.columns[plain]) - set(endless)
        made = {c: s if c in same else convert(s, types[c]) for c, s in frame.items()}
        frame = pd.DataFrame(made, index=frame.index)
    gaps = frame.isna().sum()
    missing = [f"{c} ({n})" for c, n in gaps[gaps > 0].items() if types[c] != "text"]
    dates = [c for c in kept if types[c] in DATES]
    for kind, words, names in (
        ("missing", "infinite values read as missing", endless),
        ("columns", "constant columns left out", constant),
        ("missing", "missing values, filled in by the pipeline", missing),
        ("columns", "dates read as seconds", dates),
    ):
        if names:
            notes.append(Note(kind, f"{words}: {listed(names)}"))
    if not kept:
        raise DataError("every column is constant: nothing can be learned")
    return frame


def column_type(series: Any, notes: list[str]) -> str:
    """One of `mercer.data.schema.TYPES`."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(series):
        return "truth"
    if pd.api.types.is_numeric_dtype(series):
        return "number"
    if pd.api.types.is_datetime64_any_dtype(series) or pd.api.types.is_timedelta64_dtype(series):
        return "date"
    words = series.dropna().astype(str)
    if not len(words):
        return "category"
    if _all_truths(words.head(50)) and _all_truths(words):
        return "truth"
    written = _dates(words, notes)
    if written:
        return written
    if words.str.fullmatch(COMMA).all() and words.str.contains(",").any():
        notes.append(Note("columns", f"{series.name}: commas read as decimal points"))
        return "comma"
    if not _is_text(words):
        return "category"
    strange = pd.to_numeric(words, errors="coerce").isna()
    if strange.mean() < 0.5:
        odd = words[strange].iloc[0]
        what = f"{int(strange.sum())} values are no numbers, like {odd!r}"
        notes.append(Note("columns", f"{series.name}: {what}"))
    return "text"


def _all_truths(words: Any) -> bool:
    return set(words.str.strip().str.lower()) <= {"true", "false"}


def _dates(words: Any, notes: list[str]) -> str:
    """The type of a column of dates; empty if it holds anything else, or nothing decides which."""
    import pandas as pd

    sample = words.head(50)
    if sample.str.match(r"^\d{4}-\d{1,2}-\d{1,2}").all():
        moments = pd.to_datetime(words, errors="coerce", utc=True, format="ISO8601")
        return "date" if moments.notna().all() else ""
    if not sample.str.match(WRITTEN).all() or not words.str.match(WRITTEN).all():
        return ""
    first, second = (words.str.extract(WRITTEN)[i].astype(int) for i in (0, 1))
    if first.max() <= 12 and second.max() <= 12:
        doubt = "looks like dates, but day and month cannot be told apart; write them as 2026-12-31"
        notes.append(Note("columns", f"{words.name}: {doubt}"))
        return ""
    kind = "day.month" if first.max() > 12 else "month/day"
    moments = pd.to_datetime(
        words, errors="coerce", utc=True, dayfirst=kind == "day.month", format="mixed"
    )
    if moments.isna().any():
        return ""
    order = "day, month, year" if kind == "day.month" else "month, day, year"
    notes.append(Note("columns", f"{words.name}: dates read as {order}"))
    return kind


def _is_text(words: Any) -> bool:
    """Whether words are text and no category: nearly all of them differ, or they are long."""
    distinct = words.nunique()
    different = distinct > MAX_CATEGORIES and distinct > 0.5 * len(words)
    return bool(different or (distinct > FEW_WORDS and words.str.len().median() > LONG_WORDS))


def as_floats(block: Any) -> np.ndarray:
    """A copy of columns of numbers as float64."""
    return np.array(block.to_numpy(dtype=np.float64, na_value=np.nan))


def _varied(block: Any) -> np.ndarray:
    """Which of these columns take more than one value; gaps and infinities count as one."""
    values = as_floats(block)
    gaps = ~np.isfinite(values)
    low = np.where(gaps, np.inf, values).min(axis=0, initial=np.inf)
    high = np.where(gaps, -np.inf, values).max(axis=0, initial=-np.inf)
    return np.asarray((low < high) | (gaps.any(axis=0) & ~gaps.all(axis=0)))


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Names with commas, the first so many, and how many more there are."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + rest
