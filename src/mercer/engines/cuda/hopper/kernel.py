"""The loop over tiles for Hopper's tensor cores, written in Gluon, Triton's lower level.

A thread block owns a panel of rows and walks over tiles of columns, as the kernels of
`triton_source` do. What they cannot say is said here: rows come by the copy engine (TMA) into a
ring of buffers, several steps ahead; the products of a step, three for rows in two parts, are begun
together and waited for once. On an H200 that takes 61 % of the tensor cores' rate to 79 % at 64
columns, 73 % to 90 % at 784, and compiles in a second instead of three. What k is, for a tile of
products t, is a generated function, `values`; what it needs besides is read before, by `of_rows`
and `of_columns`.

`ring` below is: the buffers of the panel's rows, high and low parts; those of the columns; and the
barriers that say when a buffer is full. A panel's rows stay where one step holds them (KEPT).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

#: The copy engine's word changed between Triton 3.6 and 3.9.
_copy = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared


@gluon.jit
def _fetch(  # type: ignore[no-untyped-def]
    x, z, ring, panel, first, step, wanted,
    KEPT: gl.constexpr, PARTS: gl.constexpr, STEPS: gl.constexpr,
):  # fmt: skip
    """Begin to copy what a step needs into the buffers whose turn it is, if the step is wanted."""
    BM: gl.constexpr = x[0].block_type.shape[0]
    BN: gl.constexpr = z[0].block_type.shape[0]
    BK: gl.constexpr = z[0].block_type.shape[1]
    STAGES: gl.constexpr = ring[2].shape[0]
    here = step % STAGES
    full = ring[4].index(here)
    row, column = first + (step // STEPS) * BN, (step % STEPS) * BK
    mbarrier.expect(full, PARTS * BK * 2 * (BN if KEPT else BN + BM), pred=wanted)
    for part in gl.static_range(PARTS):
        into = ring[2 + part].index(here)
        _copy(z[part], [row, column], full, into, pred=wanted)
        if not KEPT:
            into = ring[part].index(here)
            at = [panel * BM, column]
            _copy(x[part], at, full, into, pred=wanted)


@gluon.jit
def _multiply(  # type: ignore[no-untyped-def]
    ring, t, step, k, KEPT: gl.constexpr, PARTS: gl.constexpr
):
    """Begin the products of one step: high · high, and with two parts the two mixed ones."""
    STAGES: gl.constexpr = ring[2].shape[0]
    here = step % STAGES
    mbarrier.wait(ring[4].index(here), phase=(step // STAGES) & 1)
    left = k if KEPT else here
    high = ring[2].index(here).permute((1, 0))
    t = warpgroup_mma(ring[0].index(left), high, t, use_acc=k > 0, is_async=True)
    if PARTS == 2:
        low = ring[3].index(here).permute((1, 0))
        t = warpgroup_mma(ring[0].index(left), low, t, is_async=True)
        t = warpgroup_mma(ring[1].index(left), high, t, is_async=True)
    return t


@gluon.jit
def _tile(  # type: ignore[no-untyped-def]
    x, z, ring, panel, first, steps, step, layout: gl.constexpr,
    KEPT: gl.constexpr, PARTS: gl.constexpr, STEPS: gl.constexpr,
):  # fmt: skip
    """All products of one tile; the buffers that it no longer needs are filled again."""
    BM: gl.constexpr = x[0].block_type.shape[0]
    BN: gl.constexpr = z[0].block_type.shape[0]
    STAGES: gl.constexpr = ring[2].shape[0]
    t = gl.zeros([BM, BN], gl.float32, layout)
    if STEPS == 1:
        t = _multiply(ring, t, step, 0, KEPT, PARTS)
        t = warpgroup_mma_wait(num_outstanding=0, deps=(t,))
        ahead = step + STAGES
        _fetch(x, z, ring, panel, first, ahead, ahead < steps, KEPT, PARTS, STEPS)
    else:
        for k in range(STEPS):
            t = _multiply(ring, t, step + k, k, KEPT, PARTS)
            # All but the products just begun are done: the buffer of the step before is free.
            t = warpgroup_mma_wait(num_outstanding=2 * PARTS - 1, deps=(t,))
            ahead = step + k + STAGES - 1
            wanted = (ahead >= STAGES) & (ahead < steps)
            _fetch(x, z, ring, panel, first, ahead, wanted, KEPT, PARTS, STEPS)
        t = warpgroup_mma_wait(num_outstanding=0, deps=(t,))
    return t


@gluon.jit
def _opened(  # type: ignore[no-untyped-def]
    x, z, STAGES: gl.constexpr, KEPT: gl.constexpr, PARTS: gl.constexpr, STEPS: gl.constexpr
):
    """An empty ring of buffers, and their barriers."""
    BM: gl.constexpr = x[0].block_type.shape[0]
    BN: gl.constexpr = z[0].block_type.shape[0]
    BK: gl.constexpr = z[0].block_type.shape[1]
    LEFT: gl.constexpr = STEPS if KEPT else STAGES
    xh = gl.allocate_shared_memory(gl.float16, [LEFT, BM, BK], x[0].layout)
    zh = gl.allocate_shared_memory(gl.float16, [STAGES, BN, BK], z[0].layout)
    xl, zl = xh, zh
    if PARTS == 2:
        xl = gl.allocate_shared_memory(gl.float16, [LEFT, BM, BK], x[1].layout)
        zl = gl.allocate_shared_memory(gl.float16, [STAGES, BN, BK], z[1].layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
    return (xh, xl, zh, zl, full)


@gluon.jit
def _keep_panel(x, ring, panel, PARTS: gl.constexpr, STEPS: gl.constexpr):  # type: ignore[no-untyped-def]
    """Copy the panel's rows once, for all tiles."""
    BM: gl.constexpr = x[0].block_type.shape[0]
    BK: gl.constexpr = x[0].block_type.shape[1]
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    mbarrier.expect(full, STEPS * PARTS * BM * BK * 2)
    for part in gl.static_range(PARTS):
        for k in gl.static_range(STEPS):
            into = ring[part].index(k)
            _copy(x[part], [panel * BM, k * BK], full, into)
    mbarrier.wait(full, phase=0)


