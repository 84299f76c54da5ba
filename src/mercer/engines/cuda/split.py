"""Rows as half-precision parts: centered, scaled, split, padded, in one pass over their bytes."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from mercer.engines.cuda.ops import widened
from mercer.engines.cuda.triton_source import ProductLayout
from mercer.formula.nodes import Input

#: Numbers that a block of threads writes of each part.
SPLIT_NUMBERS = 4096
#: Types that the kernel reads as they are.
READ = (torch.float32, torch.float16, torch.uint8, torch.int8)


@triton.jit(do_not_specialize=["n", "columns"])  # or each kind of number would be compiled anew
def _split(  # type: ignore[no-untyped-def]
    rows, center, values, high, low, n, columns, factor, multiple, CENTERED: tl.constexpr,
    VALUED: tl.constexpr, PACKED: tl.constexpr, TWO: tl.constexpr, RIGHT: tl.constexpr,
    FOLDED: tl.constexpr, WIDTH: tl.constexpr, BR: tl.constexpr, BW: tl.constexpr,
):  # fmt: skip
    """`PACKED`: high, high and low side by side, on the right high, low and high; `FOLDED`: then
    the columns that add this operand's row values, and ones for those of the other."""
    r = tl.program_id(0) * BR + tl.arange(0, BR)
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
        h = tl.where((w // columns == (1 if RIGHT else 2))[None, :], l, h)
    if FOLDED:
        k = (w - pieces * columns)[None, :]
        value = tl.zeros([BR], tl.float32)
        if VALUED:
            value = tl.load(values + r, mask=live, other=0.0) * multiple
        vh = value.to(tl.float16)
        vl = (value - vh.to(tl.float32)).to(tl.float16)
        one = live.to(tl.float16)[:, None]
        if TWO:
            own: tl.constexpr = 1 if RIGHT else 0
            h = tl.where(k == own, vh[:, None], tl.where(k == 1 - own, one, h))
            l = tl.where(k == own, vl[:, None], l)  # noqa: E741
        else:
            first: tl.constexpr = 2 if RIGHT else 0
            h = tl.where((k >= 2 - first) & (k < 4 - first), one, h)
            h = tl.where(k == first, vh[:, None], tl.where(k == first + 1, vl[:, None], h))
    out = r[:, None].to(tl.int64) * WIDTH + w[None, :]
    tl.store(high + out, h)
    if TWO:
        tl.store(low + out, l)


def split(
    side: Any, rows: Input, layout: ProductLayout, right: bool, scale: float, height: int
) -> tuple[torch.Tensor, ...]:
    """The rows of a side about their center, times `scale`, in one part or two."""
    numbers, center, fold = side.matrices[rows], side.centers.get(rows), layout.fold
    numbers = numbers if numbers.dtype in READ else widened(numbers)
    folded = fold is not None and not layout.apart
    index = fold.rows[right] if fold is not None and folded else None
    values = numbers if index is None else side.values[index]
    shape = layout.parts, height, layout.width
    parts = torch.empty(shape, dtype=torch.float16, device=numbers.device)
    wide = min(128, layout.width & -layout.width)
    tall = min(256, SPLIT_NUMBERS // wide)
    _split[(height // tall, layout.width // wide)](
        numbers, numbers if center is None else center, values, parts[0], parts[-1], side.n,
        numbers.shape[1], scale * (fold.sides[right] if fold else 1.0),
        scale**2 * (fold.multiple if fold else 0.0), center is not None, index is not None,
        layout.split and layout.parts == 1, layout.parts == 2, right, folded, layout.width, tall,
        wide,
    )  # fmt: skip
    return tuple(parts)
