"""The nearest points on a device: many candidates by products, the winners by exact differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mercer.gram.device import host
from mercer.gram.torch_engine import DeviceGram
from mercer.gram.torch_ops import apply_steps
from mercer.solvers.neighbours import SPARE, Neighbours, Ranking

#: Elements of K, and of differences, that are at hand at a time.
BLOCK = 1 << 28


def nearest(rank: Ranking, X: Any, Z: Any, k: int, own: np.ndarray | None) -> Neighbours:
    """The k nearest of Z for each of X, as `solvers.neighbours.nearest` finds them."""
    gram = DeviceGram(rank.statistic, X, Z)
    mine = None if own is None else torch.as_tensor(own, device=gram._x.device)
    if rank.by_distance and rank.scale < 0:
        rows = rank.statistic.value
        search: Any = _Distances(apply_steps(gram._x.raw, rows), apply_steps(gram._z.raw, rows))
    else:
        search = _Statistics(gram, rank)
    m = gram.shape[1]
    some = min(k + SPARE, m - (own is not None and m > k))
    step = int(max(1, min(BLOCK // m, BLOCK // (some * search.width))))
    index, value = [], []
    for start in range(0, gram.shape[0], step):
        part = slice(start, min(start + step, gram.shape[0]))
        places, ranks = search.some(part, some, None if mine is None else mine[part])
        # Of equal ones the first: by position, then stably by rank.
        places, order = places.sort(dim=1)
        ranks = ranks.gather(1, order)
        order = ranks.argsort(dim=1, descending=True, stable=True)[:, :k]
        index.append(host(places.gather(1, order)))
        value.append(host(ranks.gather(1, order).double()))
    return Neighbours(np.concatenate(index), np.concatenate(value))


class _Statistics:
    """Ranks by scale · statistic + offset."""

    width = 1

    def __init__(self, gram: DeviceGram, rank: Ranking) -> None:
        self.gram, self.scale = gram, rank.scale
        self.offset = None
        if rank.offset is not None:
            self.offset = torch.as_tensor(rank.offset, device=gram._x.device).to(gram._torch_dtype)

    def some(self, rows: slice, k: int, own: torch.Tensor | None) -> Any:
        block = self.scale * self.gram._dense_tensor(rows, slice(0, self.gram.shape[1]))
        if self.offset is not None:
            block += self.offset
        _leave_out(block, own)
        ranks, places = torch.topk(block, k, dim=1)
        return places, ranks


class _Distances:
    """Ranks by −‖x − z‖²: found by a product, measured from the difference in double precision."""

    def __init__(self, x: torch.Tensor, z: torch.Tensor) -> None:
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
        ranks, places = torch.topk(block, k, dim=1)
        exact = self._exact(rows, places)
        if k < block.shape[1]:
            # A point outside the list could be nearer than the last of those asked for only if
            # the product's error hid it: such rows are searched again from differences.
            last = exact.topk(max(1, k - SPARE), dim=1).values[:, -1]
            doubtful = (last < ranks[:, -1].double() + self.error[rows]).nonzero()[:, 0]
            if len(doubtful):
                mine = None if own is None else own[doubtful]
                places[doubtful] = self._safely(rows.start + doubtful, k, mine)
                exact = self._exact(rows, places)
        return places, exact

    def _exact(self, rows: slice, places: torch.Tensor) -> torch.Tensor:
        x, z = self.raw
        return -(x[rows, None].double() - z[places].double()).square().sum(2)

    def _safely(self, rows: torch.Tensor, k: int, own: torch.Tensor | None) -> torch.Tensor:
        x, z = self.raw
        step, found = max(1, BLOCK // len(z)), []
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            apart = torch.cdist(
                x[rows[part]].double(),
                z.double(),
                compute_mode="donot_use_mm_for_euclid_dist",
            ).neg_()
            _leave_out(apart, None if own is None else own[part])
            found.append(torch.topk(apart, k, dim=1).indices)
        return torch.cat(found)


def _leave_out(block: torch.Tensor, own: torch.Tensor | None) -> None:
    if own is not None:
        there = (own >= 0).nonzero()[:, 0]
        block[there, own[there]] = -torch.inf
