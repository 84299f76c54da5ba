"""Rows of K on a device, kept or recomputed: what `mercer.gram.rows_of_k` is on the host.

60 000 rows in float32 are 14 GB, which a large GPU holds and computes in a tenth of a second. What
does not fit the memory limit is computed when it is asked for. For that the rows are put in order:
rows that the same problems share, such as those of a class, stand together, so that the rows of
a problem are a few runs, which are read in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch

from mercer.engines.cuda.gram import CudaGram
from mercer.engines.cuda.rows import DeviceSide
from mercer.engines.cuda.solvers.working_block import triton_serves

if TYPE_CHECKING:
    from mercer.engines.cuda.solvers.svm_batch import Batch

#: The share of the limit that all of K may take; otherwise it is computed when it is asked for.
KEPT = 2 / 3
#: Runs of rows above which a problem's rows are copied instead.
RUNS = 256


def kernel_rows(gram: CudaGram, limit: int, rows: Sequence[np.ndarray]) -> KernelRows:
    """K for problems over these rows of the Gram, as the limit allows."""
    size = gram.shape[0] ** 2 * gram.dtype.itemsize
    return KeptRows(gram) if size <= KEPT * limit else ComputedRows(gram, rows)


class KernelRows(Protocol):
    """What problems that are solved together ask of K; all of `rows` are rows of the Gram."""

    #: Bytes on the device.
    held: int

    def block(self, rows: torch.Tensor, twins: bool) -> torch.Tensor:
        """K[W, W] of every problem; `twins`: an example may be two of its variables."""

    def add_combination(self, batch: Batch, changed: torch.Tensor, change: torch.Tensor) -> None:
        """image[p] += Σ_w change[p, w] K[changed[p, w], rows[p]], for the problems of a batch."""


class KeptRows:
    """All of K, in one array."""

    def __init__(self, gram: CudaGram) -> None:
        self.K = _all_of(gram)
        self.held = self.K.nbytes

    def block(self, rows: torch.Tensor, twins: bool) -> torch.Tensor:
        return self.K[rows[:, :, None], rows[:, None, :]]

    def add_combination(self, batch: Batch, changed: torch.Tensor, change: torch.Tensor) -> None:
        changed, change, count = changes_first(changed, change)
        image, rows = batch.image, batch.rows
        if triton_serves(image.device):
            from mercer.engines.cuda.solvers.smo_triton import add_image

            add_image(self.K, image, rows, changed, change, count)
            return
        for p, many in enumerate(count.tolist()):
            values = self.K[changed[p, :many]][:, rows[p]]
            image[p] += change[p, :many] @ values.double()


class ComputedRows:
    """K by products of the rows, which stand in an order in which every problem has few runs."""

    def __init__(self, gram: CudaGram, rows: Sequence[np.ndarray]) -> None:
        self.diagonal = gram.diagonal_tensor()
        order = _together(gram.shape[0], rows)
        x = gram._x
        if not np.array_equal(order, np.arange(len(order))):
            there = torch.as_tensor(order, device=gram.device)
            matrices = {key: m[there] for key, m in x.matrices.items()}
            values = tuple(v[there] for v in x.values)
            x = DeviceSide(x.n, matrices, x.centers, None, values)
        self.gram = gram.between(x, x)
        self.gram.prepare_rows()
        self.position = _inverse(torch.as_tensor(order, device=gram.device))
        #: Runs of each problem's rows, and where in them each of its rows is.
        self.places = [self._place(torch.as_tensor(own, device=gram.device)) for own in rows]
        parts = 2 * sum(2 * m.shape[1] + 128 for m in x.matrices.values())
        self.held = x.n * (parts + gram.bytes_per_row) + 16 * sum(len(own) for own in rows)

    def _place(self, own: torch.Tensor) -> tuple[list[slice], torch.Tensor]:
        ranked, order = self.position[own].sort()
        breaks = (torch.nonzero(ranked[1:] - ranked[:-1] != 1)[:, 0] + 1).tolist()
        edges = zip([0, *breaks], [*breaks, len(own)], strict=True)
        runs = [slice(int(ranked[a]), int(ranked[b - 1]) + 1) for a, b in edges] if len(own) else []
        return runs, _inverse(order)

    def block(self, rows: torch.Tensor, twins: bool) -> torch.Tensor:
        problems, size = rows.shape
        K = torch.empty(problems, size, size, dtype=self.diagonal.dtype, device=rows.device)
        for p, own in enumerate(rows):
            side = self.gram._x.take(self.position[own])
            K[p] = self.gram.between(side, side).tensor()
            K[p].diagonal().copy_(self.diagonal[own])
            if twins:
                same = own[:, None] == own[None, :]
                K[p] = torch.where(same, self.diagonal[own][:, None], K[p])
        return K

    def add_combination(self, batch: Batch, changed: torch.Tensor, change: torch.Tensor) -> None:
        changed, change, count = changes_first(changed, change)
        x, image = self.gram._x, batch.image
        for p, (many, name) in enumerate(zip(count.tolist(), batch.index.tolist(), strict=True)):
            if not many:
                continue
            runs, at = self.places[name]
            z = x.take(self.position[changed[p, :many]])
            V = change[p, :many, None].to(self.gram.torch_dtype)
            if len(runs) > RUNS:
                there = torch.cat([torch.arange(run.start, run.stop) for run in runs])
                sides = [x.take(there.to(image.device))]
            else:
                sides = [x.take(run) for run in runs]
            sums = [self.gram.between(side, z).product(V)[:, 0] for side in sides]
            image[p, : len(at)] += torch.cat(sums)[at].double()


def _together(n: int, rows: Sequence[np.ndarray]) -> np.ndarray:
    """An order in which rows that belong to the same problems stand together."""
    # A sum of random numbers, one per problem, names the set of problems that a row belongs to.
    draws = np.random.default_rng(0).integers(1 << 62, size=len(rows))
    name = np.zeros(n, dtype=np.int64)
    for own, draw in zip(rows, draws, strict=True):
        name[own] += draw
    return np.argsort(name, kind="stable")


def _inverse(order: torch.Tensor) -> torch.Tensor:
    """Where each index stands in a permutation."""
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    return place


def _all_of(gram: CudaGram) -> torch.Tensor:
    """All of K.

    A large C multiplies the error of every entry, and examples that occur twice show it most: their
    k(x, x′) should be k(x, x). So entries are rounded once, from double precision, where the device
    multiplies doubles fast: on such a chip that is a fraction of a second for 60 000 rows.
    """
    round_once = gram.precision == "high" and gram.dtype == np.float32
    if round_once and doubles_are_fast(gram.device):
        return gram.doubled().whole(gram.torch_dtype)
    return gram.whole()


def doubles_are_fast(device: torch.device) -> bool:
    """Whether products in double precision run at half the rate of single or so: on the CPU, and on
    chips made for computing, whose compute capability ends in 0; others need 32 times as long."""
    if device.type != "cuda":
        return True
    major, minor = torch.cuda.get_device_capability(device)
    return minor == 0 and 6 <= major <= 10


def changes_first(
    changed: torch.Tensor, change: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What did change before what did not, and how many did, for every problem."""
    order = torch.argsort((change == 0).to(torch.int8), dim=1, stable=True)
    count = (change != 0).sum(dim=1, dtype=torch.int32)
    return changed.gather(1, order), change.gather(1, order), count
