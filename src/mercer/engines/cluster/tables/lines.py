"""Text with separators, cut at the ends of lines: chunks of a CSV file that is never read whole."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.schema import DataError
from mercer.data.tables import MAX_HEADER, Header
from mercer.engines.cluster.pieces import Piece

#: Bytes of a file that are looked through at a time for the ends of lines.
SCANNED_BYTES = 1 << 24
_NEWLINE, _QUOTE = b'\n"'


@dataclass(frozen=True, eq=False)
class Lines(Piece):
    """Some lines of a CSV file, as a data frame; `options` are those of `pandas.read_csv`."""

    path: str
    start: int
    stop: int
    names: tuple[str, ...]
    options: tuple[tuple[str, Any], ...]

    def load(self) -> Any:
        # Rows and targets are two views of the same lines: the last ones read are kept.
        key = (self.path, self.start, self.stop)
        if getattr(_last, "key", None) != key:
            _last.key, _last.frame = None, None
            _last.frame = self._read()
            _last.key = key
        return _last.frame

    def _read(self) -> Any:
        import pandas as pd

        with open(self.path, "rb") as file:
            file.seek(self.start)
            content = file.read(self.stop - self.start)
        try:
            return pd.read_csv(io.BytesIO(content), names=list(self.names), **dict(self.options))
        except pd.errors.ParserError as error:
            raise DataError(
                f"{self.path!r}, bytes {self.start} to {self.stop}, cannot be read: {error}"
            ) from None


_last = threading.local()


def lines_of(path: str, rows: int, separator: str | None = None) -> list[tuple[Lines, int]]:
    """Chunks of `rows` rows each, with their numbers of rows; the last may have fewer.

    Lines end where no quotation is open; empty ones do not count.
    """
    if path.endswith(".gz"):
        raise DataError(f"{path!r} is packed, and no part of it can be read alone: unpack it first")
    with open(path, "rb") as file:
        begin = file.read(MAX_HEADER)
    head = Header(begin, Path(path).name, separator)
    reading = head.options(begin) | {"header": None}
    options = tuple(sorted(reading.items(), key=lambda item: item[0]))
    names, cuts = tuple(head.names), _cuts(path, rows, "quoting" not in reading, int(head.named))
    return [(Lines(path, start, stop, names, options), count) for start, stop, count in cuts]


def _cuts(path: str, rows: int, quoted: bool, skip: int) -> Iterator[tuple[int, int, int]]:
    """Begin, end and rows of each chunk, below `skip` lines of names."""
    start, count = 0, -skip
    for stop in _ends(path, quoted):
        count += 1
        if count == 0 or count == rows:
            if count:
                yield start, stop, count
            start, count = stop, 0
    if count > 0:
        yield start, stop, count


def _ends(path: str, quoted: bool) -> Iterator[int]:
    """The byte after each line that is not empty."""
    offset, open_quotes, begin = 0, 0, 0
    with open(path, "rb") as file:
        while block := file.read(SCANNED_BYTES):
            text = np.frombuffer(block, dtype=np.uint8)
            at = np.flatnonzero(text == _NEWLINE)
            if quoted:
                marks = np.flatnonzero(text == _QUOTE)
                if len(marks) or open_quotes:
                    inside = (np.searchsorted(marks, at) + open_quotes) % 2
                    at, open_quotes = at[inside == 0], (open_quotes + len(marks)) % 2
            for end in (offset + at + 1).tolist():
                if _holds_text(block, begin - offset, end - offset):
                    yield end
                begin = end
            offset += len(block)
    if offset > begin:  # the last line has no end
        yield offset


def _holds_text(block: bytes, start: int, stop: int) -> bool:
    """Whether a line is more than its end; one that began in an earlier block is."""
    return start < 0 or stop - start > 2 or block[start:stop].strip() != b""


def floats_of(frame: Any, names: tuple[str, ...]) -> np.ndarray:
    """Columns of numbers; a word among them is named with its column."""
    import pandas as pd

    columns = []
    for name in names:
        try:
            columns.append(pd.to_numeric(frame[name]).to_numpy(dtype=np.float64))
        except (ValueError, TypeError) as error:
            raise DataError(
                f"column {name!r} holds something that is no number ({error}): leave it out with "
                "columns=, or give the table to `mercer fit`, which encodes words"
            ) from None
    return np.column_stack(columns)


def column_of(frame: Any, name: str, words: bool) -> np.ndarray:
    """One column, as numbers or as words."""
    return frame[name].to_numpy().astype(str) if words else frame[name].to_numpy()
