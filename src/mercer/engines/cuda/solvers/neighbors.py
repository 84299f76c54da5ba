"""The nearest points on a device: many candidates by products, the winners by exact differences."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch

from mercer._arrays import host
from mercer._tiles import cut
from mercer.engines.cuda import make
from mercer.engines.cuda.gram import PANEL, CudaGram
from mercer.engines.cuda.memory import room_for
from mercer.engines.cuda.ops import apply_steps, widened
from mercer.formula.ranking import SPARE, Ranking
from mercer.solvers.neighbors.search import Neighbors

#: Bytes for each element of K that is at hand: the differences are in double precision, and so is
#: what they are from.
ENTRY_BYTES: Final = 64


def nearest(rank: Ranking, X: Any, Z: Any, k: int, own: np.ndarray | None) -> Neighbors:
    """The k nearest of Z for each of X, as `mercer.solvers.neighbors.search` finds them.

    Host rows that are too large for the device pass over it in chunks, and so do the points.
    """
    parts: list[Neighbors] = []
    with room_for(X, Z):
        for rows, columns, gram in make(rank.statistic, X, Z).blocks():  # type: ignore[attr-defined]
            mine = None if own is None else own[rows]
            found = _nearest_here(rank, gram, columns, k, mine)
            if columns.start == 0:
                parts.append(found)
            else:
                parts[-1] = _better(parts[-1], found, k)
    return Neighbors(
        np.concatenate([p.index for p in parts]), np.concatenate([p.value for p in parts])
    )


def _better(first: Neighbors, second: Neighbors, k: int) -> Neighbors:
    """The k best of two lists; of equal ones those of the first."""
    index = np.concatenate([first.index, second.index], axis=1)
    value = np.concatenate([first.value, second.value], axis=1)
    order = np.argsort(-value, axis=1, kind="stable")[:, :k]
    return Neighbors(np.take_along_axis(index, order, 1), np.take_along_axis(value, order, 1))


def _nearest_here(
    rank: Ranking, gram: CudaGram, columns: slice, k: int, own: np.ndarray | None
) -> Neighbors:
    """The k nearest (all, where there are fewer) among the points of one block."""
    n, m = gram.shape
    # Another block may hold a row's own point: then none of these is left out.
    mine = None if own is None else torch.as_tensor(_within(own, columns), device=gram.device)
    room = int(min(PANEL, gram.limit_bytes // ENTRY_BYTES))
    # Differences of sparse rows would be dense: their distances are taken from the product.
    if rank.by_distance and gram.generated:
        rows = rank.statistic.value
        x, z = (widened(apply_steps(side.raw, rows)) for side in (gram._x, gram._z))
        search: Any = _Distances(x, z, room)
    else:
        search = _Statistics(gram, rank, columns)
    some = min(k + SPARE, m)
    step = max(1, min(room // m, room // (some * search.width)))
    index, value = [], []
    for part in cut(0, n, step):
        indices, ranks = search.some(part, some, None if mine is None else mine[part])
        # Of equal ones the first: by position, then stably by rank.
        indices, order = indices.sort(dim=1)
        ranks = ranks.gather(1, order)
        order = ranks.argsort(dim=1, descending=True, stable=True)[:, :k]
        index.append(host(indices.gather(1, order)) + columns.start)
        value.append(host(ranks.gather(1, order).double()))
    return Neighbors(np.concatenate(index), np.concatenate(value))


def _within(own: np.ndarray, columns: slice) -> np.ndarray:
    """Indices among these columns; −1 for those of other columns, and for none."""
    here = (own >= columns.start) & (own < columns.stop)
    return np.where(here, own - columns.start, -1)


class _Statistics:
    """Ranks by scale · statistic + offset."""

    width = 1

    def __init__(self, gram: CudaGram, rank: Ranking, columns: slice) -> None:
        self.gram, self.scale = gram, rank.scale
        self.offset = None
        if rank.offset is not None:
            self.offset = gram.asarray(rank.offset[columns], gram.torch_dtype)

    def some(self, rows: slice, k: int, own: torch.Tensor | None) -> Any:
        block = self.scale * self.gram.tensor(rows, slice(0, self.gram.shape[1]))
        if self.offset is not None:
            block += self.offset
        _leave_out(block, own)
        ranks, indices = torch.topk(block, k, dim=1)
        return indices, ranks


class _Distances:
    """Ranks by −‖x − z‖²: found by a product, measured from the difference in double precision."""

    def __init__(self, x: torch.Tensor, z: torch.Tensor, room: int) -> None:
        self.room = room
        center = z.double().mean(0).to(z.dtype)
        self.x, self.z, self.width = x - center, z - center, x.shape[1]
        self.raw = (x, z)
        self.norms = tuple(r.double().square().sum(1).to(r.dtype) for r in (self.x, self.z))
        unit = torch.finfo(z.dtype).eps * (4 * x.shape[1] ** 0.5 + 8)
        self.error = 2.0 * unit * (self.norms[0].double() + float(self.norms[1].max()))

    def some(self, rows: slice, k: int, own: torch.Tensor | None) -> Any:
        block = self.x[rows] @ self.z.T
        block *= 2.0
        block -= self.norms[0][rows, None]
        block -= self.norms[1]
        _leave_out(block, own)
        ranks, indices = torch.topk(block, k, dim=1)
        exact = self._exact(rows, indices, own)
        if k < block.shape[1]:
            # A point outside the list could be nearer than the last of those asked for only if
            # the product's error hid it: such rows are searched again from differences.
            last = exact.topk(max(1, k - SPARE), dim=1).values[:, -1]
            doubtful = (last < ranks[:, -1].double() + self.error[rows]).nonzero()[:, 0]
            if len(doubtful):
                mine = None if own is None else own[doubtful]
                indices[doubtful] = self._safely(rows.start + doubtful, k, mine)
                exact = self._exact(rows, indices, own)
        return indices, exact

    def _exact(self, rows: slice, indices: torch.Tensor, own: torch.Tensor | None) -> torch.Tensor:
        x, z = self.raw
        exact = -(x[rows, None].double() - z[indices].double()).square().sum(2)
        # A list of all points holds the one that does not count: it must stay the last.
        return exact if own is None else exact.masked_fill_(indices == own[:, None], -torch.inf)

    def _safely(self, rows: torch.Tensor, k: int, own: torch.Tensor | None) -> torch.Tensor:
        x, z = self.raw
        step, found = max(1, self.room // len(z)), []
        how = "donot_use_mm_for_euclid_dist"
        for part in cut(0, len(rows), step):
            apart = torch.cdist(x[rows[part]].double(), z.double(), compute_mode=how).neg_()
            _leave_out(apart, None if own is None else own[part])
            found.append(torch.topk(apart, k, dim=1).indices)
        return torch.cat(found)


def _leave_out(block: torch.Tensor, own: torch.Tensor | None) -> None:
    if own is not None:
        there = (own >= 0).nonzero()[:, 0]
        block[there, own[there]] = -torch.inf
