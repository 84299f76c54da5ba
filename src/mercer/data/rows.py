"""New rows for a model, a block at a time: a million of them need no more memory than a thousand.

`read_rows` takes a stream (or a file that is streamed) and a `Schema`, and gives blocks in the form
the model was fitted on. Tables come with a header, in any order of columns; vectors with or without
one; strings and messages one per line, FASTA or mbox.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

from mercer._suggest import suggest
from mercer.data.schema import WORDS, DataError, Schema
from mercer.data.tables import DASHES, MISSING, Header
from mercer.data.texts import fasta_records

#: Rows in a block.
BLOCK = 10_000
#: The longest line that is read.
MAX_LINE = 64 * 2**20


@dataclass(frozen=True)
class Block:
    """Rows for `model.predict`, and the columns that were asked to be kept beside them."""

    X: Any
    kept: tuple[list[str], ...] = ()


def schema_of(model: Any) -> Schema:
    """The schema a model carries, or what its attributes say about the rows it takes."""
    schema = getattr(model, "schema_", None)
    if isinstance(schema, Schema):
        return schema
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return Schema("table", tuple(map(str, names)))
    if getattr(model, "n_features_in_", None) is not None:
        return Schema("vectors")
    return Schema("strings")


def read_rows(
    stream: BinaryIO,
    schema: Schema,
    *,
    format: str | None = None,
    keep: tuple[str, ...] = (),
    width: int | None = None,
    block: int = BLOCK,
) -> Iterator[Block]:
    """Blocks of at most `block` rows; `width` is the number of columns vectors must have."""
    peeked = Peeked(stream)
    if keep and schema.kind in ("strings", "mail") and not (schema.columns and _has_header(
        peeked.start, schema)):  # fmt: skip
        raise DataError("only columns of a table with a line of names can be kept")
    if schema.kind in ("strings", "mail"):
        yield from _texts(peeked, schema, format, keep, block)
    elif format == "libsvm":
        yield from _libsvm(peeked, width, block, schema.sparse)
    else:
        yield from _table(peeked, schema, format, keep, width, block)


class Peeked(io.RawIOBase):
    """A stream whose beginning was looked at, and is read again from there."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.failure: BaseException | None = None
        self.start: bytes = stream.readline(MAX_LINE)
        while self.start and not self.start.strip(b"\xef\xbb\xbf\r\n \t"):
            self.start = stream.readline(MAX_LINE)  # empty lines at the top
        self._left = self.start

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._left[: len(buffer)] or self._stream.read(len(buffer)) or b""
        except BaseException as error:  # Ctrl-C too: the parser above would call it bad input
            self.failure = error
            raise
        self._left = self._left[len(data) :]
        buffer[: len(data)] = data
        return len(data)

    def lines(self) -> Iterator[bytes]:
        with io.BufferedReader(self, 1 << 16) as reader:
            yield from iter(lambda: reader.readline(MAX_LINE), b"")


def _table(
    peeked: Peeked,
    schema: Schema,
    format: str | None,
    keep: tuple[str, ...],
    width: int | None,
    block: int,
) -> Iterator[Block]:
    """Blocks of a table, by names where the schema has them, by positions where not."""
    import pandas as pd

    if not peeked.start:
        return
    head = Header(peeked.start, "the input", "\t" if format == "tsv" else None)
    for name in keep:
        if name not in head.names:
            raise DataError(f"there is no column {name!r} to keep.{suggest(name, head.names)}")
    rows = _named(head, schema) if schema.columns else _numbered(head, schema, keep, width)
    text = dict.fromkeys(keep, str)
    text |= {c: str for c, t in zip(rows.columns, rows.types, strict=False) if t in WORDS}
    # All columns are parsed: of a row with a field too many, some columns alone would be shifted.
    gaps = {c: MISSING if c in text else MISSING + DASHES for c in head.names}
    options = head.options() | {
        "na_values": gaps,
        "dtype": text,
        "chunksize": block,
        "names": head.names,
    }
    stream = io.BufferedReader(peeked, 1 << 20)
    seen = 0
    with _readable_errors(peeked), pd.read_csv(stream, **options) as chunks:
        for frame in chunks:
            kept = tuple(frame[name].fillna("").astype(str).tolist() for name in keep)
            X = rows.table(frame, seen + 1)
            seen += len(frame)
            yield Block(X if schema.columns else X.to_numpy(dtype=np.float64), kept)


