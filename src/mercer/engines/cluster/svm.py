"""Support vector machines over rows in chunks.

Problems that one task can hold (the pairs of classes of one-against-one) are tasks. One large
problem goes through a cascade, which finds most support vectors, and a loop, which proves that it
has found all of them:

    shards of rows, solved loosely        ▢ ▢ ▢ ▢    a task each
    support vectors of two, solved again   ╲╱ ╲╱     … in a fixed tree
    ┌─► those of all, solved to `tol`       ╲╱       in this process
    │   F += K Δa over all rows                      a product per chunk
    │   gap over all rows ≤ tol: stop                LIBSVM's rule, now true of every row
    └── the worst violators join

Each round starts where the last one ended, and lowers the same objective: the result is the optimum
of all rows, to the tolerance that was asked for, however good the cascade's guess was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer.engines.cluster.gram import ChunkGram
from mercer.engines.cluster.pieces import runs
from mercer.engines.cluster.pool import Call, gather, reduce
from mercer.engines.cluster.sums import floats
from mercer.gram import solver_gram
from mercer.solvers.quadratic.parallel import solve_all as solve_together
from mercer.solvers.quadratic.problem import Quadratic, Solution, Task
from mercer.tuning import EXACT_ROWS

# --- How far the variables of a support vector machine are from optimal: LIBSVM's conditions ------


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

    def violations(self) -> Iterator[np.ndarray]:
        """Yield how much each row should grow, then how much it should shrink."""
        for score, allowed in ((self.excess, self.up), (-self.excess, self.low)):
            yield np.where(allowed, score, -np.inf).max(axis=0)


def conditions(
    problem: Quadratic, groups: list[np.ndarray], a: np.ndarray, image: np.ndarray
) -> Conditions:
    """Conditions of a with F = K Σa = `image`; `groups` are the members of the problem's."""
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
    # The middle of the interval that variables at their bounds leave, or its only end.
    if np.isfinite(top) and np.isfinite(bottom):
        return float(top + bottom) / 2
    return float(top if np.isfinite(top) else bottom if np.isfinite(bottom) else 0.0)


#: Small problems go into TASKS tasks, or into as many as have TASK_ROWS rows each.
TASKS, TASK_ROWS = 64, 2000
#: The gap to which a shard is solved: enough to identify its support vectors.
LOOSE = 0.01
#: Shards are alike where no mean of their targets differs by more than this share of the deviation.
SHARDS_ALIKE = 0.3
#: Rows of a shard without support vectors, one class alone, say, that go on in their place.
SHARD_ROWS = 200
#: Rows that join in a round at least; as many as are at work, where these are more.
JOINING_ROWS = 1000
#: Rows at work are solved to this share of the tolerance, which leaves a margin for the rounding of
#: K; where that is not enough, to an ever smaller one, down to LAST.
WORKING_SHARE, LAST = 0.5, 0.01


