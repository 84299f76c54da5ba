"""Sums over all pairs of examples in pieces, for tests: one task for each pair of pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._tiles import Scratch
from mercer.engines.cluster.pool import Call, reduce
from mercer.engines.cluster.sums import Terms, floats
from mercer.gram import host_gram


@dataclass(frozen=True)
class PairSums(Terms):
    """Of K without its diagonal: wᵀKw for every column w of W, for the first in full precision;
    and the sum of every row."""

    squares: np.ndarray
    first: float
    rows: np.ndarray


def sums_over_pairs(gram: Any, W: np.ndarray) -> PairSums:
    """The sums over all pairs of pieces of a square Gram."""
    rows, starts = gram.rows, np.cumsum([0, *gram.rows.sizes])
    parts = rows.aligned(W).pieces
    calls = []
    for i, one in enumerate(rows.pieces):
        for j, other in enumerate(rows.pieces[i:], i):
            at = (int(starts[i]), int(starts[j]), len(rows))
            args = (gram.kernel, at, parts[i], parts[j], one, *(() if i == j else (other,)))
            calls.append(Call(_pair, args))
    found: PairSums = reduce(calls, "permutations")
    return found


def _pair(kernel: Any, at: tuple[int, int, int], V: Any, W: Any, X: Any, Z: Any = None) -> PairSums:
    """One pair of pieces, both of its triangles; of a piece with itself all but the diagonal."""
    gram = host_gram(kernel, floats(X), floats(X if Z is None else Z))
    squares, first = np.zeros(W.shape[1]), 0.0
    of_rows, of_columns = np.zeros(gram.shape[0]), np.zeros(gram.shape[1])
    double = V[:, 0].astype(np.float64), W[:, 0].astype(np.float64)

    def body(rows: slice, columns: slice, tile: Any, scratch: Scratch) -> None:
        nonlocal first
        if Z is None:
            here = np.arange(max(rows.start, columns.start), min(rows.stop, columns.stop))
            tile[here - rows.start, here - columns.start] = 0.0
        of_rows[rows] += tile.sum(axis=1, dtype=np.float64)
        of_columns[columns] += tile.sum(axis=0, dtype=np.float64)
        first += float(double[0][rows] @ (tile.astype(np.float64) @ double[1][columns]))
        products = tile.astype(W.dtype, copy=False) @ W[columns]
        squares[:] += np.sum(V[rows] * products, axis=0, dtype=np.float64)

    gram.sweep(body, what="permutations")
    times, total = 1.0 if Z is None else 2.0, np.zeros(at[2])
    total[at[0] : at[0] + len(of_rows)] = of_rows
    if Z is not None:
        total[at[1] : at[1] + len(of_columns)] += of_columns
    return PairSums(times * squares, times * first, total)
