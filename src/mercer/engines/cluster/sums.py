"""What is summed over pieces for a model with centers: ΦᵀWΦ and ΦᵀWt, Φ = K(rows, centers)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.engines.cluster.chunks import Chunks
from mercer.engines.cluster.pool import Call, gather, reduce
from mercer.gram.host import HostGram
from mercer.solvers.linear.panels import GramPanels, Normal, Panels

#: Rows that a task goes through at least where its result is an M×M matrix: the matrix travels, and
#: that must cost little beside computing it.
ROWS_OF_A_MATRIX = 25_000


@dataclass(frozen=True)
class Sums:
    """`Normal`, of which H travels as one triangle."""

    triangle: np.ndarray | None
    R: np.ndarray
    sums: np.ndarray
    target_sums: np.ndarray
    weight: float

    def __add__(self, other: Sums) -> Sums:
        both = self.triangle is not None and other.triangle is not None
        return Sums(
            self.triangle + other.triangle if both else None,  # type: ignore[operator]
            self.R + other.R,
            self.sums + other.sums,
            self.target_sums + other.target_sums,
            self.weight + other.weight,
        )

    def normal(self) -> Normal:
        H = None
        if self.triangle is not None:
            m = len(self.sums)
            H = np.zeros((m, m))
            H[np.triu_indices(m)] = self.triangle
            H += np.triu(H, 1).T
        return Normal(H, self.R, self.sums, self.target_sums, self.weight)


def normal_sums(
    kernel: Any, centers: Any, matrix: bool, counts: tuple[int, int, int], *parts: Any
) -> Sums:
    """The sums over some pieces; `parts` are their rows, then targets, then weights if any.

    `counts`: how many of each there are.
    """
    n_rows, n_targets, _ = counts
    rows, targets = parts[:n_rows], parts[n_rows : n_rows + n_targets]
    weights = parts[n_rows + n_targets :] or (None,) * n_rows
    total = None
    for X, y, w in zip(rows, targets, weights, strict=True):
        t = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        if not np.isfinite(t).all():
            raise ValueError("y contains NaN or infinity")
        v = None if w is None else np.asarray(w, dtype=np.float64)
        found = _panels(kernel, X, centers).normal(t, v, matrix)
        m = len(found.sums)
        triangle = found.H[np.triu_indices(m)] if matrix else None
        one = Sums(triangle, found.R, found.sums, found.target_sums, found.weight)
        total = one if total is None else total + one
    assert total is not None
    return total


def normal_product(kernel: Any, centers: Any, B: np.ndarray, X: Any, w: Any = None) -> np.ndarray:
    """ΦᵀWΦB of one piece."""
    weights = None if w is None else np.asarray(w)
    return np.asarray(_panels(kernel, X, centers).normal_product(B, weights))


def images_and_squares(kernel: Any, centers: Any, *args: Any) -> tuple[Any, Any]:
    """Those of `Panels.images_and_squares`, of one piece: the last argument."""
    *arrays, X = args
    return _panels(kernel, X, centers).images_and_squares(*arrays)


def product(kernel: Any, centers: Any, B: np.ndarray, X: Any) -> np.ndarray:
    """ΦB of one piece."""
    return np.asarray(HostGram(kernel, _floats(X), centers) @ B)


def _panels(kernel: Any, X: Any, centers: Any) -> GramPanels:
    return GramPanels(HostGram(kernel, _floats(X), centers))


def _floats(X: Any) -> np.ndarray:
    rows = np.asarray(X)
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


class ChunkPanels(Panels):
    """Φ in pieces: every result is a sum over pieces, or is asked of them."""

    def __init__(self, gram: Any) -> None:
        self.gram, self.shape, self.dtype = gram, gram.shape, gram.dtype
        self.rows: Chunks = gram.rows

    def normal(self, targets: Any, weights: Any, matrix: bool = True) -> Normal:
        y = self.rows.aligned(targets)
        w = None if weights is None else self.rows.aligned(weights)
        calls = []
        for part in _runs(self.rows.sizes, ROWS_OF_A_MATRIX if matrix else 1):
            pieces = [*self.rows.pieces[part], *y.pieces[part]]
            pieces += [] if w is None else w.pieces[part]
            size = part.stop - part.start
            counts = (size, size, 0 if w is None else size)
            args = (self.gram.kernel, self.gram.centers, matrix, counts, *pieces)
            calls.append(Call(normal_sums, args))
        found: Sums = reduce(calls, "normal equations")
        return found.normal()

    def normal_product(self, B: Any, weights: Any = None) -> Any:
        w = None if weights is None else self.rows.aligned(weights)
        calls = []
        for i, piece in enumerate(self.rows.pieces):
            more = () if w is None else (w.pieces[i],)
            args = (self.gram.kernel, self.gram.centers, B, piece, *more)
            calls.append(Call(normal_product, args))
        return reduce(calls, "product")

    def product(self, B: Any) -> Any:
        calls = [
            Call(product, (self.gram.kernel, self.gram.centers, B, piece))
            for piece in self.rows.pieces
        ]
        return np.concatenate(gather(calls, "product"))

    def transposed_product(self, V: Any) -> Any:
        return self.normal(V, None, matrix=False).R

    def asarray(self, values: Any) -> Any:
        return values[:] if isinstance(values, Chunks) else np.asarray(values)

    def images_and_squares(self, B: Any, basis: Any, mean: Any, shares: Any) -> tuple[Any, Any]:
        kernel, centers = self.gram.kernel, self.gram.centers
        args = (kernel, centers, B, basis, mean, shares)
        calls = [Call(images_and_squares, (*args, piece)) for piece in self.rows.pieces]
        images, squares = zip(*gather(calls, "leave-one-out"), strict=True)
        return np.concatenate(images), np.concatenate(squares)

    def each(self, body: Callable[[slice, Any], None], what: str, copies: int = 1) -> None:
        raise TypeError(f"{what} needs every row in one process, and these are in pieces")


def _runs(sizes: tuple[int, ...], least: int) -> list[slice]:
    """Pieces in a row that have at least so many rows together.

    >>> _runs((3, 3, 5, 1, 1), 5)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None)]
    """
    runs, start, rows = [], 0, 0
    for i, size in enumerate(sizes):
        rows += size
        if rows >= least or i + 1 == len(sizes):
            runs.append(slice(start, i + 1))
            start, rows = i + 1, 0
    return runs
