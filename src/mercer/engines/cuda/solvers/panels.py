"""Φ = K(X, centres) on a device: kept there where it fits, made anew in pieces where not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from mercer.engines.cuda.gram import CudaGram
from mercer.engines.cuda.streamed import StreamedGram

#: Bytes of Φ in double precision that are made at a time, at most.
PIECE = 4 << 30


class DevicePanels:
    """The device's counterpart of `solvers.normal.GramPanels`."""

    def __init__(self, columns: CudaGram | StreamedGram) -> None:
        self.columns, self.shape, self.dtype = columns, columns.shape, columns.dtype
        self._K: torch.Tensor | None = None

    @property
    def device(self) -> torch.device:
        return self.columns.device

    def keep(self, share: float = 0.5) -> bool:
        """Hold all of it, if that takes no more than a share of the device's memory."""
        n, m = self.shape
        if self._K is not None or not isinstance(self.columns, CudaGram):
            return self._K is not None
        if n * m * self.dtype.itemsize <= share * self.columns.limit_bytes:
            self._K = self.columns.tensor(slice(0, n), slice(0, m))
        return self._K is not None

    def pieces(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Rows of Φ, a block at a time."""
        n, m = self.shape
        room = min(PIECE, self.columns.limit_bytes // 8)
        step = int(max(1, min(n, room // (8 * m))))
        if isinstance(self.columns, StreamedGram):
            for rows, part in self.columns.parts(step):
                yield rows, part.tensor(*(slice(0, k) for k in part.shape))
            return
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            whole = self._K is not None
            yield rows, self._K[rows] if whole else self.columns.tensor(rows, slice(0, m))  # type: ignore[index]

    def product(self, V: torch.Tensor) -> torch.Tensor:
        """Φ V."""
        V = V.to(self.torch_dtype)
        if self._K is not None:
            return self._K @ V
        if isinstance(self.columns, CudaGram):
            return self.columns.product(V)
        return torch.as_tensor(self.columns @ V, device=self.device)

    def transposed_product(self, V: torch.Tensor) -> torch.Tensor:
        """Φᵀ V."""
        V = V.to(self.torch_dtype)
        if self._K is not None:
            return self._K.T @ V
        if isinstance(self.columns, CudaGram):
            return self.columns.T.product(V)  # type: ignore[attr-defined, no-any-return]
        return self.columns.transposed_times(V)

    def normal_product(self, V: torch.Tensor, weights: torch.Tensor | None) -> torch.Tensor:
        """Φᵀ W Φ V, in double precision; streamed rows pass only once."""
        if isinstance(self.columns, CudaGram):
            image = self.product(V)
            image = image if weights is None else weights[:, None].to(image.dtype) * image
            return self.transposed_product(image).double()
        V = V.to(self.torch_dtype)
        total = torch.zeros(self.shape[1], V.shape[1], dtype=torch.float64, device=self.device)
        points = self.columns._points
        for rows, chunk in self.columns.chunks():
            image = CudaGram(self.columns.kernel, chunk, points) @ V
            if weights is not None:
                image *= weights[rows, None].to(image.dtype)
            total += CudaGram(self.columns.kernel, points, chunk) @ image
        return total

    @property
    def torch_dtype(self) -> Any:
        return self.columns.torch_dtype
