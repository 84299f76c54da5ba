"""Pairs so near each other that their distance from a product has too few digits.

‖x‖² + ‖z‖² − 2x·z is off by a few rounding units of ‖x‖². A kernel with a kink at 0, such as
exp(−‖x − z‖), changes with the root of that where x is close to z, and only there; a narrow one
has few digits left where it is largest. So a generated kernel takes all distances from the product,
counts the pairs below a distance as if they were at twice as much, and lists them; here the
difference to k from x − z is added. The distance is that from which on the error of the product
changes k by less than what is wanted (`mercer.gram.accuracy.steady_from`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from mercer._tiles import cut
from mercer.engines.cuda.torch_blocks import values_of_pairs

#: Pairs that are listed at most: a share of all, between two numbers; where there are more, fewer
#: are wanted, or all distances are computed from differences. By the bytes that are read, and not
#: measured: a listed pair takes as long as some hundred others.
NEAR_PAIR_SHARE, FEWEST_NEAR, MOST_NEAR = 1 / 1024, 1 << 16, 1 << 24


class Near(NamedTuple):
    """Places of ‖x‖² and ‖z‖² among the row values, and the distance below which pairs are near."""

    norms: tuple[int, int]
    below: float


class Listed(NamedTuple):
    """Pairs (i, j) as i·m + j, how many were found, and how many the list holds."""

    pairs: torch.Tensor
    found: torch.Tensor
    room: int


def listed(gram: Any, shape: tuple[int, int]) -> Listed:
    """An empty list for the pairs of n × m rows."""
    size = shape[0] * shape[1]
    room = min(size, MOST_NEAR, max(FEWEST_NEAR, int(NEAR_PAIR_SHARE * size)))
    make = {"dtype": torch.int64, "device": gram.device}
    return Listed(torch.empty(room, **make), torch.zeros(1, **make), room)


def mended(
    gram: Any, kind: str, x: Any, z: Any, V: torch.Tensor | None, diagonal: torch.Tensor | None,
    out: torch.Tensor, near: Listed | None,
) -> torch.Tensor:  # fmt: skip
    """K, or its product with V, with the listed pairs in it."""
    found = 0 if near is None else int(near.found)
    if near is None or not found:
        return out
    if found > near.room:
        return _with_fewer(gram, kind, x, z, V, diagonal)
    pairs = near.pairs[:found].sort().values  # the same order on every run
    for part in cut(0, found, x.at_a_time):
        i, j = pairs[part] // z.n, pairs[part] % z.n
        k, counted = values_of_pairs(gram, x, z, i, j)
        if V is None:
            out[i, j] = k
            continue
        k = k - counted
        out.index_add_(0, i, k[:, None] * V[j])
        if kind == "symmetric":
            out.index_add_(0, j, k[:, None] * V[i])
    return out


def _with_fewer(
    gram: Any, kind: str, x: Any, z: Any, V: torch.Tensor | None, diagonal: torch.Tensor | None
) -> torch.Tensor:
    from mercer.engines.cuda.triton_launch import launch

    other = gram.with_fewer_near(x, z)
    return launch(other, kind, other._x, other._z, V, diagonal)
