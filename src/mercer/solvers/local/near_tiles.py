"""Skip what is out of reach: a kernel that is zero beyond a distance touches few tiles.

Both sides are put in an order in which neighbors stand together (sorted in one dimension, the
order of the leaves of a k-d tree in more), cut into short stretches with a bounding box each, and
only the tiles whose boxes come within reach of each other are computed:

        columns, in order →
      ┌───┬───┬───┬───┬───┐
 rows │ ■ │ ■ │   │   │   │     N points, reach r: work N · (points within about r of a box)
   ↓  ├───┼───┼───┼───┼───┤     instead of N²
      │   │ ■ │ ■ │ ■ │   │
      └───┴───┴───┴───┴───┘

A Gaussian has no end, but beyond 13 σ its weight is below 1e-36 of its peak: those tiles are
skipped too, and a row whose sum is so small that they could matter is computed again in full.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer._lazy import record
from mercer._tiles import Tiling
from mercer.formula import Formula
from mercer.formula.profile import Reach, reach
from mercer.gram import matrix
from mercer.gram.rows import CHUNK
from mercer.tuning import COPY_SHARE, SCRATCH_BYTES

#: Rows of a panel of queries, and training examples that share a box (a chunk of the compiled
#: loops). Smaller ones fit the data more closely, larger ones run faster.
NEAR_PANEL, BOX = 128, CHUNK
#: Columns beyond which boxes overlap whatever the data, and nothing is saved.
BOX_COLUMNS = 6
#: Pairs below which everything is computed. Measured with a Gaussian that reaches 5 % of a square:
#: with 1,000 points the order costs more than it saves, with 4,000 it begins to pay.
FEWEST_PAIRS = 1_000_000
#: Pairs below which one thread computes them: starting another takes longer.
THREAD_PAIRS = 4_000_000
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
    if X.ndim != 2 or len(X) * len(Z) < FEWEST_PAIRS:
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
    threads = settings.n_threads if pairs >= THREAD_PAIRS else 1
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
