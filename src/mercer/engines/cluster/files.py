"""Files as rows in pieces: Parquet by row groups, arrays on disk by rows."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.engines.cluster.chunks import Chunks, is_dask
from mercer.engines.cluster.pieces import MappedRows, ParquetRows, Piece

#: Rows of a piece, if nothing else is asked for: 25,000 rows of 100 columns are 20 MB.
ROWS = 25_000


def chunks(
    source: Any,
    target: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    rows: int = ROWS,
) -> Any:
    """X in pieces of about so many `rows`; with `target`, X and y.

    Parameters
    ----------
    source : path, pattern, folder, array or Dask collection
        Parquet files ("rows/*.parquet", or a folder of them), an array on disk ("rows.npy" or a
        `numpy.memmap`), an array in memory, or what Dask has.
    target : str or None
        The column of a Parquet file that is y.
    columns : list of str or None
        The columns of X; all but the target without it.
    rows : int
        Rows of a piece.

    Returns
    -------
    Chunks
        The pieces, read when they are asked for; with `target`, a pair of X and y.

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
    return _parquet(_files(path), target, columns, rows)


def _mapped(array: Any, rows: int) -> Chunks:
    """Rows of an array in C order on disk, some at a time."""
    if not isinstance(array, np.memmap) or array.filename is None or not array.flags.c_contiguous:
        return Chunks.of(np.ascontiguousarray(array), rows)
    common = (str(array.filename), array.dtype.str, array.shape, int(array.offset))
    cuts = range(0, len(array), rows)
    pieces = [MappedRows(*common, i, min(i + rows, len(array))) for i in cuts]
    sizes = tuple(p.stop - p.start for p in pieces)
    return Chunks(tuple(pieces), sizes, array.shape, array.dtype)


def _files(path: Path) -> list[str]:
    found = sorted(str(p) for p in path.glob("*.parquet")) if path.is_dir() else []
    found = found or sorted(glob.glob(str(path)))
    if not found:
        raise FileNotFoundError(f"no file matches {str(path)!r}")
    return found


def _parquet(files: list[str], target: str | None, columns: Sequence[str] | None, rows: int) -> Any:
    import pyarrow.parquet as pq

    X: list[Piece] = []
    y: list[Piece] = []
    sizes: list[int] = []
    names: tuple[str, ...] = ()
    for name in files:
        outline = pq.read_metadata(name)
        there = outline.schema.to_arrow_schema()
        if not names:
            chosen = columns or [c for c in there.names if c != target]
            names = tuple(chosen)
            kinds = [there.field(c).type.to_pandas_dtype() for c in names if c in there.names]
        for column in (*names, *([target] if target else [])):
            if column not in there.names:
                raise ValueError(
                    f"{name} has no column {column!r}; it has {', '.join(there.names)}"
                )
        for groups, size in _groups(outline, rows):
            X.append(ParquetRows(name, groups, names))
            sizes.append(size)
            if target:
                y.append(ParquetRows(name, groups, (target,)))
    if not X:
        raise ValueError("the files hold no rows")
    shape = (sum(sizes), len(names))
    found = Chunks(tuple(X), tuple(sizes), shape, np.result_type(*kinds), names)
    if not target:
        return found
    first = np.asarray(y[0].load())
    return found, Chunks(tuple(y), tuple(sizes), (shape[0],), first.dtype)


def _groups(outline: Any, rows: int) -> list[tuple[tuple[int, ...], int]]:
    """Row groups that have about so many rows together."""
    found: list[tuple[tuple[int, ...], int]] = []
    groups: list[int] = []
    size = 0
    for i in range(outline.num_row_groups):
        groups.append(i)
        size += outline.row_group(i).num_rows
        if size >= rows or i + 1 == outline.num_row_groups:
            if size:
                found.append((tuple(groups), size))
            groups, size = [], 0
    return found
