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
from mercer.engines.cuda import fourier_product, near_pairs
from mercer.engines.cuda.half_precision import ROUNDING, Exact, exact_scale
from mercer.engines.cuda.memory import clear_errors, device_limit
from mercer.engines.cuda.near_pairs import Near
from mercer.engines.cuda.operands import NARROW_COLUMNS
from mercer.engines.cuda.ops import apply_steps, computed_in, differences, evaluate_torch
from mercer.engines.cuda.rows import (
    DeviceSide,
    largest_norm,
    row_vector,
    squared_norms,
    to_device,
)
from mercer.engines.cuda.triton_launch import (
    blocks_serve,
    describe,
    launch,
    usable,
)
from mercer.formula import Formula, at_diagonal, simplify
from mercer.formula.nodes import ROOT, Input, statistics
from mercer.gram.accuracy import (
    BY_SIZE,
    NEAR,
    Ends,
    Method,
    needs_double,
    slope_between,
    steady_from,
    tolerates_rounding,
)
from mercer.gram.base import (
    Body,
    Gram,
    check_factor,
    check_has_diagonal,
    indices_of,
    simplified,
)
from mercer.gram.form import Program, compile_program, prepared_norm
from mercer.gram.fourier_series import Series, in_words
from mercer.gram.plan import Cost, check_room
from mercer.gram.rows import check_widths, numeric_inputs
from mercer.kernels.core import Kernel
from mercer.tuning import DIRECT_COLUMNS

