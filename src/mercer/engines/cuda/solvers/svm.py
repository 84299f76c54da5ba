"""Support vector machines on a device: the working sets of all problems at once.

    ┌─► W of every problem: its worst violators, and what moved before     batched top-k
    │   K[W, W] to a smaller gap by SMO                                    a launch, all problems
    │   F += K[:, W] Δa                                                    a launch
    └── gap over all rows ≤ tol: the problem leaves the batch              LIBSVM's rule

A step of SMO costs the same for any W that fits the registers of a multiprocessor, so W is as large
as that from the first turn on; and 45 problems take as long as the hardest of them. (The processor
takes its steps over all rows instead: `mercer.solvers.quadratic.smo_on_demand`.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from mercer._config import show_bytes
from mercer._machine.threads import interruptible
from mercer._progress import progress
from mercer.engines.cuda.gram import CudaGram
from mercer.engines.cuda.memory import room_for
from mercer.engines.cuda.rows import current
from mercer.engines.cuda.solvers.gap_progress import GapProgress
from mercer.engines.cuda.solvers.kernel_rows import KernelRows, kernel_rows
from mercer.engines.cuda.solvers.smo_triton import smo
from mercer.engines.cuda.solvers.svm_batch import (
    Measure,
    choose,
    gather,
    make_batch,
    measure,
    scatter,
    solution_of,
)
from mercer.engines.cuda.solvers.working_block import newton
from mercer.solvers.quadratic.problem import Quadratic, Solution, Task

#: Variables of a working set: at most, and at least where memory is short.
WORKING_SET, LEAST_WORKING_SET = 2048, 64
#: It grows, up to this, while more variables are on the move than it holds.
CROWDED_SET = 4096
#: How far a turn closes the gap of W, relative to the gap over all rows.
INNER = 0.2
#: A turn takes at most this many steps for each variable of W, then Newton's steps go on.
STEPS = 2
#: Problems side by side, at most.
SIDE_BY_SIDE = 1024
#: Turns without a gain in the objective (by this part of it) after which a problem is given up:
#: its gap is at the rounding of K.
PATIENT_TURNS, GAIN = 30, 1e-11


def solve_all(
    gram: CudaGram, tasks: Sequence[Task], tol: float, max_iter: int, what: str
) -> tuple[list[Solution], bool]:
    """The solutions, in the order of the tasks, and whether Ctrl-C cut them short.

    `tol` is LIBSVM's; `max_iter` counts steps of SMO for each problem (−1: no limit).
    """
    problems, rows = [task.problem for task in tasks], [task.rows for task in tasks]
    solutions: list[Any] = [None] * len(problems)
    stop = threading.Event()
    with progress(what, float(len(problems))) as bar:

        def work(thread: int) -> None:
            with current(gram.device), room_for(gram.points()):
                limit = gram.limit_bytes
                source = kernel_rows(gram, limit)
                room = limit - source.held
                for part, size in _batches(problems, gram, room):
                    run = _Run(gram, source, part, problems, rows, size, room)
                    shares = {i: GapProgress(bar.advance, tol) for i in part}
                    run.solve(solutions, tol, max_iter, shares, stop.is_set)

        return solutions, interruptible(work, 1, stop)


def _size_of(variables: int) -> int:
    """The size of a working set for n variables, where memory is not short."""
    return max(LEAST_WORKING_SET, min(WORKING_SET, 1 << (variables - 1).bit_length()))


def _batches(
    problems: Sequence[Quadratic], gram: CudaGram, room: int
) -> list[tuple[list[int], int]]:
    """Problems of like size together, as many as fit, with the size of their working sets."""
    order = sorted(range(len(problems)), key=lambda i: -problems[i].linear.size)
    item = gram.dtype.itemsize
    plan: list[tuple[list[int], int]] = []
    while order:
        variables = problems[order[0]].linear.size
        size = _size_of(variables)
        while size > LEAST_WORKING_SET and _bytes(size, variables, item) > room:
            size //= 2
        need = _bytes(size, variables, item)
        if need > room:
            raise MemoryError(
                f"a support vector machine with {variables} variables needs {show_bytes(need)} on "
                f"the device for its working set, and {show_bytes(max(0, room))} of the memory "
                "limit are left. Raise it with mercer.set_config(memory=…)."
            )
        many = int(min(SIDE_BY_SIDE, room // need))
        plan.append((order[:many], size))
        order = order[many:]
    return plan


def _bytes(size: int, variables: int, item: int) -> int:
    """K[W, W] and a copy; about forty numbers a variable while W is chosen."""
    return 2 * size * size * item + 320 * max(variables, size)


class _Run:
    """One batch of problems, from its start to its answers."""

    def __init__(
        self,
        gram: CudaGram,
        source: KernelRows,
        part: list[int],
        problems: Sequence[Quadratic],
        rows: Sequence[np.ndarray],
        size: int,
        room: int,
    ) -> None:
        self.source, self.problems, self.size, self.room = source, problems, size, room
        self.computed, self.item = gram.shape[0], gram.dtype.itemsize
        batch = [problems[i] for i in part], [rows[i] for i in part]
        self.batch = make_batch(part, *batch, size, source, gram.device)

    def solve(
        self,
        solutions: list[Any],
        tol: float,
        max_iter: int,
        shares: dict[int, GapProgress],
        stopped: Callable[[], bool],
    ) -> None:
        turn = 0
        while True:
            now = measure(self.batch)
            done = self._finished(now, tol, max_iter)
            if stopped():
                done[:] = True
            gaps, ended = now.gap.tolist(), done.tolist()
            for p, i in enumerate(self.batch.index.tolist()):
                shares[i](gaps[p])
                if ended[p]:
                    shares[i].finish()
                    met = gaps[p] <= tol
                    answer = solution_of(self.batch, now, p, self.problems[i], met, self.computed)
                    solutions[i] = answer
            if all(ended):
                return
            if any(ended):
                self.batch, now = self.batch.take(~done), now.take(~done)
            self._improve(now, tol, max_iter, turn)
            turn += 1

    def _finished(self, now: Measure, tol: float, max_iter: int) -> torch.Tensor:
        batch = self.batch
        gained = now.objective < batch.best - GAIN * now.objective.abs()
        batch.idle = torch.where(gained, 0, batch.idle + 1)
        batch.best = torch.minimum(batch.best, now.objective)
        done = (now.gap <= tol) | (batch.idle > PATIENT_TURNS) | (batch.steps == 0)
        return done | (batch.n_iter >= max_iter) if max_iter >= 0 else done

    def _improve(self, now: Measure, tol: float, max_iter: int, turn: int) -> None:
        """One turn: another working set, SMO on it, F for all rows."""
        batch, most = self.batch, self.size
        variables = batch.a.shape[1]
        room = self.room / len(batch)
        while most < CROWDED_SET and _bytes(2 * most, variables, self.item) <= room:
            most *= 2
        chosen = choose(batch, now, self.size, most, tol, turn)
        size = chosen.shape[1]
        block = gather(batch, chosen, self.source)
        whole = variables <= size
        inner = torch.clamp(now.gap * (0.0 if whole else INNER), min=0.5 * tol)
        limit = torch.full_like(batch.steps, STEPS * size)
        if max_iter >= 0:
            limit = torch.minimum(limit, max_iter - batch.n_iter).to(limit.dtype)
        before = block.a.clone()
        batch.steps = smo(block, inner, limit, batch.groups)
        batch.n_iter += batch.steps
        for p in torch.nonzero(batch.steps >= STEPS * size)[:, 0].tolist():
            newton(block, p, before[p], batch.groups)
        scatter(batch, chosen, block.a, self.source)
