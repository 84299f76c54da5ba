"""Files as rows in chunks: Parquet by row groups, CSV by lines, arrays on disk by rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mercer._tiles import cut
from mercer.engines.cluster.chunks import Chunks, is_dask
from mercer.engines.cluster.pieces import Changed, MappedRows, ParquetRows
from mercer.engines.cluster.tables.lines import column_of, floats_of, lines_of
from mercer.engines.cluster.tables.sources import files_of, groups_of, kind_of
from mercer.tuning import CHUNK_ROWS


def chunks(
    source: Any,
    target: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    rows: int = CHUNK_ROWS,
) -> Any:
    """X in chunks of about `rows` rows; with `target`, X and y.

    Parameters
    ----------
    source : path, pattern, folder, array or Dask collection
        Parquet or CSV files ("rows/*.parquet", or a folder of them), an array on disk ("rows.npy"
        or a `numpy.memmap`), an array in memory, or what Dask has.
    target : str or None
        The column of a table that is y.
    columns : list of str or None
        The columns of X; all but the target without it.
    rows : int
        Rows of a chunk.

    Returns
    -------
    Chunks
        The chunks, read when they are asked for; with `target`, a pair of X and y.

    Examples
    --------
    >>> import numpy as np
    >>> chunks(np.zeros((5, 2)), rows=2).sizes
    (2, 2, 1)
    """
    if is_dask(source) or isinstance(source, Chunks):
        return Chunks.of(source)
    if isinstance(source, np.memmap):
        return _mapped(source, rows)
    if isinstance(source, np.ndarray):
        return Chunks.of(source, rows)
    path = Path(str(source))
    if path.suffix == ".npy":
        return _mapped(np.load(path, mmap_mode="r"), rows)
    files = files_of(str(path))
    if kind_of(files) == "parquet":
        return _parquet(files, target, columns, rows)
    return _text(files, target, columns, rows)


def _mapped(array: Any, rows: int) -> Chunks:
    """Rows of an array in C order on disk, some at a time."""
    if not isinstance(array, np.memmap) or array.filename is None or not array.flags.c_contiguous:
        return Chunks.of(np.ascontiguousarray(array), rows)
    common = (str(array.filename), array.dtype.str, array.shape, int(array.offset))
    parts = list(cut(0, len(array), rows))
    pieces = tuple(MappedRows(*common, part.start, part.stop) for part in parts)
    return Chunks(pieces, tuple(p.stop - p.start for p in parts), array.shape, array.dtype)


def _text(files: list[str], target: str | None, columns: Sequence[str] | None, rows: int) -> Any:
    """CSV or TSV: columns of numbers, and a target of numbers or words."""
    separator = "\t" if kind_of(files) == "tsv" else None
    parts = [pair for name in files for pair in lines_of(name, rows, separator)]
    if not parts:
        raise ValueError("the files hold no rows")
    sizes, first = tuple(size for _, size in parts), parts[0][0]
    names = tuple(columns or [c for c in first.names if c != target])
    for lines, _ in parts:
        _check_columns(lines.path, lines.names, names, target)
    X = tuple(Changed(lines, partial(floats_of, names=names)) for lines, _ in parts)
    X_chunks = Chunks(X, sizes, (sum(sizes), len(names)), np.dtype(np.float64), names)
    if not target:
        return X_chunks
    words = first.load()[target].dtype.kind not in "biuf"
    y = tuple(Changed(li, partial(column_of, name=target, words=words)) for li, _ in parts)
    return X_chunks, Chunks(y, sizes, (sum(sizes),), y[0].load().dtype)


def _check_columns(
    path: str, there: Sequence[str], names: tuple[str, ...], target: str | None
) -> None:
    for column in (*names, *([target] if target else [])):
        if column not in there:
            raise ValueError(f"{path} has no column {column!r}; it has {', '.join(there)}")


def _parquet(files: list[str], target: str | None, columns: Sequence[str] | None, rows: int) -> Any:
    """Chunks of whole row groups, of about `rows` rows; only outlines of the files are read."""
    import pyarrow.parquet as pq

    groups_found: list[tuple[str, tuple[int, ...], int]] = []
    names: tuple[str, ...] = ()
    for name in files:
        outline = pq.read_metadata(name)
        there = outline.schema.to_arrow_schema()
        if not names:
            names = tuple(columns or [c for c in there.names if c != target])
            kinds = [there.field(c).type.to_pandas_dtype() for c in names if c in there.names]
        _check_columns(name, there.names, names, target)
        groups_found += [(name, groups, size) for groups, size in groups_of(outline, rows)]
    if not groups_found:
        raise ValueError("the files hold no rows")
    sizes = tuple(size for _, _, size in groups_found)
    X = tuple(ParquetRows(name, groups, names) for name, groups, _ in groups_found)
    X_chunks = Chunks(X, sizes, (sum(sizes), len(names)), np.result_type(*kinds), names)
    if not target:
        return X_chunks
    y = tuple(ParquetRows(name, groups, (target,)) for name, groups, _ in groups_found)
    return X_chunks, Chunks(y, sizes, (sum(sizes),), np.asarray(y[0].load()).dtype)
