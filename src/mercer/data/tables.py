"""Tables: CSV, TSV and Parquet files and DataFrames as data sets."""

from __future__ import annotations

import csv
import gzip
import io
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mercer._config import get_config, show_bytes
from mercer.data.dataset import Dataset, guess_task
from mercer.data.schema import DataError, Schema, convert, suggest

#: The most columns a table may have.
MAX_COLUMNS = 100_000
#: A header line longer than this is not one.
MAX_HEADER = 16 * 2**20
#: A column of words with more different ones than this, and than half the rows, is free text.
MAX_CATEGORIES = 50
#: Bytes that a field takes while it becomes a number or a word.
FIELD_COST = 24
SEPARATORS = (",", "\t", ";", "|")
#: Beside the usual "", NA, NaN, null …: how many public tables write "not known".
MISSING = ["?", "-", "--"]


def read_csv(
    path: Path, target: str | None, columns: Any = None, separator: str | None = None
) -> Dataset:
    """A table with a header line; types, missing values and categories are noticed and said."""
    check_size(path)
    with open_bytes(path) as stream:
        frame, notes = frame_from_text(stream, str(path.name), separator)
    return from_frame(frame, target, path.name, columns, notes)


def check_size(path: Path) -> None:
    """A file larger than the memory limit is refused before it is read."""
    size, limit = path.stat().st_size, get_config().memory_bytes
    if size > limit:
        raise DataError(
            f"{str(path)!r} holds {show_bytes(size)}; the memory limit is {show_bytes(limit)}. "
            "Take a part of its rows, or raise the limit: mercer.set_config(memory=…)."
        )


def open_bytes(path: Path) -> BinaryIO:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def frame_from_text(
    stream: BinaryIO, source: str, separator: str | None
) -> tuple[Any, tuple[str, ...]]:
    """A DataFrame from delimited text of which the separator and the header are found out."""
    import pandas as pd

    # Text beyond the memory limit is not read: a small .gz file may hold any amount.
    limit = get_config().memory_bytes
    content = stream.read(limit + 1)
    if len(content) > limit:
        raise DataError(f"{source} holds more than the memory limit of {show_bytes(limit)}")
    head = Header(content[:MAX_HEADER], source, separator)
    lines = max(content.count(b"\n"), content.count(b"\r")) + 1
    need = len(content) + FIELD_COST * lines * len(head.names)
    if need > limit:
        raise DataError(
            f"{source} has about {lines} rows of {len(head.names)} columns and needs "
            f"{show_bytes(need)}; the memory limit is {show_bytes(limit)}. Take a part of its rows "
            "or columns, or raise the limit: mercer.set_config(memory=…)."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(io.BytesIO(content), low_memory=False, **head.options(content))
        except pd.errors.ParserWarning:
            raise DataError(
                f"{source} has rows with more than the {len(head.names)} fields of its first line"
            ) from None
    frame.columns = pd.Index(head.names, dtype=object)
    notes = [] if head.named else ["no line of names: the columns are called x0, x1, …"]
    return frame, tuple(notes)


class Header:
    """The first line of delimited text: the separator, the names, and whether there are any."""

    def __init__(self, start: bytes, source: str, separator: str | None = None) -> None:
        if b"\0" in start[:65536]:
            raise DataError(f"{source} is not a text file (it holds zero bytes)")
        line = re.split(rb"[\r\n]", start.lstrip(b"\xef\xbb\xbf\r\n \t"), maxsplit=1)[0]
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{source} is not UTF-8 text (byte {error.start} of the first line); convert it "
                "first, e.g. iconv -f latin1 -t utf-8"
            ) from None
        if not text.strip():
            raise DataError(f"{source} holds no rows")
        self.separator = separator or find_separator(text)
        try:
            names = next(csv.reader([text], delimiter=self.separator, skipinitialspace=True))
        except csv.Error as error:  # a field longer than any name
            raise DataError(f"the first line of {source} cannot be read: {error}") from None
        if len(names) > MAX_COLUMNS:
            raise DataError(f"{source} has {len(names)} columns; at most {MAX_COLUMNS} are read")
        self.named = not all(_is_number(n) for n in names)
        if self.named:
            doubled = sorted(n for n, times in Counter(names).items() if times > 1 and n.strip())
            if doubled:
                shown = ", ".join(map(repr, doubled[:5]))
                raise DataError(f"{source} has columns with the same name: {shown}")
            names = [n.strip() or f"unnamed {i}" for i, n in enumerate(names)]
        else:
            names = [f"x{i}" for i in range(len(names))]
        self.names: list[str] = names

    def options(self, content: bytes = b"") -> dict[str, Any]:
        """For pandas.read_csv."""
        options: dict[str, Any] = {
            "sep": self.separator,
            "encoding": "utf-8-sig",
            "skipinitialspace": self.separator != "\t",
            "na_values": MISSING,
            "header": 0 if self.named else None,
            "index_col": False,
        }
        if self.separator == "\t" and _stray_quotes(content):
            options["quoting"] = csv.QUOTE_NONE
        return options


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def find_separator(line: str) -> str:
    """The separator that occurs most often outside quotes; a comma if none does."""
    counts = dict.fromkeys(SEPARATORS, 0)
    quoted = False
    for character in line[:1_000_000]:
        if character == '"':
            quoted = not quoted
        elif not quoted and character in counts:
            counts[character] += 1
    best = max(SEPARATORS, key=lambda s: counts[s])
    return best if counts[best] else ","


