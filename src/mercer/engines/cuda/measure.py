"""One pass over the rows of both operands: what decides how distances are computed.

A launch finds the center (from a few rows of Z), ‖x − c‖² of every row and the largest of them,
x·c, whether all numbers lie on a grid or are halves, and how many different numbers there are about
among the first ones. The host waits once, for a handful of numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from mercer.engines.cuda.half_precision import FARTHEST, ROUNDING
from mercer.engines.cuda.rows import PADDING, SOME, DeviceSide, current, whole_tiles
from mercer.engines.cuda.split import readable
from mercer.formula.nodes import Input

#: Numbers that a block of threads reads at a time.
_AT_ONCE = 1024


class Report(NamedTuple):
    """The largest ‖x − c‖² of X and of Z, ‖c‖², whether numbers are off the grid, or no halves
    where there is none, and a lower bound of the different numbers among the first ones."""

    of_x: float
    of_z: float
    center: float
    flawed: float
    different: float


@triton.jit(do_not_specialize=["n", "m", "columns", "step", "height"])
def _measure(  # type: ignore[no-untyped-def]
    x, z, center, norms, single, along, report, n, m, columns, step, height,
    CENTER: tl.constexpr, GRID: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr,
    SOME: tl.constexpr, ROUNDING: tl.constexpr, FARTHEST: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0) * BR + tl.arange(0, BR)
    own, which = at, 0
    rows, end = x, n
    if tl.program_id(0) * BR >= height:
        own, which = at - height, 1
        rows, end = z, m
    r = tl.minimum(own, end - 1).to(tl.int64)  # what pads the row values repeats the last one
    some = tl.minimum(m, SOME)
    sample = tl.arange(0, SOME)
    pick = (sample * (m // some)).to(tl.int64)
    total = tl.zeros([BR, BC], tl.float64)
    inner = tl.zeros([BR, BC], tl.float64)
    size = tl.zeros([BC], tl.float64)
    off = tl.zeros([BR, BC], tl.int1)
    cut = tl.zeros([BR, BC], tl.int1)
    for first in range(0, columns, BC):
        c = first + tl.arange(0, BC)
        live = c < columns
        v = tl.load(rows + r[:, None] * columns + c[None, :], mask=live[None, :], other=0)
        v = v.to(tl.float32)
        if GRID:
            k = tl.floor(v / step + 0.5)
            off = off | (tl.abs(k * step - v) > ROUNDING * tl.abs(v)) | (tl.abs(k) > FARTHEST)
        else:
            cut = cut | (v.to(tl.float16).to(tl.float32) != v)
        if CENTER:
            inside = (sample < some)[:, None] & live[None, :]
            few = tl.load(z + pick[:, None] * columns + c[None, :], mask=inside, other=0)
            mean = tl.sum(few.to(tl.float32), 0) / some
            if GRID:
                mean = tl.floor(mean / step + 0.5) * step
            tl.store(center + c, mean, mask=live & (0 * c + tl.program_id(0) == 0))
            size += mean.to(tl.float64) * mean
            inner += v.to(tl.float64) * mean[None, :]
            v = v - mean[None, :]
        total += v.to(tl.float64) * v
    norm = tl.sum(total, 1)
    tl.store(norms + at, norm)
    tl.store(single + at, norm.to(tl.float32))
    length = tl.sum(size, 0)
    if CENTER:
        tl.store(along + at, tl.sum(inner, 1) - 0.5 * length)
    # No number and an infinite one are the largest.
    tl.atomic_max(report + which, tl.max(tl.where(norm < float("inf"), norm, float("inf")), 0))
    flaw = tl.max(tl.max((off if GRID else cut).to(tl.int32), 1), 0)
    tl.atomic_max(report + 3, flaw.to(tl.float64))
    if tl.program_id(0) == 0:
        tl.store(report + 2, length)
        i = tl.arange(0, 1024)
        inside = i < n.to(tl.int64) * columns
        bits = tl.load(x + i, mask=inside, other=0).to(tl.float32).to(tl.int32, bitcast=True)
        counts = tl.histogram(((bits * -1640531535) >> 22) & 1023, 1024)
        tl.store(report + 4, tl.sum((counts > 0).to(tl.float64), 0))


def measure(
    x: DeviceSide, z: DeviceSide, wanted: dict[Input, tuple[bool, float]]
) -> dict[Input, Report]:
    """A report on each input; centers, norms and x·c are kept with the rows.

    `wanted`: whether a center is subtracted, and the step of a grid, on which it lies then.
    """
    reports = torch.zeros(len(wanted), len(Report._fields), dtype=torch.float64, device=x.device)
    for report, (key, (centered, step)) in zip(reports, wanted.items(), strict=True):
        _begin(x, z, key, centered, step, report)
    same = x.cache is z.cache
    found = [Report(*numbers) for numbers in reports.tolist()]
    found = [r._replace(of_z=r.of_x) for r in found] if same else found
    return dict(zip(wanted, found, strict=True))


def _begin(
    x: DeviceSide, z: DeviceSide, key: Input, centered: bool, step: float, report: torch.Tensor
) -> None:
    sides = [x] if x.cache is z.cache else [x, z]
    rows = readable([side.matrices[key] for side in sides])
    columns, heights = rows[0].shape[1], [whole_tiles(side.n) for side in sides]
    height, device = sum(heights), x.device
    double = torch.empty(1 + centered, height, dtype=torch.float64, device=device)
    single = torch.empty(height + columns, dtype=torch.float32, device=device)
    center = single[height:]
    wide = max(4, min(64, 1 << (columns - 1).bit_length()))
    tall = min(PADDING, _AT_ONCE // wide)
    with current(device):
        _measure[(height // tall,)](
            rows[0], rows[-1], center, double, single, double[-1], report, x.n, z.n, columns,
            float(step), heights[0], centered, step > 0, tall, wide, SOME, ROUNDING, FARTHEST,
        )  # fmt: skip
    x.centers[key] = center if centered else None
    for side, start in zip(sides, (0, heights[0]), strict=False):
        end = start + side.n
        side.cache["norms", key] = double[0, start:end]
        side.cache["whole norms", key] = single[start : start + whole_tiles(side.n)]
        side.cache["along", key] = double[1, start:end] if centered else None
