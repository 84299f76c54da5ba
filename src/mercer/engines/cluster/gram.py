"""K of rows in chunks, and of points that are here or in chunks, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import is_chunked
from mercer._tiles import Scratch
from mercer.engines.cluster.chunks import Chunks
from mercer.engines.cluster.pool import Call, gather, reduce
from mercer.engines.cluster.sums import center_panels, floats
from mercer.formula import Formula
from mercer.gram import host_gram, solver_gram
from mercer.gram.base import Body, Gram, check_factor, simplified
from mercer.gram.plan import Cost, check_room
from mercer.kernels.core import Kernel
from mercer.tuning import CHUNK_ROWS

_TOGETHER = (
    "needs all rows in one process, and these are in pieces: solver='nystrom' works on pieces, and "
    "so does every predict"
)


class ChunkGram(Gram):
    """`Gram` of rows and the points Z, of which one is in chunks or both are.

    With points in chunks, or without Z, products are sums over pairs of chunks.
    """

    engine = "cluster"
    together = False

    def __init__(self, kernel: Kernel | Formula, X: Any, Z: Any = None) -> None:
        self.kernel: Kernel | Formula = kernel
        self.formula: Formula = simplified(kernel)
        self.rows: Chunks = Chunks.of(X, CHUNK_ROWS)
        self.columns: Chunks | None = (
            self.rows if Z is None else Chunks.of(Z) if is_chunked(Z) else None
        )
        self.centers: np.ndarray | None = None if self.columns is not None else np.asarray(Z)
        self.square: bool = Z is None
        self.shape: tuple[int, int] = (len(self.rows), len(self.others()))
        self.dtype: np.dtype = np.dtype(np.float32 if self.rows.dtype == np.float32 else np.float64)

    @property
    def symmetric(self) -> bool:
        return self._small().symmetric

    @property
    def cost(self) -> Cost:
        part = self._small().cost
        times = self.shape[0] * self.shape[1]
        return Cost(part.flops * times, part.pair_operations * times, part.bytes_written * times)

    @property
    def bytes_per_row(self) -> int:
        return self._small().bytes_per_row

    def _small(self) -> Gram:
        return host_gram(self.kernel, self.rows[[0]])

    # --- views -----------------------------------------------------------------------------

    @property
    def T(self) -> Gram:
        raise TypeError(f"the transpose of K {_TOGETHER}")

    def take(self, rows: Any = None, columns: Any = None) -> Gram:
        points = self.centers if columns is None else self.others()[columns]
        if rows is None:
            return ChunkGram(self.kernel, self.rows, points)
        if points is None:
            raise TypeError(f"K between some rows and all of them {_TOGETHER}")
        return host_gram(self.kernel, self.rows[rows], points)

    def points(self, index: Any = None) -> Any:
        return self.rows if index is None else self.rows[index]

    def others(self) -> Any:
        return self.centers if self.columns is None else self.columns

    def of(self, kernel: Kernel | Formula) -> Gram:
        return ChunkGram(kernel, self.rows, None if self.square else self.others())

    # --- numbers ---------------------------------------------------------------------------

    def __matmul__(self, V: Any) -> Any:
        V = np.asarray(V)
        check_factor(self.shape, V.shape)
        if self.columns is not None:
            return self._by_pairs(V)
        image = center_panels(self).product(V if V.ndim == 2 else V[:, None])
        return image if V.ndim == 2 else image[:, 0]

    def _by_pairs(self, V: np.ndarray) -> np.ndarray:
        """Σ K(rows of a chunk, columns of a chunk) V, a sum for each chunk of rows."""
        assert self.columns is not None
        factors, parts = self.columns.aligned(V).pieces, []
        pairs = list(zip(factors, self.columns.pieces, strict=True))
        for rows in self.rows.pieces:
            calls = [Call(_pair_product, (self.kernel, rows, *pair)) for pair in pairs]
            parts.append(reduce(calls, "product"))
        return np.concatenate(parts)

    def dense(self, out: Any = None) -> Any:
        check_room(self.shape, self.dtype, self.limit_bytes)
        if self.centers is None:
            raise TypeError(f"the whole matrix {_TOGETHER}")
        calls = [Call(_block, (self.kernel, self.centers, piece)) for piece in self.rows.pieces]
        return np.concatenate(gather(calls, "kernel"), out=out)

    def block(self, rows: Any, columns: Any) -> Any:
        points = self.others()[columns]
        return host_gram(self.kernel, self.rows[rows], points).dense()

    def diagonal(self) -> Any:
        calls = [Call(_diagonal, (self.kernel, piece)) for piece in self.rows.pieces]
        return np.concatenate(gather(calls, "diagonal"))

    def in_double(self, index: Any = None) -> Any:
        if index is None:
            raise TypeError(f"the whole matrix {_TOGETHER}")
        return host_gram(self.kernel, self.rows[index]).in_double()

    def tile(
        self, rows: slice, columns: slice, out: Any = None, scratch: Scratch | None = None
    ) -> Any:
        raise TypeError(f"a loop over tiles of K {_TOGETHER}")

    def sweep(self, body: Body, **options: Any) -> None:
        raise TypeError(f"a loop over tiles of K {_TOGETHER}")

    def describe(self) -> tuple[Any, str]:
        return f"{len(self.rows.pieces)} pieces of up to {self.rows.chunk_rows} rows", ""


def _pair_product(kernel: Any, X: Any, V: Any, Z: Any) -> np.ndarray:
    return np.asarray(solver_gram(kernel, floats(X), floats(Z)) @ np.asarray(V))


def _block(kernel: Any, centers: Any, X: Any) -> np.ndarray:
    return np.asarray(solver_gram(kernel, np.asarray(X), centers).dense())


def _diagonal(kernel: Any, X: Any) -> np.ndarray:
    return host_gram(kernel, np.asarray(X)).diagonal()