def _stray_quotes(content: bytes) -> bool:
    """Tab-separated text rarely quotes, and a message with one quote would swallow the rest."""
    return any(line.count(b'"') % 2 for line in content.split(b"\n")) if b'"' in content else False


def from_frame(
    frame: Any, target: str | None, source: str, columns: Any = None, notes: tuple[str, ...] = ()
) -> Dataset:
    """A DataFrame as a data set: the target taken out, what is odd about the columns said."""
    said = list(notes)
    if not len(frame):
        raise DataError(f"{source} has a header but no rows")
    names = [str(c) for c in frame.columns]
    doubled = sorted(n for n, times in Counter(names).items() if times > 1)
    if doubled:
        raise DataError(f"{source} has columns with the same name: {doubled[:5]}")
    frame = frame.set_axis(names, axis=1)
    y, task = None, None
    if target is not None:
        frame, y, task = _take_target(frame, target, said)
    if columns is not None:
        frame = _choose(frame, columns)
    if not frame.shape[1]:
        raise DataError(f"{source} has no column beside the target")
    frame, types = _typed(frame, said)
    free = [c for c, kind in types.items() if kind == "text"]
    free.sort(key=lambda c: float(frame[c].fillna("").str.len().mean()))
    rest = [c for c in frame.columns if c not in set(free)]
    if free and not rest:
        return _strings(frame, free, y, task, target, source, said)
    if free:
        said.append(
            f"free text left out: {_some(free)} (to learn from it alone: columns=[{free[-1]!r}])"
        )
        frame = frame[rest]
    schema = Schema("table", tuple(rest), tuple(types[c] for c in rest), target)
    return Dataset(
        frame, y, "table", task, target, source, tuple(said), None, tuple(rest), schema
    )  # fmt: skip


def _take_target(frame: Any, target: str, said: list[str]) -> tuple[Any, np.ndarray, str]:
    import pandas as pd

    if target not in frame.columns:
        names = list(frame.columns)
        hint = suggest(target, names) or f"; there are: {', '.join(names[:20])}"
        if len(names) == 1:
            hint += ". It has this one column only: is the separator one of , ; | or a tab?"
        raise DataError(f"there is no column {target!r}{hint}")
    missing = frame[target].isna()
    if missing.all():
        raise DataError(f"the target {target!r} is empty in every row")
    if missing.any():
        said.append(f"{int(missing.sum())} rows without a target were left out")
        frame = frame[~missing]
    column = frame[target]
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        whole = pd.api.types.is_integer_dtype(column)
        y = column.to_numpy(dtype=np.int64 if whole else np.float64)
        if not np.isfinite(y).all():
            raise DataError(f"the target {target!r} holds infinite values")
        if not whole and (y == np.round(y)).all() and np.abs(y).max() < 2**53:
            y = y.astype(np.int64)  # a gap in the column made whole numbers floats
    else:
        y = column.astype(str).to_numpy(dtype=str)
    task, why = guess_task(y)
    said.append(f"{task}: {why}")
    if len(np.unique(y)) < 2:
        raise DataError(
            f"the target {target!r} takes a single value, {y[0]!r}: nothing can be learnt"
        )
    return frame.drop(columns=[target]), y, task


