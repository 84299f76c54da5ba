"""Φ = K(X, centers) on a device: kept there where it fits, made anew in chunks where not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import torch

from mercer._progress import progress
from mercer._tiles import cut
from mercer.engines.cuda.gram import PANEL, CudaGram
from mercer.engines.cuda.streamed import StreamedGram
from mercer.gram.base import Gram
from mercer.solvers.linear.panels import Normal, Panels


class DevicePanels(Panels):
    """Rows that are on the device: large pieces, one after the other."""

    #: Two thousand columns for ten classes: products and factorizations are cheap here.
    affordable: ClassVar[float] = 1.6e11

    def __init__(self, gram: Any, kept: torch.Tensor | None = None) -> None:
        self.gram: Any = gram
        self.shape: tuple[int, int] = gram.shape
        self.dtype: np.dtype = gram.dtype
        self.kept = kept

    @property
    def xp(self) -> Any:
        return self.gram.xp

    def asarray(self, values: Any) -> torch.Tensor:
        return self.gram.asarray(values)  # type: ignore[no-any-return]

    def zeros(self, *shape: int) -> torch.Tensor:
        return torch.zeros(shape, dtype=torch.float64, device=self.gram.device)

    def keep(self, share: float = 0.5, triangle: bool = False) -> bool:
        need = self.shape[0] * self.shape[1] * self.dtype.itemsize
        if self.kept is None and need <= share * self.gram.limit_bytes:
            self.kept = self._whole()
        return self.kept is not None

    def _whole(self) -> torch.Tensor:
        return self.gram.tensor()  # type: ignore[no-any-return]

    def take(self, rows: np.ndarray) -> DevicePanels:
        kept = None if self.kept is None else self.kept[self.asarray(rows)]
        return type(self)(self.gram.take(rows=rows), kept)

    def pieces(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Rows of Φ, a block at a time."""
        for rows in cut(0, self.shape[0], self._step()):
            yield rows, self.gram.tensor(rows) if self.kept is None else self.kept[rows]

    def _step(self) -> int:
        room = min(8 * PANEL, self.gram.limit_bytes // 8)
        return int(max(1, min(self.shape[0], room // (8 * self.shape[1]))))

    def each(self, body: Callable[[slice, Any], None], what: str, copies: int = 1) -> None:
        with progress(what, float(self.shape[0])) as bar:
            for rows, piece in self.pieces():
                body(rows, piece.double())
                bar.advance(len(piece))

    def normal(
        self, targets: np.ndarray, weights: np.ndarray | None, matrix: bool = True
    ) -> Normal:
        m = self.shape[1]
        right = self.asarray(np.column_stack([targets, np.ones(len(targets))]))
        w = None if weights is None else self.asarray(weights)
        right = right if w is None else w[:, None] * right
        H, sums = None, right.sum(0)
        if matrix:
            H, R = self.zeros(m, m), self.zeros(m, right.shape[1])

            def body(rows: slice, wide: torch.Tensor) -> None:
                R.addmm_(wide.T, right[rows])
                wide = wide if w is None else wide * w[rows, None].sqrt()
                H.addmm_(wide.T, wide)

            self.each(body, "normal equations")
        else:
            R = self.transposed_product(right)
        return Normal(H, R[:, :-1], R[:, -1].clone(), sums[:-1], float(sums[-1]))

    def _single(self, V: torch.Tensor) -> torch.Tensor:
        return V.to(self.gram.torch_dtype)

    def product(self, B: torch.Tensor) -> torch.Tensor:
        B = self._single(B)
        return (self.gram.product(B) if self.kept is None else self.kept @ B).double()

    def transposed_product(self, V: torch.Tensor) -> torch.Tensor:
        V = self._single(V)
        return (self.gram.T.product(V) if self.kept is None else self.kept.T @ V).double()


class StreamedPanels(DevicePanels):
    """Rows that pass over the device in chunks; Φ itself may be small enough to be kept."""

    gram: StreamedGram

    def _whole(self) -> torch.Tensor:
        return self.asarray(self.gram.dense())

    def pieces(self) -> Iterator[tuple[slice, torch.Tensor]]:
        if self.kept is not None:
            yield from super().pieces()
            return
        for rows, part in self.gram.parts(self._step()):
            yield rows, part.tensor()

    def product(self, B: torch.Tensor) -> torch.Tensor:
        if self.kept is not None:
            return super().product(B)
        return self.asarray(self.gram @ B).double()

    def transposed_product(self, V: torch.Tensor) -> torch.Tensor:
        if self.kept is not None:
            return super().transposed_product(V)
        return self.gram.transposed_times(self._single(V))

    def normal_product(self, B: torch.Tensor, weights: Any = None) -> torch.Tensor:
        """Rows pass only once."""
        if self.kept is not None:
            return super().normal_product(B, weights)  # type: ignore[no-any-return]
        B, points = self._single(B), self.gram.others()
        total = self.zeros(self.shape[1], B.shape[1])
        for rows, chunk in self.gram.chunks():
            image = CudaGram(self.gram.kernel, chunk, points) @ B
            if weights is not None:
                image *= weights[rows, None].to(image.dtype)
            total += CudaGram(self.gram.kernel, points, chunk) @ image
        return total


def panels(gram: Gram) -> DevicePanels:
    """Panels of rows on the device, or of rows that are streamed."""
    return (DevicePanels if gram.resident else StreamedPanels)(gram)
