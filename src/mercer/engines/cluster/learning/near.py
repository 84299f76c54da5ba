"""Neighbors and local means among examples in chunks, for queries that are here.

Each task has all queries and one chunk. The k nearest of a chunk are merged with those of another,
and sums relative to the largest weight are added relative to the larger of two: exact either way,
and the same in whichever order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer.engines.cluster.chunks import Chunks
from mercer.engines.cluster.pool import Call, reduce
from mercer.engines.cluster.sums import floats
from mercer.formula.ranking import Ranking
from mercer.solvers.local.means import LocalSums, gather_relative, squared
from mercer.solvers.local.weights import Weights
from mercer.solvers.neighbors.search import Neighbors, search_host


def nearest(rank: Ranking, X: Any, Z: Any, k: int, selves: np.ndarray | None = None) -> Neighbors:
    """The k nearest of Z for each of X; `own[i]` is an index that does not count for query i."""
    _check_queries(X, Z)
    some = k + (selves is not None)
    calls, start = [], 0
    for piece, size in zip(Z.pieces, Z.sizes, strict=True):
        calls.append(Call(_nearest_of_piece, (_part(rank, start, size), X, some, start, piece)))
        start += size
    merged: Neighbors = reduce(calls, "neighbors", partial(_merged, some))
    if selves is not None:
        others = np.where(merged.index == selves[:, None], -np.inf, merged.value)
        merged = _merged(k, Neighbors(merged.index, others))
    return merged


def _check_queries(X: Any, Z: Any) -> None:
    if isinstance(X, Chunks) or not isinstance(Z, Chunks):
        raise TypeError(
            "examples in pieces answer for rows that are here: ask for an array of some rows, or "
            "predict, which asks piece by piece"
        )


def _part(rank: Ranking, start: int, size: int) -> Ranking:
    """The ranking among the examples of one chunk."""
    here = slice(start, start + size)
    diagonal, offset = (None if a is None else a[here] for a in (rank.diagonal, rank.offset))
    return replace(rank, diagonal=diagonal, offset=offset)


def _nearest_of_piece(rank: Ranking, X: Any, k: int, start: int, Z: Any) -> Neighbors:
    neighbors = search_host(rank, X, floats(Z), min(k, len(Z)), None)
    return Neighbors(neighbors.index + start, neighbors.value)


def _merged(k: int, *parts: Neighbors) -> Neighbors:
    """The k largest of both lists; of equal ones the first examples."""
    index = np.hstack([part.index for part in parts])
    value = np.hstack([part.value for part in parts])
    order = np.lexsort((index, -value), axis=1)[:, :k]
    return Neighbors(*(np.take_along_axis(a, order, axis=1) for a in (index, value)))


# --- local means -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Scaled:
    """Sums per query, less a factor 2^shift; −∞ where they are 0."""

    sums: np.ndarray
    shift: np.ndarray

    @classmethod
    def of(cls, weights: Weights, V: np.ndarray) -> tuple[Scaled, np.ndarray]:
        sums, shift, far = gather_relative(weights, lambda w: w.product(V))
        return cls(sums, np.where(sums[:, 0] > 0, shift, -np.inf)), far

    def __add__(self, other: Scaled) -> Scaled:
        largest = np.maximum(self.shift, other.shift)
        at = np.where(np.isfinite(largest), largest, 0.0)
        mine, theirs = np.exp2(self.shift - at), np.exp2(other.shift - at)
        return Scaled(mine[:, None] * self.sums + theirs[:, None] * other.sums, largest)


@dataclass(frozen=True)
class NearSums:
    """The sums of weights, and for bands those of their squares; `far` from every example."""

    weights: Scaled
    squares: Scaled | None
    far: np.ndarray

    def __add__(self, other: NearSums) -> NearSums:
        squares = None
        if self.squares is not None and other.squares is not None:
            squares = self.squares + other.squares
        return NearSums(self.weights + other.weights, squares, self.far & other.far)


def _sums_of_piece(formula: Any, X: Any, spread: bool, V: Any, Z: Any) -> NearSums:
    weights, V = Weights(formula, X, floats(Z)), np.asarray(V)
    sums, far = Scaled.of(weights, V)
    squares = Scaled.of(squared(weights), V[:, :1] ** 2)[0] if spread else None
    return NearSums(sums, squares, far)


def local_sums(weights: Weights, V: np.ndarray, spread: bool) -> LocalSums:
    """Sums of `mercer.solvers.local.means.local_sums`, over chunks."""
    Z = weights.Z
    _check_queries(weights.X, Z)
    if weights.own is not None:
        raise TypeError("leave-one-out needs all examples in one process, not in pieces")
    columns = Z.aligned(V).pieces
    calls = [
        Call(_sums_of_piece, (weights.formula, weights.X, spread, column, piece))
        for column, piece in zip(columns, Z.pieces, strict=True)
    ]
    sums: NearSums = reduce(calls, "local means")
    concentration = None
    if sums.squares is not None:
        one, two = sums.weights, sums.squares
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = two.sums[:, 0] / one.sums[:, 0] ** 2 * np.exp2(two.shift - 2 * one.shift)
        concentration = np.where(one.sums[:, 0] > 0, ratio, 1.0)
    return LocalSums(sums.weights.sums, sums.far, concentration)
