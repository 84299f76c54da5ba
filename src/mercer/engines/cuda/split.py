"""Rows as half-precision parts: centered, scaled, split, padded, in one pass over their bytes."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from mercer.engines.cuda.ops import widened
from mercer.engines.cuda.rows import PADDING, whole_tiles
from mercer.engines.cuda.triton_source import ProductLayout
from mercer.formula.nodes import Input

#: Numbers that a block of threads writes of each part.
SPLIT_NUMBERS = 4096
#: Types that the kernel reads as they are.
READ = (torch.float32, torch.float16, torch.uint8, torch.int8)


@triton.jit(do_not_specialize=[
    "n", "m", "columns", "height", "right", "last", "factor", "other_factor", "multiple"
])  # fmt: skip
def _split(  # type: ignore[no-untyped-def]
    rows, others, center, values, other_values, high, low, n, m, columns, height, right, last,
    factor, other_factor, multiple, CENTERED: tl.constexpr, VALUED: tl.constexpr,
    PACKED: tl.constexpr, TWO: tl.constexpr, FOLDED: tl.constexpr, WIDTH: tl.constexpr,
    BR: tl.constexpr, BW: tl.constexpr,
):  # fmt: skip
    """`PACKED`: high, high and low side by side, on the right high, low and high; `FOLDED`: then
    the columns that add this operand's row values, and ones for those of the other. The first
    `height` rows that are written are of `rows`, the left ones or the right ones; then others."""
    begin = tl.program_id(0) * BR
    own = begin
    if begin >= height:
        own, n, right, factor = begin - height, m, last, other_factor
        rows, values = others, other_values
    r = own + tl.arange(0, BR)
    w = tl.program_id(1) * BW + tl.arange(0, BW)
    live = r < n
    pieces = 3 if PACKED else 1
    inside = live[:, None] & (w < pieces * columns)[None, :]
    source = w % columns if PACKED else w
    at = r[:, None].to(tl.int64) * columns + source[None, :]
    x = tl.load(rows + at, mask=inside, other=0).to(tl.float32)
    if CENTERED:
        x = x - tl.load(center + source, mask=source < columns, other=0.0)[None, :]
    x = tl.where(inside, x * factor, 0.0)
    h = x.to(tl.float16)
    l = (x - h.to(tl.float32)).to(tl.float16)  # noqa: E741 - h and l, as elsewhere
    if PACKED:
        h = tl.where((w // columns == 2 - right)[None, :], l, h)
    if FOLDED:
        k = (w - pieces * columns)[None, :]
        value = tl.zeros([BR], tl.float32)
        if VALUED:
            value = tl.load(values + r, mask=live, other=0.0) * multiple
        vh = value.to(tl.float16)
        vl = (value - vh.to(tl.float32)).to(tl.float16)
        one = live.to(tl.float16)[:, None]
        if TWO:
            h = tl.where(k == right, vh[:, None], tl.where(k == 1 - right, one, h))
            l = tl.where(k == right, vl[:, None], l)  # noqa: E741
        else:
            first = 2 * right
            h = tl.where((k >= 2 - first) & (k < 4 - first), one, h)
            h = tl.where(k == first, vh[:, None], tl.where(k == first + 1, vl[:, None], h))
    out = (begin + tl.arange(0, BR))[:, None].to(tl.int64) * WIDTH + w[None, :]
    tl.store(high + out, h)
    if TWO:
        tl.store(low + out, l)


def readable(sides: list[torch.Tensor]) -> list[torch.Tensor]:
    """Numbers of one type that kernels read."""
    same = sides[0].dtype in READ and sides[0].dtype == sides[-1].dtype
    return sides if same else [widened(side) for side in sides]


def split(
    sides: list[tuple[Any, bool]], rows: Input, layout: ProductLayout, scale: float
) -> list[tuple[torch.Tensor, ...]]:
    """The rows of a side, or of two, about their center, times `scale`, in one part or two; each
    with whether it is the right operand."""
    (first, left), (second, right) = sides[0], sides[-1]
    center, fold = first.centers.get(rows), layout.fold
    numbers = readable([side.matrices[rows] for side, _ in sides])
    folded, multiple, factors = False, 0.0, (1.0, 1.0)
    values = numbers
    if fold is not None:
        folded, multiple, factors = not layout.apart, scale**2 * fold.multiple, fold.sides
    valued = folded and fold is not None and fold.rows != (None, None)
    if valued and fold is not None:
        values = [_row_values(side, fold.rows[right]) for side, right in sides]
    heights = [whole_tiles(side.n) + PADDING for side, _ in sides]
    shape = layout.parts, sum(heights), layout.width
    parts = torch.empty(shape, dtype=torch.float16, device=first.device)
    wide = min(128, layout.width & -layout.width)
    tall = min(256, SPLIT_NUMBERS // wide)
    _split[(sum(heights) // tall, layout.width // wide)](
        numbers[0], numbers[-1], numbers[0] if center is None else center, values[0], values[-1],
        parts[0], parts[-1], first.n, second.n, numbers[0].shape[1], heights[0],
        int(left), int(right), scale * factors[left], scale * factors[right], multiple,
        center is not None, valued, layout.split and layout.parts == 1, layout.parts == 2, folded,
        layout.width, tall, wide,
    )  # fmt: skip
    halves = [part.split(heights) for part in parts]
    return [tuple(half[i] for half in halves) for i in range(len(sides))]


def _row_values(side: Any, i: int | None) -> torch.Tensor:
    return side.padded(i) if i is not None else torch.zeros(whole_tiles(side.n), device=side.device)
