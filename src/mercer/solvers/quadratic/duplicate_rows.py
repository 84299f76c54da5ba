"""Equal examples are one variable: a problem over the distinct ones, and its answer spread again.

Examples with the same numbers have the same rows of K, so that only the sum of their a counts. With
the same linear term and the same equality constraint they become one variable, whose bounds and
start are the sums of theirs: the optimum, f and the gap of the conditions are the same. Answers and
counts repeat in questionnaires, genes and rounded measurements: eight columns of yes and no have
256 distinct rows, however many there are. The sum is given to the first of them up to its bound,
then to the next, so that as few as possible become support vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._lazy import record
from mercer._machine.threads import blas_for
from mercer._steps import listener
from mercer.formula.nodes import statistics
from mercer.gram.base import Gram
from mercer.gram.host import HostGram
from mercer.solvers.quadratic.problem import Quadratic, Solution, Solutions, Task, Tasks

#: Fewer rows are solved before equal ones are found.
LEAST = 1000
#: Rows and columns looked at first, and how many of these rows must repeat others.
SAMPLE, COLUMNS, REPEATED = 512, 32, 16
#: The largest share of all rows that may be distinct for the smaller problem to pay.
SHARE = 0.6
#: The largest share of the memory limit that the examples may take, which are copied a few times.
ROOM = 0.125
#: Statistics of pairs that read nothing but the numbers of the two rows.
_OF_NUMBERS = {"sqdist", "dot", "l1", "linf", "sqnorm", "reduce"}


@record
class Merged:
    """`tasks` over the examples `distinct` of a Gram, and where their variables were.

    `order` lists the variables of all problems by the merged one that they belong to, `group`.
    """

    tasks: Tasks
    distinct: np.ndarray
    whole: Tasks
    order: np.ndarray
    group: np.ndarray

    def spread(self, found: Sequence[Solution]) -> Solutions:
        """The solutions, with a number for every variable that was merged."""
        merged, problem = Solutions.of(found), self.whole.problem
        total, of_all = merged.a[0], self.tasks.problem
        lower, upper = problem.lower[0, self.order], problem.upper[0, self.order]
        mine = total[self.group]
        room = np.where(mine > 0, upper, -lower)
        sums = np.concatenate([[0.0], np.cumsum(room)])
        first = np.flatnonzero(np.diff(self.group, prepend=-1))
        before = sums[:-1] - sums[first][self.group]
        full = (total >= of_all.upper[0]) | (total <= of_all.lower[0])
        # What is at its bound has all of them there, whatever the sums were rounded to.
        share = np.where(full[self.group], room, np.clip(np.abs(mine) - before, 0.0, room))
        a, image = np.empty((1, len(self.order))), np.empty(len(self.order))
        a[0, self.order], image[self.order] = np.sign(mine) * share, merged.image[self.group]
        return replace(merged, starts=self.whole.starts, a=a, image=image)


def merged_tasks(gram: Gram, tasks: Sequence[Task]) -> Merged | None:
    """Problems over distinct examples; None where few are equal, or steps are shown one by one."""
    if not isinstance(gram, HostGram) or not gram.square or gram.shape[0] < LEAST:
        return None
    methods = {tasks.method} if isinstance(tasks, Tasks) else {task.method for task in tasks}
    if methods != {"solve"} or listener() is not None:
        return None
    if not isinstance(tasks, Tasks) and len({len(task.problem.linear) for task in tasks}) > 1:
        return None
    first = equal_ones(gram)
    if first is None:
        return None
    whole = Tasks.of(tasks)
    kind = _kinds(whole.problem)
    distinct = np.flatnonzero(first == np.arange(len(first)))
    if kind is None or len(distinct) > SHARE * len(first):
        return None
    index = np.zeros(len(first), dtype=np.intp)
    index[distinct] = np.arange(len(distinct))
    number = np.repeat(np.arange(len(whole)), np.diff(whole.starts))
    keys = (number * len(distinct) + index[first[whole.rows]]) * 4 + kind
    largest = int(np.argmax(np.diff(whole.starts)))
    part = keys[whole.starts[largest] : whole.starts[largest + 1]]
    if len(np.unique(part)) > SHARE * len(part):
        return None
    # Stable: the first ones are given the sums in all problems. Small numbers are sorted faster.
    order = np.argsort(keys.astype(np.min_scalar_type(keys.max())), kind="stable")
    begins = np.diff(keys[order], prepend=-1) > 0
    chosen = order[begins]
    starts = np.searchsorted(number[chosen], np.arange(len(whole) + 1))
    small = _summed(whole.problem, order, np.flatnonzero(begins))
    tasks = Tasks(starts, index[first[whole.rows[chosen]]], small, whole.method)
    return Merged(tasks, distinct, whole, order, np.cumsum(begins) - 1)


def _kinds(problem: Quadratic) -> np.ndarray | None:
    """Numbers below 4 that are equal where linear terms and constraints are; None: too many."""
    linear = problem.linear[0]
    bounded = np.isfinite(problem.upper - problem.lower).all()
    if len(problem.linear) > 1 or not bounded or (np.abs(linear) != abs(linear[0])).any():
        return None
    groups: Any = 0 if problem.groups is None else problem.groups[0].astype(np.int64)
    return (linear > 0) + 2 * groups  # type: ignore[no-any-return]


def _summed(problem: Quadratic, order: np.ndarray, first: np.ndarray) -> Quadratic:
    """One variable for each stretch of the order, which begins at `first`."""

    def total(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values[:, order], first, axis=1)

    chosen = order[first]
    return Quadratic(
        problem.linear[:, chosen],
        total(problem.lower),
        total(problem.upper),
        None if problem.start is None else total(problem.start),
        None if problem.groups is None else problem.groups[:, chosen],
    )


def equal_ones(gram: HostGram) -> np.ndarray | None:
    """For every example one that stands for all with its numbers; None: few repeat, or unknown."""
    matrices = list(gram.sides()[0].matrices.values())
    if not matrices or any(type(m) is not np.ndarray for m in matrices):
        return None
    if not all(n.op in _OF_NUMBERS for n in statistics(gram.formula)):
        return None
    if sum(m.nbytes for m in matrices) > ROOM * gram.limit_bytes:
        return None
    step = gram.shape[0] // SAMPLE
    some = [m[:: max(1, step)][:SAMPLE, :COLUMNS] for m in matrices]
    most = len(some[0]) - REPEATED
    # Rows that differ in their first column differ: that settles it for most measurements.
    if len(set(some[0][:, 0].tolist())) > most or len(np.unique(_along(some))) > most:
        return None
    value = _along(matrices)
    order = np.argsort(value, kind="stable")
    new = np.ones(len(order), dtype=bool)
    close = np.flatnonzero(value[order[1:]] == value[order[:-1]])
    # Equal numbers along one direction are a hint: the rows themselves decide.
    left, right = order[close], order[close + 1]
    new[close + 1] = ~np.logical_and.reduce([(m[left] == m[right]).all(axis=1) for m in matrices])
    first = np.empty(len(order), dtype=np.intp)
    first[order] = order[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
    return first


def _along(matrices: list[np.ndarray]) -> np.ndarray:
    """The place of every row along one direction, which few distinct rows share."""
    random = np.random.default_rng(0)
    # Threads of BLAS would wait busily for more while the problem is solved.
    with blas_for(2.0 * sum(m.size for m in matrices)):
        parts = [
            m.astype(np.float64, copy=False) @ random.normal(size=m.shape[1]) for m in matrices
        ]
    return np.sum(parts, axis=0)  # type: ignore[no-any-return]