#: Rounding unit of a product of split operands, and of a single half-precision part.
UNIT = {"high": 2.0**-22, "fast": 2.0**-11}
#: Tolerated error of k, relative to its largest value: a little below what is promised.
TOLERANCE = {"high": 8e-6, "fast": 1.6e-3}
#: The largest block that PyTorch's own functions work on at a time, in elements.
BLOCK = 1 << 26
#: Entries of K that are computed at a time for an array of all of it: they fill a GPU, and are
#: small beside its memory.
PANEL = 1 << 28


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

    def __init__(self, kernel: Kernel | Formula, X: Any, Z: Any = None) -> None:
        self.kernel: Kernel | Formula = kernel
        self.formula: Formula = simplified(kernel)
        self.precision: str = get_config().precision
        self._as_tensor = isinstance(X, torch.Tensor)
        z: torch.Tensor | None
        if isinstance(Z, torch.Tensor) and not self._as_tensor:  # rows go where the points are
            z = to_device(Z, "Z")
            x = to_device(X, "X", z)
        else:
            x = to_device(X, "X")
            z = None if Z is None else to_device(Z, "Z", x)
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
        inputs, other = numeric_inputs(self.formula), x if z is None else z
        left = {key: apply_steps(x, key).contiguous() for key in inputs}
        right = left if z is None else {key: apply_steps(z, key).contiguous() for key in inputs}
        for key in inputs:
            check_widths(left[key], right[key])
        left, right = left or {ROOT: x}, right or {ROOT: other}
        centers: dict[Input, torch.Tensor | None] = {}
        a = DeviceSide(x.shape[0], left, centers, x)
        b = DeviceSide(other.shape[0], right, centers, other)
        self.exact: dict[Input, Exact] = self._exact(left, right)
        below: dict[Input, float] = {}
        self.methods: dict[Input, Method] = {
            node.value: self._method(node, a, b, below)
            for node in statistics(self.formula)
            if node.op == "sqdist"
        }
        self._prepare(a, b, below)
        return a, b

    def _prepare(self, a: DeviceSide, b: DeviceSide, below: dict[Input, float]) -> None:
        """Find the program of the methods, and the row values that it reads."""
        self.program = compile_program(self.formula, self.methods)
        #: Of distances whose near pairs are computed again: where the norms are among the row
        #: values of both sides, and below which distance.
        self.near = {}
        formulas = [list(self.program.row_x), list(self.program.row_z)]
        for key, distance in below.items():
            self.near[key] = Near((len(formulas[0]), len(formulas[1])), distance)
            for side, wanted in zip("xz", formulas, strict=True):
                wanted.append(prepared_norm(side, key))
        for rows, wanted in zip((a, b), formulas, strict=True):
            rows.values = tuple(row_vector(f, rows, self.torch_dtype) for f in wanted)
        if self.square:
            b.cache = a.cache

    def by_differences(self, x: DeviceSide, z: DeviceSide) -> CudaGram:
        """K of these rows, every distance that needs it computed from differences."""
        centers = {key: None if key in self.near else c for key, c in x.centers.items()}
        gram = self.between(*(DeviceSide(s.n, s.matrices, centers, s.raw) for s in (x, z)))
        gram.square, gram.shared = self.square and x is self._x and z is self._z, {}
        gram.methods = {
            key: BY_SIZE if key in self.near else method for key, method in self.methods.items()
        }
        gram._prepare(gram._x, gram._z, {})
        return gram

    def _exact(
        self, left: dict[Input, torch.Tensor], right: dict[Input, torch.Tensor]
    ) -> dict[Input, Exact]:
        """Inputs that one half-precision part holds without loss; narrow ones need no more."""
        if self.torch_dtype != torch.float32:
            return {}
        wide = [key for key, x in left.items() if x.shape[1] > NARROW_COLUMNS]
        found = {key: exact_scale(left[key], right[key]) for key in wide}
        return {key: exact for key, exact in found.items() if exact is not None}

    def _method(
        self, node: Formula, x: DeviceSide, z: DeviceSide, below: dict[Input, float]
    ) -> Method:
        """How ‖x − z‖² is computed; `centers` and `exact` are brought into line with it, and
        `below` gets the distance below which pairs are computed again."""
        key, columns = node.value, x.matrices[node.value].shape[1]
        center = z.matrices[key].sum(0, dtype=torch.float64) / z.n
        exact = self.exact.get(key)
        if exact is not None and not exact.grid:
            # One part would no longer hold these halves once a center is taken off.
            if (
                self._error(node, columns, self._ends(key, x, z), "high")
                <= TOLERANCE[self.precision]
            ):
                return Method("product", False, "halves as they are")
            del self.exact[key]
        elif exact is not None:
            apart = largest_norm(x, key), largest_norm(z, key)
            x.centers[key] = center = (center * exact.scale).round() / exact.scale
            if not tolerates_rounding(
                self.formula, node, self._ends(key, x, z, max(apart)), ROUNDING / 2, self.dtype
            ):
                del self.exact[key]
        x.centers[key] = center.to(self.torch_dtype)
        # Where all split parts fit one product of tensor cores, full precision is kept.
        kind = "high" if columns <= NARROW_COLUMNS or key in self.exact else self.precision
        ends = self._ends(key, x, z)
        error = self._error(node, columns, ends, kind)
        tolerance = TOLERANCE[self.precision] if self.torch_dtype == torch.float32 else 2e-13
        if error <= tolerance:
            return Method("product", True, f"centered: error ≤ {error:.1e}")
        if columns > DIRECT_COLUMNS:
            error = self._rounding(columns, ends, kind)
            distance = steady_from(self.formula, node, ends, error, tolerance) + 4 * error
            if distance <= NEAR * ends.centered:
                below[key] = distance
                return Method("repaired", True, "near pairs from differences")
        x.centers[key] = None
        return Method("direct", False, "differences: the product cancels")

    def _error(self, node: Formula, columns: int, ends: Ends, kind: str) -> float:
        """What the rounding of a product of rows about their center does to k."""
        return self._rounding(columns, ends, kind) * slope_between(self.formula, node, ends)

    def _rounding(self, columns: int, ends: Ends, kind: str) -> float:
        """How far a squared distance from the product of such rows may be off."""
        unit = UNIT[kind] if self.torch_dtype == torch.float32 else 2.0**-52
        # Roundings of many columns partly cancel: what is promised here is not a worst case.
        share = 2 / math.sqrt(columns) if kind == "fast" else 1.0
        return 2 * unit * ends.centered * share

    def _ends(self, key: Input, x: DeviceSide, z: DeviceSide, raw: float | None = None) -> Ends:
        """The largest norms about the center, if one is taken off; `raw`: those without it."""
        spread = largest_norm(z, key)
        centered = max(largest_norm(x, key), spread)
        known = x.centers.get(key) is not None
        return Ends(centered if raw is None else raw, centered, spread if known else 0.0)

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
        if not usable(self) or blocks_serve(self, V.shape[1]):
            return self._in_blocks(V, diagonal)
        symmetric = self.square and V.shape[1] == 1
        if symmetric and not torch.are_deterministic_algorithms_enabled():
            return launch(self, "symmetric", self._x, self._z, V, diagonal)
        kind = "vectors" if V.shape[1] > 1 else "vector"
        return launch(self, kind, self._x, self._z, V, diagonal)

    def _in_blocks(self, V: torch.Tensor, diagonal: torch.Tensor | None) -> torch.Tensor:
        """K V from blocks of rows of K, one at a time in memory."""
        result = torch.empty(self.shape[0], V.shape[1], dtype=V.dtype, device=V.device)
        entries = PANEL if usable(self) else BLOCK
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
            for rows in cut(0, n, self._step(BLOCK, self.limit_bytes)):
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
            self._x.cache["diagonal"] = row_vector(formula, self._x, self.torch_dtype)
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
        """The same K, computed in double precision."""
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

    # --- PyTorch's own functions, block by block -------------------------------------------------

    def _torch_block(
        self, x: DeviceSide, z: DeviceSide, diagonal: torch.Tensor | None
    ) -> torch.Tensor:
        known: dict[Formula, Any] = {}
        for i, source in enumerate(self.program.sources):
            if source.kind == "product":
                tile = self._inner(x, z, source.rows)
            elif source.kind == "repaired":
                tile = self._distances(source.node, x, z)
            else:
                tile = differences(source.node, x.numbers(source.rows), z.numbers(source.rows))
            known[Formula("tile", value=i)] = tile
        known |= {Formula("rowx", value=i): v[:, None] for i, v in enumerate(x.values)}
        known |= {Formula("rowz", value=i): v[None, :] for i, v in enumerate(z.values)}
        result = evaluate_torch(self.program.epilogue, known)
        shape = (x.n, z.n)
        if not isinstance(result, torch.Tensor):
            result = torch.full(shape, float(result), dtype=self.torch_dtype, device=x.device)
        result = result.to(self.torch_dtype)
        if result.shape != shape:
            result = result.expand(shape)
        if diagonal is not None:
            # A view may be a row value that others read; what is its own is not copied.
            result = result if result._base is None else result.clone()
            result.diagonal().copy_(diagonal)
        return result

    def _inner(self, x: DeviceSide, z: DeviceSide, rows: Input) -> torch.Tensor:
        """x·z of centered rows."""
        return x.centered(rows) @ z.centered(rows).T

    def _distances(self, node: Formula, x: DeviceSide, z: DeviceSide) -> torch.Tensor:
        """‖x − z‖² from the product, of near pairs from their differences."""
        (i, j), below = self.near[node.value]
        tile = self._inner(x, z, node.value).mul_(-2.0)
        tile += x.values[i][:, None]
        tile += z.values[j]
        rows, columns = (tile < below).nonzero(as_tuple=True)
        for part in cut(0, len(rows), near_pairs.at_a_time(x)):
            a, b = rows[part], columns[part]
            ends = x.numbers(node.value)[a], z.numbers(node.value)[b]
            tile[a, b] = squared_norms(ends[0] - ends[1])
        return tile

    def values_of_pairs(
        self, x: DeviceSide, z: DeviceSide, i: torch.Tensor, j: torch.Tensor
    ) -> torch.Tensor:
        """k of row i of x and row j of z, for indices of the same length."""
        known: dict[Formula, Any] = {}
        for at, source in enumerate(self.program.sources):
            if source.kind == "product":
                tile = (x.centered(source.rows)[i] * z.centered(source.rows)[j]).sum(1)
            else:
                a, b = x.numbers(source.rows)[i], z.numbers(source.rows)[j]
                plain = source.node.op == "sqdist"
                tile = squared_norms(a - b) if plain else differences(source.node, a, b, True)
            known[Formula("tile", value=at)] = tile
        known |= {Formula("rowx", value=at): v[i] for at, v in enumerate(x.values)}
        known |= {Formula("rowz", value=at): v[j] for at, v in enumerate(z.values)}
        return torch.zeros_like(x.values[0][i]) + evaluate_torch(self.program.epilogue, known)

    def _give(self, tensor: torch.Tensor, out: Any = None) -> Any:
        """The numbers as the caller has its rows: a tensor, or an array; in `out` if given."""
        if out is None:
            return tensor if self._as_tensor else host(tensor)
        out[...] = tensor if isinstance(out, torch.Tensor) else host(tensor)
        return out
