"""The textbook's loop over one block of examples, as one program on a GPU.

The scores of the block are in registers. Each turn finds the first example, from where the last
turn stopped, that calls for an update, and adds its column of K to the scores of the block: a turn
per update, not per example. The order of updates is exactly that of the plain loop. A second
program adds the same updates, in the same order, to the scores of all examples of the table, so
that the next block can begin at once: the host only launches, and reads a log at the end. Ties are
those of `mercer.solvers.online.rule` where k comes from dot products; for other kernels,
whose sizes would need a second pass over K, scores must be equal to the last bit to be a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from mercer._arrays import host
from mercer.engines.cuda.rows import current

#: Scores in registers: rows of a block times outputs.
SCORES = 8192
#: Rows of a block at most.
STRIP_ROWS = 512
#: Scores that a program of the second kind holds.
APPLIED = 1024


@triton.jit
def _walk(  # type: ignore[no-untyped-def]
    scores,
    K,
    order,
    labels,
    norms,
    weights,
    bias,
    reach,
    bias_reach,
    numbers,
    found_at,
    units,
    counts,
    sums,
    first,
    n,
    stride,
    outputs,
    RANKED: tl.constexpr,
    POSITIVE: tl.constexpr,
    FIRST: tl.constexpr,
    BIAS: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    i = tl.arange(0, HEIGHT)
    c = tl.arange(0, WIDTH)
    inside = (i[:, None] < n) & (c[None, :] < outputs)
    rows = tl.load(order + first + i, mask=i < n, other=0)
    S = tl.load(scores + rows[:, None] * outputs + c[None, :], mask=inside, other=0.0)
    y = tl.load(labels + rows, mask=i < n, other=0).to(tl.int32)
    right = (c[None, :] + POSITIVE) == y[:, None]
    b = tl.load(bias + c, mask=c < outputs, other=0.0)
    norm = tl.load(norms + rows, mask=i < n, other=0.0)
    weight = tl.load(weights + rows, mask=i < n, other=0.0)
    far = tl.load(reach + c, mask=c < outputs, other=0.0)
    far_b = tl.load(bias_reach + c, mask=c < outputs, other=0.0)
    margin = tl.load(numbers)
    rate = tl.load(numbers + 1)
    tolerance = tl.load(numbers + 2)
    before = tl.load(sums + 1)
    allowed = tl.load(numbers + 3) - before
    at = tl.full((), 0, tl.int32)
    earlier = tl.load(counts)
    made = earlier
    total = tl.full((), 0.0, tl.float64)
    loss = tl.full((), 0.0, tl.float64)
    while (at < n) & (total < allowed):
        F = S + b[None, :]
        if RANKED:
            own = tl.sum(tl.where(right, F, 0.0), axis=1)
            rivals = tl.where(inside & (right == 0), F, float("-inf"))
            best = tl.max(rivals, axis=1)
            # The largest size of any two outputs stands for those of these two: no more reductions.
            noise = 2.0 * tolerance * (norm * tl.max(far, axis=0) + tl.max(far_b, axis=0))
            equal = rivals >= (best - noise)[:, None]
            rival = tl.min(tl.where(equal, c[None, :], WIDTH), axis=1)
            gap = own - best
            within = noise + tolerance * margin
            tie = tl.abs(gap - margin) <= within
            if FIRST:
                tie = tie & (rival < y)
            wrong = tie | (gap < margin - within)
            hinge = tl.maximum(1.0 - gap, 0.0)
        else:
            gaps = tl.where(right, F, -F)
            within = tolerance * (norm[:, None] * far[None, :] + far_b[None, :] + margin)
            ties = tl.abs(gaps - margin) <= within
            if FIRST:
                ties = ties & right
            each = (ties | (gaps < margin - within)) & inside
            wrong = tl.max(each.to(tl.int32), axis=1) > 0
            hinge = tl.sum(tl.where(inside, tl.maximum(1.0 - gaps, 0.0), 0.0), axis=1)
        to_come = (i >= at) & (i < n)
        found = tl.min(tl.where(to_come & wrong, i, n))
        loss += tl.sum(tl.where(to_come & (i <= found), hinge, 0.0))
        if found < n:
            here = i == found
            if RANKED:
                mine = tl.sum(tl.where(here, y, 0))
                other = tl.sum(tl.where(here, rival, 0))
                u = tl.where(c == mine, 1.0, 0.0) - tl.where(c == other, 1.0, 0.0)
                step = tl.full((), 1.0, tl.float64)
            else:
                target = tl.where(right, 1.0, -1.0)
                u = tl.sum(tl.where(here[:, None] & each, target, 0.0), axis=0)
                # Beyond the updates that are allowed, the later ones are not made.
                u = tl.where(tl.cumsum(tl.abs(u), axis=0) <= allowed - total, u, 0.0)
                step = tl.sum(tl.abs(u)).to(tl.float64)
            u = u.to(tl.float64) * tl.sum(tl.where(here, weight, 0.0))
            row = tl.sum(tl.where(here, rows, 0))
            column = tl.load(K + row * stride + rows, mask=i < n, other=0.0).to(tl.float64)
            S += column[:, None] * (rate * u)[None, :]
            moved = tl.abs(rate * u)
            far += moved * tl.sum(tl.where(here, norm, 0.0))
            if BIAS:
                b += rate * u
                far_b += moved
            tl.store(found_at + made, first + found)
            tl.store(units + made * outputs + c, u, mask=c < outputs)
            made += 1
            total += step
        at = found + 1
    tl.store(counts, made)
    tl.store(counts + 1, tl.load(counts + 1) + tl.minimum(at, n))
    tl.store(counts + 2, earlier)
    tl.store(sums, tl.load(sums) + loss)
    tl.store(sums + 1, before + total)
    tl.store(bias + c, b, mask=c < outputs)
    tl.store(reach + c, far, mask=c < outputs)
    tl.store(bias_reach + c, far_b, mask=c < outputs)


@triton.jit
def _apply(  # type: ignore[no-untyped-def]
    scores, K, order, numbers, found_at, units, counts, n, stride, outputs,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """The updates of the last block for the scores of all rows of the table."""
    i = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)
    c = tl.arange(0, WIDTH)
    first, last = tl.load(counts + 2), tl.load(counts)
    if first == last:
        return
    inside = (i[:, None] < n) & (c[None, :] < outputs)
    here = scores + i[:, None].to(tl.int64) * outputs + c[None, :]
    S = tl.load(here, mask=inside, other=0.0)
    rate = tl.load(numbers + 1)
    for e in range(first, last):
        row = tl.load(order + tl.load(found_at + e))
        u = tl.load(units + e * outputs + c, mask=c < outputs, other=0.0)
        column = tl.load(K + row * stride + i, mask=i < n, other=0.0).to(tl.float64)
        S += column[:, None] * (rate * u)[None, :]
    tl.store(here, S, mask=inside)


def block_rows(outputs: int) -> int:
    """Examples whose scores fit one program."""
    width = 1 << (max(outputs, 1) - 1).bit_length()
    return max(16, min(STRIP_ROWS, SCORES // width))


def _options(rule: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The constants that both programs are compiled for."""
    ranked, positive, first, _ = rule.numbers
    rows, width = block_rows(rule.outputs), 1 << (max(rule.outputs, 1) - 1).bit_length()
    kinds = {"RANKED": ranked, "POSITIVE": positive, "FIRST": first, "BIAS": rule.bias}
    walk = kinds | {"HEIGHT": rows, "WIDTH": width}
    walk["num_warps"] = 16 if rows * width >= 4096 else 4
    return walk, {"HEIGHT": max(16, APPLIED // width), "WIDTH": width, "num_warps": 4}


@dataclass
class Table:
    """Rows that a walk knows K of: scores, labels, √k(x, x) and weights of each.

    `sums` are b, Σ |u| ‖φ‖ and Σ |steps of b|, which the walk brings up to date with the scores.
    """

    K: torch.Tensor
    scores: torch.Tensor
    labels: torch.Tensor
    norms: torch.Tensor
    weights: torch.Tensor
    sums: tuple[torch.Tensor, torch.Tensor, torch.Tensor]


@dataclass
class Log:
    """The updates of a walk: where in its order, what each added; visits, their loss, updates."""

    found: np.ndarray
    units: np.ndarray
    visits: int
    loss: float
    updates: int


class TableWalk:
    """A walk over rows of a table in some order; nothing waits for it before `log`."""

    def __init__(
        self, table: Table, order: torch.Tensor, rule: Any, tolerance: float, allowed: float
    ) -> None:
        self.table, self.order, self.rule = table, order, rule
        self.rows: int = block_rows(rule.outputs)
        device = order.device
        f64: dict[str, Any] = {"dtype": torch.float64, "device": device}
        i32: dict[str, Any] = {"dtype": torch.int32, "device": device}
        self._found = torch.empty(len(order), **i32)
        self._units = torch.empty(len(order), rule.outputs, **f64)
        self._counts = torch.zeros(3, **i32)
        self._sums = torch.zeros(2, **f64)
        self._numbers = torch.tensor([rule.margin, rule.rate, tolerance, min(allowed, 1e18)], **f64)

    def run(self) -> None:
        """Launch the whole walk."""
        table, outputs = self.table, self.rule.outputs
        n, stride = len(table.scores), table.K.shape[1]
        walk, apply = _options(self.rule)
        updates = (self._numbers, self._found, self._units, self._counts)
        with current(self.order.device):
            for start in range(0, len(self.order), self.rows):
                count = min(self.rows, len(self.order) - start)
                _walk[(1,)](
                    table.scores, table.K, self.order, table.labels, table.norms, table.weights,
                    *table.sums, *updates, self._sums, start, count, stride, outputs,
                    **walk,
                )  # fmt: skip
                _apply[(-(-n // apply["HEIGHT"]),)](
                    table.scores, table.K, self.order, *updates, n, stride, outputs, **apply
                )

    def log(self) -> Log:
        """The updates and visits so far."""
        made, visits, _ = self._counts.tolist()
        loss, updates = self._sums.tolist()
        return Log(host(self._found[:made]), host(self._units[:made]), visits, loss, int(updates))
