"""Two Triton kernels of support vector machines: SMO on a working set, and F after it.

`smo`: one program per problem, all its steps in one launch. F and what may move stay in registers;
a step reads two rows of K[W, W] and makes four reductions. The arithmetic is that of
`mercer.solvers.quadratic.smo_loop`: the coordinate i that most wants to grow, the partner j that
gains most by the second order, and a step of both to the minimum or the first bound.

`add_image`: F += K[:, W] Δa for each problem over its own rows, summed in float64, straight from
one table of K that all problems share.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from mercer.engines.cuda.solvers.working_block import TAU, Block

#: Warps that share the variables of a working set: few, because every reduction joins them.
WARPS = 8
#: Rows and columns of K that `add_image` takes at a time.
IMAGE_TILE = 16, 256


@triton.jit
def _extremes(F, up, low):  # type: ignore[no-untyped-def]
    """The largest −F that may grow, its index, and the gap to the largest F that may shrink."""
    top, i = tl.max(tl.where(up, -F, float("-inf")), 0, return_indices=True)
    bottom = tl.max(tl.where(low, F, float("-inf")), 0)
    return top, i, top + bottom


@triton.jit
def _worst(F, up, low, second, GROUPS: tl.constexpr):  # type: ignore[no-untyped-def]
    """The extremes of the group that violates most; a pair must lie in one group."""
    if GROUPS == 1:
        top, i, gap = _extremes(F, up, low)
        return top, i, gap, i * 0
    else:
        top, i, gap = _extremes(F, up & (second == 0), low & (second == 0))
        other_top, other_i, other_gap = _extremes(F, up & (second != 0), low & (second != 0))
        other = other_gap > gap
        top, i = tl.where(other, other_top, top), tl.where(other, other_i, i)
        return top, i, tl.where(other, other_gap, gap), other.to(tl.int32)


@triton.jit
def _smo(  # type: ignore[no-untyped-def]
    K, diagonal, f, a, lower, upper, group, tol, limit, steps_done,
    TINY: tl.constexpr, W: tl.constexpr, GROUPS: tl.constexpr,
):  # fmt: skip
    p = tl.program_id(0).to(tl.int64)
    v = tl.arange(0, W)
    K += p * W * W
    diagonal += p * W
    a += p * W
    lower += p * W
    upper += p * W
    F = tl.load(f + p * W + v)
    own = tl.load(a + v)
    up = own < tl.load(upper + v)
    low = own > tl.load(lower + v)
    curves = tl.load(diagonal + v)
    second = tl.load(group + p * W + v)
    stop = tl.load(tol + p)
    most = tl.load(limit + p)
    steps = most * 0
    moves = most * 0 + 1
    top, i, gap, g = _worst(F, up, low, second, GROUPS)
    while (gap > stop) & (steps < most) & (moves > 0):
        k_i = tl.load(K + i * W + v)
        d_i = tl.load(diagonal + i)
        a_i = tl.load(a + i)
        low_i, end_i = tl.load(lower + i), tl.load(upper + i)
        # The gain only picks the partner: the precision of K is enough for it.
        slope = F + top
        partner = low & (slope > 0)
        if GROUPS == 2:
            partner = partner & (second == g)
        s = slope.to(k_i.dtype)
        curve = tl.maximum(d_i + curves - 2 * k_i, TINY)
        _, j = tl.max(tl.where(partner, s * s / curve, -1.0), 0, return_indices=True)
        k_j = tl.load(K + j * W + v)
        k_ij = tl.load(K + i * W + j)
        d_j = tl.load(diagonal + j)
        a_j = tl.load(a + j)
        end_j, high_j = tl.load(lower + j), tl.load(upper + j)
        rise = tl.sum(tl.where(v == j, slope, 0.0), 0)
        width = tl.maximum(d_i + d_j - 2 * k_ij, TINY)
        room_i, room_j = end_i - a_i, a_j - end_j
        step = tl.minimum(rise / width.to(tl.float64), tl.minimum(room_i, room_j))
        # A bound that is reached is set, not approached: no hair's width is left by rounding.
        new_i = tl.where(step >= room_i, end_i, a_i + step)
        new_j = tl.where(step >= room_j, end_j, a_j - step)
        tl.store(a + i, new_i)
        tl.store(a + j, new_j)
        # Below the rounding of a nothing can move any more.
        moves = ((new_i != a_i) | (new_j != a_j)).to(tl.int32)
        others = (v != i) & (v != j)
        above = tl.where(v == i, end_i - new_i, tl.where(v == j, high_j - new_j, 0.0))
        below = tl.where(v == i, new_i - low_i, tl.where(v == j, new_j - end_j, 0.0))
        up = (up & others) | (above > 0)
        low = (low & others) | (below > 0)
        F += step * (k_i - k_j).to(tl.float64)
        steps += moves
        # a is in memory: the next step's loads must see it.
        tl.debug_barrier()
        top, i, gap, g = _worst(F, up, low, second, GROUPS)
    tl.store(steps_done + p, steps)


def smo(block: Block, tol: torch.Tensor, limit: torch.Tensor, groups: int) -> torch.Tensor:
    """Move `block.a` to a gap of `tol`, or for `limit` steps, each problem its own; gives steps."""
    problems, size = block.a.shape
    steps = torch.empty_like(limit)
    _smo[(problems,)](
        block.K, block.diagonal, block.f, block.a, block.lower, block.upper, block.group, tol,
        limit, steps, TAU, size, groups, num_warps=_warps(size),
    )  # fmt: skip
    return steps


def _warps(size: int) -> int:
    return max(1, min(WARPS, size // 64))


@triton.jit
def _add_image(  # type: ignore[no-untyped-def]
    K, image, rows, changed, change, count, m, width, size,
    BC: tl.constexpr, BW: tl.constexpr,
):  # fmt: skip
    p = tl.program_id(0).to(tl.int64)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    inside = c < width
    columns = tl.load(rows + p * width + c, mask=inside, other=0)
    total = tl.zeros([BC], tl.float64)
    s = tl.arange(0, BW)
    for first in range(0, tl.load(count + p), BW):
        # What did not change comes last, with a change of zero: whole tiles need no mask.
        r = tl.load(changed + p * size + first + s)
        d = tl.load(change + p * size + first + s)
        k = tl.load(K + r[:, None] * m + columns[None, :])
        total += tl.sum(d[:, None] * k.to(tl.float64), 0)
    where = image + p * width + c
    tl.store(where, tl.load(where, mask=inside) + total, mask=inside)


def add_image(
    K: torch.Tensor,
    image: torch.Tensor,
    rows: torch.Tensor,
    changed: torch.Tensor,
    change: torch.Tensor,
    count: torch.Tensor,
) -> None:
    """image[p] += Σ_w change[p, w] K[changed[p, w], rows[p]] over the first `count[p]` of them."""
    problems, width = image.shape
    size = changed.shape[1]
    _add_image[(problems, -(-width // IMAGE_TILE[1]))](
        K, image, rows, changed, change, count, K.shape[1], width, size,
        IMAGE_TILE[1], min(IMAGE_TILE[0], size), num_warps=4,
    )  # fmt: skip
