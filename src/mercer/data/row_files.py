"""New rows from files that are no streams of text: Parquet, .npz, IDX, Maildir."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mercer._examples import count, take
from mercer._plugins import load_plugins
from mercer.data.formats import FORMATS, guess_format, load
from mercer.data.making import as_frame
from mercer.data.rows import BLOCK, Block, read_rows
from mercer.data.schema import DataError, Schema
from mercer.data.tables import open_bytes

#: Formats that are read a block at a time; the others are read whole, as for training.
STREAMED = ("csv", "tsv", "libsvm", "fasta", "mbox")


def rows_of_file(
    path: Path,
    schema: Schema,
    *,
    format: str | None = None,
    keep: tuple[str, ...] = (),
    width: int | None = None,
    block: int = BLOCK,
) -> Iterator[Block]:
    """Blocks of rows from a file, whatever its format."""
    if not path.exists():
        raise DataError(f"there is no file {str(path)!r}")
    load_plugins("formats")
    if format is None:
        try:
            format = guess_format(path)
        except DataError:
            format = "csv"
        if format == "csv" and schema.kind in ("strings", "mail"):
            format = None  # a table or lines: the first line tells
    if format is None or format in STREAMED:
        if path.is_dir():
            raise DataError(f"{str(path)!r} is a folder; give a file of rows")
        with open_bytes(path) as stream:
            yield from read_rows(stream, schema, format=format, keep=keep, width=width, block=block)
    elif format == "parquet":
        yield from _parquet(path, schema, keep, block)
    else:
        if keep:
            raise DataError(f"{format} has no named columns to keep")
        for X in _whole(path, schema, format, block):
            if width is not None and hasattr(X, "shape") and X.shape[1] != width:
                raise DataError(f"the model takes rows of {width} numbers, got {X.shape[1]}")
            yield Block(X)


def _whole(path: Path, schema: Schema, format: str, block: int) -> Iterator[Any]:
    """Rows of a format that is read whole, as for training; of a table in the schema's form."""
    if schema.columns and format in FORMATS and FORMATS[format].is_table:
        rows = schema.table(as_frame(FORMATS[format].read(path, None, None)))
        rows = rows[schema.columns[0]].fillna("").tolist() if schema.kind == "strings" else rows
    else:
        rows = load(path, None, format).X
    for start in range(0, count(rows), block):
        yield take(rows, slice(start, start + block))


def _parquet(path: Path, schema: Schema, keep: tuple[str, ...], block: int) -> Iterator[Block]:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install pyarrow") from None
    file: Any = ParquetFile(path)
    names = [str(n) for n in file.schema_arrow.names]
    schema.missing_from([*names])
    if missing := [k for k in keep if k not in names]:
        raise DataError(f"there is no column {missing[0]!r} to keep")
    seen = 0
    for batch in file.iter_batches(batch_size=block):
        frame = batch.to_pandas()
        kept = tuple(frame[name].astype(str).tolist() for name in keep)
        if schema.kind == "strings":
            X: Any = frame[schema.columns[0]].fillna("").astype(str).tolist()
        elif schema.columns:
            X = schema.table(frame, seen + 1)
        else:
            X = frame.drop(columns=[*keep]).to_numpy(dtype=float)
        seen += len(frame)
        yield Block(X, kept)
