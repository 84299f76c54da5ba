"""What is summed over chunks: ΦᵀWΦ, ΦᵀWt and products, Φ = K(rows, centers) or explicit features.

A task makes the panels of Φ for its chunks by a function that travels with it, and gives a sum. A
sum that holds an M×M matrix travels as one triangle, and a task goes through several chunks then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Self

import numpy as np

from mercer._arrays import host
from mercer.engines.cluster.chunks import Chunks
from mercer.engines.cluster.pieces import runs
from mercer.engines.cluster.plan import Plan, plan_of
from mercer.engines.cluster.pool import Call, gather, reduce
from mercer.gram import HOST, solver_gram
from mercer.solvers.linear.panels import FeaturePanels, GramPanels, Normal, Panels, panels_of
from mercer.tuning import CHUNK_ROWS


@dataclass(frozen=True)
class Terms:
    """Arrays and numbers that are added one by one; what is None stays None."""

    def __add__(self, other: Self) -> Self:
        names = [field.name for field in fields(self)]
        pairs = ((getattr(self, name), getattr(other, name)) for name in names)
        return type(self)(*(None if a is None else a + b for a, b in pairs))


@dataclass(frozen=True)
class Sums(Terms):
    """`Normal`, of which H travels as one triangle."""

    triangle: np.ndarray | None
    R: np.ndarray
    sums: np.ndarray
    target_sums: np.ndarray
    weight: float

    def normal(self) -> Normal:
        H = None if self.triangle is None else from_triangle(self.triangle, len(self.sums))
        return Normal(H, self.R, self.sums, self.target_sums, self.weight)


def triangle_of(H: np.ndarray) -> np.ndarray:
    return np.asarray(H[np.triu_indices(len(H))])


def from_triangle(triangle: np.ndarray, m: int) -> np.ndarray:
    H = np.zeros((m, m))
    H[np.triu_indices(m)] = triangle
    H += np.triu(H, 1).T
    return H


# --- in a task -------------------------------------------------------------------------------

#: Rows of one chunk → the panels of their Φ.
MakePanels = Callable[[Any], Panels]


def columns_of_k(kernel: Any, centers: Any, X: Any) -> Panels:
    """Φ = K(rows, centers); on a worker's GPU, where it has one."""
    gram = solver_gram(kernel, floats(X), centers)
    if gram.engine == HOST.name:
        return GramPanels(gram)
    from mercer.engines.cluster.sums import Fetched

    return Fetched(panels_of(gram))


def features_of(kernel: Any, X: Any) -> Panels:
    """Φ of a kernel with a finite φ."""
    return FeaturePanels(kernel, floats(X), len(X))


def floats(X: Any) -> np.ndarray:
    rows = np.asarray(X)
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def over(function: Callable[..., Any], count: int, *parts: Any) -> Any:
    """Σ function(rows, targets, …) over `count` chunks: `parts` are all rows, then all targets, …

    They are added in their order.
    """
    total = None
    for i in range(count):
        one = function(*parts[i::count])
        total = one if total is None else total + one
    return total


def normal_sums(make: MakePanels, matrix: bool, X: Any, y: Any, w: Any = None) -> Sums:
    """The sums over one chunk."""
    t = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
    if not np.isfinite(t).all():
        raise ValueError("y contains NaN or infinity")
    v = None if w is None else np.asarray(w, dtype=np.float64)
    normal = make(X).normal(t, v, matrix)
    triangle = triangle_of(normal.H) if matrix else None
    return Sums(triangle, normal.R, normal.sums, normal.target_sums, normal.weight)


def normal_product(make: MakePanels, B: np.ndarray, X: Any, w: Any = None) -> np.ndarray:
    """ΦᵀWΦB of one chunk."""
    weights = None if w is None else np.asarray(w)
    return np.asarray(make(X).normal_product(B, weights))


def images_and_squares(make: MakePanels, *args: Any) -> tuple[Any, Any]:
    """Images and squares as in `Panels.images_and_squares`, of one chunk: the last argument."""
    *arrays, X = args
    return make(X).images_and_squares(*arrays)


def product(make: MakePanels, B: np.ndarray, X: Any) -> np.ndarray:
    """ΦB of one chunk."""
    return np.asarray(make(X).product(B))


# --- at the client ---------------------------------------------------------------------------


