"""Chunks of a data set, each of which any process can load by itself.

A chunk says how to get its rows (a block of Dask's, rows of a file) and travels in place of them.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from mercer._config import show_bytes


@dataclass(frozen=True)
class Extent:
    """The number of a chunk in its set, and its size."""

    number: int
    rows: int
    bytes: int

    def __str__(self) -> str:
        return f"piece {self.number} ({self.rows} rows, {show_bytes(self.bytes)})"


def runs(sizes: Sequence[int], least: int) -> list[slice]:
    """Slices of neighbors that have at least `least` rows together.

    >>> runs((3, 3, 5, 1, 1), 5)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None)]
    """
    slices, start, rows = [], 0, 0
    for i, size in enumerate(sizes):
        rows += size
        if rows >= least or i + 1 == len(sizes):
            slices.append(slice(start, i + 1))
            start, rows = i + 1, 0
    return slices


class Piece(ABC):
    """Some rows of a data set, wherever they are."""

    #: Known when the chunk belongs to a set; for errors.
    extent: Extent | None = None

    def placed(self, extent: Extent) -> Self:
        """A copy of this chunk that holds its place in the set."""
        vars(self)["extent"] = extent
        return self

    @abstractmethod
    def load(self) -> Any:
        """The rows, as an array or a data frame, in this process."""

    def node(self) -> Any:
        """The node of the rows in a graph of Dask's; None where the task loads them."""
        return None

    def identity(self) -> bytes:
        """A key of the rows, equal in any process: checkpoints are looked up by it."""
        told = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(self)]  # type: ignore[arg-type]
        path = getattr(self, "path", None)
        if path is not None:  # a file that was changed has other rows
            told.append(f"{os.path.getmtime(path)} {os.path.getsize(path)}")
        return " ".join([type(self).__name__, *told]).encode()


@dataclass(frozen=True, eq=False)
class Held(Piece):
    """Rows that are in memory here, and are sent along with a task."""

    rows: Any

    def load(self) -> Any:
        return self.rows

    def identity(self) -> bytes:
        rows = np.ascontiguousarray(self.rows)
        digest = vars(self).get("_known")
        if digest is None:
            content = rows.tobytes() if rows.dtype.kind != "O" else repr(rows.tolist()).encode()
            digest = hashlib.sha256(f"{rows.dtype.str}{rows.shape}".encode() + content).digest()
            vars(self)["_known"] = digest
        return bytes(digest)


@dataclass(frozen=True, eq=False)
class Block(Piece):
    """One block of a Dask array or data frame, as a delayed object."""

    delayed: Any

    def load(self) -> Any:
        return self.delayed.compute(scheduler="synchronous")

    def node(self) -> Any:
        return self.delayed

    def identity(self) -> bytes:
        return str(self.delayed.key).encode()


@dataclass(frozen=True, eq=False)
class MappedRows(Piece):
    """Rows of an array on disk; no more than these are read."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    start: int
    stop: int

    def load(self) -> Any:
        whole = np.memmap(self.path, self.dtype, "r", self.offset, self.shape)
        return np.array(whole[self.start : self.stop])


@dataclass(frozen=True, eq=False)
class ParquetRows(Piece):
    """Some row groups of a Parquet file, and some of its columns."""

    path: str
    groups: tuple[int, ...]
    columns: tuple[str, ...]

    def load(self) -> Any:
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.path) as file:
            table = file.read_row_groups(list(self.groups), columns=list(self.columns))
        arrays = [table.column(name).to_numpy() for name in self.columns]
        return arrays[0] if len(arrays) == 1 else np.column_stack(arrays)


@dataclass(frozen=True, eq=False)
class ParquetFrame(Piece):
    """Row groups of a Parquet file with all columns, as a data frame."""

    path: str
    groups: tuple[int, ...]

    def load(self) -> Any:
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.path) as file:
            return file.read_row_groups(list(self.groups)).to_pandas()


@dataclass(frozen=True, eq=False)
class Changed(Piece):
    """The rows of another chunk, after a function."""

    piece: Piece
    function: Callable[[Any], Any]

    def load(self) -> Any:
        return self.function(self.piece.load())

    def node(self) -> Any:
        node = self.piece.node()
        if node is None:
            return None
        from dask import delayed

        return delayed(self.function, pure=False)(node)

    def identity(self) -> bytes:
        return self.piece.identity() + pickle.dumps(self.function)


@dataclass(frozen=True, eq=False)
class Picked(Piece):
    """Some rows of several chunks, in their order; loaded one chunk after the other."""

    parts: tuple[tuple[Piece, np.ndarray], ...]

    def load(self) -> Any:
        return np.concatenate([some_rows(piece.load(), index) for piece, index in self.parts])

    def identity(self) -> bytes:
        return b"".join(piece.identity() + index.tobytes() for piece, index in self.parts)

    def node(self) -> Any:
        """Blocks of Dask's are made once, for all who pick of them."""
        nodes = [piece.node() for piece, _ in self.parts]
        if any(node is None for node in nodes):
            return None
        from dask import delayed

        some = delayed(some_rows, pure=False)
        picked = [some(node, part[1]) for node, part in zip(nodes, self.parts, strict=True)]
        return delayed(np.concatenate, pure=False)(picked)


def some_rows(rows: Any, index: np.ndarray) -> np.ndarray:
    """Rows of an array or a data frame, by index."""
    return np.asarray(rows)[index]