def _choose(frame: Any, columns: Any) -> Any:
    wanted = [columns] if isinstance(columns, str) else [str(c) for c in columns]
    for name in wanted:
        if name not in frame.columns:
            hint = suggest(name, frame.columns) or f"; there are: {', '.join(frame.columns[:20])}"
            raise DataError(f"there is no column {name!r}{hint}")
    return frame[wanted]


def _typed(frame: Any, said: list[str]) -> tuple[Any, dict[str, str]]:
    """Every column in its type; what is constant is left out, and what is missing is said."""
    import pandas as pd

    parts: dict[str, Any] = {}
    types: dict[str, str] = {}
    endless, constant, gaps = [], [], []
    # One walk: of a hundred thousand columns, each look at one costs.
    for name, column in frame.items():
        kind = column_type(column, said)
        if kind == "number" and column.dtype.kind in "iuf":
            made = column
            if np.isinf(column.to_numpy()).any():
                endless.append(name)
                made = column.where(np.isfinite(column), np.nan)
        else:
            made = convert(column, kind)
        if _is_constant(made):
            constant.append(name)
            continue
        parts[name], types[name] = made, kind
        missing = int(made.isna().sum()) if made.dtype.kind not in "iu" else 0
        if missing and kind != "text":
            gaps.append(f"{name} ({missing})")
    if endless:
        said.append(f"infinite values read as missing: {_some(endless)}")
    if constant:
        said.append(f"constant columns left out: {_some(constant)}")
    if not parts:
        raise DataError("every column is constant: nothing can be learnt")
    if gaps:
        said.append(f"missing values, filled in by the pipeline: {_some(gaps)}")
    dates = [c for c, kind in types.items() if kind == "date"]
    if dates:
        said.append(f"dates read as seconds: {_some(dates)}")
    return pd.DataFrame(parts, index=frame.index), types


def _is_constant(column: Any) -> bool:
    if column.dtype.kind in "iuf":
        values = column.to_numpy()
        return bool((values == values[0]).all() or (values != values).all())
    return bool(column.nunique(dropna=False) <= 1)


def _some(names: list[str], most: int = 8) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + rest


def column_type(series: Any, said: list[str]) -> str:
    """One of `mercer.data.schema.TYPES`."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(series):
        return "truth"
    if pd.api.types.is_numeric_dtype(series):
        return "number"
    if pd.api.types.is_datetime64_any_dtype(series) or pd.api.types.is_timedelta64_dtype(series):
        return "date"
    words = series.dropna()
    if not len(words):
        return "category"
    sample = words.head(50).astype(str)
    if _all_truths(sample) and _all_truths(words.astype(str)):
        return "truth"
    if sample.str.match(r"^\d{4}-\d{1,2}-\d{1,2}").all():
        text = words.astype(str)
        if pd.to_datetime(text, errors="coerce", utc=True, format="ISO8601").notna().all():
            return "date"
    elif sample.str.match(r"^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b").all():
        said.append(
            f"{series.name}: looks like dates, but day and month cannot be told apart; write "
            "them as 2026-12-31"
        )
    distinct = words.astype(str).nunique()
    if distinct > MAX_CATEGORIES and distinct > 0.5 * len(words):
        numbers = pd.to_numeric(words, errors="coerce").isna()
        if numbers.mean() < 0.5:
            odd = str(words[numbers].iloc[0])
            said.append(f"{series.name}: {int(numbers.sum())} values are no numbers, like {odd!r}")
        return "text"
    return "category"


def _all_truths(words: Any) -> bool:
    return set(words.str.strip().str.lower()) <= {"true", "false"}


def _strings(
    frame: Any,
    free: list[str],
    y: np.ndarray | None,
    task: str | None,
    target: str | None,
    source: str,
    said: list[str],
) -> Dataset:
    """A table of nothing but free text, the longest last: that is learnt from, others are names."""
    *others, text = free
    said.append(f"strings, from column {text!r}")
    if others:
        said.append(f"columns left out, different in (almost) every row: {_some(others)}")
    schema = Schema("strings", (text,), ("text",), target)
    X = frame[text].fillna("").tolist()
    return Dataset(X, y, "strings", task, target, source, tuple(said), None, (), schema)


def read_parquet(path: Path, target: str | None, columns: Any = None) -> Dataset:
    import pandas as pd

    check_size(path)
    try:
        frame = pd.read_parquet(path)
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install pyarrow") from None
    return from_frame(frame, target, path.name, columns)