class ChunkPanels(Panels):
    """Φ in chunks: every result is a sum over chunks, or is asked of them."""

    def __init__(self, rows: Chunks, make: MakePanels, width: int, dtype: Any) -> None:
        self.rows: Chunks = rows
        self.make: MakePanels = make
        self.shape: tuple[int, int] = (len(rows), width)
        self.dtype: np.dtype = np.dtype(dtype)

    def total(
        self, function: Callable[..., Any], others: Sequence[Any], what: str, least: int = 1
    ) -> Any:
        """Σ function(make, …)(rows, …) over chunks, at least `least` rows to a task.

        `others`: what is cut at the same rows, or None.
        """
        sets = [self.rows, *(self.rows.aligned(o) for o in others if o is not None)]
        calls, parts = [], runs(self.rows.sizes, least)
        if least > 1:
            plan_of(self, parts).check()
        for part in parts:
            pieces = [piece for one in sets for piece in one.pieces[part]]
            calls.append(Call(over, (function, part.stop - part.start, *pieces)))
        return reduce(calls, what)

    def plan(self, targets: int = 1) -> Plan:
        """Plan the normal equations: memory, bytes sent, and time."""
        return plan_of(self, runs(self.rows.sizes, CHUNK_ROWS), targets, timed=True)

    def normal(self, targets: Any, weights: Any, matrix: bool = True) -> Normal:
        least = CHUNK_ROWS if matrix else 1
        terms = partial(normal_sums, self.make, matrix)
        sums: Sums = self.total(terms, [targets, weights], "normal equations", least)
        return sums.normal()

    def normal_product(self, B: Any, weights: Any = None) -> Any:
        return self.total(partial(normal_product, self.make, B), [weights], "product")

    def product(self, B: Any) -> Any:
        calls = [Call(product, (self.make, B, piece)) for piece in self.rows.pieces]
        return np.concatenate(gather(calls, "product"))

    def transposed_product(self, V: Any) -> Any:
        return self.normal(V, None, matrix=False).R

    def asarray(self, values: Any) -> Any:
        return values[:] if isinstance(values, Chunks) else np.asarray(values)

    def images_and_squares(self, B: Any, basis: Any, mean: Any, shares: Any) -> tuple[Any, Any]:
        args = (self.make, B, basis, mean, shares)
        calls = [Call(images_and_squares, (*args, piece)) for piece in self.rows.pieces]
        images, squares = zip(*gather(calls, "leave-one-out"), strict=True)
        return np.concatenate(images), np.concatenate(squares)

    def each(self, body: Callable[[slice, Any], None], what: str, copies: int = 1) -> None:
        raise TypeError(f"{what} needs every row in one process, and these are in pieces")


def center_panels(gram: Any) -> ChunkPanels:
    """Columns of K at the points of a Gram in chunks."""
    make = partial(columns_of_k, gram.kernel, gram.centers)
    return ChunkPanels(gram.rows, make, gram.shape[1], gram.dtype)


def feature_panels(kernel: Any, X: Chunks, n: int) -> ChunkPanels:
    """φ(x) of rows in chunks."""
    first = features_of(kernel, X[[0]])
    return ChunkPanels(X, partial(features_of, kernel), first.shape[1], first.dtype)


# Panels of a chunk on a worker's GPU: rows pass over the device, sums come back to the host.


class Fetched(Panels):
    """Panels of a device whose results are arrays of the host, as sums of other workers are."""

    def __init__(self, panels: Any) -> None:
        self.panels: Any = panels
        self.shape: tuple[int, int] = panels.shape
        self.dtype: np.dtype = panels.dtype

    def _there(self, values: Any) -> Any:
        return None if values is None else self.panels.asarray(values)

    def normal(self, targets: Any, weights: Any, matrix: bool = True) -> Normal:
        sums = self.panels.normal(targets, weights, matrix)
        arrays = (host(sums.H), host(sums.R), host(sums.sums), host(sums.target_sums))
        return Normal(*arrays, float(sums.weight))

    def product(self, B: Any) -> np.ndarray:
        return np.asarray(host(self.panels.product(self._there(B))))

    def transposed_product(self, V: Any) -> np.ndarray:
        return np.asarray(host(self.panels.transposed_product(self._there(V))))

    def normal_product(self, B: Any, weights: Any = None) -> np.ndarray:
        return np.asarray(host(self.panels.normal_product(self._there(B), self._there(weights))))

    def images_and_squares(self, *arrays: Any) -> tuple[np.ndarray, np.ndarray]:
        images, squares = self.panels.images_and_squares(*map(self._there, arrays))
        return np.asarray(host(images)), np.asarray(host(squares))

    def each(self, body: Callable[[slice, Any], None], what: str, copies: int = 1) -> None:
        self.panels.each(lambda rows, panel: body(rows, host(panel)), what, copies)
