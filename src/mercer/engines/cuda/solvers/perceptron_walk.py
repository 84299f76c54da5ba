"""The textbook's loop over one block of examples, as one program on a GPU.

The scores of the whole block are in registers. Each turn finds the first example, from where the
last turn stopped, that calls for an update, and adds its column of K to the scores of all: a turn
an update, not a turn per example. The order of updates is exactly that of the plain loop. Ties are
those of `mercer.solvers.online.sizes` where k comes from dot products; for other kernels, whose
sizes would need a second pass over K, scores must be equal to the last bit to be a tie.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from mercer.engines.cuda.triton_launch import current

#: Scores in registers: rows of a block times outputs.
SCORES = 8192
#: Rows of a block at most.
ROWS = 512


@triton.jit
def _walk(  # type: ignore[no-untyped-def]
    scores,
    K,
    labels,
    norms,
    bias,
    reach,
    bias_reach,
    numbers,
    found_at,
    units,
    counts,
    loss_at,
    n,
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
    S = tl.load(scores + i[:, None] * outputs + c[None, :], mask=inside, other=0.0)
    y = tl.load(labels + i, mask=i < n, other=0).to(tl.int32)
    right = (c[None, :] + POSITIVE) == y[:, None]
    b = tl.load(bias + c, mask=c < outputs, other=0.0)
    norm = tl.load(norms + i, mask=i < n, other=0.0)
    far = tl.load(reach + c, mask=c < outputs, other=0.0)
    far_b = tl.load(bias_reach + c, mask=c < outputs, other=0.0)
    margin = tl.load(numbers)
    rate = tl.load(numbers + 1)
    allowed = tl.load(numbers + 2)
    tolerance = tl.load(numbers + 3)
    at = tl.full((), 0, tl.int32)
    made = tl.full((), 0, tl.int32)
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
            u = u.to(tl.float64)
            column = tl.load(K + found * n + i, mask=i < n, other=0.0).to(tl.float64)
            S += column[:, None] * (rate * u)[None, :]
            moved = tl.abs(rate * u)
            far += moved * tl.sum(tl.where(here, norm, 0.0))
            if BIAS:
                b += rate * u
                far_b += moved
            tl.store(found_at + made, found)
            tl.store(units + made * outputs + c, u, mask=c < outputs)
            made += 1
            total += step
        at = found + 1
    tl.store(counts, made)
    tl.store(counts + 1, tl.minimum(at, n))
    tl.store(loss_at, loss)
    tl.store(loss_at + 1, total)
    tl.store(bias + c, b, mask=c < outputs)
    tl.store(reach + c, far, mask=c < outputs)
    tl.store(bias_reach + c, far_b, mask=c < outputs)


def block_rows(outputs: int) -> int:
    """Examples whose scores fit one program."""
    width = 1 << (max(outputs, 1) - 1).bit_length()
    return max(16, min(ROWS, SCORES // width))


class BlockWalk:
    """Buffers of one perceptron, and the launch."""

    def __init__(self, outputs: int, rule: Any, tolerance: float, device: torch.device) -> None:
        self.outputs, self.rule = outputs, rule
        self.rows = block_rows(outputs)
        f64: dict[str, Any] = {"dtype": torch.float64, "device": device}
        i32: dict[str, Any] = {"dtype": torch.int32, "device": device}
        self._found = torch.empty(self.rows, **i32)
        self._units = torch.empty(self.rows, outputs, **f64)
        self._counts = torch.empty(2, **i32)
        self._loss = torch.empty(2, **f64)
        self._numbers = torch.tensor([rule.margin, rule.rate, 0.0, tolerance], **f64)
        self.device = device

    def run(
        self,
        scores: torch.Tensor,
        K: torch.Tensor,
        labels: torch.Tensor,
        norms: torch.Tensor,
        sums: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
        allowed: float,
    ) -> tuple[torch.Tensor, torch.Tensor, int, float, int]:
        """Where the updates were, what each added, the visits, their loss, and the updates.

        `sums` are b, Σ |u| ‖φ‖ and Σ |steps of b|, which the program brings up to date.
        """
        self._numbers[2] = allowed
        ranked, positive, first, _ = self.rule.numbers
        width = 1 << (max(self.outputs, 1) - 1).bit_length()
        with current(self.device):
            _walk[(1,)](
                scores, K, labels, norms, *sums, self._numbers, self._found, self._units,
                self._counts, self._loss, len(scores), self.outputs,
                RANKED=ranked, POSITIVE=positive, FIRST=first, BIAS=self.rule.bias,
                HEIGHT=self.rows, WIDTH=width, num_warps=16 if self.rows * width >= 4096 else 4,
            )  # fmt: skip
        made, visits = self._counts.tolist()
        loss, updates = self._loss.tolist() if made else (float(self._loss[0]), 0)
        return self._found[:made].long(), self._units[:made], visits, loss, int(updates)
