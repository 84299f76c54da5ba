"""Rows of K on a device, kept or recomputed.

60 000 rows in float32 are 14 GB, which a large GPU holds and computes in a tenth of a second. Where
all of K does not fit the memory limit, blocks of it are computed when a step needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch

from mercer.engines.cuda.gram import K_SHARE, CudaGram
from mercer.engines.cuda.solvers.smo_triton import add_image

if TYPE_CHECKING:
    from mercer.engines.cuda.solvers.svm_batch import Batch


def kernel_rows(gram: CudaGram, limit: int) -> KernelRows:
    """K, kept or computed when it is needed, as the limit allows."""
    size = gram.shape[0] ** 2 * gram.dtype.itemsize
    return KeptRows(gram) if size <= K_SHARE * limit else ComputedRows(gram)


class KernelRows(Protocol):
    """Rows of K for problems that are solved together; all of `rows` are rows of the Gram."""

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
        add_image(self.K, batch.image, batch.rows, changed, change, count)


class ComputedRows:
    """K by products of the rows, computed whenever they are needed."""

    def __init__(self, gram: CudaGram) -> None:
        self.gram, self.diagonal = gram, gram.diagonal_tensor()
        # The rows of a problem are copied, and split into two halves of their digits.
        self.held: int = 4 * gram.shape[0] * gram.bytes_per_row

    def block(self, rows: torch.Tensor, twins: bool) -> torch.Tensor:
        problems, size = rows.shape
        K = torch.empty(problems, size, size, dtype=self.diagonal.dtype, device=rows.device)
        for p, own in enumerate(rows):
            side = self.gram._x.take(own)
            K[p] = self.gram.between(side, side).tensor()
            K[p].diagonal().copy_(self.diagonal[own])
            if twins:
                same = own[:, None] == own[None, :]
                K[p] = torch.where(same, self.diagonal[own][:, None], K[p])
        return K

    def add_combination(self, batch: Batch, changed: torch.Tensor, change: torch.Tensor) -> None:
        changed, change, count = changes_first(changed, change)
        x, image = self.gram._x, batch.image
        for p, many in enumerate(count.tolist()):
            if many:
                K = self.gram.between(x.take(batch.rows[p]), x.take(changed[p, :many]))
                V = change[p, :many, None].to(self.gram.torch_dtype)
                image[p] += K.product(V)[:, 0].double()


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
    """Order changed variables before the others, and count them, for every problem."""
    order = torch.argsort((change == 0).to(torch.int8), dim=1, stable=True)
    count = (change != 0).sum(dim=1, dtype=torch.int32)
    return changed.gather(1, order), change.gather(1, order), count
