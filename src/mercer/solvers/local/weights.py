"""Weights of a local method: w(x, z) = k(x/h, z/h), seen tile by tile.

Rows come divided by the bandwidth h, so that it means the same for every kernel. Three things keep
the weights usable where K itself is not:

* a tile that lies wholly out of k's reach is skipped (`mercer.solvers.local.weights`);
* a row whose weights would underflow is computed relative to its largest weight, from log₂ k
  (`careful`), so that the weights of a Gaussian never all vanish;
* the weight of an example on itself can be dropped (`own`), for leave-one-out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from mercer._arrays import host, is_sparse, is_tensor
from mercer._config import get_config
from mercer._examples import count, take, widened
from mercer._lazy import record
from mercer._machine.threads import blas_for_product, threads_for
from mercer._tiles import Scratch, Tiling
from mercer.formula import Formula
from mercer.formula.profile import Reach, log2_of, never_negative, reach
from mercer.gram import HOST, Gram, engine_for, matrix
from mercer.gram.rows import CHUNK
from mercer.tuning import COMPILED_PAIRS, COPY_SHARE, SCRATCH_BYTES

# --- Skip what is out of reach: a kernel that is zero beyond a distance touches few tiles ---------
# Both sides are put in an order in which neighbors stand together (sorted in one dimension, the
# order of the leaves of a k-d tree in more), cut into short stretches with a bounding box each, and
# only the tiles whose boxes come within reach of each other are computed:
#
#         columns, in order →
#       ┌───┬───┬───┬───┬───┐
#  rows │ ■ │ ■ │   │   │   │     N points, reach r: work N · (points within about r of a box)
#    ↓  ├───┼───┼───┼───┼───┤     instead of N²
#       │   │ ■ │ ■ │ ■ │   │
#       └───┴───┴───┴───┴───┘
#
# A Gaussian has no end, but beyond 13 σ its weight is below 1e-36 of its peak: those tiles are
# skipped too, and a row whose sum is so small that they could matter is computed again in full.


#: Rows of a panel of queries, and training examples that share a box (a chunk of the compiled
#: loops). Smaller ones fit the data more closely, larger ones run faster.
NEAR_PANEL, BOX = 128, CHUNK
#: Columns beyond which boxes overlap whatever the data, and nothing is saved.
BOX_COLUMNS = 6
#: The tail of a kernel without end that is skipped, relative to its peak.
SKIPPED_TAIL = 1e-36


@record
class Near:
    """The order of both sides, the tiles within reach, and the weight of what was left out."""

    rows: np.ndarray
    columns: np.ndarray
    tiling: Tiling
    #: At most this is missing from a row sum (of weights times numbers up to 1).
    missing: float


def near_tiles(formula: Formula, X: Any, Z: Any) -> Near | None:
    """The tiles within reach of the formula, or None where (nearly) all are."""
    if not (isinstance(X, np.ndarray) and isinstance(Z, np.ndarray)):
        return None
    if X.ndim != 2 or len(X) * len(Z) < COMPILED_PAIRS:
        return None
    extent = reach(formula) or reach(formula, SKIPPED_TAIL)
    if extent is None:
        return None
    x, z = matrix(X, extent.rows, "X"), matrix(Z, extent.rows, "Z")
    if is_sparse(x) or x.shape[1] > BOX_COLUMNS or not _worth(x, z, extent):
        return None
    rows = order(x)
    columns = rows if X is Z else order(z)
    settings = get_config()
    room = min(SCRATCH_BYTES, COPY_SHARE * settings.memory_bytes / settings.n_threads)
    longest = BOX * max(1, int(room) // (NEAR_PANEL * x.itemsize * BOX))
    runs = _runs(_boxes(x[rows], NEAR_PANEL), _boxes(z[columns], BOX), len(z), extent, longest)
    pairs = NEAR_PANEL * sum(run.stop - run.start for panel in runs for run in panel)
    threads = threads_for(5.0 * pairs)
    tiling = Tiling((len(x), len(z)), (NEAR_PANEL, longest), threads, runs=runs)
    return Near(rows, columns, tiling, extent.floor * len(z))


def order(rows: np.ndarray) -> np.ndarray:
    """Indices in which neighbors follow each other."""
    if rows.shape[1] == 1:
        return np.argsort(rows[:, 0], kind="stable")
    # A k-d tree whose leaves are whole boxes: halves by rank, along the longest side.
    index = np.arange(len(rows))
    stack = [(0, len(rows))]
    while stack:
        start, stop = stack.pop()
        boxes = -(-(stop - start) // BOX)
        if boxes < 2:
            continue
        part = rows[index[start:stop]]
        side = int(np.ptp(part, axis=0).argmax())
        middle = BOX * (boxes // 2)
        index[start:stop] = index[start:stop][np.argpartition(part[:, side], middle)]
        stack += [(start, start + middle), (start + middle, stop)]
    return index


def _worth(x: np.ndarray, z: np.ndarray, extent: Reach) -> bool:
    """Whether a typical query sees less than half of the examples, judged on a few of each."""
    some = x[:: max(1, len(x) // 64)]
    others = z[:: max(1, len(z) // 512)]
    gaps = np.abs(some[:, None, :] - others[None, :, :])
    return bool((_length(gaps, extent.norm) <= extent.radius).mean() < 0.5)


def _length(gaps: np.ndarray, norm: float) -> np.ndarray:
    """‖gap‖ along the last axis."""
    if norm == 2.0:
        return np.sqrt(np.einsum("...j,...j->...", gaps, gaps))
    return np.asarray(gaps.sum(axis=-1) if norm == 1.0 else gaps.max(axis=-1))


def _boxes(rows: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    starts = np.arange(0, len(rows), size)
    return np.minimum.reduceat(rows, starts), np.maximum.reduceat(rows, starts)


def _runs(
    panels: tuple[np.ndarray, np.ndarray],
    boxes: tuple[np.ndarray, np.ndarray],
    n: int,
    extent: Reach,
    longest: int,
) -> tuple[list[slice], ...]:
    """For each panel, the stretches of columns whose boxes come within reach of it."""
    limit = extent.radius * (1 + 1e-6)
    result = []
    for low, high in zip(*panels, strict=True):
        gap = np.maximum(boxes[0] - high, low - boxes[1])
        near = _length(np.maximum(gap, 0, out=gap), extent.norm) <= limit
        result.append(_stretches(np.flatnonzero(near), n, longest))
    return tuple(result)


def _stretches(boxes: np.ndarray, n: int, longest: int) -> list[slice]:
    """Neighboring boxes as one run, cut where it gets too long."""
    if not len(boxes):
        return []
    breaks = np.flatnonzero(np.diff(boxes) > 1) + 1
    runs = []
    for part in np.split(boxes, breaks):
        stop = min((int(part[-1]) + 1) * BOX, n)
        for start in range(int(part[0]) * BOX, stop, longest):
            runs.append(slice(start, min(start + longest, stop)))
    return runs


#: A smoother sums with these: body(rows, columns, w) for every tile w of weights.
Body = Callable[[slice, slice, Any], None]
#: Sums of weights above this keep all their digits, by precision: that many powers of ten above
#: the smallest normal number (1e-38, 1e-308), terms may be lost without being seen.
SAFE_SUM: Final = {"float32": 1e-26, "float64": 1e-280}


@dataclass(frozen=True, eq=False)
class Weights:
    """w(x, z) for queries X and training examples Z, both divided by h already.

    `own[i]`: the training example that query i is, and that does not count for it (leave-one-out).

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

    @property
    def shape(self) -> tuple[int, int]:
        return count(self.X), count(self.Z)

    @cached_property
    def near(self) -> Near | None:
        """Which tiles are within reach, where that saves anything."""
        return None if is_tensor(self.X) else near_tiles(self.formula, self.X, self.Z)

    @cached_property
    def gram(self) -> Gram:
        """The weights on the host, rows and columns in the order of `near`."""
        if self.near is None:
            return HOST.make(self.formula, self.X, self.Z)
        return HOST.make(self.formula, self.X[self.near.rows], self.Z[self.near.columns])

    @cached_property
    def _certain(self) -> bool:
        return never_negative(self.formula)

    @property
    def smallest(self) -> float:
        """Row sums above this carry all their digits; below, weights may have underflowed."""
        kinds = [str(getattr(side, "dtype", "")).rpartition(".")[2] for side in (self.X, self.Z)]
        return SAFE_SUM["float32" if kinds == ["float32", "float32"] else "float64"]

    def at(self, rows: np.ndarray) -> Weights:
        """The same for some of the queries."""
        own = None if self.own is None else self.own[rows]
        return type(self)(self.formula, take(self.X, rows), self.Z, own)

    def careful(self, rows: np.ndarray) -> Relative | None:
        """The same for some of the queries, each row relative to its largest weight."""
        log2 = log2_of(self.formula)
        if log2 is None:
            return None
        part = self.at(rows)
        return Relative(log2, widened(part.X), widened(part.Z), part.own)

    def product(self, V: np.ndarray) -> np.ndarray:
        """W V, where the data is."""
        engine = engine_for(self.formula, self.X, self.Z)
        if engine is HOST:
            gram, near = self.gram, self.near
            if near is None and gram.is_small:
                return self._times(gram.dense(), V)
        else:
            gram, near = engine.make(self.formula, self.X, self.Z).facing_host(), None
        if self.own is None and near is None and self._certain:
            return np.asarray(gram.times(V, relative=True), dtype=np.float64)
        out = np.zeros((self.shape[0], V.shape[1]))
        right = gram.asarray((V if near is None else V[near.columns]).astype(gram.dtype))

        def body(rows: slice, columns: slice, w: Any) -> None:
            out[rows] += host(w @ right[columns])

        self._walk(gram, near, body)
        return self.in_order(out) if near is not None else out

    def _times(self, W: np.ndarray, V: np.ndarray) -> np.ndarray:
        """W V of weights that are all there."""
        if not self._certain:
            _check_sign(np, W)
        if self.own is not None:
            W[np.arange(len(W)), self.own] = 0.0
        with blas_for_product(W.size * V.shape[1]):
            return W @ V  # type: ignore[no-any-return]

    def in_order(self, sums: np.ndarray) -> np.ndarray:
        """Rows as the sweep saw them, back in the order of the queries."""
        if self.near is None:
            return sums
        result = np.empty_like(sums)
        result[self.near.rows] = sums
        return result

    def sweep(self, body: Body) -> None:
        """`body` for every tile of weights that is within reach, on the host."""
        self._walk(self.gram, self.near, body)

    def _walk(self, gram: Gram, near: Near | None, body: Body) -> None:
        own = self.own
        if own is not None and near is not None:
            index = np.empty(self.shape[1], dtype=np.intp)
            index[near.columns] = np.arange(self.shape[1])
            own = index[own[near.rows]]

        def one(rows: slice, columns: slice, w: Any, scratch: Scratch) -> None:
            if not self._certain:
                _check_sign(gram.xp, w)
            if own is not None:
                _set(gram, w, own[rows] - columns.start, 0.0)
            body(rows, columns, w)

        tiling = None if near is None else near.tiling
        gram.sweep(one, tiling=tiling, what="weights")