def solve_all(
    gram: ChunkGram, tasks: Sequence[Task], tol: float, max_iter: int, what: str
) -> tuple[Sequence[Solution], bool]:
    """Solve as `mercer.solvers.quadratic.parallel.solve_all`, of rows in chunks."""
    results: dict[int, Solution] = {}
    small = [i for i in range(len(tasks)) if len(tasks[i].rows) <= EXACT_ROWS]
    sizes = [len(tasks[i].rows) for i in small]
    # How many problems a task solves does not depend on the workers.
    batches = [small[part] for part in runs(sizes, max(TASK_ROWS, sum(sizes) // TASKS))]
    calls = [_batch(gram, [tasks[i] for i in batch], tol, max_iter) for batch in batches]
    for batch, solutions in zip(batches, gather(calls, what), strict=True):
        results |= dict(zip(batch, solutions, strict=True))
    interrupted = False
    for i in sorted(set(range(len(tasks))) - set(small)):
        results[i], cut_short = _Large(gram, tasks[i], tol, max_iter, what).solve()
        interrupted |= cut_short
    return [results[i] for i in range(len(tasks))], interrupted


# --- small problems --------------------------------------------------------------------------


def _batch(gram: ChunkGram, tasks: list[Task], tol: float, max_iter: int) -> Call:
    rows = np.unique(np.concatenate([task.rows for task in tasks]))
    local = [replace(task, rows=np.searchsorted(rows, task.rows)) for task in tasks]
    return Call(_solved, (gram.kernel, local, tol, max_iter, gram.rows.picked(rows)))


def _solved(kernel: Any, tasks: list[Task], tol: float, max_iter: int, X: Any) -> list[Solution]:
    """Some problems over these rows, by the solver of the place where the task runs."""
    gram = solver_gram(kernel, finite(X))
    solver: Callable[..., Any] = gram.solver("svm", solve_together)
    return list(solver(gram, tasks, tol, max_iter, "support vectors")[0])


def finite(X: Any) -> np.ndarray:
    """Rows of a chunk as floats; an error for those that are none."""
    rows = floats(X)
    if not np.isfinite(rows).all():
        raise ValueError("X contains NaN or infinity")
    return rows


# --- the cascade -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Survivors:
    """Support vectors of some rows: which rows of the problem, their features, their variables."""

    index: np.ndarray
    X: np.ndarray
    problem: Quadratic


def shard(kernel: Any, tol: float, index: np.ndarray, problem: Quadratic, X: Any) -> Survivors:
    """The support vectors of some rows alone; some of the rows where there are none."""
    rows = finite(X)
    survivors = _survivors(kernel, tol, index, rows, problem, "solve")
    if len(survivors.index):
        return survivors
    some = np.unique(np.linspace(0, len(index) - 1, min(SHARD_ROWS, len(index))).astype(int))
    return Survivors(index[some], rows[some], problem.take(some))


def merged(kernel: Any, tol: float, a: Survivors, b: Survivors) -> Survivors:
    """Merge two solutions, warm-started from both."""
    sides = [(p.linear, p.lower, p.upper, _start(p)) for p in (a.problem, b.problem)]
    both = Quadratic(*(np.concatenate(pair, axis=1) for pair in zip(*sides, strict=True)))
    index, X = np.concatenate([a.index, b.index]), np.concatenate([a.X, b.X])
    survivors = _survivors(kernel, tol, index, X, both, "resume" if _start(both).any() else "solve")
    return survivors if len(survivors.index) else Survivors(index, X, both)


def _survivors(
    kernel: Any, tol: float, index: np.ndarray, X: np.ndarray, problem: Quadratic, method: str
) -> Survivors:
    (solution,) = _solved(kernel, [Task(np.arange(len(index)), problem, method)], tol, -1, X)
    kept = np.flatnonzero(solution.a.any(axis=0))
    part = _part(problem, kept, solution.a[:, kept])
    return Survivors(index[kept], X[kept], part)


def _shards(linear: np.ndarray) -> list[np.ndarray]:
    """Rows of each shard: neighbors, which lie in few chunks, or every k-th row.

    The latter where the rows are sorted by their targets: a shard must look like the whole. The
    linear term of a problem has the targets in it.

    >>> [shard.tolist() for shard in _shards(np.repeat([1.0, -1.0], 15_000))][0][:3]
    [0, 2, 4]
    """
    count = -(-len(linear) // EXACT_ROWS)
    shards = np.array_split(np.arange(len(linear)), count)
    means = np.array([linear[index].mean() for index in shards])
    if np.abs(means - linear.mean()).max() <= SHARDS_ALIKE * linear.std():
        return shards
    return [np.arange(first, len(linear), count) for first in range(count)]


def _start(problem: Quadratic) -> np.ndarray:
    return np.zeros(problem.linear.shape) if problem.start is None else problem.start


def _part(problem: Quadratic, rows: np.ndarray, a: np.ndarray) -> Quadratic:
    """The problem of some rows, where all others stay at 0."""
    return replace(problem, start=None).take(rows).starting(a)


# --- the proof -------------------------------------------------------------------------------


class _Large:
    """One problem of more rows than a task should solve."""

    def __init__(self, gram: ChunkGram, task: Task, tol: float, max_iter: int, what: str) -> None:
        # In the order of the chunks, each of which is loaded once; a task may have another one.
        self.order = np.argsort(task.rows, kind="stable")
        self.gram, self.rows, self.problem = gram, task.rows[self.order], task.problem
        if (np.diff(self.order) != 1).any():
            self.problem = replace(task.problem, start=None).take(self.order)
            if task.problem.start is not None:
                self.problem = self.problem.starting(task.problem.start[:, self.order])
        self.tol, self.max_iter, self.what = tol, max_iter, what
        self.groups = self.problem.members()
        self.index = np.empty(0, dtype=np.int64)  # rows of the problem that are here, in order
        self.X = gram.rows[self.index]

    def solve(self) -> tuple[Solution, bool]:
        """The optimum over all rows, and whether Ctrl-C came first."""
        a, inner, steps, computed = self._begin(), WORKING_SHARE, 0, 0
        net, F = np.zeros(self.problem.n), np.zeros(self.problem.n)
        while True:
            (solution,), interrupted = self._improved(a, inner, steps)
            a[:, self.index] = solution.a
            steps, computed = steps + solution.n_iter, computed + solution.rows_computed
            before, net = net, a.sum(axis=0)
            F += self._image(net - before)
            now = conditions(self.problem, self.groups, a, F)
            over = interrupted or 0 <= self.max_iter <= steps
            if now.gap <= self.tol or over:
                break
            near, new = self._violators(list(now.violations()), now.gap)
            if not len(new):  # those at work are the worst: K's rounding was taken for their gap
                if inner <= LAST or not solution.converged:
                    break
                inner /= 4
            self._work_on(np.concatenate([np.flatnonzero(a.any(axis=0)), near, new]))
        objective = 0.5 * float(net @ F) + float((a * self.problem.linear).sum())
        centers = np.array(now.centers)
        done, back = now.gap <= self.tol, np.argsort(self.order)
        a, F = a[:, back], F[back]
        return Solution(a, F, objective, centers, now.gap, steps, done, computed), interrupted

    def _begin(self) -> np.ndarray:
        """A feasible start, and rows to begin with: given, or what the cascade leaves."""
        problem = self.problem
        a = _start(problem).copy()
        if problem.start is not None:
            some = np.linspace(0, problem.n - 1, min(problem.n, JOINING_ROWS)).astype(int)
            self._work_on(np.concatenate([np.flatnonzero(a.any(axis=0)), some]))
            return a
        tol, calls = max(self.tol, LOOSE), []
        for index in _shards(problem.linear[0]):
            picked = self.gram.rows.picked(self.rows[index])
            args = (self.gram.kernel, tol, index, problem.take(index), picked)
            calls.append(Call(shard, args))
        survivors = reduce(calls, self.what, partial(merged, self.gram.kernel, tol))
        a[:, survivors.index] = _start(survivors.problem)
        order = np.argsort(survivors.index)
        self.index, self.X = survivors.index[order], survivors.X[order]
        return a

    def _work_on(self, index: np.ndarray) -> None:
        """These rows are at work from now on; only those that were not are fetched."""
        index = np.unique(index)
        at_work = np.isin(index, self.index)
        rows = np.empty((len(index), *self.X.shape[1:]), self.X.dtype)
        rows[at_work] = self.X[np.searchsorted(self.index, index[at_work])]
        rows[~at_work] = finite(self.gram.rows[self.rows[index[~at_work]]])
        self.index, self.X = index, rows

    def _improved(self, a: np.ndarray, inner: float, steps: int) -> tuple[Any, bool]:
        start = a[:, self.index]
        part = _part(self.problem, self.index, start)
        task = Task(np.arange(len(self.index)), part, "resume" if start.any() else "solve")
        left = self.max_iter if self.max_iter < 0 else max(0, self.max_iter - steps)
        gram = solver_gram(self.gram.kernel, self.X)
        solver: Callable[..., Any] = gram.solver("svm", solve_together)
        return solver(gram, [task], inner * self.tol, left, self.what)  # type: ignore[no-any-return]

    def _image(self, change: np.ndarray) -> np.ndarray:
        """K Δa at every row of the problem; what changed is at work."""
        moved = np.flatnonzero(change)
        if not len(moved):
            return np.zeros(self.problem.n)
        centers = self.X[np.searchsorted(self.index, moved)]
        whole = ChunkGram(self.gram.kernel, self.gram.rows, centers)
        return np.asarray(whole @ change[moved], dtype=np.float64)[self.rows]

    def _violators(self, violations: list[np.ndarray], gap: float) -> tuple[np.ndarray, np.ndarray]:
        """Rows at work that may move next, and the worst others, to grow and to shrink."""
        most = max(JOINING_ROWS, len(self.index)) // 2
        near, new = [], []
        for worst in violations:
            near.append(self.index[worst[self.index] > -gap])
            worst[self.index] = -np.inf
            rows = np.flatnonzero(worst > 0.5 * self.tol)
            new.append(rows[np.argsort(-worst[rows], kind="stable")][:most])
        return np.concatenate(near), np.concatenate(new)
