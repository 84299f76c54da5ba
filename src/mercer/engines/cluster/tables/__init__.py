"""Tables in files that no process has to hold: CSV by lines, Parquet by row groups.

What the columns are, and how they become numbers, is found out on a sample of the rows, which is a
data set like any other; the same is then done to each chunk where it is needed.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer.data.dataset import Dataset, Note
from mercer.data.schema import DataError, Schema
from mercer.data.tables import from_file
from mercer.data.targets import whole_numbers
from mercer.engines.cluster.chunks import Chunks
from mercer.engines.cluster.pieces import Block, Changed, ParquetFrame, Piece
from mercer.engines.cluster.pool import Call, gather
from mercer.engines.cluster.tables.lines import lines_of
from mercer.engines.cluster.tables.sources import ENDINGS, files_of, groups_of, kind_of
from mercer.tuning import WORK_SHARE

#: Rows that are looked at, and chunks that they are drawn from, at most.
LOOKED_AT_ROWS, PIECES = 20_000, 64


@dataclass(frozen=True, eq=False)
class Table:
    """Chunks that load as data frames, and their numbers of rows."""

    pieces: tuple[Piece, ...]
    sizes: tuple[int, ...]
    source: str

    def __len__(self) -> int:
        return sum(self.sizes)

    def sample(self, rows: int) -> Any:
        """Some rows as one frame, in their order; drawn with a fixed seed."""
        import pandas as pd

        random, count = np.random.default_rng(0), len(self.pieces)
        some = np.sort(random.choice(count, min(count, PIECES), replace=False))
        there = sum(self.sizes[i] for i in some)
        calls = []
        for i in some:
            wanted = min(self.sizes[i], -(-rows * self.sizes[i] // there))
            index = np.sort(random.choice(self.sizes[i], wanted, replace=False))
            calls.append(Call(_rows_of, (self.pieces[i], index)))
        return pd.concat(gather(calls, "a sample"), ignore_index=True)


@dataclass(frozen=True)
class Sampled(Dataset):
    """A sample of a table, as a data set; `table` is all of it."""

    table: Any = None


def _rows_of(frame: Any, index: np.ndarray) -> Any:
    return frame.iloc[index]


def open_table(source: str, format: str | None = None, rows: int = 25_000) -> Table:
    """A table in chunks of about `rows` rows."""
    files = files_of(source)
    parts = [pair for name in files for pair in _pieces_of(name, kind_of(files, format), rows)]
    if not parts:
        raise DataError(f"{source!r} holds no rows")
    pieces, sizes = zip(*parts, strict=True)
    return Table(pieces, sizes, Path(source).name)


def _pieces_of(path: str, kind: str, rows: int) -> Iterator[tuple[Piece, int]]:
    if kind != "parquet":
        yield from lines_of(path, rows, "\t" if kind == "tsv" else None)
        return
    import pyarrow.parquet as pq

    for groups, size in groups_of(pq.read_metadata(path), rows):
        yield ParquetFrame(path, groups), size


def in_pieces(source: str, format: str | None = None) -> bool:
    """Whether files are read in chunks: several of them, too much for memory, or for a cluster."""
    path = Path(source)
    if not path.exists():
        return glob.has_magic(source)
    if path.is_dir():
        return any(p.suffix in ENDINGS for p in path.iterdir())
    if (format or ENDINGS.get(path.suffix, "")) not in ("csv", "tsv", "parquet"):
        return False
    settings = get_config()
    return settings.cluster is not None or path.stat().st_size > WORK_SHARE * settings.memory_bytes


def table_of(frame: Any) -> Table:
    """A data frame of Dask's, by its partitions."""
    pieces = [Block(part) for part in frame.to_delayed()]
    sizes = gather([Call(len, (piece,)) for piece in pieces], "reading sizes")
    kept = [(piece, size) for piece, size in zip(pieces, sizes, strict=True) if size]
    if not kept:
        raise DataError("the data frame holds no rows")
    chosen, counts = zip(*kept, strict=True)
    return Table(chosen, counts, "data frame")


def sample_of(X: Any, y: Any) -> Dataset:
    """A data set of some rows in chunks, for what looks at data again and again.

    `y`: the targets of an array, or the name of a column of a data frame.
    """
    if hasattr(X, "to_dask_array") and isinstance(y, str):
        return sampled(table_of(X), y)
    rows = Chunks.of(X)
    index = np.arange(len(rows))
    if len(rows) > LOOKED_AT_ROWS:
        index = np.sort(np.random.default_rng(0).choice(len(rows), LOOKED_AT_ROWS, replace=False))
    sample = Dataset.of(rows[index], rows.aligned(y)[index])
    if len(index) == len(rows):
        return sample
    words = Note("file", f"looked at {len(index):,} of {len(rows):,} rows")
    return replace(sample, notes=(words, *sample.notes))


def sampled(table: Table, target: str | None, columns: Any = None) -> Sampled:
    """The data set that a sample makes."""
    frame = table.sample(LOOKED_AT_ROWS)
    sampled = from_file(frame, target, columns, Path(table.source))
    values = {field.name: getattr(sampled, field.name) for field in fields(Dataset)}
    result = Sampled(**values, table=table)
    if len(frame) == len(table):
        return result
    words = f"looked at {len(frame):,} of {len(table):,} rows, in {len(table.pieces)} pieces"
    return replace(result, notes=(Note("file", words), *result.notes), given=())


def prepared(sample: Sampled, steps: Any) -> tuple[Chunks, Chunks]:
    """X and y in chunks, each as the fitted `steps` make it of the table."""
    if sample.schema is None or sample.schema.kind != "table":
        raise DataError(f"{sample.source}: only tables of numbers and categories learn in pieces")
    table, one = sample.table, steps.transform(sample.X.iloc[:1])
    change = partial(_numbers, sample.schema, steps)
    X = [Changed(piece, change) for piece in table.pieces]
    assert sample.y is not None
    assert sample.target is not None
    assert sample.task is not None
    read = partial(_targets, sample.target, sample.task, sample.y.dtype.kind)
    y = [Changed(piece, read) for piece in table.pieces]
    shape = (len(table), one.shape[1])
    rows = Chunks(tuple(X), table.sizes, shape, np.dtype(np.float64))
    return rows, Chunks(tuple(y), table.sizes, shape[:1], sample.y.dtype)


def _numbers(schema: Schema, steps: Any, frame: Any) -> np.ndarray:
    table = steps.transform(schema.table(frame))
    return np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)


def _targets(target: str, task: str, kind: str, frame: Any) -> np.ndarray:
    """Numbers, or labels of the kind that the sample has."""
    values = frame[target]
    if values.isna().any():
        raise DataError(
            f"{int(values.isna().sum())} of {len(values)} rows of a piece have no target "
            f"{target!r}: leave them out of the files first"
        )
    if task == "regression":
        return values.to_numpy(dtype=np.float64)
    array = (values.astype(str) if values.dtype == bool else values).to_numpy()
    return whole_numbers(array) if kind in "iuf" else array.astype(str)
