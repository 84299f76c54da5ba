"""HostGram: K of rows in memory, by BLAS products and compiled loops over tiles."""

from __future__ import annotations

import functools
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

import mercer.tuning as tuning
from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer._examples import take, widened
from mercer._machine.jit import compiles
from mercer._machine.threads import WORTH_FLOPS, blas_for_product, single_threaded_blas
from mercer._tiles import Scratch, Tiling, mirror, set_diagonal, stretch, sweep
from mercer.formula import Formula
from mercer.formula.nodes import Input
from mercer.gram import fourier_product
from mercer.gram.base import (
    Body,
    Gram,
    check_factor,
    check_has_diagonal,
    constant_diagonal,
    indices_of,
    simplified_diagonal,
)
from mercer.gram.fill import PRODUCTS, Filler
from mercer.gram.form import Program, form_for
from mercer.gram.fourier_series import SERIES_VECTORS, Series, in_words
from mercer.gram.plan import Cost, Plan, check_room, make_plan, operations
from mercer.gram.prepare import prepare, swap_values
from mercer.gram.row_values import row_value
from mercer.gram.rows import Operand, Rows
from mercer.kernels.core import Kernel


class HostGram(Gram):
    """`Gram` of arrays, CSR matrices, DataFrames and lists of objects on the host."""

    program: Program
    methods: Any
    #: k(x, z) may depend on the order of its arguments; then a transposed Gram swaps them back.
    _swapped = False
    #: The compiled loop of tiles, or None, once `prepare_tiles` has settled it for all parts of K.
    _loops: tuple[Any] | None = None
    #: Fourier series for K V (`mercer.gram.fourier_series`), once they were looked for.
    series: list[Series] | None = None

    def __init__(self, kernel: Kernel | Formula, X: Any, Z: Any = None) -> None:
        self.square: bool = Z is None
        form = form_for(kernel)
        self.kernel: Kernel | Formula = kernel
        self.formula: Formula = form.formula
        rows = X if isinstance(X, Rows) else Rows(form, X)
        others = Z if Z is None or isinstance(Z, Rows) else Rows(form, Z, "Z")
        self._x, self._z, self.program, self.methods = prepare(form, rows, others)
        self.shape: tuple[int, int] = (self._x.n, self._z.n)
        self.dtype: np.dtype = self._x.dtype

    def _with(self, x: Operand, z: Operand, square: bool, swapped: bool) -> HostGram:
        """Make the Gram of the same kernel and program on other operands."""
        gram: HostGram = object.__new__(HostGram)
        gram.kernel, gram.formula, gram.program = self.kernel, self.formula, self.program
        gram.methods, gram._x, gram._z = self.methods, x, z
        gram.square, gram._swapped = square, swapped
        gram.shape, gram.dtype, gram._loops = (x.n, z.n), self.dtype, self._loops
        return gram

    # --- where it lives --------------------------------------------------------------------

    @property
    def symmetric(self) -> bool:
        return self.program.symmetric

    def solver(self, name: str, default: Any) -> Any:
        return default  # written for NumPy arrays

    @property
    def cost(self) -> Cost:
        return self._plan().cost

    @property
    def bytes_per_row(self) -> int:
        total = 0
        for m in self._z.matrices.values():
            if is_sparse(m):
                total += (m.data.nbytes + m.indices.nbytes) // max(1, m.shape[0]) + 8
            else:
                total += m.shape[1] * m.dtype.itemsize
        return int(total)

    # --- views -----------------------------------------------------------------------------

    @property
    def T(self) -> Gram:
        if self.square and self.program.symmetric:
            return self
        x, z = self._z, self._x
        if self.program.row_x or self.program.row_z:
            # Row values belong to their operand; a symmetric formula has the same ones on both.
            x, z = swap_values(self.program, x, z)
        return self._with(x, z, self.square, not self._swapped)

    def take(self, rows: Any = None, columns: Any = None) -> HostGram:
        x, z = self._x, self._z
        if rows is not None:
            x = x.take(indices_of(rows, self.shape[0], "row"))
        if columns is not None:
            z = z.take(indices_of(columns, self.shape[1], "column"))
        square = self.square and rows is None and columns is None
        return self._with(x, z, square, self._swapped)

    def reordered(self, order: np.ndarray) -> HostGram:
        """K(X, X) of some or all of its examples, in this order."""
        x = self._x.take(order)
        z = replace(x, values=tuple(v[order] for v in self._z.values))
        return self._with(x, z, self.square, self._swapped)

    def points(self, index: Any = None) -> Any:
        return self._x.raw if index is None else take(self._x.raw, index)

    def others(self) -> Any:
        return None if self.square else self._z.raw

    def of(self, kernel: Kernel | Formula) -> HostGram:
        return HostGram(kernel, self.points(), self.others())

    # --- numbers ---------------------------------------------------------------------------

    def dense(self, out: np.ndarray | None = None) -> np.ndarray:
        fixed = 0
        if out is None:
            if self.is_small:
                return self._at_once()
            check_room(self.shape, self.dtype, get_config().memory_bytes)
            fixed = self.shape[0] * self.shape[1] * self.dtype.itemsize
        elif out.shape != self.shape or out.dtype != self.dtype:
            raise ValueError(
                f"out must have shape {self.shape} and dtype {self.dtype.name}, "
                f"got {out.shape} and {out.dtype}"
            )
        plan = self._plan(dense=True, fixed=fixed)
        K = np.empty(self.shape, dtype=self.dtype) if out is None else out
        halves = self.square and self.program.symmetric
        triangle = halves and plan.threads * plan.tile[0] < 2 * self.shape[0]
        tiling = Tiling(self.shape, plan.tile, plan.threads, triangle)
        self.sweep(None, out=K, tiling=tiling, exact_diagonal=True, what="Gram matrix", plan=plan)
        return K

    @property
    def is_small(self) -> bool:
        """Whether K is made as one tile, without a plan: sizes and the program decide."""
        program, x, z = self.program, self._x, self._z
        pairs, sources = self.shape[0] * self.shape[1], len(program.sources)
        large = pairs * max(1, sources) * self.dtype.itemsize > tuning.ONE_TILE_BYTES
        if large or program.opaque or x.is_sparse or z.is_sparse:
            return False
        widths = [m.shape[1] for m in z.matrices.values()]
        if pairs * max(widths, default=0) > tuning.SMALL_WORK:
            if program.fused or pairs * operations(program.epilogue) >= tuning.COMPILED_PAIRS:
                return False
            if x.grids or 2 * pairs * sum(widths) >= WORTH_FLOPS:
                return False
        return 8 * pairs * (2 + sources) <= get_config().memory_bytes

    def _at_once(self) -> np.ndarray:
        """K as one tile, on the calling thread."""
        n, m = self.shape
        K = np.empty(self.shape, dtype=self.dtype)
        rows, columns = slice(0, n), slice(0, m)
        engine = Filler(self.program, self._x, self._z, None, self._swapped)
        multiplications = 0 if self.program.fused else n * m * self.bytes_per_row // 8
        with blas_for_product(multiplications):
            engine.fill(rows, columns, K, Scratch(0))
        if self.square:
            if self.program.multiplied:
                set_diagonal(K, rows, columns, self._diagonal)
            # Sums of three numbers, and sums in products, depend on their order.
            if self.program.row_x or not self.program.fused:
                mirror(K, rows, columns)
        return K

    def times(self, V: Any, relative: bool = False) -> np.ndarray:
        V = np.asarray(V)
        check_factor(self.shape, V.shape)
        if V.dtype.kind not in "biuf":
            raise TypeError(f"V must hold real numbers, it has dtype {V.dtype}")
        columns = np.ascontiguousarray(V.reshape(len(V), -1), dtype=self.dtype)
        if self.is_small:
            K = self._at_once()
            with blas_for_product(K.size * columns.shape[1]):
                result = K @ columns
            return result[:, 0] if V.ndim == 1 else result
        pairs = self.shape[0] * self.shape[1] * -(-columns.shape[1] // SERIES_VECTORS)
        if not relative and pairs >= fourier_product.WAVE_PAIRS:
            series = fourier_product.series_of(self, columns.shape[1])
            if series is not None:
                image = fourier_product.product(self, *series, columns)
                return image[:, 0] if V.ndim == 1 else image
        result = np.zeros((self.shape[0], columns.shape[1]), dtype=self.dtype)
        # One triangle sums the columns of its tiles in each thread.
        sums = get_config().n_threads if self.square and self.program.symmetric else 0
        fixed = columns.nbytes + (1 + sums) * result.nbytes
        plan = self._plan(fixed=fixed, factor=columns.shape[1])
        few = columns.shape[1] <= tuning.FUSED_COLUMNS and not sums
        fused = plan.compiled and self.program.fused and few
        multiply = self._fused_product if fused else self._tiled_product
        multiply(plan, columns, result)
        return result[:, 0] if V.ndim == 1 else result

    __matmul__: Any = times

    def _tiled_product(self, plan: Plan, V: np.ndarray, result: np.ndarray) -> None:
        # One triangle, each tile used twice: sums for the columns are kept apart per thread.
        triangle = self.square and self.program.symmetric and plan.tile[0] < self.shape[0]
        extra = [np.zeros_like(result) for _ in range(plan.threads)] if triangle else []

        def body(rows: slice, columns: slice, tile: np.ndarray, scratch: Scratch) -> None:
            if tile.shape[1] == len(V):  # whole rows: nothing to be added to
                np.matmul(tile, V, out=result[rows])
            else:
                result[rows] += tile @ V[columns]
            if triangle and columns.stop > rows.stop:
                below = max(columns.start, rows.stop)
                part = tile[:, below - columns.start :]
                extra[scratch.thread][below : columns.stop] += part.T @ V[rows]

        tiling = Tiling(self.shape, plan.tile, plan.threads, triangle, fixed=triangle)
        what = "kernel times matrix"
        self.sweep(body, tiling=tiling, exact_diagonal=True, what=what, plan=plan)
        for part in extra:
            result += part

    def _fused_product(self, plan: Plan, V: np.ndarray, result: np.ndarray) -> None:
        transposed, filler = np.ascontiguousarray(V.T), self._filler(plan)

        def body(rows: slice, columns: slice, scratch: Scratch) -> None:
            filler.multiply(rows, transposed, result[rows])

        height = max(64, min(2048, -(-self.shape[0] // (4 * plan.threads))))
        tiling = Tiling(self.shape, (height, self.shape[1]), plan.threads)
        sweep(tiling, body, "kernel times matrix")

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        values = self.take(rows, columns).dense()
        if self.square:
            i = np.arange(self.shape[0])[indices_of(rows, self.shape[0], "row")]
            j = np.arange(self.shape[1])[indices_of(columns, self.shape[1], "column")]
            same = i[:, None] == j[None, :]
            if same.any():
                values[same] = self.diagonal()[i[np.nonzero(same)[0]]]
        return values

    @functools.cached_property
    def _diagonal(self) -> np.ndarray:
        check_has_diagonal(self)
        constant = constant_diagonal(self.formula)
        if constant is not None:
            return np.full(self.shape[0], constant, dtype=self.dtype)
        return row_value(simplified_diagonal(self.formula), self._x, "X")

    def diagonal(self) -> np.ndarray:
        return self._diagonal.copy()

    @property
    def largest(self) -> float:
        """√(max k(x, x) max k(z, z)), which bounds |k| where it is positive semi-definite."""
        constant = constant_diagonal(self.formula)
        if constant is not None:
            return max(0.0, constant)
        diagonal = simplified_diagonal(self.formula)
        operands = ((self._x, "X"), (self._z, "Z"))
        ends = [float(row_value(diagonal, operand, name).max()) for operand, name in operands]
        return float(np.sqrt(max(ends[0], 0.0) * max(ends[1], 0.0)))

    def in_double(self, index: Any = None) -> np.ndarray:
        opaque = isinstance(self.kernel, Kernel) and self.kernel.is_opaque
        if self.dtype == np.float64 or opaque:  # a given matrix or a black box has no more digits
            K = self.dense() if index is None else self.block(index, index)
        else:
            K = HostGram(self.kernel, widened(self.points(index))).dense()
        return K.astype(np.float64, copy=False)

    # --- loops over K ----------------------------------------------------------------------

    def tile(
        self,
        rows: slice,
        columns: slice,
        out: np.ndarray | None = None,
        scratch: Scratch | None = None,
    ) -> np.ndarray:
        rows, columns = stretch(rows, self.shape[0]), stretch(columns, self.shape[1])
        if out is None:
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            out = np.empty(shape, dtype=self.dtype)
        self._tile_filler.fill(rows, columns, out, scratch or Scratch(0))
        return out

    @property
    def tile_shape(self) -> tuple[int, int]:
        return self._plan().tile

    def prepare_tiles(self) -> None:
        self._loops = (self._tile_filler.compiled,)

    @functools.cached_property
    def _tile_filler(self) -> Filler:
        if self._loops is None:
            return self._filler(self._plan())
        return Filler(self.program, self._x, self._z, self._loops[0], self._swapped)

    def sweep(
        self,
        body: Body | None,
        *,
        out: np.ndarray | None = None,
        tiling: Tiling | None = None,
        triangle: bool = False,
        exact_diagonal: bool = False,
        what: str = "kernel",
        plan: Plan | None = None,
    ) -> None:
        """Fill every tile and hand it to `body`; without one, mirror the tiles of a triangle."""
        if plan is None:
            plan = self._plan(dense=out is not None, fixed=0 if out is None else out.nbytes)
        cut = tiling or Tiling(self.shape, plan.tile, plan.threads, triangle)
        engine = self._filler(plan)
        # A distance of 0 that comes out of a product is not 0 by its rounding.
        exact_diagonal &= self.square and bool(self.program.multiplied)
        diagonal = self._diagonal if exact_diagonal else None

        def fill(rows: slice, columns: slice, scratch: Scratch) -> None:
            if out is not None:
                tile = out[rows, columns]
            else:
                shape = (rows.stop - rows.start, columns.stop - columns.start)
                tile = scratch.get("result", shape, self.dtype)
            engine.fill(rows, columns, tile, scratch)
            if diagonal is not None:
                set_diagonal(tile, rows, columns, diagonal)
            if body is not None:
                body(rows, columns, tile, scratch)
            elif cut.triangle and out is not None:
                mirror(out, rows, columns)

        # One thread of ours means one of BLAS.
        single = cut.threads == 1 and (out is None or not self.program.fused)
        with single_threaded_blas() if single else nullcontext():
            sweep(cut, fill, what)

    def describe(self) -> tuple[Plan, str]:
        plan = self._plan()
        compiled = self._filler(plan).compiled
        return plan, "" if compiled is None else compiled.source

    def series_in_words(self) -> str:
        series = fourier_product.series_of(self, 1)
        return "" if series is None else in_words(series[1], float(np.finfo(self.dtype).eps))

    def products_in_words(self) -> dict[Input, str]:
        x, z = self.operands()
        filler = Filler(self.program, x, z, paneled=self._plan().paneled)
        ways = {key: filler.product(key) for key in self.program.multiplied}
        sparse = {key: way.words for key, way in ways.items() if way is not PRODUCTS[-1]}
        return sparse | {key: str(rows) for key, rows in x.grids.items()}

    def operands(self) -> tuple[Operand, Operand]:
        """The prepared rows of X and Z, for what walks K without this class."""
        return self._x, self._z

    # --- the machinery ---------------------------------------------------------------------

    def _plan(self, dense: bool = False, fixed: int = 0, factor: int = 0) -> Plan:
        return make_plan(self.program, self._x, self._z, dense, fixed, factor)

    def _filler(self, plan: Plan) -> Filler:
        """The Filler that makes the tiles of a plan, compiled if the plan says so."""
        compiled = None
        if plan.compiled and compiles():
            from mercer.gram.cpu.compiled import compile_epilogue

            direct = self.program.direct
            widths = tuple(self._x.matrices[key].shape[1] for key in direct)
            compiled = compile_epilogue(self.program, self.dtype, widths)
            for key in direct:
                self._z.packed(key)  # now, before several threads ask for it at once
        return Filler(self.program, self._x, self._z, compiled, self._swapped, plan.paneled)
