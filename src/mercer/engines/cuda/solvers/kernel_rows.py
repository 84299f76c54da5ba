"""Rows of K on a device, kept or recomputed: what `mercer.gram.rows_of_k` is on the host.

60 000 rows in float32 are 14 GB, which a large GPU holds and computes in a tenth of a second. What
does not fit the memory limit is made block by block: nothing else changes.
"""

from __future__ import annotations

import numpy as np
import torch

from mercer.engines.cuda.gram import CudaGram
from mercer.engines.cuda.solvers.working_block import triton_serves

#: Entries of K computed at a time: large enough to fill a GPU, small beside its memory.
PANEL = 1 << 28
#: The share of the limit that all of K may take; otherwise it is computed when it is asked for.
KEPT = 2 / 3


class KernelRows:
    """K for a batch of problems; rows are those of the whole Gram, as (problems, …)."""

    def __init__(self, gram: CudaGram, limit: int) -> None:
        self.gram, self.diagonal = gram, gram.diagonal_tensor()
        self.kept: torch.Tensor | None = None
        size = gram.shape[0] ** 2 * gram.dtype.itemsize
        #: Bytes held for good: all of K, or room for the entries at hand.
        self.held = size if size <= KEPT * limit else limit // 4
        if size <= KEPT * limit:
            self.kept = _whole(gram, limit - size)

    def block(self, rows: torch.Tensor) -> torch.Tensor:
        """K[W, W] of every problem."""
        if self.kept is not None:
            return self.kept[rows[:, :, None], rows[:, None, :]]
        problems, size = rows.shape
        K = torch.empty(problems, size, size, dtype=self.diagonal.dtype, device=rows.device)
        for p, own in enumerate(rows.cpu().numpy()):
            K[p] = self._entries(own, own)
        # Two variables of one example are the same point: its k(x, x) stands at both.
        same = rows[:, :, None] == rows[:, None, :]
        return torch.where(same, self.diagonal[rows][:, :, None], K)

    def add_combination(
        self, image: torch.Tensor, rows: torch.Tensor, changed: torch.Tensor, change: torch.Tensor
    ) -> None:
        """image[p] += Σ_w change[p, w] K[changed[p, w], rows[p]]."""
        changed, change, count = changes_first(changed, change)
        if self.kept is not None and triton_serves(image.device):
            from mercer.engines.cuda.solvers.smo_triton import add_image

            add_image(self.kept, image, rows, changed, change, count)
            return
        step = _panel(self.held, self.gram, image.shape[1])
        all_rows, all_changed = rows.cpu().numpy(), changed.cpu().numpy()
        for p, many in enumerate(count.tolist()):
            for first in range(0, many, step):
                part = slice(first, min(first + step, many))
                if self.kept is not None:
                    values = self.kept[changed[p, part]][:, rows[p]]
                else:
                    values = self._entries(all_changed[p, part], all_rows[p])
                    same = changed[p, part, None] == rows[p]
                    values = torch.where(same, self.diagonal[rows[p]], values)
                image[p] += change[p, part] @ values.double()

    def _entries(self, rows: np.ndarray, columns: np.ndarray) -> torch.Tensor:
        everything = np.array_equal(columns, np.arange(self.gram.shape[1]))
        return self.gram.take(rows, None if everything else columns).tensor()


def _whole(gram: CudaGram, room: int) -> torch.Tensor:
    """All of K.

    A large C multiplies the error of every entry, and examples that occur twice show it most: their
    k(x, x′) should be k(x, x). So entries are rounded once, from double precision, where the device
    multiplies doubles fast: on such a chip that is a fraction of a second for 60 000 rows.
    """
    n, device = gram.shape[0], gram.device
    K = torch.empty(n, n, dtype=gram.torch_dtype, device=device)
    if gram.precision == "high" and gram.dtype == np.float32 and doubles_are_fast(device):
        gram = CudaGram(gram.kernel, gram.points().double())
    step = _panel(room, gram, n)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        K[part] = gram.tensor(part, slice(0, n))
    K.diagonal().copy_(gram.diagonal_tensor())
    return K


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


def _panel(room: int, gram: CudaGram, columns: int) -> int:
    """Rows of K to compute at once: PyTorch's own functions need a few copies of a panel."""
    entries = max(1, min(PANEL, room // (8 * gram.dtype.itemsize)))
    return max(1, entries // columns)
