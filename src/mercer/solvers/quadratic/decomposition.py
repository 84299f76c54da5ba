"""Decomposition: the quadratic problem of a support vector machine, over rows of K as they matter.

    ┌─► K[W, W] to a smaller gap by SMO                  microseconds a step, no row of K touched
    │   F += Δa · K[changed, all]                        one pass over rows that are kept
    │   gap over all rows ≤ tol: stop                    LIBSVM's rule
    └── W += the worst violators                         their rows of K by one matrix product

Rows that never look like support vectors are never computed. A row of W whose variables rest at
their bounds leaves it again: this is what shrinking comes to here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mercer.gram.operand import BLOCK
from mercer.gram.rows_of_k import RowsOfK
from mercer.solvers.quadratic.flat_problems import IMAGE, SAME, STEPS, A, Problems, split
from mercer.solvers.quadratic.free_newton import newton
from mercer.solvers.quadratic.problem import Quadratic, Solution, Task
from mercer.solvers.quadratic.row_sources import Source
from mercer.solvers.quadratic.smo_on_demand import Worker
from mercer.tuning import (
    SVM_BURST,
    SVM_NEWTON_OPERATIONS,
    SVM_STEPS,
    SVM_WORKING_BATCH,
    SVM_WORKING_GAP,
    SVM_WORKING_GROWTH,
)

#: Roundings of Σ|a| max k up to which a gap counts as rounding of f, once it no longer falls.
GAP_ROUNDINGS = 4.0
#: Steps, or steps per row, after which a problem without a limit ends: LIBSVM's problems of any use
#: took a tenth of them, and ill-conditioned ones, a cubic kernel of data in hundreds, never end.
MOST_STEPS, MOST_STEPS_PER_ROW = 2_000_000, 100


@dataclass(frozen=True)
class Options:
    """`tol` is LIBSVM's; `max_iter` counts SMO steps (−1: `MOST_STEPS`); `memory` is in bytes.

    `report` is given the gap of each round.
    """

    tol: float = 1e-3
    max_iter: int = -1
    memory: int = 1 << 30
    stopped: Callable[[], bool] = lambda: False
    report: Callable[[float], None] = lambda gap: None


def solve(kernel: RowsOfK, problem: Quadratic, options: Options) -> Solution:
    """Solve to a gap of `options.tol` over all rows, from the start of the problem.

    Two sides that have a sum each are given `apart`, over the same rows twice.
    """
    assert not problem.has_separate_sides
    return _Decomposition(kernel, problem, options).run()


class Block:
    """K[W, W], compact and padded for SMO; rows are appended, and dropped in bulk."""

    def __init__(self, kernel: RowsOfK, most: int) -> None:
        self._kernel, self._most = kernel, most
        self.K = np.empty((0, 0), dtype=kernel.dtype)
        self.rows: np.ndarray = np.empty(0, dtype=np.intp)

    def __len__(self) -> int:
        return len(self.rows)

    def append(self, rows: np.ndarray) -> None:
        m, total = len(self.rows), len(self.rows) + len(rows)
        self._grow(total)
        self.rows = np.concatenate([self.rows, rows])
        new = self._kernel.block(rows, self.rows)
        self.K[m:total, :total] = new
        self.K[:m, m:total] = new[:, :m].T

    def keep(self, stay: np.ndarray) -> None:
        index = np.flatnonzero(stay)
        m = len(index)
        # Row by row in place: a row never moves down.
        for to, row in enumerate(index):
            self.K[to, :m] = self.K[row, index]
        self.rows = self.rows[index]

    def worker(self, groups: int) -> Worker:
        """The compiled loop over rows of K[W, W] that are all there."""
        m, dtype = len(self.rows), self.K.dtype
        padded = -(-m // BLOCK) * BLOCK
        self._grow(padded)
        self.K[:m, m:padded] = 0
        source = Source(dtype, self._kernel.diagonal[self.rows])
        worker = Worker(source, groups, m, self.K.ravel())
        loop = worker.loop
        worker.Q[:] = worker.p[:] = worker.index[loop.SLOT] = 0
        worker.index[loop.SLOT, :m] = worker.index[loop.OWNER, :m] = np.arange(m)
        worker.cursor[loop.USED], worker.cursor[loop.PITCH] = m, len(self.K)
        # No conjugate directions: where K is ill-conditioned to its rounding, they come to no end.
        worker.cursor[loop.PLAIN] = np.iinfo(np.int64).max
        return worker

    def _grow(self, size: int) -> None:
        if size <= len(self.K):
            return
        old, m = self.K, len(self.rows)
        room = min(max(3 * size // 2, 8 * BLOCK), max(size, self._most))
        self.K = np.empty((-(-room // BLOCK) * BLOCK,) * 2, dtype=old.dtype)
        self.K[:m, :m] = old[:m, :m]


class _Decomposition:
    def __init__(self, kernel: RowsOfK, problem: Quadratic, options: Options) -> None:
        self.problem, self.options = problem, options
        n, item = problem.n, kernel.dtype.itemsize
        # A quarter of the memory for K[W, W], one for its copy when it grows, half for rows of W.
        self.most = min(n, max(2, int((options.memory / (4 * item)) ** 0.5)))
        rows = min(n * n, options.memory // (2 * item))
        self.kernel = kernel
        kernel.set_buffer(np.empty(rows, kernel.dtype))
        self.block = Block(self.kernel, self.most)
        self.groups = problem.members()
        self.a = np.zeros(problem.linear.shape) if problem.start is None else problem.start.copy()
        self.inside = np.zeros(n, dtype=bool)
        self.n_iter = 0
        self.best = np.inf, 0  # the least gap, by halves, and the steps until then
        net = self.a.sum(axis=0)
        support = np.flatnonzero(net)
        free = ((self.a > problem.lower) & (self.a < problem.upper)).any(axis=0)
        if not options.stopped():
            self._enter(np.flatnonzero(free)[: self.most])
        self.image = np.zeros(n)
        if len(support):
            self.image += self.kernel.combine(net[support], support)

    def run(self) -> Solution:
        options = self.options
        while True:
            gap = self._measure()
            options.report(gap)
            done = gap <= options.tol
            if done or options.stopped() or self._spent() or self._stands_still(gap):
                break
            new = self._violators()
            self._make_room(len(new))
            new = new[: self.most - len(self.block)]
            self._enter(new)
            steps = self._improve(max(0.5 * options.tol, SVM_WORKING_GAP * gap))
            if not steps and not len(new):
                break  # neither a row nor a step: the gap is at the rounding of K
        net = self.a.sum(axis=0)
        objective = 0.5 * float(net @ self.image) + float((self.a * self.problem.linear).sum())
        thresholds, computed = np.array(self.now.centers), self.kernel.computed
        return Solution(self.a, self.image, objective, thresholds, gap, self.n_iter, done, computed)

    def _spent(self) -> bool:
        most = self.options.max_iter
        return self.n_iter >= (
            most if most >= 0 else max(MOST_STEPS, MOST_STEPS_PER_ROW * self.problem.n)
        )

    def _stands_still(self, gap: float) -> bool:
        """Whether the gap is at the rounding of f, and has not become smaller for long."""
        if gap < 0.5 * self.best[0]:
            self.best = gap, self.n_iter
        if self.n_iter - self.best[1] < SVM_STEPS:
            return False
        unit = float(np.finfo(self.kernel.dtype).eps) * float(np.abs(self.kernel.diagonal).max())
        return gap <= GAP_ROUNDINGS * unit * float(np.abs(self.a.sum(axis=0)).sum())

    def _measure(self) -> float:
        """The gap over all variables; on the way the threshold of every group."""
        self.now = conditions(self.problem, self.groups, self.a, self.image)
        return self.now.gap

    def _violators(self) -> np.ndarray:
        """The worst rows outside W, worst first, from above and from below in turn."""
        found, turns = [], []
        for worst in self.now.violations():
            worst[self.inside] = -np.inf
            rows = np.flatnonzero(worst > 0.5 * self.options.tol)
            count = int(max(SVM_WORKING_BATCH, SVM_WORKING_GROWTH * len(self.block)) / 2)
            if len(rows) > count:
                rows = rows[np.argpartition(-worst[rows], count)[:count]]
            found.append(rows[np.argsort(-worst[rows])])
            turns.append(np.arange(len(rows)))
        mixed = np.concatenate(found)[np.argsort(np.concatenate(turns), kind="stable")]
        first = self.now.worst_pairs(self.groups)
        mixed = np.concatenate([first[~self.inside[first]], mixed])
        # A row can stand on several lists.
        return mixed[np.sort(np.unique(mixed, return_index=True)[1])]

    def _make_room(self, needed: int) -> None:
        """Drop rows of W that are pushed against a bound, and the oldest ones of a full W."""
        rows, now = self.block.rows, self.now
        up, low, excess = now.up[:, rows], now.low[:, rows], now.excess[:, rows]
        busy = (up & (excess > 0.0)) | (low & (excess < 0.0)) | (up & low)
        stay: np.ndarray = np.logical_or.reduce(busy, axis=0)
        surplus = int(stay.sum()) + needed - self.most
        if surplus > 0:
            # Half of W at most, and none of the pairs that violate most: with both their rows in W
            # there is a step to take.
            spare = stay & ~np.isin(rows, self.now.worst_pairs(self.groups))
            oldest = np.flatnonzero(spare)[: min(surplus, self.most // 2)]
            stay[oldest] = False
        self.inside[rows[~stay]] = False
        self.block.keep(stay)

    def _enter(self, rows: np.ndarray) -> None:
        if len(rows):
            self.inside[rows] = True
            self.kernel.load(rows, self.inside)
            self.block.append(rows)

    def _improve(self, tol: float) -> int:
        """Close the gap of W by SMO on K[W, W], then update F; returns the number of steps."""
        rows, options = self.block.rows, self.options
        if options.stopped() or self._spent():
            return 0
        problem = self.problem.take(rows).starting(self.a[:, rows])
        flat = Problems([Task(np.arange(len(rows)), problem)], tol, -1)
        flat.variables[:, IMAGE] = self.image[rows]
        before = flat.variables[:, A].copy()
        left = SVM_BURST if options.max_iter < 0 else options.max_iter - self.n_iter
        one, never = np.zeros(1, np.int64), np.zeros(1, np.int64)
        arrays = (one, flat.starts, flat.variables, flat.rows, flat.groups, flat.found)
        limits = np.array([min(SVM_BURST, left)])
        self.block.worker(flat.n_groups).run(*arrays, tol, limits, SAME, never)
        steps = int(flat.found[0, STEPS])
        self.n_iter += steps
        if steps >= SVM_BURST:
            newton(self.block.K, flat, SVM_NEWTON_OPERATIONS * steps * len(rows))
        after = flat.variables[:, A]
        self.a[:, rows] = split(after, len(self.a))
        change = after - before
        moved = np.flatnonzero(change)
        if len(moved):
            self.image += self.kernel.combine(change[moved], rows[moved])
        return steps


@dataclass(frozen=True)
class Conditions:
    """How far a is from optimal: the gap of LIBSVM's rule, and the threshold of every group.

    `excess`: −f less its threshold, for every variable; what may grow (`up`) should have none above
    0, what may shrink (`low`) none below.
    """

    gap: float
    centers: list[float]
    excess: np.ndarray
    up: np.ndarray
    low: np.ndarray

    def worst_pairs(self, groups: list[np.ndarray]) -> np.ndarray:
        """The rows that should grow and shrink most in each group."""
        rows = []
        for members in groups:
            for score, allowed in ((self.excess, self.up), (-self.excess, self.low)):
                rows.append(np.where(allowed & members, score, -np.inf).argmax())
        return np.array(rows) % self.excess.shape[1]

    def violations(self) -> Iterator[np.ndarray]:
        """By how much each row should grow, then by how much it should shrink."""
        for score, allowed in ((self.excess, self.up), (-self.excess, self.low)):
            yield np.where(allowed, score, -np.inf).max(axis=0)


def conditions(
    problem: Quadratic, groups: list[np.ndarray], a: np.ndarray, image: np.ndarray
) -> Conditions:
    """Those of a with F = K Σa = `image`; `groups` are the members of the problem's."""
    values = -(image + problem.linear)
    all_up, all_low = a < problem.upper, a > problem.lower
    excess, centers, gap = np.empty(values.shape), [], -np.inf
    for members in groups:
        alone = len(groups) == 1
        up = all_up if alone else all_up & members
        low = all_low if alone else all_low & members
        top = np.where(up, values, -np.inf).max()
        bottom = np.where(low, values, np.inf).min()
        gap = max(gap, top - bottom)
        centers.append(_center(values, up, low))
        np.subtract(values, centers[-1], out=excess, where=members)
    return Conditions(float(gap), centers, excess, all_up, all_low)


def _center(values: np.ndarray, up: np.ndarray, low: np.ndarray) -> float:
    """The mean of −f over the variables that may grow and shrink, else the middle of its bounds."""
    free = values[up & low]
    if len(free):
        return float(free.mean())
    top, bottom = np.where(up, values, -np.inf).max(), np.where(low, values, np.inf).min()
    return _middle(top, bottom)


def _middle(top: float, bottom: float) -> float:
    """Between the bounds that the variables at their bounds leave; whatever bound there is."""
    if np.isfinite(top) and np.isfinite(bottom):
        return float(top + bottom) / 2
    return float(top if np.isfinite(top) else bottom if np.isfinite(bottom) else 0.0)