class Relative(Weights):
    """2^(log₂ w − the row's largest log₂ w), in double precision: `formula` is log₂ k."""

    near = None  # type: ignore[assignment]

    @cached_property
    def gram(self) -> Gram:
        """log₂ w on the host."""
        return HOST.make(self.formula, host(self.X), host(self.Z))

    @cached_property
    def _there(self) -> Gram:
        """log₂ w where the data is."""
        engine = engine_for(self.formula, self.X, self.Z)
        if engine is HOST:
            return self.gram
        return engine.make(self.formula, self.X, self.Z).facing_host()

    @property
    def largest(self) -> np.ndarray:
        """The largest log₂ w of each row."""
        return self.best[0]

    @cached_property
    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """The largest log₂ w of each row, and the first example that has it; −1 where w is 0."""
        largest, index = np.full(self.shape[0], -np.inf), np.full(self.shape[0], -1)

        def body(rows: slice, columns: slice, logs: Any) -> None:
            at = host(self._there.xp.argmax(logs, axis=1))
            found = host(self._there.xp.max(logs, axis=1))
            better = found > largest[rows]
            largest[rows][better], index[rows][better] = found[better], columns.start + at[better]

        self._sweep_logs(self._there, body)
        return largest, index

    def sweep(self, body: Body) -> None:
        self._sweep_weights(self.gram, body)

    def _sweep_weights(self, gram: Gram, body: Body) -> None:
        # A row without any weight stays at zero: −∞ − 0 = −∞.
        shift = gram.asarray(np.where(np.isfinite(self.largest), self.largest, 0.0))

        def one(rows: slice, columns: slice, logs: Any) -> None:
            logs -= shift[rows, None]
            body(rows, columns, gram.xp.exp2(logs, out=logs))

        self._sweep_logs(gram, one)

    def _sweep_logs(self, gram: Gram, body: Body) -> None:
        def one(rows: slice, columns: slice, logs: Any, scratch: Scratch) -> None:
            if self.own is not None:
                _set(gram, logs, self.own[rows] - columns.start, -np.inf)
            body(rows, columns, logs)

        with np.errstate(divide="ignore"):
            gram.sweep(one, what="weights")

    def product(self, V: np.ndarray) -> np.ndarray:
        out, gram = np.zeros((self.shape[0], V.shape[1])), self._there
        right = gram.asarray(V.astype(np.float64, copy=False))

        def body(rows: slice, columns: slice, w: Any) -> None:
            out[rows] += host(w @ right[columns])

        self._sweep_weights(gram, body)
        return out


def _set(gram: Gram, tile: Any, column: np.ndarray, value: float) -> None:
    """tile[i, column[i]] = value, for the columns that the tile holds."""
    here = np.flatnonzero((column >= 0) & (column < tile.shape[1]))
    tile[gram.asarray(here), gram.asarray(column[here])] = value


def _check_sign(xp: Any, w: Any) -> None:
    """Rounding may leave −1e-17 where a weight is 0; a true negative weight is an error."""
    low = float(xp.min(w))
    if low >= 0:
        return
    if low < -1e-6 * max(1e-300, float(xp.max(w))):
        raise ValueError(
            f"the kernel takes negative values here (as low as {low:.3g}), so it cannot weight "
            "examples: a mean with negative weights can leave the range of what it averages, and "
            "its weights can sum to zero. Use a kernel with k(x, z) ≥ 0, such as gaussian(), "
            "laplacian() or epanechnikov()."
        )
    w[w < 0] = 0
