"""K whose rows stay on the host: they pass over the device in chunks, the next one on its way
while the last one is worked on. So do the points where they are too many."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import numpy as np
import torch

from mercer._arrays import host
from mercer._config import get_config
from mercer._machine.threads import Background
from mercer._tiles import Scratch, cut
from mercer.engines.cuda.gram import CudaGram, DeviceGram
from mercer.engines.cuda.memory import clear_errors, device_limit
from mercer.engines.cuda.rows import to_device
from mercer.formula import Formula
from mercer.formula.inputs import check_finite, numeric
from mercer.gram.base import Body, Gram, check_factor, check_has_diagonal, indices_of, simplified
from mercer.gram.plan import Cost
from mercer.kernels.core import Kernel
from mercer.tuning import WORK_SHARE

#: Copies of a row on the device: itself, two parts in half precision, and a second chunk that is
#: being transferred, with its own parts.
COPIES: Final = 5
#: Rows per chunk at most; larger chunks are not faster.
STREAMED_ROWS = 1 << 20


def too_large(X: Any, Z: Any = None) -> bool:
    """Whether these host rows are streamed over the device rather than kept there."""
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return False
    return COPIES * X.nbytes > WORK_SHARE * device_limit(_device_for(Z))


def _device_for(Z: Any) -> torch.device:
    """The device of the points, if they are on one; else that of the settings."""
    return Z.device if isinstance(Z, torch.Tensor) else torch.device(get_config().device)


#: Host arrays that the device may read by itself: their sizes, by address.
_PINNED: dict[int, int] = {}
#: Smaller arrays are copied as fast as they are; and they may share their pages with others.
WORTH_PINNING = 1 << 20
PAGE: Final = 4096


def _pinned(X: np.ndarray) -> bool:
    """Let the device read these rows by itself, ten times as fast; they are let go with X."""
    if not X.flags.c_contiguous or X.nbytes < WORTH_PINNING:
        return False
    address = X.__array_interface__["data"][0]
    end = address + X.nbytes
    for start, size in _PINNED.items():
        if start <= address and end <= start + size:
            return True
        # CUDA refuses a page that it has already, and PyTorch would raise that at its next call.
        if address < start + size + PAGE and start < end + PAGE:
            return False
    base = X
    while isinstance(base.base, np.ndarray):
        base = base.base
    runtime = torch.cuda.cudart()
    if int(runtime.cudaHostRegister(address, X.nbytes, 0)) != 0:
        return False  # not allowed here: copies are slower, and that is all
    _PINNED[address] = X.nbytes
    weakref.finalize(base, _let_go, address)
    return True


def _let_go(address: int) -> None:
    if _PINNED.pop(address, None) is not None:
        torch.cuda.cudart().cudaHostUnregister(address)


class StreamedGram(DeviceGram):
    """`Gram` of host rows X and points Z; without Z, of X and itself.

    Points are on the device, or are streamed as the rows are where they do not fit. Rows that are
    on the device already are one chunk.
    """

    resident = False

    def __init__(
        self, kernel: Kernel | Formula, X: Any, Z: Any = None, *, device: Any = None,
        checked: bool = False, name: str = "X",
    ) -> None:  # fmt: skip
        self.kernel: Kernel | Formula = kernel
        self.formula: Formula = simplified(kernel)
        given = next((side for side in (Z, X) if isinstance(side, torch.Tensor)), None)
        self.device: Any = _device_for(given) if device is None else device
        if isinstance(X, torch.Tensor):
            X = to_device(X, name)
        else:
            X = numeric(X)
            if not checked:
                check_finite(X, name)
        single = X.dtype in (np.float32, torch.float32)
        self._rows = X
        self.torch_dtype: Any = torch.float32 if single else torch.float64
        self.dtype: np.dtype = np.dtype(np.float32 if single else np.float64)
        self.square: bool = Z is None
        self._pinned = self.device.type == "cuda" and isinstance(X, np.ndarray) and _pinned(X)
        self._points: torch.Tensor | None = None
        self._columns: StreamedGram | None = None
        if too_large(Z, X):
            self._columns = StreamedGram(kernel, Z, device=self.device, checked=checked, name="Z")
        elif Z is not None:
            self._points = self._there(Z)
        self.shape: tuple[int, int] = (len(X), len(X) if Z is None else len(Z))

    def _there(self, rows: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(rows).to(device=self.device, dtype=self.torch_dtype)

    # --- chunks --------------------------------------------------------------------------------

    @property
    def chunk(self) -> int:
        """Rows that are on the device at a time."""
        per_row = COPIES * self._rows.shape[1] * self.dtype.itemsize
        room = int(WORK_SHARE * device_limit(self.device) / per_row)
        return max(1, min(STREAMED_ROWS, room, len(self._rows)))

    def chunks(self, step: int | None = None) -> Iterator[tuple[slice, torch.Tensor]]:
        """All rows, chunk by chunk, as tensors."""
        if isinstance(self._rows, torch.Tensor):
            yield slice(0, len(self._rows)), self._rows
            return
        size = self.chunk if step is None else min(step, self.chunk)
        cuts = list(cut(0, len(self._rows), size))
        stream = torch.cuda.Stream(self.device) if self.device.type == "cuda" else None

        coming: list[torch.Tensor] = []

        def fetch(rows: slice, thread: int) -> None:
            if stream is None:
                coming.append(self._there(self._rows[rows]))
                return
            with torch.cuda.stream(stream):
                part = torch.as_tensor(self._rows[rows])
                tensor = part.to(self.device, non_blocking=self._pinned).to(self.torch_dtype)
            stream.synchronize()
            coming.append(tensor)

        with Background(2) as background:
            job = background.start([partial(fetch, cuts[0])])
            for i, rows in enumerate(cuts):
                job.finish()
                here = coming.pop()
                if stream is not None:
                    # Its memory must not be taken for the next chunk while this one is in use.
                    here.record_stream(torch.cuda.current_stream(self.device))
                if i + 1 < len(cuts):
                    job = background.start([partial(fetch, cuts[i + 1])])
                yield rows, here

    def parts(self, step: int | None = None) -> Iterator[tuple[slice, CudaGram]]:
        """K between each chunk and the points, or all columns where those are the rows."""
        if self._points is None:
            raise ValueError("K of streamed columns has no parts; take some columns first")
        for rows, chunk in self.chunks(step):
            yield rows, CudaGram(self.kernel, chunk, self._points)

    # --- numbers -------------------------------------------------------------------------------

    @clear_errors
    def times(self, V: Any, relative: bool = False) -> Any:
        V = np.asarray(host(V), dtype=self.dtype)
        check_factor(self.shape, V.shape)
        result = np.zeros((self.shape[0], *V.shape[1:]), dtype=self.dtype)
        for rows, columns, part in self.blocks():
            result[rows] += host(part.times(self._there(V[columns]), relative=relative))
        return result

    def transposed_times(self, V: torch.Tensor) -> torch.Tensor:
        """Kᵀ V, for V on the device; sums of chunks in double precision."""
        assert self._points is not None
        total = torch.zeros(self.shape[1], V.shape[1], dtype=torch.float64, device=self.device)
        for rows, chunk in self.chunks():
            total += CudaGram(self.kernel, self._points, chunk) @ V[rows]
        return total

    def take(self, rows: Any = None, columns: Any = None) -> Gram:
        x = self._rows if rows is None else self._rows[indices_of(rows, self.shape[0], "row")]
        if columns is None:
            z: Any = self.others() if rows is None or not self.square else self._rows
        else:
            chosen = indices_of(columns, self.shape[1], "column")
            # Chosen columns are points on the device, however many: centers, a working set.
            z = self._there(host(self._rows if self.square else self.others())[chosen])
        return StreamedGram(self.kernel, x, z, device=self.device, checked=True)

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        return self.take(rows, columns).dense()

    def dense(self, out: np.ndarray | None = None) -> np.ndarray:
        if out is None:
            out = np.empty(self.shape, dtype=self.dtype)
        if self.square:
            out[...] = CudaGram(self.kernel, self._there(self._rows)).facing_host().dense()
            return out
        for rows, columns, part in self.blocks(max(1, (1 << 28) // self.shape[1])):
            out[rows, columns] = host(part.dense())
        return out

    def in_double(self, index: Any = None) -> torch.Tensor:
        return CudaGram(self.kernel, self._there(self.points(index))).in_double()

    def diagonal(self) -> np.ndarray:
        check_has_diagonal(self)
        parts = [host(CudaGram(self.kernel, chunk).diagonal()) for _, chunk in self.chunks()]
        return np.concatenate(parts)

    # --- loops over K ----------------------------------------------------------------------------

    def tile(
        self, rows: slice, columns: slice, out: Any = None, scratch: Scratch | None = None
    ) -> np.ndarray:
        x = self._there(self._rows[rows])
        z = self._there((self._rows if self.square else self.others())[columns])
        values: np.ndarray = host(CudaGram(self.kernel, x, z).tensor())
        if out is None:
            return values
        out[...] = values
        return out  # type: ignore[no-any-return]

    @clear_errors
    def sweep(
        self,
        body: Body,
        *,
        out: Any = None,
        exact_diagonal: bool = False,
        what: str = "kernel",
        **only_for_the_host: Any,
    ) -> None:
        """Chunk by chunk of the rows; tiles are tensors on the device."""
        for rows, columns, part in self.blocks():

            def shifted(r: slice, c: slice, tile: Any, scratch: Scratch) -> None:
                here = slice(rows.start + r.start, rows.start + r.stop)  # noqa: B023
                there = slice(columns.start + c.start, columns.start + c.stop)  # noqa: B023
                if out is not None:
                    out[here, there] = host(tile)
                body(here, there, tile, scratch)

            part.sweep(shifted, exact_diagonal=exact_diagonal, what=what)

    def blocks(self, step: int | None = None) -> Iterator[tuple[slice, slice, CudaGram]]:
        """K in parts that fit: chunks of rows, and for each of them all columns in order."""
        if self._points is not None:
            for rows, part in self.parts(step):
                yield rows, slice(0, self.shape[1]), part
            return
        for rows, chunk in self.chunks():
            for columns, other in (self._columns or self).chunks():
                z = None if self.square and rows == columns else other.to(chunk.dtype)
                yield rows, columns, CudaGram(self.kernel, chunk, z)

    # --- where it lives, and views -----------------------------------------------------------

    @property
    def cost(self) -> Cost:
        """The choice of the first chunk, for all rows."""
        first = self.sample()
        times = self.shape[0] * self.shape[1] / (first.shape[0] * first.shape[1])
        one = first.cost
        return Cost(times * one.flops, times * one.pair_operations, times * one.bytes_written)

    def describe(self) -> tuple[str, str]:
        return self.sample().describe()

    def sample(self) -> CudaGram:
        """The first chunk of rows."""
        _, chunk = next(iter(self.chunks()))
        return CudaGram(self.kernel, chunk, self._points)  # among themselves where Z is streamed

    @property
    def bytes_per_row(self) -> int:
        return int(self._rows.shape[1] * self.dtype.itemsize)

    def points(self, index: Any = None) -> Any:
        return self._rows if index is None else self._rows[np.asarray(index)]

    def others(self) -> Any:
        return self._points if self._columns is None else self._columns.points()

    def of(self, kernel: Kernel | Formula) -> StreamedGram:
        return StreamedGram(kernel, self._rows, self.others(), device=self.device, checked=True)

    @property
    def T(self) -> Gram:
        if self.square:
            return self
        x, z = self._there(self.others()), self._there(self._rows)
        return CudaGram(self.kernel, x, z).facing_host()
