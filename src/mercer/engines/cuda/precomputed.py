"""A kernel matrix that was given, on a device: blocks are copied from it, products are its own.

A side holds rows of the matrix, and where each of them stands in it: as columns only that counts.
Positions of columns without rows, such as those of support vectors, are a side of empty rows.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch

from mercer._config import get_config
from mercer._tiles import cut
from mercer.engines.cuda.gram import CudaGram
from mercer.engines.cuda.ops import STEP_NUMBERS, widened
from mercer.engines.cuda.rows import DeviceSide, to_device
from mercer.formula.nodes import ROOT
from mercer.gram.base import simplified
from mercer.gram.plan import Cost
from mercer.kernels.opaque import Precomputed, check_columns, check_square

#: The place of a new row, which is none of the columns.
NOWHERE: Final = -1


class PrecomputedGram(CudaGram):
    """`Gram` of `Precomputed`: X are rows of K, Z positions of columns."""

    generated = False

    def __init__(self, kernel: Precomputed, X: Any, Z: Any = None) -> None:
        self.kernel: Precomputed = kernel
        self.formula: Any = simplified(kernel)
        self.precision: str = get_config().precision
        self._as_tensor = isinstance(X, torch.Tensor)
        K = widened(to_device(X, "the precomputed matrix"))
        n, m = K.shape
        places = torch.arange(n, device=K.device)
        x = DeviceSide(n, {ROOT: K}, {}, K, (places if n == m else places * 0 + NOWHERE,))
        z = x
        if Z is None:
            check_square((n, m))
        else:
            columns = check_columns(Z, m)
            positions = torch.as_tensor(columns.astype(np.int64), device=K.device)
            z = DeviceSide(len(columns), {ROOT: K[:0].T[: len(columns)]}, {}, None, (positions,))
        self.square: bool = Z is None
        self._x, self._z = x, z
        self.device: Any = K.device
        self.shape: tuple[int, int] = (n, z.n)
        self.torch_dtype: Any = K.dtype
        self.dtype: np.dtype = np.dtype(np.float32 if K.dtype == torch.float32 else np.float64)
        self.shared: dict[Any, Any] = {}
        self.exact: dict[Any, Any] = {}

    def _torch_block(
        self, x: DeviceSide, z: DeviceSide, diagonal: torch.Tensor | None
    ) -> torch.Tensor:
        return x.matrices[ROOT][:, z.values[0]]

    def product(self, V: torch.Tensor, relative: bool = False) -> torch.Tensor:
        """K V; in parts of rows where columns have to be picked."""
        K = self._x.matrices[ROOT]
        if self.square:
            return K @ V
        step = max(1, STEP_NUMBERS // max(1, self.shape[1]))
        parts = [self._torch_block(self._x.take(rows), self._z, None) @ V
                 for rows in cut(0, self.shape[0], step)]  # fmt: skip
        return torch.cat(parts)

    def diagonal_tensor(self) -> torch.Tensor:
        places = self._x.values[0]
        if bool((places == NOWHERE).any()):
            raise ValueError("k(x, x) of new rows is not in a precomputed kernel matrix")
        return self._x.matrices[ROOT].gather(1, places[:, None])[:, 0]

    def in_double(self, index: Any = None) -> torch.Tensor:
        x = self._x if index is None else self._x.take(index)
        return self._torch_block(x, x, None).double()

    def doubled(self) -> CudaGram:
        return self

    @property
    def T(self) -> CudaGram:
        if not self.square:
            raise ValueError("columns of a precomputed matrix have no rows: K cannot be transposed")
        return self

    @property
    def cost(self) -> Cost:
        pairs = float(self.shape[0] * self.shape[1])
        return Cost(pairs, pairs, self.dtype.itemsize * pairs)

    def describe(self) -> tuple[str, str]:
        n, m = self.shape
        return f"{n} × {m} on {self.device}, copied from the matrix that was given", ""
