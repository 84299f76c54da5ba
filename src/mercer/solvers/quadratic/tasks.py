"""What a support vector machine asks of a solver, and what it gets back.

No solver is imported here: each loads when it is used, the CPU's with its compiler and the
device's with PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mercer.solvers.quadratic.problem import Quadratic

if TYPE_CHECKING:
    from mercer.gram.panels import RowPanels
    from mercer.solvers.quadratic.decomposition import Options
    from mercer.solvers.quadratic.row_cache import Workspace


@dataclass(frozen=True)
class Solution:
    """The a of every variable, F = K Σa for every row, and how it ended.

    `thresholds`: for every group the value −f takes on its free variables (b of the machine).
    """

    a: np.ndarray
    image: np.ndarray
    objective: float
    thresholds: np.ndarray
    gap: float
    n_iter: int
    converged: bool
    rows_computed: int


@dataclass(frozen=True)
class Task:
    """One problem: the rows of the Gram it is about, and how the CPU solves it over them.

    `problem` is the same as data, for a solver that takes many at once; None if it is not a
    single quadratic problem.
    """

    rows: np.ndarray
    run: Callable[[RowPanels, Options, Workspace], Solution]
    problem: Quadratic | None = None


def plain(problem: Quadratic, rows: np.ndarray, start: np.ndarray | None = None) -> Task:
    """A problem solved from scratch, or from a feasible point close to its solution."""

    def run(panels: RowPanels, options: Options, room: Workspace) -> Solution:
        from mercer.solvers.quadratic.decomposition import resume, solve

        if start is None:
            return solve(panels, problem, options, room)
        return resume(panels, problem, start, options, room)

    return Task(rows, run, problem if start is None else problem.starting(start))


def widest_margin(signs: np.ndarray, rows: np.ndarray) -> Task:
    """The hard margin: a sequence of problems, each from the answer of the last."""

    def run(panels: RowPanels, options: Options, room: Workspace) -> Solution:
        from mercer.solvers.quadratic.hard_margin import hard_margin

        return hard_margin(panels, signs, options, room)

    return Task(rows, run)
