"""The state of several quadratic problems on a device, and which of their variables to work on.

Variables are (side, row), flattened; all arrays are (problems, variables), padded with variables
whose two bounds are equal, which therefore never move. Numbers are float64, whatever K is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch

from mercer.engines.cuda.solvers.kernel_rows import KernelRows
from mercer.engines.cuda.solvers.working_block import Block
from mercer.solvers.quadratic.problem import Quadratic, Solution

#: At rest is what is pushed against its bound by this share of the gap.
REST = 0.1


@dataclass
class Batch:
    """`rows`: positions in the Gram (problems, rows); `entered`: when a variable came into W.

    `steps` are those of the last turn, `best` the lowest objective, `idle` the turns since it fell.
    """

    index: torch.Tensor
    rows: torch.Tensor
    linear: torch.Tensor
    lower: torch.Tensor
    upper: torch.Tensor
    group: torch.Tensor
    a: torch.Tensor
    image: torch.Tensor
    entered: torch.Tensor
    n_iter: torch.Tensor
    steps: torch.Tensor
    best: torch.Tensor
    idle: torch.Tensor
    groups: int

    def __len__(self) -> int:
        return len(self.index)

    def take(self, keep: torch.Tensor) -> Batch:
        """The batch of some of its problems."""
        parts = {f.name: getattr(self, f.name)[keep] for f in fields(self) if f.name != "groups"}
        return Batch(**parts, groups=self.groups)


def make_batch(
    index: Sequence[int],
    problems: Sequence[Quadratic],
    rows: Sequence[np.ndarray],
    size: int,
    source: KernelRows,
    device: torch.device,
) -> Batch:
    """The problems at their starts, wide enough for working sets of `size` variables."""
    sides = len(problems[0].linear)
    n = max(-(-size // sides), *(problem.n for problem in problems), 1)
    shape = (len(problems), sides, n)
    linear, lower, upper, a = (np.zeros(shape) for _ in range(4))
    group = np.zeros(shape, dtype=np.int32)
    index_of = np.zeros((len(problems), n), dtype=np.int64)
    for p, (problem, own) in enumerate(zip(problems, rows, strict=True)):
        here = np.s_[p, :, : problem.n]
        linear[here], lower[here], upper[here] = problem.linear, problem.lower, problem.upper
        index_of[p, : problem.n] = own
        if problem.start is not None:
            a[here] = problem.start
        if problem.groups is not None:
            group[here] = problem.groups

    def flat(array: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(array.reshape(len(problems), -1), device=device)

    none = torch.zeros(len(problems), dtype=torch.int32, device=device)
    image = torch.zeros(len(problems), n, dtype=torch.float64, device=device)
    batch = Batch(
        index=torch.as_tensor(np.asarray(index, dtype=np.int64), device=device),
        rows=flat(index_of),
        linear=flat(linear),
        lower=flat(lower),
        upper=flat(upper),
        group=flat(group),
        a=flat(a),
        image=image,
        entered=flat(np.where(a != 0, 0, -1)),
        n_iter=none.long(),
        steps=none - 1,
        best=torch.full_like(image[:, 0], torch.inf),
        idle=none,
        groups=max(len(problem.members()) for problem in problems),
    )
    if a.any():
        net = torch.as_tensor(a.sum(axis=1), device=device)
        source.add_combination(batch, batch.rows, net)
    return batch


@dataclass
class Measure:
    """Optimality of every problem: its gap, thresholds, objective; what may grow and shrink.

    `excess` is −F over the threshold: what may grow above it, or shrink below it, is a violator.
    """

    gap: torch.Tensor
    centers: torch.Tensor
    objective: torch.Tensor
    excess: torch.Tensor
    up: torch.Tensor
    low: torch.Tensor

    def take(self, keep: torch.Tensor) -> Measure:
        return Measure(*(getattr(self, f.name)[keep] for f in fields(self)))


def measure(batch: Batch) -> Measure:
    """LIBSVM's gap over all variables, and the threshold of every group."""
    sides = batch.linear.shape[1] // batch.rows.shape[1]
    values = -(batch.image.repeat(1, sides) + batch.linear)
    up, low = batch.a < batch.upper, batch.a > batch.lower
    excess = values.clone()
    gaps, centers = [], []
    for g in range(batch.groups):
        members = batch.group == g
        top = torch.where(up & members, values, -torch.inf).amax(dim=1)
        bottom = torch.where(low & members, values, torch.inf).amin(dim=1)
        free = up & low & members
        many = free.sum(dim=1)
        mean = torch.where(free, values, 0.0).sum(dim=1) / many
        center = torch.where(many > 0, mean, _middle(top, bottom))
        excess -= torch.where(members, center[:, None], 0.0)
        gaps.append(top - bottom)
        centers.append(center)
    net = batch.a.reshape(len(batch), sides, -1).sum(dim=1)
    objective = 0.5 * (net * batch.image).sum(dim=1) + (batch.a * batch.linear).sum(dim=1)
    gap = torch.stack(gaps).amax(dim=0)
    return Measure(gap, torch.stack(centers, dim=1), objective, excess, up, low)


