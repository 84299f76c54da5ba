"""Many small problems over one K that is kept: one compiled loop over all of them.

300 classes are 44 850 pairs, most of them a matter of ten steps: what must be done in Python for
each problem would take a thousand times as long as solving it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mercer._machine.jit import njit
from mercer._tiles import cut
from mercer.solvers.quadratic.problem import Solution, Task
from mercer.solvers.quadratic.smo import LANES, smo

#: Problems from which this is worth computing all of K, and the rows that a problem may have.
MANY, ROWS = 16, 256
#: Problems solved between two looks at Ctrl-C.
CHUNK = 512
#: Steps after which a problem is not small any more, whatever its rows.
STEPS = 20_000


def are_small(tasks: Sequence[Task], n: int, itemsize: int, limit: int) -> bool:
    """Whether these problems are solved here: many, each with few rows, and K fits."""
    if len(tasks) < MANY or 4 * n * n * itemsize > limit:
        return False
    sizes = [task.problem.linear.shape for task in tasks]
    few = max(sizes) <= (1, ROWS) and max(size[1] for size in sizes) <= ROWS
    return few and {task.method for task in tasks} == {"solve"}


class SmallProblems:
    """The problems as flat arrays, one after the other, and their solutions."""

    def __init__(self, K: np.ndarray, tasks: Sequence[Task], tol: float, max_iter: int) -> None:
        self.K, self.tol, self.n_rows = K, tol, len(K)
        self.limit = STEPS if max_iter < 0 else min(STEPS, max_iter)
        self.max_iter = max_iter
        self.starts = np.concatenate([[0], np.cumsum([len(task.rows) for task in tasks])])
        problems = [task.problem for task in tasks]
        self.rows = np.concatenate([task.rows for task in tasks]).astype(np.int64)
        self.linear, self.lower, self.upper = (
            np.concatenate([getattr(p, name)[0] for p in problems], dtype=np.float64)
            for name in ("linear", "lower", "upper")
        )
        self.a, self.image = np.zeros(len(self.rows)), np.zeros(len(self.rows))
        self.group = np.zeros(len(self.rows), dtype=np.int8)
        for start, p in zip(self.starts, problems, strict=False):
            if p.start is not None:
                self.a[start : start + p.n] = p.start[0]
            if p.groups is not None:
                self.group[start : start + p.n] = p.groups[0]
        groups = int(self.group.max()) + 1
        self.thresholds = np.zeros((len(tasks), groups))
        self.objective, self.gap = np.zeros(len(tasks)), np.zeros(len(tasks))
        self.steps = np.zeros(len(tasks), dtype=np.int64)

    def chunks(self) -> list[slice]:
        return list(cut(0, len(self.steps), CHUNK))

    def solve(self, chunk: slice, stopped: Callable[[], bool]) -> None:
        """Some of the problems; after a stop they are measured and left where they start."""
        _solve(
            self.K, self.rows, self.starts, chunk.start, chunk.stop, self.linear, self.lower,
            self.upper, self.group, self.a, self.image, self.thresholds, self.objective, self.gap,
            self.steps, self.tol, 0 if stopped() else self.limit,
        )  # fmt: skip

    def unfinished(self) -> np.ndarray:
        """The problems that need more steps than a small one takes, and may take them."""
        late = (self.gap > self.tol) & (self.steps >= STEPS)
        return np.flatnonzero(late & ((self.max_iter < 0) | (self.steps < self.max_iter)))

    def solutions(self) -> list[Any]:
        done = (self.gap <= self.tol).tolist()
        ends, objective, gap = self.starts.tolist(), self.objective.tolist(), self.gap.tolist()
        a, image, steps = self.a[None], self.image, self.steps.tolist()
        return [
            Solution(
                a[:, s:e], image[s:e], objective[p], self.thresholds[p], gap[p], steps[p], done[p],
                self.n_rows,
            )
            for p, (s, e) in enumerate(pairwise(ends))
        ]  # fmt: skip


@njit(nogil=True)
def _threshold(chosen, f, a, lower, upper):  # type: ignore[no-untyped-def]
    """The gap among some variables, and their threshold: the mean of −f over those in between."""
    top, bottom, mean, free = -np.inf, np.inf, 0.0, 0
    for i in range(len(chosen)):
        if not chosen[i]:
            continue
        may_grow, may_shrink = a[i] < upper[i], a[i] > lower[i]
        if may_grow:
            top = max(top, -f[i])
        if may_shrink:
            bottom = min(bottom, -f[i])
        if may_grow and may_shrink:
            mean -= f[i]
            free += 1
    if free:
        return top - bottom, mean / free
    if np.isfinite(top) and np.isfinite(bottom):
        return top - bottom, (top + bottom) / 2
    return top - bottom, top if np.isfinite(top) else bottom


@njit(nogil=True)
def _solve(  # type: ignore[no-untyped-def]
    K, rows, starts, first, last, linear, lower, upper, group, a, image, thresholds, objective,
    gap, steps, tol, limit,
):  # fmt: skip
    groups = thresholds.shape[1]
    for p in range(first, last):
        s, m = starts[p], starts[p + 1] - starts[p]
        padded = (m + LANES - 1) // LANES * LANES
        block = np.zeros((m, padded), K.dtype)
        diagonal = np.ones(padded)
        f = np.zeros((1, padded))
        up = np.full((groups, 1, padded), -np.inf)
        low = up.copy()
        own = a[s : s + m].copy().reshape(1, m)
        bottoms, tops = lower[s : s + m].reshape(1, m), upper[s : s + m].reshape(1, m)
        for i in range(m):
            for j in range(m):
                block[i, j] = K[rows[s + i], rows[s + j]]
            diagonal[i] = block[i, i]
            g = group[s + i]
            up[g, 0, i] = 0.0 if own[0, i] < tops[0, i] else -np.inf
            low[g, 0, i] = 0.0 if own[0, i] > bottoms[0, i] else -np.inf
            total = linear[s + i]
            for j in range(m):
                total += block[i, j] * own[0, j]
            f[0, i] = total
        steps[p], _ = smo(block, diagonal, f, own, bottoms, tops, up, low, tol, limit)
        value = 0.0
        for i in range(m):
            a[s + i], image[s + i] = own[0, i], f[0, i] - linear[s + i]
            value += own[0, i] * (0.5 * image[s + i] + linear[s + i])
        objective[p] = value
        gap[p] = -np.inf
        for g in range(groups):
            chosen = group[s : s + m] == g
            violation, thresholds[p, g] = _threshold(chosen, f[0], own[0], bottoms[0], tops[0])
            gap[p] = max(gap[p], violation)
