"""K on a device by PyTorch's own functions: blocks, and single pairs.

They serve float64, the few operations that Triton lacks, and the near pairs of `near_pairs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from mercer._tiles import cut
from mercer.engines.cuda.ops import differences, evaluate_torch, widened
from mercer.engines.cuda.rows import DeviceSide, squared_norms
from mercer.formula import Formula


def torch_block(
    gram: Any, x: DeviceSide, z: DeviceSide, diagonal: torch.Tensor | None
) -> torch.Tensor:
    """K of these rows; its diagonal is set where it is given."""
    known: dict[Formula, Any] = {}
    for i, source in enumerate(gram.program.sources):
        if source.kind == "product":
            tile = gram._inner(x, z, source.rows)
        elif source.kind == "repaired":
            tile = _distances(gram, source.node, x, z)
        else:
            tile = differences(source.node, x.numbers(source.rows), z.numbers(source.rows))
        known[Formula("tile", value=i)] = tile
    result = _epilogue(gram, known, [v[:, None] for v in x.values], z.values)
    shape = (x.n, z.n)
    if not isinstance(result, torch.Tensor):
        result = torch.full(shape, float(result), dtype=gram.torch_dtype, device=x.device)
    result = result.to(gram.torch_dtype)
    result = result if result.shape == shape else result.expand(shape)
    if diagonal is not None:
        # A view may be a row value that others read; what is its own is not copied.
        result = result if result._base is None else result.clone()
        result.diagonal().copy_(diagonal)
    return result


def _epilogue(gram: Any, tiles: dict[Formula, Any], x: Sequence[Any], z: Sequence[Any]) -> Any:
    """k from the values of every source, and row values that broadcast to them."""
    rows = {Formula("rowx", value=i): v for i, v in enumerate(x)}
    rows |= {Formula("rowz", value=i): v for i, v in enumerate(z)}
    return evaluate_torch(gram.program.epilogue, tiles | rows)


def _distances(gram: Any, node: Formula, x: DeviceSide, z: DeviceSide) -> torch.Tensor:
    """‖x − z‖² from the product, of near pairs from their differences."""
    (i, j), below = gram.near[node.value]
    tile = gram._inner(x, z, node.value).mul_(-2.0)
    tile += x.values[i][:, None]
    tile += z.values[j]
    rows, columns = (tile < below).nonzero(as_tuple=True)
    for part in cut(0, len(rows), x.at_a_time):
        a, b = rows[part], columns[part]
        tile[a, b] = squared_norms(x.numbers(node.value)[a] - z.numbers(node.value)[b])
    return tile


def values_of_pairs(
    gram: Any, x: DeviceSide, z: DeviceSide, i: torch.Tensor, j: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """k of row i of x and row j of z, for indices of the same length, and what a kernel counts for
    them before they are mended."""
    exact: dict[Formula, Any] = {}
    counted: dict[Formula, Any] = {}
    for at, source in enumerate(gram.program.sources):
        name = Formula("tile", value=at)
        if source.kind == "product":
            tile = (x.centered(source.rows)[i] * z.centered(source.rows)[j]).sum(1)
        else:
            a, b = (widened(s.matrices[source.rows][k]) for s, k in ((x, i), (z, j)))
            plain = source.node.op == "sqdist"
            tile = squared_norms(a - b) if plain else differences(source.node, a, b, True)
        exact[name] = counted[name] = tile
        if source.kind == "repaired":
            counted[name] = torch.full_like(tile, 2 * gram.near[source.rows].below)
    own, others = [v[i] for v in x.values], [v[j] for v in z.values]
    k, before = (_epilogue(gram, tiles, own, others) for tiles in (exact, counted))
    return torch.zeros_like(tile) + k, before