def _middle(top: torch.Tensor, bottom: torch.Tensor) -> torch.Tensor:
    """The middle of the interval that variables at their bounds leave, or its only end."""
    both = torch.where(top.isfinite(), top, bottom), torch.where(bottom.isfinite(), bottom, top)
    middle = (both[0] + both[1]) / 2
    return torch.where(middle.isfinite(), middle, 0.0)


def choose(batch: Batch, now: Measure, size: int, most: int, tol: float, turn: int) -> torch.Tensor:
    """The variables to work on: `size` of them, or more if more are on the move, up to `most`.

    In the first turn they are drawn at random, then they are:

    - the worst violators of every group, from above and from below, whether new or not: the pair
      that violates most is among them, and so every turn makes progress;
    - what was inside: first what is free or nearly moving, the latest first, then the rest.
    """
    if batch.a.shape[1] <= size:
        batch.entered.zero_()
        return torch.arange(size, device=batch.a.device).expand(len(batch), size)
    above = torch.where(now.up, now.excess, -torch.inf)
    below = torch.where(now.low, -now.excess, -torch.inf)
    first = turn == 0 and not bool((batch.a != 0).any())
    if first:
        # At zero all examples of a class look alike: a sample shows most. The seed is fixed, so
        # that the same data gives the same model.
        device = batch.a.device
        draw = torch.Generator(device).manual_seed(0)
        noise = torch.rand(above.shape, generator=draw, device=device, dtype=above.dtype)
        above = torch.where(above > 0, tol + noise, -torch.inf)
        below = torch.where(below > 0, tol + noise, -torch.inf)
    near = (-REST * now.gap)[:, None]
    busy = (now.up & now.low) | (above > near) | (below > near)
    inside = batch.entered >= 0
    fresh = batch.entered / (turn + 1)
    key = torch.where(inside, fresh + busy, -1.0)
    quota = max(1, size // (2 if first else 4) // batch.groups)
    for g in range(batch.groups):
        members = batch.group == g
        for score in (above, below):
            values, at = torch.where(members, score, -torch.inf).topk(quota, dim=1)
            wanted = values > 0.5 * tol
            wanted[:, 0] |= values[:, 0].isfinite()
            key.scatter_(1, at, torch.where(wanted, 3.0, key.gather(1, at)))
    moving = int((key >= 1).sum(dim=1).max())
    while size < min(moving, most) and 2 * size <= key.shape[1]:
        size *= 2
    best, chosen = key.topk(size, dim=1)
    since = torch.where(inside.gather(1, chosen), batch.entered.gather(1, chosen), turn)
    since = torch.where(best >= 0, since, -1)
    batch.entered = torch.full_like(batch.entered, -1).scatter_(1, chosen, since)
    return chosen


def gather(batch: Batch, chosen: torch.Tensor, source: KernelRows) -> Block:
    """The arguments of SMO. Variables that fill up W without having been chosen are held still."""
    n = batch.rows.shape[1]
    rows = batch.rows.gather(1, chosen % n)
    K = source.block(rows, twins=batch.linear.shape[1] > n)
    f = batch.image.gather(1, chosen % n) + batch.linear.gather(1, chosen)
    a = batch.a.gather(1, chosen)
    used = batch.entered.gather(1, chosen) >= 0
    lower = torch.where(used, batch.lower.gather(1, chosen), a)
    upper = torch.where(used, batch.upper.gather(1, chosen), a)
    diagonal = K.diagonal(dim1=1, dim2=2).contiguous()
    return Block(K, diagonal, f, a, lower, upper, batch.group.gather(1, chosen))


def scatter(batch: Batch, chosen: torch.Tensor, a: torch.Tensor, source: KernelRows) -> None:
    """The new values of the chosen variables, and F for all rows."""
    change = a - batch.a.gather(1, chosen)
    batch.a.scatter_(1, chosen, a)
    rows = batch.rows.gather(1, chosen % batch.rows.shape[1])
    source.add_combination(batch, rows, change)


def solution_of(
    batch: Batch, now: Measure, p: int, problem: Quadratic, converged: bool, computed: int
) -> Solution:
    """One problem's answer, on the host."""
    sides, n = problem.linear.shape
    a = batch.a[p].reshape(sides, -1)[:, :n].cpu().numpy()
    return Solution(
        a,
        batch.image[p, :n].cpu().numpy(),
        float(now.objective[p]),
        now.centers[p, : len(problem.members())].cpu().numpy(),
        float(now.gap[p]),
        int(batch.n_iter[p]),
        converged,
        computed,
    )
