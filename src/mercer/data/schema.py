"""What the rows of a data set look like, so that new rows can be read the same way.

A `Schema` is made when a file is loaded, travels in the model's file (`pipeline.schema_`), and
turns raw rows (text from a CSV file, columns in any order) into what the model was fitted on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer._suggest import nearest

#: What a column can be. Dates become seconds since 1970, truths 0 and 1. "comma" is a number
#: written as 1.234,5; "day.month" and "month/day" are dates that begin with the day or the month.
TYPES = ("number", "comma", "truth", "date", "day.month", "month/day", "category", "text")
#: Numbers with a decimal comma, and perhaps points between thousands.
COMMA = r"\s*[-+]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?\s*"
#: Types whose values are dates, in a form of their own.
DATES = ("date", "day.month", "month/day")
#: Types of columns that are read as text, without conversion.
WORDS = ("category", "text")


class DataError(ValueError):
    """The file cannot be read as asked; the message says what was found and what to do.

    Examples
    --------
    >>> from mercer import data
    >>> try:
    ...     data.load("missing.csv")
    ... except data.DataError as error:
    ...     print("refused")
    refused
    """


def refuse_doubled(names: list[str], table: str) -> None:
    """An error where two columns have one name."""
    doubled = sorted(n for n, times in Counter(names).items() if times > 1)
    if doubled:
        shown = ", ".join(map(repr, doubled[:5]))
        raise DataError(f"{table} has columns with the same name: {shown}")


@dataclass(frozen=True)
class Schema:
    """The kind of a data set and, for tables, its columns: their names and types, in order.

    Parameters
    ----------
    kind : str
        As of a `Dataset`.
    columns : tuple of str
        Names of a table's columns, in order.
    types : tuple of str
        Their types: "number", "date", "bool", "category" or "text".
    target : str or None
        Name of the target.
    shape : (height, width) or None
        Of images.
    sparse : bool
        Whether rows are sparse.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema("table", ("age", "when"), ("number", "date"))
    >>> raw = pd.DataFrame({"when": ["1970-01-02"], "age": ["41"], "extra": [0]})
    >>> schema.table(raw).to_dict("records")
    [{'age': 41.0, 'when': 86400.0}]
    """

    kind: str
    columns: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    target: str | None = None
    shape: tuple[int, int] | None = None
    sparse: bool = False

    def missing_from(self, names: list[str]) -> None:
        """Raises if a column is not among `names`; the message has the nearest one."""
        absent = [c for c in self.columns if c not in set(names)]
        if absent:
            near = [(c, nearest(c, names)) for c in absent[:5]]
            shown = "; ".join(f"{c!r} (did you mean {n!r}?)" if n else repr(c) for c, n in near)
            more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
            raise DataError(f"the rows lack columns of the model: {shown}{more}")

    def table(self, frame: Any, first_row: int = 1) -> Any:
        """The model's columns of a DataFrame, each in its type; others are left behind."""
        import pandas as pd

        self.missing_from([str(c) for c in frame.columns])
        types = self.types or ("",) * len(self.columns)
        parts = {
            name: convert(frame[name], kind, first_row)
            for name, kind in zip(self.columns, types, strict=True)
        }
        return pd.DataFrame(parts, index=frame.index)


def convert(series: Any, kind: str, first_row: int = 1) -> Any:
    """A column in its type; a value that does not fit is named with its row."""
    rule = _CONVERTERS.get(kind)
    return series if rule is None else rule(series, first_row)


def _number(series: Any, first_row: int) -> Any:
    import pandas as pd

    if not pd.api.types.is_bool_dtype(series) and pd.api.types.is_numeric_dtype(series):
        numbers = series.astype(np.float64)
    else:
        numbers = pd.to_numeric(series, errors="coerce").astype(np.float64)
        _refuse(series, numbers, "a number", first_row)
    # Infinity has no place on a scale; the pipeline fills it in like a missing value.
    return numbers.where(np.isfinite(numbers), np.nan)


def _comma(series: Any, first_row: int) -> Any:
    if series.dtype.kind in "iuf":  # read before
        return _number(series, first_row)
    plain = series.astype(object).where(series.notna(), None)
    plain = plain.map(lambda v: str(v).strip().replace(".", "").replace(",", "."), "ignore")
    return _number(plain, first_row)


def _truth(series: Any, first_row: int) -> Any:
    words = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}
    values = series.map(lambda v: words.get(str(v).strip().lower(), np.nan), na_action="ignore")
    values = values.astype(np.float64)
    _refuse(series, values, "True or False", first_row)
    return values


def _date(
    series: Any, first_row: int, expected: str = "a date such as 2026-12-31", **written: Any
) -> Any:
    """Seconds since 1970; what is a date already, or seconds, is taken as it is.

    `written`: how `pandas.to_datetime` reads other dates than those of ISO 8601.
    """
    import pandas as pd

    if pd.api.types.is_timedelta64_dtype(series):
        return series.dt.total_seconds()
    if pd.api.types.is_numeric_dtype(series):  # seconds already
        return series.astype(np.float64)
    if not pd.api.types.is_datetime64_any_dtype(series):
        text = series.astype(object).where(series.notna(), None)
        form = {"format": "ISO8601"} | written
        moments = pd.to_datetime(text, errors="coerce", utc=True, **form)
        _refuse(series, moments, expected, first_row)
    else:
        moments = pd.to_datetime(series, utc=True)
    return (moments - pd.Timestamp("1970-01-01", tz="UTC")).dt.total_seconds()


def _words(series: Any, first_row: int) -> Any:
    values = series.map(str, na_action="ignore").astype(object)
    return values.where(series.notna().to_numpy(), np.nan)


def _refuse(given: Any, made: Any, expected: str, first_row: int) -> None:
    bad = given.notna().to_numpy() & made.isna().to_numpy()
    text = given.astype(str).str.strip().str.lower() if bad.any() else given
    bad = bad & ~np.isin(np.asarray(text, dtype=object), ["", "nan"]) if bad.any() else bad
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"row {first_row + at}: column {given.name!r} holds {given.iloc[at]!r}, "
            f"which is not {expected}"
        )


_CONVERTERS: dict[str, Any] = {
    "number": _number,
    "comma": _comma,
    "truth": _truth,
    "date": _date,
    "day.month": partial(
        _date, expected="a date such as 31.12.2026", format="mixed", dayfirst=True
    ),
    "month/day": partial(_date, expected="a date", format="mixed", dayfirst=False),
    "category": _words,
    "text": _words,
}