@gluon.jit
def _list_near(  # type: ignore[no-untyped-def]
    t, rows, columns, r, begin, n, m, pairs, found, room,
    is_near: gl.constexpr, far: gl.constexpr, SQUARE: gl.constexpr, layout: gl.constexpr,
):  # fmt: skip
    """List the nearest pair of every row of the tile, and move it away, until none is left or the
    list is full; all pairs at once would take the registers of several tiles."""
    BN: gl.constexpr = t.shape[1]
    place = gl.arange(0, BN, layout=gl.SliceLayout(0, layout))[None, :]
    closest = gl.min(gl.min(t, 1), 0)
    while is_near(closest, rows, columns):
        least = gl.min((t.to(gl.int32, bitcast=True) & -BN) | place, 1)
        near = is_near((least & -BN).to(gl.float32, bitcast=True), rows, columns)
        nearest = least & (BN - 1)
        t = gl.where(near[:, None] & (place == nearest[:, None]), far(t, rows, columns), t)
        other = begin + nearest
        wanted = near & (r < n) & (other < m) & ((other > r) | (not SQUARE))
        one = wanted.to(gl.int64)
        at = gl.atomic_add(found + 0 * one, one, mask=wanted, sem="relaxed")
        gl.store(pairs + at, r.to(gl.int64) * m + other, mask=wanted & (at < room))
        full = gl.load(found, volatile=True) > room
        closest = gl.where(full, far(t, rows, columns), gl.min(gl.min(t, 1), 0))
    return t


@gluon.jit
def _added(totals, k, weights, v, q, m, VECTORS: gl.constexpr):  # type: ignore[no-untyped-def]
    """The sums of a panel with those of a tile, for every vector."""
    sums = (totals[0] + gl.sum(k * weights, 1),)
    for i in gl.static_range(1, VECTORS):
        weights = gl.load(v + i * m + q, mask=q < m, other=0.0)[None, :]
        sums = sums + (totals[i] + gl.sum(k * weights, 1),)  # type: ignore[assignment]
    return sums


@gluon.jit
def _each(total, VECTORS: gl.constexpr):  # type: ignore[no-untyped-def]
    totals = (total,)
    for _ in gl.static_range(1, VECTORS):
        totals = totals + (total,)  # type: ignore[assignment]
    return totals


@gluon.jit
def _store_each(out, totals, r, n, VECTORS: gl.constexpr):  # type: ignore[no-untyped-def]
    for i in gl.static_range(VECTORS):
        gl.store(out + i * n + r, totals[i], mask=r < n)


