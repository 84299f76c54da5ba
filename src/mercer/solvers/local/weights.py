"""Weights of a local method: w(x, z) = k(x/h, z/h), seen tile by tile.

This is where the bandwidth h enters: rows are divided by it before k sees them (`divide`), so that
it means the same for every kernel. Three things keep the weights usable where K itself is not:

* a tile that lies wholly out of k's reach is skipped (`solvers.compact`);
* a row whose weights would underflow is computed relative to its largest weight, from log₂ k
  (`careful`), so that the weights of a Gaussian never all vanish;
* the weight of an example on itself can be dropped (`own`), for leave-one-out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._arrays import host, is_sparse, is_tensor
from mercer._config import get_config
from mercer._examples import count, take
from mercer._tiles import Scratch, Tiling
from mercer.formula import Formula
from mercer.formula.inputs import numeric
from mercer.formula.profile import log2_of, never_negative
from mercer.gram.base import Gram
from mercer.gram.dispatch import engine_for
from mercer.gram.host import HostGram
from mercer.solvers.local.near_tiles import Near, near_tiles

#: A smoother sums with these: body(rows, columns, w) for every tile w of weights.
Body = Callable[[slice, slice, np.ndarray], None]


def divide(X: Any, bandwidth: Any) -> Any:
    """x / h for every row, h a number or one per column; columns that are no numbers stay."""
    h = np.asarray(bandwidth, dtype=float)
    if h.ndim > 1 or not h.size or not np.isfinite(h).all() or not (h > 0).all():
        raise ValueError(f"the bandwidth must be positive and finite, got {bandwidth!r}")
    if (h == 1).all():
        return X
    if h.ndim and hasattr(X, "shape") and X.shape[1] != h.size:
        raise ValueError(
            f"one bandwidth per column was given ({h.size} of them), but the data has "
            f"{X.shape[1]} columns"
        )
    if is_tensor(X):
        import torch

        return X / torch.as_tensor(h, device=X.device).to(X.dtype)
    if hasattr(X, "iloc"):
        each = np.broadcast_to(h, X.shape[1])
        numbers = [kind.kind in "biuf" for kind in X.dtypes]
        parts = {
            name: X.iloc[:, j] / each[j] if numbers[j] else X.iloc[:, j]
            for j, name in enumerate(X.columns)
        }
        return type(X)(parts, index=X.index)
    rows = numeric(X)
    if is_sparse(rows):
        return rows.multiply((1.0 / h).astype(rows.dtype)).tocsr()
    return rows / h.astype(rows.dtype)


@dataclass(frozen=True, eq=False)
class Weights:
    """w(x, z) for queries X and training examples Z, both divided by h already.

    `own[i]`: the training example that query i is, and that does not count for it (leave-one-out).
    `repeats`: how often such sums will be made, which decides whether compiling pays.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> W = Weights(Gaussian().formula(), np.array([[0.0]]), np.array([[0.0], [2.0]]))
    >>> W.product(np.array([[1.0], [1.0]])).round(4)
    array([[1.1353]])
    """

    formula: Formula
    X: Any
    Z: Any
    own: np.ndarray | None = None
    repeats: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        return count(self.X), count(self.Z)

    @cached_property
    def near(self) -> Near | None:
        """Which tiles are within reach, where that saves anything."""
        return None if is_tensor(self.X) else near_tiles(self.formula, self.X, self.Z)

    @cached_property
    def gram(self) -> Gram:
        if self.near is None:
            return on_host(self.formula, self.X, self.Z)
        return on_host(self.formula, self.X[self.near.rows], self.Z[self.near.columns])

    @cached_property
    def _certain(self) -> bool:
        return never_negative(self.formula)

    @property
    def smallest(self) -> float:
        """Row sums above this carry all their digits; below, weights may have underflowed."""
        single = all(
            str(getattr(side, "dtype", "")).endswith("float32") for side in (self.X, self.Z)
        )
        return 1e-26 if single else 1e-280

    def at(self, rows: np.ndarray) -> Weights:
        """The same for some of the queries."""
        own = None if self.own is None else self.own[rows]
        return type(self)(self.formula, take(self.X, rows), self.Z, own, self.repeats)

    def careful(self, rows: np.ndarray) -> Relative | None:
        """The same for some of the queries, each row relative to its largest weight."""
        log2 = log2_of(self.formula)
        if log2 is None:
            return None
        part = self.at(rows)
        return Relative(log2, _double(part.X), _double(part.Z), part.own)

    def product(self, V: np.ndarray) -> np.ndarray:
        """W V."""
        there = engine_for(self.formula, self.X, self.Z).solver("weights")
        if there is not None:
            return there(self.formula, self.X, self.Z, V, self.own, self._certain)  # type: ignore[no-any-return]
        fused = self.repeats == 1 or self.gram.describe()[0].compiled
        if fused and self.own is None and self.near is None and self._certain:
            return np.asarray(self.gram @ V, dtype=np.float64)
        out = np.zeros((self.shape[0], V.shape[1]))
        V = V if self.near is None else V[self.near.columns]
        V = np.ascontiguousarray(V, dtype=self.gram.dtype)

        def body(rows: slice, columns: slice, w: np.ndarray) -> None:
            out[rows] += w @ V[columns]

        self.sweep(body)
        return self.in_order(out)

    def in_order(self, sums: np.ndarray) -> np.ndarray:
        """Rows as the sweep saw them, back in the order of the queries."""
        if self.near is None:
            return sums
        result = np.empty_like(sums)
        result[self.near.rows] = sums
        return result

    def sweep(self, body: Body) -> None:
        """`body` for every tile of weights that is within reach."""
        own = self._sorted_own()

        def one(rows: slice, columns: slice, w: np.ndarray, scratch: Scratch) -> None:
            if not self._certain:
                _check_sign(w)
            if own is not None:
                _set(w, own[rows] - columns.start, 0.0)
            body(rows, columns, w)

        tiling = None if self.near is None else self.near.tiling
        self.gram.sweep(one, tiling=tiling, repeats=self.repeats, what="weights")

    def _sorted_own(self) -> np.ndarray | None:
        if self.own is None or self.near is None:
            return self.own
        place = np.empty(self.shape[1], dtype=np.intp)
        place[self.near.columns] = np.arange(self.shape[1])
        return place[self.own[self.near.rows]]


class Relative(Weights):
    """2^(log₂ w − the row's largest log₂ w): `formula` is log₂ k."""

    near = None  # type: ignore[assignment]

    @cached_property
    def largest(self) -> np.ndarray:
        """The largest log₂ w of each row."""
        largest = np.full(self.shape[0], -np.inf)

        def body(rows: slice, columns: slice, logs: np.ndarray) -> None:
            np.maximum(largest[rows], logs.max(axis=1), out=largest[rows])

        self._sweep_logs(body)
        return largest

    def sweep(self, body: Body) -> None:
        # A row without any weight stays at zero: −∞ − 0 = −∞.
        shift = np.where(np.isfinite(self.largest), self.largest, 0.0)

        def one(rows: slice, columns: slice, logs: np.ndarray) -> None:
            logs -= shift[rows, None]
            body(rows, columns, np.exp2(logs, out=logs))

        self._sweep_logs(one)

    def _sweep_logs(self, body: Body) -> None:
        own = self.own
        height = max(1, min(64, self.shape[0]))
        width = max(1, min(self.shape[1], 1 << 14))

        def one(rows: slice, columns: slice, logs: np.ndarray, scratch: Scratch) -> None:
            if own is not None:
                _set(logs, own[rows] - columns.start, -np.inf)
            body(rows, columns, logs)

        threads = get_config().n_threads if self.shape[0] * self.shape[1] > 100_000 else 1
        tiling = Tiling(self.shape, (height, width), threads)
        with np.errstate(divide="ignore"):
            self.gram.sweep(one, tiling=tiling, repeats=0, what="weights")

    def product(self, V: np.ndarray) -> np.ndarray:
        out = np.zeros((self.shape[0], V.shape[1]))

        def body(rows: slice, columns: slice, w: np.ndarray) -> None:
            out[rows] += w @ V[columns]

        self.sweep(body)
        return out


def on_host(formula: Formula, X: Any, Z: Any) -> HostGram:
    """The Gram whose tiles are walked here, whichever device is configured for products."""
    return HostGram(formula, host(X), host(Z))


def _set(tile: np.ndarray, column: np.ndarray, value: float) -> None:
    """tile[i, column[i]] = value, for the columns that the tile holds."""
    here = np.flatnonzero((column >= 0) & (column < tile.shape[1]))
    tile[here, column[here]] = value


def _check_sign(w: np.ndarray) -> None:
    """Rounding may leave −1e-17 where a weight is 0; a true negative weight is an error."""
    low = w.min(initial=0.0)
    if low >= 0:
        return
    refuse_negative(float(low), float(w.max(initial=0.0)))
    np.maximum(w, 0, out=w)


def refuse_negative(low: float, high: float) -> None:
    """An error where the smallest of some weights is negative by more than rounding."""
    if low < -1e-6 * max(1e-300, high):
        raise ValueError(
            f"the kernel takes negative values here (as low as {low:.3g}), so it cannot weight "
            "examples: a mean with negative weights can leave the range of what it averages, and "
            "its weights can sum to zero. Use a kernel with k(x, z) ≥ 0, such as gaussian(), "
            "laplacian() or epanechnikov()."
        )


def _double(X: Any) -> Any:
    X = host(X)
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X