def _named(head: Header, schema: Schema) -> Schema:
    """The schema itself, after a check that the first line names all of its columns."""
    if not head.named:
        raise DataError(
            f"the first line must name the columns ({', '.join(schema.columns[:5])}, …); "
            "it holds numbers only"
        )
    schema.missing_from(head.names)
    return schema


def _numbered(head: Header, schema: Schema, keep: tuple[str, ...], width: int | None) -> Schema:
    """Columns of numbers: all but those to keep and, if it is there, the target."""
    others = [n for n in head.names if n not in set(keep)]
    chosen = [n for n in others if n != schema.target] or others
    if width is not None and len(chosen) != width:
        raise DataError(f"the model takes rows of {width} numbers, got {len(chosen)} columns")
    return Schema("table", tuple(chosen), ("number",) * len(chosen))


@contextmanager
def _readable_errors(peeked: Peeked) -> Iterator[None]:
    """Make a `DataError` of what the parser raises; errors of the stream stay as they are."""
    try:
        yield
    except BaseException as error:
        if peeked.failure is not None:
            raise peeked.failure from None
        if isinstance(error, UnicodeDecodeError):
            raise DataError("the rows are not UTF-8 text; convert them first, e.g. iconv") from None
        if isinstance(error, OverflowError):
            raise DataError(f"the rows hold a number that is too large: {error}") from None
        if type(error).__name__ in ("ParserError", "EmptyDataError"):
            raise DataError(f"the rows cannot be read: {error}") from None
        raise


def _libsvm(peeked: Peeked, width: int | None, block: int, sparse: bool) -> Iterator[Block]:
    from sklearn.datasets import load_svmlight_file

    lines = peeked.lines()
    while part := list(islice(lines, block)):
        X, _ = load_svmlight_file(io.BytesIO(b"".join(part)), n_features=width)
        yield Block(X if sparse else X.toarray())


def _has_header(start: bytes, schema: Schema) -> bool:
    """Whether strings come as a table: its first line then names the model's column."""
    try:
        return schema.columns[0] in Header(start, "the input").names
    except (DataError, UnicodeDecodeError):
        return False


def _texts(
    peeked: Peeked, schema: Schema, format: str | None, keep: tuple[str, ...], block: int
) -> Iterator[Block]:
    if format in (None, "csv", "tsv") and schema.columns and _has_header(peeked.start, schema):
        for part in _table(peeked, schema, format, keep, None, block):
            yield Block(part.X[schema.columns[0]].fillna("").tolist(), part.kept)
        return
    items: Iterator[Any] = _items(peeked, schema.kind, format)
    if schema.kind == "strings":
        items = (item.decode("utf-8") for item in items)
    with _readable_errors(peeked):
        while texts := list(islice(items, block)):
            yield Block(texts)


def _items(peeked: Peeked, kind: str, format: str | None) -> Iterator[bytes]:
    """Messages of an mbox, sequences of FASTA, or one text per line, as the first line tells."""
    if format == "mbox" or (kind == "mail" and peeked.start.startswith(b"From ")):
        return _mbox(peeked.lines())
    if format == "fasta" or (kind == "strings" and peeked.start.startswith(b">")):
        return (sequence for _, sequence in fasta_records(peeked.lines()))
    return (_unescaped(line) for line in peeked.lines())


def _unescaped(line: bytes) -> bytes:
    """The text of a line, in which \\n, \\t, \\r and \\\\ stand for the characters they name."""
    line = line.rstrip(b"\r\n")
    signs = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\"}
    return re.sub(rb"\\([ntr\\])", lambda sign: signs[sign[1]], line)


def _mbox(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Messages begin with a line "From …" after an empty one; >From is a From that was quoted."""
    parts: list[bytes] | None = None
    empty = True
    for line in lines:
        if line.startswith(b"From ") and empty:
            if parts is not None:
                yield b"".join(parts)
            parts = []
        elif parts is not None:
            parts.append(line)
        empty = not line.strip()
    if parts is not None:
        yield b"".join(parts)
