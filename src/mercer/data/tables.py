"""Tables in files: CSV, TSV and Parquet."""

from __future__ import annotations

import csv
import gzip
import io
import re
import warnings
from pathlib import Path
from typing import Any, BinaryIO

from mercer._arrays import pandas
from mercer._config import get_config, show_bytes
from mercer.data.columns import column_type
from mercer.data.dataset import Dataset, Note
from mercer.data.making import make
from mercer.data.schema import WORDS, DataError, refuse_doubled

#: The most columns a table may have.
MAX_COLUMNS = 100_000
#: Bytes of the longest first line that is taken for a header.
MAX_HEADER = 16 * 2**20
#: Bytes that a field takes while it becomes a number or a word.
FIELD_COST = 24
SEPARATORS = (",", "\t", ";", "|")
#: How public tables write a missing value, besides what pandas knows: "", NA, NaN, null, …
MISSING = ["?"]
#: Missing in columns of numbers, dates and truths. Among words each is a word: "-" beside "+".
DASHES = ["-", "--"]


def read_csv(
    path: Path, target: str | None, columns: Any = None, separator: str | None = None
) -> Dataset:
    """A table with a header line; types, missing values and categories are noticed and said."""
    check_size(path)
    with open_bytes(path) as stream:
        frame, notes = frame_from_text(stream, str(path.name), separator)
    return from_file(frame, target, columns, path, notes)


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


def read_within_limit(stream: BinaryIO, source: str) -> bytes:
    """All of a stream; what is beyond the memory limit (a small .gz may hold it) is not read."""
    limit = get_config().memory_bytes
    content = stream.read(limit + 1)
    if len(content) > limit:
        raise DataError(f"{source} holds more than the memory limit of {show_bytes(limit)}")
    return content


def frame_from_text(
    stream: BinaryIO, source: str, separator: str | None
) -> tuple[Any, tuple[str, ...]]:
    """A DataFrame from delimited text of which the separator and the header are found out."""
    pd = pandas()
    limit, content = get_config().memory_bytes, read_within_limit(stream, source)
    head = Header(content[:MAX_HEADER], source, separator)
    lines = max(content.count(b"\n"), content.count(b"\r")) + 1
    need = len(content) + FIELD_COST * lines * len(head.names)
    if need > limit:
        raise DataError(
            f"{source} has about {lines} rows of {len(head.names)} columns and needs "
            f"{show_bytes(need)}; the memory limit is {show_bytes(limit)}. Take a part of its rows "
            "or columns, or raise the limit: mercer.set_config(memory=…)."
        )
    with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
        try:
            frame = pd.read_csv(io.BytesIO(content), low_memory=False, **head.options(content))
        except pd.errors.ParserWarning:
            raise DataError(
                f"{source} has rows with more than the {len(head.names)} fields of its first line"
            ) from None
    frame.columns = pd.Index(head.names, dtype=object)
    for name in frame.columns[[dtype.kind not in "iufb" for dtype in frame.dtypes]]:
        frame[name] = _without_dashes(frame[name])
    words = "no line of names: the columns are called x0, x1, …"
    return frame, () if head.named else (Note("file", words),)


def _without_dashes(column: Any) -> Any:
    """Return the column with its dashes as missing values, or as it is if it holds words."""
    pd = pandas()
    dashes = column.isin(DASHES)
    if not dashes.any():
        return column
    rest = column.mask(dashes)
    numbers = pd.to_numeric(rest, errors="coerce")
    if (numbers.notna() == rest.notna()).all():
        return numbers
    return column if column_type(rest, []) in WORDS else rest


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
        self.separator: str = separator or find_separator(text)
        try:
            names = next(csv.reader([text], delimiter=self.separator, skipinitialspace=True))
        except csv.Error as error:  # a field longer than any name
            raise DataError(f"the first line of {source} cannot be read: {error}") from None
        if len(names) > MAX_COLUMNS:
            raise DataError(f"{source} has {len(names)} columns; at most {MAX_COLUMNS} are read")
        self.named: bool = not all(_is_number(n) for n in names)
        if self.named:
            refuse_doubled([n for n in names if n.strip()], source)
            names = [n.strip() or f"unnamed {i}" for i, n in enumerate(names)]
        else:
            names = [f"x{i}" for i in range(len(names))]
        self.names: list[str] = names

    def options(self, content: bytes = b"") -> dict[str, Any]:
        """The arguments with which `pandas.read_csv` reads the rows below this header."""
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
    plain = re.sub('"[^"]*("|$)', "", line[:1_000_000])
    return max(SEPARATORS, key=plain.count)


def _stray_quotes(content: bytes) -> bool:
    """Whether a line has an odd number of quotation marks, so that they do not enclose fields.

    Read as the beginning of a quoted field, such a mark would swallow all lines up to the next.
    """
    return any(line.count(b'"') % 2 for line in content.split(b"\n")) if b'"' in content else False


def read_parquet(path: Path, target: str | None, columns: Any = None) -> Dataset:
    import pandas as pd

    check_size(path)
    try:
        frame = pd.read_parquet(path)
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install pyarrow") from None
    return from_file(frame, target, columns, path)


def from_file(
    frame: Any, target: str | None, columns: Any, path: Path, notes: tuple[str, ...] = ()
) -> Dataset:
    """The data set of a table that was read. A target of True and False becomes text again."""
    if target is not None and target in frame.columns and frame[target].dtype == bool:
        frame = frame.assign(**{target: frame[target].astype(str)})
    return make(frame, None, target, columns=columns, source=path.name, notes=notes)
