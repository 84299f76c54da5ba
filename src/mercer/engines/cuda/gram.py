"""The device engine: K on a GPU, by generated Triton kernels, or by PyTorch in blocks.

CUDA tensors in give CUDA tensors out; NumPy arrays under ``config(device="cuda")`` come back as
NumPy arrays. float32 runs on tensor cores with split operands (see `triton_source`); float64, and
the few operations Triton lacks, run as PyTorch products and element-wise functions on blocks.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from mercer._arrays import host, torch_namespace
from mercer._config import get_config
from mercer._progress import progress
from mercer._tiles import Scratch, cut
from mercer.engines.cuda import fourier_product
from mercer.engines.cuda.half_precision import Exact
from mercer.engines.cuda.memory import clear_errors, device_limit
from mercer.engines.cuda.methods import Choice, Largest
from mercer.engines.cuda.near_pairs import Near
from mercer.engines.cuda.ops import STEP_NUMBERS, apply_steps, computed_in
from mercer.engines.cuda.rows import DeviceSide, largest_of, row_vector, to_device
from mercer.engines.cuda.torch_blocks import torch_block
from mercer.engines.cuda.triton_launch import blocks_serve, describe, launch, usable
from mercer.formula import Formula, at_diagonal, simplify
from mercer.formula.nodes import ROOT, Input
from mercer.gram.accuracy import Method, needs_double
from mercer.gram.base import Body, Gram, check_factor, check_has_diagonal, indices_of, simplified
from mercer.gram.form import Program, compile_program, form_of, prepared_norm
from mercer.gram.fourier_series import Series, in_words
from mercer.gram.plan import Cost, check_room
from mercer.gram.rows import check_widths
from mercer.kernels.core import Kernel

#: Entries of K that are computed at a time for an array of all of it: they fill a GPU, and are
#: small beside its memory.
PANEL = 1 << 28
#: The share of the memory limit that all of K may take where a solver reads its rows again and
#: again; with more it is computed when it is asked for.
K_SHARE = 0.5


class DeviceGram(Gram):
    """A `Gram` that computes on a GPU, whether its rows stay there or pass over it."""

    engine = "cuda"
    symmetric = True  # type: ignore[assignment]
    device: torch.device

    @property
    def xp(self) -> Any:
        return torch_namespace()

    def asarray(self, values: Any, dtype: Any = None) -> torch.Tensor:
        return torch.as_tensor(values, device=self.device, dtype=dtype)

    @property
    def limit_bytes(self) -> int:
        return device_limit(self.device)

    def __matmul__(self, V: Any) -> Any:
        return self.times(V)


class CudaGram(DeviceGram):
    """`Gram` whose rows live on a GPU."""

    #: Whether kernels can be generated for these rows.
    generated = True
    #: The series of k, once it was asked for: it holds for these rows and parts of them, which copy
    #: it. Unlike `shared`, what a part finds for itself is not for all.
    series: list[Series] | None = None
    program: Program
    near: dict[Input, Near]
    #: How strictly distances were chosen; see `methods.LEVELS`.
    level: int = 0

    def __init__(self, kernel: Kernel | Formula, X: Any, Z: Any = None) -> None:
        self.kernel: Kernel | Formula = kernel
        self.formula: Formula = simplified(kernel)
        self.precision: str = get_config().precision
        self._as_tensor = isinstance(X, torch.Tensor)
        z: torch.Tensor | None
        # Rows that k reads as they are given are looked at later, once for all that is asked.
        check = not form_of(self.formula).reads_as_given
        if isinstance(Z, torch.Tensor) and not self._as_tensor:  # rows go where the points are
            z = to_device(Z, "Z", None, check)
            x = to_device(X, "X", z, check)
        else:
            x = to_device(X, "X", None, check)
            z = None if Z is None else to_device(Z, "Z", x, check)
        self.torch_dtype: Any = computed_in(x.dtype)
        if z is not None and (z.device != x.device or computed_in(z.dtype) != self.torch_dtype):
            raise ValueError(
                f"X is {x.dtype} on {x.device} and Z is {z.dtype} on {z.device}: they must agree"
            )
        if needs_double(self.formula):
            x, z = x.double(), None if z is None else z.double()
            self.torch_dtype = torch.float64
        self.square: bool = Z is None
        self.device: Any = x.device
        self.dtype: np.dtype = np.dtype(
            np.float32 if self.torch_dtype == torch.float32 else np.float64
        )
        self.near = {}
        #: Scales and modules that serve all parts of these rows.
        self.shared: dict[Any, Any] = {}
        self._x, self._z = self._sides(x, z)
        self.shape: tuple[int, int] = (x.shape[0], x.shape[0] if z is None else z.shape[0])

    def _sides(self, x: torch.Tensor, z: torch.Tensor | None) -> tuple[DeviceSide, DeviceSide]:
        inputs, other = form_of(self.formula).inputs, x if z is None else z
        left = {key: apply_steps(x, key).contiguous() for key in inputs}
        right = left if z is None else {key: apply_steps(z, key).contiguous() for key in inputs}
        for key in inputs:
            check_widths(left[key], right[key])
        centers: dict[Input, torch.Tensor | None] = {}
        a = DeviceSide(x.shape[0], left or {ROOT: x}, centers, x)
        b = DeviceSide(other.shape[0], right or {ROOT: other}, centers, other)
        b.cache = a.cache if z is None else b.cache
        self._choose(a, b)
        return a, b

    def _choose(self, a: DeviceSide, b: DeviceSide) -> None:
        chosen = Choice(self.formula, a, b, self.precision, self.torch_dtype, self.level)
        self.methods: dict[Input, Method] = chosen.methods
        self.exact: dict[Input, Exact] = chosen.exact
        #: The largest norms of the rows about their centers.
        self.largest: dict[Input, Largest] = chosen.largest
        self._prepare(a, b, chosen.below)

    def _prepare(self, a: DeviceSide, b: DeviceSide, below: dict[Input, float]) -> None:
        """Find the program of the methods, and the row values that it reads."""
        self.program = compile_program(self.formula, self.methods)
        #: Of distances whose near pairs are computed again: where the norms are among the row
        #: values of both operands, and below which distance.
        self.near = {}
        formulas = [list(self.program.row_x), list(self.program.row_z)]
        for key, distance in below.items():
            self.near[key] = Near((len(formulas[0]), len(formulas[1])), distance)
            for side, wanted in zip("xz", formulas, strict=True):
                wanted.append(prepared_norm(side, key))
        sides = list(zip((a, b), formulas, strict=True))
        for rows, wanted in sides:
            norms = {i: f.value[1] for i, f in enumerate(wanted) if f.op == "prepared_norm"}
            kept = {i: rows.cache.get(("whole norms", key)) for i, key in norms.items()}
            rows.whole = {i: whole for i, whole in kept.items() if whole is not None}
        values = {
            f: row_vector(f, rows)
            for rows, wanted in sides
            for i, f in enumerate(wanted)
            if i not in rows.whole
        }
        #: The largest row value of each formula, by size.
        self.tops: dict[Formula, float] = largest_of(values)
        for rows, wanted in sides:
            rows.values = tuple(
                rows.whole[i][: rows.n] if i in rows.whole else values[f].to(self.torch_dtype)
                for i, f in enumerate(wanted)
            )

    def with_fewer_near(self, x: DeviceSide, z: DeviceSide) -> CudaGram:
        """K of these rows where too many pairs are near: closer ones only, or differences."""
        centers: dict[Input, torch.Tensor | None] = {}
        a, b = (DeviceSide(s.n, s.matrices, centers, s.raw) for s in (x, z))
        gram = self.between(a, b)
        gram.square, gram.shared = self.square and x is self._x and z is self._z, {}
        b.cache = a.cache if gram.square else b.cache
        gram.level = self.level + 1
        gram._choose(a, b)
        return gram

    # --- numbers -------------------------------------------------------------------------------

    def dense(self, out: Any = None) -> Any:
        if out is None:
            check_room(self.shape, self.dtype, self.limit_bytes, " on the device")
        return self._give(self.tensor(), out)

    @clear_errors
    def tensor(self, rows: slice | None = None, columns: slice | None = None) -> torch.Tensor:
        """K, or a block of it, as a tensor on the device."""
        x = self._x if rows in (None, slice(0, self.shape[0])) else self._x.take(rows)
        z = self._z if columns in (None, slice(0, self.shape[1])) else self._z.take(columns)
        square = self.square and x is self._x and z is self._z
        diagonal = self.diagonal_tensor() if square else None
        if not usable(self):
            return self._torch_block(x, z, diagonal)
        block = launch(self, "dense", x, z, None, None)
        if diagonal is not None:
            # Afterwards, so that blocks on and off the diagonal are made by one kernel.
            block.diagonal().copy_(diagonal)
        return block

    @clear_errors
    def times(self, V: Any, relative: bool = False) -> Any:
        given = V
        V = torch.as_tensor(np.asarray(V) if not isinstance(V, torch.Tensor) else V)
        check_factor(self.shape, tuple(V.shape))
        V = V.to(device=self.device, dtype=self.torch_dtype)
        columns = V.reshape(len(V), -1)
        result = self.product(columns, relative)
        result = result[:, 0] if V.ndim == 1 else result
        return result if isinstance(given, torch.Tensor) or self._as_tensor else host(result)

    @clear_errors
    def product(self, V: torch.Tensor, relative: bool = False) -> torch.Tensor:
        """K V for a matrix V on the device; see `times`."""
        if not relative and (series := fourier_product.series_of(self, V.shape[1])):
            return fourier_product.product(self, series, V)
        diagonal = self.diagonal_tensor() if self.square else None
        if not usable(self) or blocks_serve(self, V, diagonal):
            return self._in_blocks(V, diagonal)
        symmetric = self.square and V.shape[1] == 1
        if symmetric and not torch.are_deterministic_algorithms_enabled():
            return launch(self, "symmetric", self._x, self._z, V, diagonal)
        kind = "vectors" if V.shape[1] > 1 else "vector"
        return launch(self, kind, self._x, self._z, V, diagonal)

    def _in_blocks(self, V: torch.Tensor, diagonal: torch.Tensor | None) -> torch.Tensor:
        """K V from blocks of rows of K, one at a time in memory."""
        result = torch.empty(self.shape[0], V.shape[1], dtype=V.dtype, device=V.device)
        entries = PANEL if usable(self) else STEP_NUMBERS
        for part in cut(0, self.shape[0], self._step(entries, self.limit_bytes)):
            block = self.tensor(part)
            if diagonal is not None:
                block.diagonal(part.start).copy_(diagonal[part])
            result[part] = block @ V
        return result

    def _step(self, entries: int, room: int) -> int:
        """Rows of K to compute at once: PyTorch's functions need a few copies of what they make."""
        return max(1, min(entries, room // (6 * self.dtype.itemsize)) // self.shape[1])

    @clear_errors
    def whole(self, dtype: torch.dtype | None = None) -> torch.Tensor:
        """K in one array of this type, its diagonal exact; one call would make several arrays."""
        n, dtype = self.shape[0], dtype or self.torch_dtype
        room = self.limit_bytes - math.prod(self.shape) * dtype.itemsize
        K = torch.empty(self.shape, dtype=dtype, device=self.device)
        # However short memory is, a hundred and some panels are small enough.
        for rows in cut(0, n, max(n // 128, self._step(PANEL, room))):
            K[rows] = self.tensor(rows)
        if self.square or self._x is self._z:
            K.diagonal().copy_(self.diagonal_tensor())
        return K

    def block(self, rows: Any, columns: Any) -> Any:
        return self.take(rows, columns).dense()

    def tile(
        self, rows: slice, columns: slice, out: Any = None, scratch: Scratch | None = None
    ) -> Any:
        return self._give(self.tensor(rows, columns), out)

    def blocks(self) -> Iterator[tuple[slice, slice, CudaGram]]:
        """Yield blocks of K: one here, several if rows are streamed."""
        yield slice(0, self.shape[0]), slice(0, self.shape[1]), self

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
        """Tiles are panels of whole rows, as tensors; the device fills each by all its threads."""
        n, m = self.shape
        diagonal = self.diagonal_tensor() if exact_diagonal and self.square else None
        scratch = Scratch(0)
        with progress(what, float(n)) as bar:
            for rows in cut(0, n, self._step(STEP_NUMBERS, self.limit_bytes)):
                tile = self.tensor(rows, slice(0, m))
                if diagonal is not None:
                    tile.diagonal(rows.start).copy_(diagonal[rows])
                if out is not None:
                    out[rows] = tile
                    tile = out[rows]
                body(rows, slice(0, m), tile, scratch)
                bar.advance(rows.stop - rows.start)

    def diagonal_tensor(self) -> torch.Tensor:
        """k(x, x) for every row, on the device."""
        if "diagonal" not in self._x.cache:
            formula = simplify(at_diagonal(self.formula))
            value = row_vector(formula, self._x)
            if formula.op != "const":
                largest_of({formula: value})
            self._x.cache["diagonal"] = value.to(self.torch_dtype)
        return self._x.cache["diagonal"]  # type: ignore[no-any-return]

    def diagonal(self) -> Any:
        check_has_diagonal(self)
        return self._give(self.diagonal_tensor().clone())

    @property
    def cost(self) -> Cost:
        """Products are counted as they run: three of half-precision parts for one of float32."""
        products = loops = 0
        splits = self.torch_dtype == torch.float32 and self.precision == "high"
        for source in self.program.sources:
            columns = self._x.matrices[source.rows].shape[1]
            if source.kind != "direct":
                products += 2 * columns * (3 if splits and source.rows not in self.exact else 1)
            else:
                loops += 3 * columns
        loops += sum(1 for _ in self.program.epilogue.walk())
        pairs = float(self.shape[0] * self.shape[1])
        return Cost((products + loops) * pairs, loops * pairs, self.dtype.itemsize * pairs)

    def describe(self) -> tuple[str, str]:
        return describe(self)

    def series_in_words(self) -> str:
        return in_words(fourier_product.series_of(self, 1), float(np.finfo(self.dtype).eps))

    # --- where it lives --------------------------------------------------------------------------

    @property
    def bytes_per_row(self) -> int:
        return sum(m.shape[1] * m.element_size() for m in self._z.matrices.values())

    def facing_host(self) -> CudaGram:
        gram = copy.copy(self)
        gram._as_tensor = False
        return gram

    # --- views -----------------------------------------------------------------------------------

    def points(self, index: Any = None) -> torch.Tensor:
        rows: torch.Tensor = self._x.raw
        return rows if index is None else rows[self.asarray(np.asarray(index))]

    def others(self) -> torch.Tensor | None:
        return None if self.square else self._z.raw

    def of(self, kernel: Kernel | Formula) -> CudaGram:
        gram = CudaGram(kernel, self.points(), self.others())
        gram._as_tensor = self._as_tensor
        return gram

    def in_double(self, index: Any = None) -> torch.Tensor:
        return CudaGram(self.kernel, self.points(index).double()).whole()

    def doubled(self) -> CudaGram:
        """K in double precision."""
        return CudaGram(self.kernel, self.points().double())

    @property
    def T(self) -> CudaGram:
        if self.square:
            return self
        gram = CudaGram(self.kernel, self._z.raw, self._x.raw)
        gram._as_tensor = self._as_tensor
        return gram

    def take(self, rows: Any = None, columns: Any = None) -> CudaGram:
        if rows is None and columns is None:
            return copy.copy(self)
        x = self._x if rows is None else self._x.take(indices_of(rows, self.shape[0], "row"))
        z = self._z
        if columns is not None:
            z = z.take(indices_of(columns, self.shape[1], "column"))
        return self.between(x, z)

    def between(self, x: DeviceSide, z: DeviceSide) -> CudaGram:
        """K of rows that were taken from these; what is known of all holds for them, too."""
        gram = copy.copy(self)
        gram._x, gram._z, gram.square = x, z, False
        gram.shape = (x.n, z.n)
        return gram

    def _torch_block(
        self, x: DeviceSide, z: DeviceSide, diagonal: torch.Tensor | None
    ) -> torch.Tensor:
        return torch_block(self, x, z, diagonal)

    def _inner(self, x: DeviceSide, z: DeviceSide, rows: Input) -> torch.Tensor:
        """x·z of centered rows."""
        return x.centered(rows) @ z.centered(rows).T

    def _give(self, tensor: torch.Tensor, out: Any = None) -> Any:
        """The numbers as the caller has its rows: a tensor, or an array; in `out` if given."""
        if out is None:
            return tensor if self._as_tensor else host(tensor)
        out[...] = tensor if isinstance(out, torch.Tensor) else host(tensor)
        return out
