"""Shapley values of products on a device: φⱼ = ∫₀¹ (aⱼ − bⱼ) Π_{i≠j} (t aᵢ + (1 − t) bᵢ) dt.

`mercer.reasons.exact` says why. A program has one row x and walks over pairs of a point and a
background row, some side by side; what the columns before and after each contribute to a product
are two scans over the columns.
"""

from __future__ import annotations

import numpy as np
import torch
import triton
import triton.language as tl

from mercer._config import get_config

#: Numbers of a tile of pairs and columns, and programs that fill a device.
TILE, PROGRAMS = 1024, 2048


@triton.jit(do_not_specialize=["n", "m", "backgrounds", "d", "many", "length"])
def _games(  # type: ignore[no-untyped-def]
    A, B, coef, nodes, weights, out, n, m, backgrounds, d, many, length,
    D: tl.constexpr, L: tl.constexpr, OUTPUTS: tl.constexpr,
):  # fmt: skip
    """out[piece, x, c, j] = Σ coef[z, c] φⱼ over the piece's pairs of a point and a background."""
    x, piece = tl.program_id(0), tl.program_id(1)
    pairs = m * backgrounds
    last = tl.minimum((piece + 1) * length, pairs)
    j = tl.arange(0, D)
    for start in range(piece * length, last, L):
        p = (start + tl.arange(0, L))[:, None]
        z = p // backgrounds
        total = tl.zeros([L, D], tl.float64)
        inner = (p < last) & (j < d)[None, :]
        left = (p < last) & ((j > 0) & (j <= d))[None, :]
        right = (p < last) & (j < d - 1)[None, :]
        at, to = (j[None, :] * n + x).to(tl.int64) * m + z, j[None, :].to(tl.int64) * pairs + p
        # Beside the first and the last column stand ones.
        b = tl.load(B + to, mask=inner, other=0.0)
        gap = tl.load(A + at, mask=inner, other=0.0) - b
        b_left = tl.load(B + to - pairs, mask=left, other=1.0)
        g_left = tl.load(A + at - n * m, mask=left, other=1.0) - b_left
        b_right = tl.load(B + to + pairs, mask=right, other=1.0)
        g_right = tl.load(A + at + n * m, mask=right, other=1.0) - b_right
        for q in range(many):
            t = tl.load(nodes + q)
            before = tl.cumprod(b_left + t * g_left, 1)
            after = tl.cumprod(b_right + t * g_right, 1, reverse=True)
            total += tl.load(weights + q) * before * after
        for c in range(OUTPUTS):
            share = tl.load(coef + z * OUTPUTS + c, mask=p < last, other=0.0)
            where = out + ((piece * n + x) * OUTPUTS + c).to(tl.int64) * D + j
            tl.store(where, tl.load(where) + tl.sum(total * gap * share, 0))


def product_games(
    A: np.ndarray, B: np.ndarray, coef: np.ndarray, nodes: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """φ of (rows, factors, outputs), from factors of (factors, rows, points) and of background."""
    (d, n, m), backgrounds, outputs = A.shape, B.shape[1], coef.shape[1]
    wide = triton.next_power_of_2(d)
    tall, pairs = max(1, TILE // wide), m * backgrounds
    pieces = max(1, min(PROGRAMS // n, -(-pairs // tall)))

    def there(array: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(array), device=get_config().device)

    out = there(np.zeros((pieces, n, outputs, wide)))
    _games[n, pieces](
        there(A), there(B.swapaxes(1, 2)), there(coef / backgrounds), there(nodes), there(weights),
        out, n, m, backgrounds, d, len(nodes), -(-pairs // pieces), wide, tall, outputs,
    )  # fmt: skip
    return np.asarray(out.sum(0).cpu().numpy()[:, :, :d].swapaxes(1, 2))