@gluon.jit(do_not_specialize=["n"])  # or each kind of number would be compiled anew
def kernel(  # type: ignore[no-untyped-def]
    xh, xl, zh, zl, rx, rz, numbers, diagonal, v, out, n, m, height, breadth, length,
    pairs, found, room,
    of_rows: gl.constexpr, of_columns: gl.constexpr, distances: gl.constexpr,
    values: gl.constexpr, is_near: gl.constexpr, far: gl.constexpr,
    KIND: gl.constexpr, VECTORS: gl.constexpr, SQUARE: gl.constexpr, KEPT: gl.constexpr,
    PARTS: gl.constexpr, STEPS: gl.constexpr, STAGES: gl.constexpr, REPAIRED: gl.constexpr,
    num_warps: gl.constexpr,
):  # fmt: skip
    """`KIND`: "vector" for K V of a few `VECTORS`, "symmetric" for K v by one triangle, "dense" for
    K itself.
    `REPAIRED`: near pairs are written to the list `pairs`, which has `room`."""
    BM: gl.constexpr = xh.block_type.shape[0]
    BN: gl.constexpr = zh.block_type.shape[0]
    x, z = (xh, xl), (zh, zl)
    layout: gl.constexpr = gl.NVMMADistributedLayout(
        version=[3, 0], warps_per_cta=[num_warps, 1], instr_shape=[16, BN, 16]
    )
    panel, piece = gl.program_id(0), gl.program_id(1)
    first = piece * length
    last = gl.minimum(first + length, m)
    if KIND == "symmetric":
        first = gl.maximum(first, (panel * BM // BN) * BN)
    tiles = gl.maximum(gl.cdiv(last - first, BN), 0)
    r = panel * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, layout))
    ring = _opened(x, z, STAGES, KEPT, PARTS, STEPS)
    for step in gl.static_range(STAGES):
        _fetch(x, z, ring, panel, first, step, step < tiles * STEPS, KEPT, PARTS, STEPS)
    if KEPT:
        _keep_panel(x, ring, panel, PARTS, STEPS)
    total = gl.zeros([BM], gl.float32, gl.SliceLayout(1, layout))
    totals = _each(total, VECTORS)
    rows = of_rows(numbers, rx, r, height)
    if KIND == "symmetric":
        own = gl.load(v + r, mask=r < n, other=0.0)
    for tile in range(tiles):
        # What the tile needs besides its products is read before they are waited for.
        q = first + tile * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, layout))
        columns = of_columns(rz, q, breadth)
        if KIND != "dense":
            weights = gl.load(v + q, mask=q < m, other=0.0)[None, :]  # of the first vector
        t = _tile(x, z, ring, panel, first, tiles * STEPS, tile * STEPS, layout, KEPT, PARTS, STEPS)
        if REPAIRED:
            t = distances(t, rows, columns)
            t = _list_near(
                t, rows, columns, r, first + tile * BN, n, m, pairs, found, room, is_near, far,
                SQUARE, layout,
            )  # fmt: skip
        k = values(t, rows, columns)
        crossing = (first + tile * BN < (panel + 1) * BM) & (first + (tile + 1) * BN > panel * BM)
        if SQUARE:  # noqa: SIM102 - what is known when it is compiled, and what is not
            if crossing:
                k = gl.where(r[:, None] == q[None, :], gl.load(diagonal + r)[:, None], k)
        if KIND == "dense":
            where = r[:, None].to(gl.int64) * m + q[None, :]
            gl.store(out + where, k, mask=(r[:, None] < n) & (q[None, :] < m))
        elif KIND == "vector":
            totals = _added(totals, k, weights, v, q, m, VECTORS)
        else:
            # Each pair counts once: the lower half is left out.
            if crossing:
                total += gl.sum(gl.where(q[None, :] >= r[:, None], k, 0.0) * weights, 1)
                k = gl.where(q[None, :] > r[:, None], k, 0.0)
            else:
                total += gl.sum(k * weights, 1)
            # What the pairs above the diagonal mean for the rows below it.
            gl.atomic_add(out + q, gl.sum(k * own[:, None], 0), mask=q < m, sem="relaxed")
    if KIND == "symmetric":
        gl.atomic_add(out + r, total, mask=r < n, sem="relaxed")
    elif KIND == "vector":
        _store_each(out + piece.to(gl.int64) * VECTORS * n, totals, r, n, VECTORS)


@cache
def block_layout(rows: int, columns: int) -> Any:
    """How a block of half-precision rows lies in shared memory."""
    return gl.NVMMASharedLayout.get_default_for([rows, columns], gl.float16)
