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
from typing import TYPE_CHECKING, cast

import numpy as np

from mercer._lazy import record
from mercer._machine.threads import blas_for
from mercer._steps import listener
from mercer.formula.nodes import statistics
from mercer.gram import Gram
from mercer.solvers.quadratic.problem import Quadratic, Solution, Solutions, Tasks
from mercer.tuning import COPY_SHARE, SVM_DISTINCT_SHARE, SVM_DUPLICATE_ROWS, SVM_DUPLICATE_SAMPLE

if TYPE_CHECKING:
    from mercer.gram import HostGram

#: Rows of the sample that must repeat others of it.
REPEATED = 16
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


def merged_tasks(gram: Gram, whole: Tasks) -> Merged | None:
    """Problems over distinct examples; None where few are equal, or steps are shown one by one."""
    if gram.engine != "cpu" or not gram.square or gram.shape[0] < SVM_DUPLICATE_ROWS:
        return None
    if (whole.method, len(whole.problem.linear)) != ("solve", 1) or listener():
        return None
    first = first_equal(cast("HostGram", gram))
    if first is None:
        return None
    problem, linear = whole.problem, whole.problem.linear[0]
    bounded = np.isfinite(problem.upper - problem.lower).all()
    if not bounded or (np.abs(linear) != abs(linear[0])).any():
        return None
    # Equal numbers for equal examples of one problem, linear term and constraint.
    number = np.repeat(np.arange(len(whole)), np.diff(whole.starts))
    groups = 0 if problem.groups is None else problem.groups[0].astype(np.int64)
    keys = (number * len(first) + first[whole.rows]) * 4 + 2 * groups + (linear > 0)
    # Stable: the lowest index is given the sum first. Integers of few bytes are sorted faster.
    order = np.argsort(keys.astype(np.min_scalar_type(keys.max())), kind="stable")
    begins = np.diff(keys[order], prepend=-1) > 0
    chosen = order[begins]
    if len(chosen) > SVM_DISTINCT_SHARE * len(order):
        return None
    distinct, rows = np.unique(first[whole.rows[chosen]], return_inverse=True)
    starts = np.searchsorted(number[chosen], np.arange(len(whole) + 1))

    def total(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values[:, order], np.flatnonzero(begins), axis=1)

    merged = Quadratic(
        problem.linear[:, chosen],
        total(problem.lower),
        total(problem.upper),
        None if problem.start is None else total(problem.start),
        None if problem.groups is None else problem.groups[:, chosen],
    )
    small = Tasks(starts, rows, merged, whole.method)
    return Merged(small, distinct, whole, order, np.cumsum(begins) - 1)


def first_equal(gram: HostGram) -> np.ndarray | None:
    """The first example with the same numbers, for every example; None: few repeat, or unknown."""
    matrices = list(gram.operands()[0].matrices.values())
    if not matrices or any(type(m) is not np.ndarray for m in matrices):
        return None
    if not all(n.op in _OF_NUMBERS for n in statistics(gram.formula)):
        return None
    if sum(m.nbytes for m in matrices) > COPY_SHARE * gram.limit_bytes:
        return None
    step = gram.shape[0] // SVM_DUPLICATE_SAMPLE
    some = [m[:: max(1, step)][:SVM_DUPLICATE_SAMPLE] for m in matrices]
    most = len(some[0]) - REPEATED
    # Rows that differ in their first column differ: that settles it for most measurements.
    if len(set(some[0][:, 0].tolist())) > most or len(np.unique(_along(some))) > most:
        return None
    _, first, group = np.unique(_along(matrices), return_index=True, return_inverse=True)
    first = first[group]
    # Equal numbers along one direction are a hint: the rows themselves decide.
    return first if all((m[first] == m).all() for m in matrices) else None


def _along(matrices: list[np.ndarray]) -> np.ndarray:
    """The coordinate of every row along one random direction, which few distinct rows share."""
    random = np.random.default_rng(0)
    # Threads of BLAS would wait busily for more while the problem is solved.
    with blas_for(2.0 * sum(m.size for m in matrices)):
        parts = [
            m.astype(np.float64, copy=False) @ random.normal(size=m.shape[1]) for m in matrices
        ]
    return np.sum(parts, axis=0)  # type: ignore[no-any-return]
