"""Examples or targets in chunks: a set that no process has to hold as a whole.

It has a shape, and gives some of its rows when they are asked for by index; that is all a learner
needs to draw centers and to choose widths. Everything else is a sum over chunks (`pool`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._arrays import is_chunked
from mercer._tiles import cut
from mercer.engines.cluster.pieces import Block, Changed, Extent, Held, Picked, Piece, some_rows
from mercer.engines.cluster.pool import Call, gather, reduce


@dataclass(frozen=True, eq=False)
class Chunks:
    """Chunks in the order of the rows; `sizes` are their numbers of rows, none of them 0.

    >>> import numpy as np
    >>> rows = Chunks.of(np.arange(10.0).reshape(5, 2), step=2)
    >>> rows.shape, rows.sizes, rows[[4, 0]].tolist()
    ((5, 2), (2, 2, 1), [[8.0, 9.0], [0.0, 1.0]])
    """

    pieces: tuple[Piece, ...]
    sizes: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    names: tuple[str, ...] = ()
    _kept: dict[bytes, np.ndarray] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, rows: Any, step: int | None = None) -> Chunks:
        """Make chunks of a Dask array or data frame, or of an array, cut every `step` rows."""
        if isinstance(rows, Chunks):
            return rows
        if is_dask(rows):
            return cls.of_pieces([Block(d) for d in _delayed(rows)], _known_sizes(rows), rows)
        array = np.asarray(rows)
        return cls.of_pieces([Held(array[p]) for p in cut(0, len(array), step or len(array) or 1)])

    @classmethod
    def of_pieces(
        cls, pieces: list[Piece], sizes: list[int] | None = None, source: Any = None
    ) -> Chunks:
        """Chunks with rows in them; what is not known of them is asked."""
        if sizes is not None and hasattr(source, "dtype"):
            known_outlines = [Outline(n, tuple(source.shape[1:]), source.dtype) for n in sizes]
        else:
            known_outlines = gather([Call(_outline, (piece,)) for piece in pieces], "reading sizes")
        kept = [(piece, one) for piece, one in zip(pieces, known_outlines, strict=True) if one.rows]
        if not kept:
            raise ValueError("Found array with 0 sample(s): there are no rows in any piece")
        first, outlines = kept[0][1], [one for _, one in kept]
        for number, one in enumerate(outlines):
            if one.width != first.width:
                raise ValueError(
                    f"piece {number} has rows of shape {one.width}, the first {first.width}: all "
                    "pieces need the same columns"
                )
        chosen = [piece for piece, _ in kept]
        if first.names:  # frames, whose columns may come in any order
            chosen = [Changed(p, partial(_in_order, names=first.names)) for p in chosen]
        counts = tuple(one.rows for one in outlines)
        dtype = _common([one.dtype for one in outlines])
        _place(chosen, counts, int(np.prod(first.width)) * dtype.itemsize)
        return cls(tuple(chosen), counts, (sum(counts), *first.width), dtype, first.names)

    # --- a set of rows ----------------------------------------------------------------------

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def chunk_rows(self) -> int:
        """Rows of the largest chunk."""
        return max(self.sizes)

    def __getitem__(self, index: Any) -> np.ndarray:
        """Some rows, by indices or a slice, as an array in this process."""
        index = np.arange(len(self))[index] if isinstance(index, slice) else np.asarray(index)
        key = index.tobytes()
        if key not in self._kept:
            asked = [Call(some_rows, part) for part in self._parts(np.sort(index))]
            none = np.empty((0, *self.shape[1:]), self.dtype)
            rows = np.concatenate(gather(asked, "rows") or [none])
            back = np.argsort(np.argsort(index, kind="stable"))
            self._kept.clear()  # the last question is often asked again
            self._kept[key] = np.asarray(rows)[back].reshape(len(index), *self.shape[1:])
        return self._kept[key]

    def picked(self, index: np.ndarray) -> Picked:
        """Some rows, by indices in their order, as one chunk that a task loads."""
        rows = Picked(tuple(self._parts(index)))
        row_bytes = int(np.prod(self.shape[1:])) * self.dtype.itemsize
        return rows.placed(Extent(0, len(index), len(index) * row_bytes))

    def _parts(self, index: np.ndarray) -> Iterator[tuple[Piece, np.ndarray]]:
        """The chunks that some rows are in, and the indices that those have there."""
        start = 0
        for piece, size in zip(self.pieces, self.sizes, strict=True):
            low, high = np.searchsorted(index, [start, start + size])
            if high > low:
                yield piece, index[low:high] - start
            start += size

    # --- the same rows otherwise ------------------------------------------------------------

    def columns(self) -> Chunks:
        """Targets as a table of one or more columns."""
        return self if self.ndim == 2 else replace(self, shape=(len(self), 1), _kept={})

    def mapped(self, function: Callable[[Any], Any], width: tuple[int, ...], dtype: Any) -> Chunks:
        """Apply a function to the rows of each chunk."""
        pieces = tuple(Changed(piece, function) for piece in self.pieces)
        shape = (len(self), *width)
        return replace(self, pieces=pieces, shape=shape, dtype=np.dtype(dtype), _kept={})

    @classmethod
    def joined(cls, parts: Sequence[Any]) -> Chunks:
        """Several sets of rows, in chunks or not, as one."""
        sets = [cls.of(part) for part in parts]
        widths = {one.shape[1:] for one in sets}
        if len(widths) > 1:
            raise ValueError(f"sets of rows of different shapes cannot be joined: {sorted(widths)}")
        sizes = tuple(size for one in sets for size in one.sizes)
        shape = (sum(sizes), *sets[0].shape[1:])
        pieces = tuple(piece for one in sets for piece in one.pieces)
        return cls(pieces, sizes, shape, _common([one.dtype for one in sets]), sets[0].names)

    def unique(self) -> np.ndarray:
        """The distinct values, sorted."""
        parts = gather([Call(np.unique, (piece,)) for piece in self.pieces], "classes")
        return np.unique(np.concatenate(parts))

    def summed(self, function: Callable[..., Any], others: Any = None) -> Any:
        """Σ function(rows) over the chunks, in a fixed tree; of rows and `others`, cut alike."""
        pairs = zip(self.pieces, *([] if others is None else [others]), strict=True)
        return reduce([Call(function, pair) for pair in pairs], "sums")

    def aligned(self, other: Any) -> Chunks:
        """Targets, or weights, cut at the same rows as these examples."""
        if not isinstance(other, Chunks) and not is_dask(other):
            array = np.asarray(other)
            self._same_length(len(array))
            ends = np.cumsum(self.sizes)
            pieces = [Held(part) for part in np.split(array, ends[:-1])]
            return Chunks(tuple(pieces), self.sizes, array.shape, array.dtype)
        if is_dask(other) and hasattr(other, "rechunk") and _known_sizes(other) is not None:
            self._same_length(int(other.shape[0]))
            other = other.rechunk({0: self.sizes})
        chunks = Chunks.of(other)
        self._same_length(len(chunks))
        if chunks.sizes != self.sizes:
            raise ValueError(
                f"X is in pieces of {_few(self.sizes)} rows and y in pieces of "
                f"{_few(chunks.sizes)}: both need the same cuts (X.rechunk, or partitions of one "
                "data frame)"
            )
        return chunks

    def plan(self, kernel: Any, n_centers: int | None = None, targets: int = 1) -> Any:
        """Plan a fit with `n_centers` centers, before anything runs; print it.

        Chunks, bytes, the memory of a task, and the expected time of one pass, from a few rows
        that are computed here. ``plan.check()`` raises where it cannot fit, and says what would.

        >>> import numpy as np
        >>> rows = Chunks.of(np.zeros((100, 2)), step=25)
        >>> print(rows.plan("gaussian(1)", 10).check())  # doctest: +ELLIPSIS
        100 rows in 4 pieces, 1 task of up to 100 rows, ...
        """
        from mercer.engines.cluster.gram import ChunkGram
        from mercer.engines.cluster.sums import center_panels
        from mercer.kernels import as_kernel
        from mercer.solvers.linear.nystrom import count_centers

        first = self[np.arange(min(len(self), count_centers(len(self), n_centers)))]
        return center_panels(ChunkGram(as_kernel(kernel).with_widths(), self, first)).plan(targets)

    def _same_length(self, n: int) -> None:
        if n != len(self):
            raise ValueError(f"X has {len(self)} rows, and y has {n}")


def is_dask(rows: Any) -> bool:
    """A Dask array, data frame or series; Dask is not imported to find out."""
    return is_chunked(rows) and not isinstance(rows, Chunks)


def _delayed(rows: Any) -> list[Any]:
    """One delayed object per block of rows."""
    if getattr(rows, "numblocks", (1,))[1:] not in ((), (1,)):
        rows = rows.rechunk({1: -1})
    return list(np.ravel(rows.to_delayed()))


def _known_sizes(rows: Any) -> list[int] | None:
    chunks = getattr(rows, "chunks", None)
    if chunks is None or any(n != n for n in chunks[0]):
        return None
    return [int(n) for n in chunks[0]]


@dataclass(frozen=True)
class Outline:
    """How many rows a chunk has, the shape and dtype of a row, and the names of columns."""

    rows: int
    width: tuple[int, ...]
    dtype: np.dtype
    names: tuple[str, ...] = ()


def _outline(rows: Any) -> Outline:
    names = tuple(map(str, getattr(rows, "columns", ())))
    array = rows if isinstance(rows, np.ndarray) else np.asarray(rows)
    return Outline(len(array), tuple(array.shape[1:]), array.dtype, names)


def _common(dtypes: list[np.dtype]) -> np.dtype:
    """The dtype that holds all of them; the first, if they are no numbers."""
    numbers = all(dtype.kind in "biuf" for dtype in dtypes)
    return np.result_type(*dtypes) if numbers else dtypes[0]


def _in_order(frame: Any, names: tuple[str, ...]) -> np.ndarray:
    """The columns of a frame in the order that the first chunk has, as an array."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(f"a piece of the data has no column {missing[0]!r}")
    return np.asarray(frame[list(names)])


def _place(pieces: list[Piece], rows: tuple[int, ...], row_bytes: int) -> None:
    """Give each chunk its number and the size of its set."""
    for number, (piece, count) in enumerate(zip(pieces, rows, strict=True)):
        piece.placed(Extent(number, count, count * row_bytes))


def _few(sizes: tuple[int, ...]) -> str:
    return ", ".join(map(str, sizes[:4])) + (", …" if len(sizes) > 4 else "")
