"""Gram: the matrix K of k(x, z) for all rows of X and Z, as an operator that never has to exist."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mercer._config import get_config, show_bytes
from mercer._tiles import Scratch, Tiling, stretch, sweep
from mercer.formula import Formula, at_diagonal, derive, simplify
from mercer.formula.nodes import ROOT, Input
from mercer.gram.cpu.engine import NumpyEngine
from mercer.gram.plan.planner import Plan, make_plan
from mercer.gram.plan.prepare import prepare, swap_values
from mercer.gram.rows.prepared import Side, row_value
from mercer.gram.rows.validate import as_rows, check_not_empty
from mercer.gram.triangle import mirror, set_diagonal
from mercer.kernels.core import Kernel


class Gram:
    """K = k(X, Z), lazily: ``G @ V``, ``G.block(rows, columns)``, ``G.diagonal()``, ``G.dense()``.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> G = Gaussian().gram(np.array([[0.0], [1.0]]))
    >>> G.shape
    (2, 2)
    >>> (G @ np.ones(2)).round(4)
    array([1.6065, 1.6065])
    """

    #: Whether the rows live on a GPU.
    on_device = False
    #: Whether they do not fit there, and pass over it in chunks.
    streamed = False
    #: The function k(x, z) may depend on the order of its arguments here.
    _swapped = False

    def __init__(self, kernel: Kernel | Formula, X: Any, Z: Any = None) -> None:
        if not isinstance(kernel, (Kernel, Formula)):
            raise TypeError(f"Gram needs a Kernel, got {type(kernel).__name__}: {kernel!r:.80}")
        self.kernel = kernel
        formula = kernel.lower(ROOT) if isinstance(kernel, Kernel) else kernel
        self.formula = simplify(formula)
        X, Z = as_rows(X), as_rows(Z)
        check_not_empty(X, "X")
        if Z is not None:
            check_not_empty(Z, "Z")
        self._square = Z is None
        self._x, self._z, self.program = prepare(self.formula, X, Z)
        self.shape = (self._x.n, self._z.n)
        self.dtype = self._x.dtype

    @classmethod
    def _of(cls, parent: Gram, x: Side, z: Side, square: bool, swapped: bool) -> Gram:
        gram: Gram = object.__new__(cls)
        gram.kernel, gram.formula, gram.program = parent.kernel, parent.formula, parent.program
        gram._x, gram._z = x, z
        gram._square, gram._swapped = square, swapped
        gram.shape, gram.dtype = (x.n, z.n), parent.dtype
        return gram

    # --- views -----------------------------------------------------------------------------

    @property
    def T(self) -> Gram:
        """k(z, x): the transpose."""
        if self._square and self._symmetric:
            return self
        x, z = self._z, self._x
        if self.program.row_x or self.program.row_z:
            # Row values belong to their side; a symmetric formula has the same ones on both.
            x, z = swap_values(self.program, x, z)
        return Gram._of(self, x, z, self._square, not self._swapped)

    def take(self, rows: Any = None, columns: Any = None) -> Gram:
        """The Gram of some rows and columns (slices or positions); nothing is prepared again."""
        x = self._x if rows is None else self._x.take(positions_of(rows, self.shape[0], "row"))
        z = (
            self._z
            if columns is None
            else self._z.take(positions_of(columns, self.shape[1], "column"))
        )
        square = self._square and rows is None and columns is None
        return Gram._of(self, x, z, square, self._swapped)

    # --- numbers ---------------------------------------------------------------------------

    def dense(self, out: np.ndarray | None = None) -> np.ndarray:
        """The whole matrix, in `out` if given."""
        n, m = self.shape
        need = 0 if out is not None else n * m * self.dtype.itemsize
        limit = get_config().memory_bytes
        if need > limit:
            raise MemoryError(
                f"the dense {n} × {m} {self.dtype.name} matrix needs {show_bytes(need)}, but the "
                f"memory limit is {show_bytes(limit)}. G @ V and G.block(…) work within it, and so "
                "do the solvers 'cg' and 'nystrom'; or raise it with mercer.config(memory=…)."
            )
        plan = self._plan(dense=True, fixed=need)
        if out is None:
            out = np.empty(self.shape, dtype=self.dtype)
        elif out.shape != self.shape or out.dtype != self.dtype:
            raise ValueError(
                f"out must have shape {self.shape} and dtype {self.dtype.name}, "
                f"got {out.shape} and {out.dtype}"
            )
        engine = self._engine(plan)
        triangle = self._square and self._symmetric and plan.threads * plan.tile[0] < 2 * n
        diagonal = self._exact_diagonal()

        def body(rows: slice, columns: slice, scratch: Scratch) -> None:
            tile = out[rows, columns]
            engine.fill(rows, columns, tile, scratch)
            set_diagonal(tile, rows, columns, diagonal)
            if triangle:
                mirror(out, rows, columns)

        sweep(Tiling(self.shape, plan.tile, plan.threads, triangle), body, "Gram matrix")
        return out

    def __matmul__(self, V: Any) -> np.ndarray:
        """K V for a vector or a matrix V, tile by tile."""
        V = np.asarray(V)
        if V.ndim not in (1, 2) or V.shape[0] != self.shape[1]:
            raise ValueError(
                f"K has shape {self.shape}; it multiplies vectors of length {self.shape[1]}, "
                f"not an array of shape {V.shape}"
            )
        if V.dtype.kind not in "biuf":
            raise TypeError(f"V must hold real numbers, it has dtype {V.dtype}")
        columns = np.ascontiguousarray(V.reshape(len(V), -1), dtype=self.dtype)
        result = np.zeros((self.shape[0], columns.shape[1]), dtype=self.dtype)
        # One triangle sums the columns of its tiles in each thread.
        sums = get_config().n_threads if self._square and self._symmetric else 0
        plan = self._plan(fixed=columns.nbytes + (1 + sums) * result.nbytes)
        engine = self._engine(plan)
        if plan.compiled and self.program.fused and columns.shape[1] <= 16:
            self._fused_product(plan, engine, columns, result)
        else:
            self._tiled_product(plan, engine, columns, result)
        return result[:, 0] if V.ndim == 1 else result

    def _tiled_product(
        self, plan: Plan, engine: NumpyEngine, V: np.ndarray, result: np.ndarray
    ) -> None:
        diagonal = self._exact_diagonal()
        # One triangle, each tile used twice: sums for the columns are kept apart per thread.
        triangle = self._square and self._symmetric and plan.tile[0] < self.shape[0]
        extra = [np.zeros_like(result) for _ in range(plan.threads)] if triangle else []

        def body(rows: slice, columns: slice, scratch: Scratch) -> None:
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            tile = scratch.get("result", shape, self.dtype)
            engine.fill(rows, columns, tile, scratch)
            set_diagonal(tile, rows, columns, diagonal)
            result[rows] += tile @ V[columns]
            if triangle and columns.stop > rows.stop:
                below = max(columns.start, rows.stop)
                part = tile[:, below - columns.start :]
                extra[scratch.thread][below : columns.stop] += part.T @ V[rows]

        tiling = Tiling(self.shape, plan.tile, plan.threads, triangle, fixed=triangle)
        sweep(tiling, body, "kernel times matrix")
        for part in extra:
            result += part

    def _fused_product(
        self, plan: Plan, engine: NumpyEngine, V: np.ndarray, result: np.ndarray
    ) -> None:
        transposed = np.ascontiguousarray(V.T)

        def body(rows: slice, columns: slice, scratch: Scratch) -> None:
            engine.compiled.multiply(self._x, self._z, rows, transposed, result[rows])

        height = max(64, min(2048, -(-self.shape[0] // (4 * plan.threads))))
        sweep(
            Tiling(self.shape, (height, self.shape[1]), plan.threads), body, "kernel times matrix"
        )

    def row_sums(self) -> Any:
        """Σ over the columns of each row: K 1.

        >>> from mercer import Gaussian
        >>> Gaussian().gram([[0.0], [1.0]]).row_sums().round(4)
        array([1.6065, 1.6065])
        """
        return self @ np.ones(self.shape[1], dtype=self.dtype)

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        """A dense block, by slices or positions."""
        part = self.take(rows, columns)
        values = part.dense()
        if self._square:
            i = np.arange(self.shape[0])[positions_of(rows, self.shape[0], "row")]
            j = np.arange(self.shape[1])[positions_of(columns, self.shape[1], "column")]
            same = i[:, None] == j[None, :]
            if same.any():
                values[same] = self.diagonal()[i[np.nonzero(same)[0]]]
        return values

    def tile(self, rows: slice, columns: slice, out: np.ndarray | None = None) -> np.ndarray:
        """One tile, here and now: no threads of ours, no planning; for loops that walk K.

        The diagonal is not set exactly; `block` does that.
        """
        rows, columns = stretch(rows, self.shape[0]), stretch(columns, self.shape[1])
        if out is None:
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            out = np.empty(shape, dtype=self.dtype)
        self._walker.fill(rows, columns, out, self._scratch)
        return out

    @functools.cached_property
    def _walker(self) -> NumpyEngine:
        return self._engine(self._plan())

    @functools.cached_property
    def _scratch(self) -> Scratch:
        return Scratch(0)

    @functools.cached_property
    def _diagonal(self) -> np.ndarray:
        if not self._square:
            raise ValueError(f"K has shape {self.shape}: only K(X, X) has a diagonal k(x, x)")
        formula = simplify(at_diagonal(self.formula))
        return row_value(formula, self._x, self._x.raw, "X")

    def diagonal(self) -> np.ndarray:
        """k(x, x) for every row."""
        return self._diagonal.copy()

    def grad(self, name: str) -> Gram:
        """∂K/∂p for a scalar parameter p, named as in `kernel.get_params`: a Gram again.

        >>> import numpy as np
        >>> from mercer import Gaussian
        >>> G = Gaussian(2.0).gram(np.array([[0.0], [2.0]]))
        >>> (G.grad("sigma") @ np.array([0.0, 1.0])).round(4)
        array([0.3033, 0.    ])
        """
        formula = self.kernel.lower(ROOT) if isinstance(self.kernel, Kernel) else self.kernel
        named = {n.value[0]: n for n in formula.walk() if n.op == "param"}
        if name not in named:
            raise ValueError(f"{self.kernel!r} has no scalar parameter {name!r}; {sorted(named)}")
        Z = None if self._square else self._z.raw
        return type(self)(derive(formula, named[name]), self._x.raw, Z)

    def as_linear_operator(self) -> Any:
        """For SciPy's iterative solvers."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(
            self.shape,
            matvec=lambda v: self @ np.ravel(v),
            rmatvec=lambda v: self.T @ np.ravel(v),
            matmat=lambda V: self @ V,
            rmatmat=lambda V: self.T @ V,
            dtype=self.dtype,
        )

    def __repr__(self) -> str:
        return f"Gram({self.kernel!r}, shape={self.shape}, dtype={self.dtype.name})"

    # --- the machinery ---------------------------------------------------------------------

    @functools.cached_property
    def _symmetric(self) -> bool:
        leaves = [s.node.value[0] for s in self.program.sources if s.kind == "opaque"]
        return all(leaf.symmetric for leaf in leaves)

    def _exact_diagonal(self) -> np.ndarray | None:
        """Where a distance to itself came out of a product, the diagonal is set right."""
        if self._square and any(s.kind in ("product", "repaired") for s in self.program.sources):
            return self._diagonal
        return None

    def _widths(self) -> dict[Input, int]:
        return {key: m.shape[1] for key, m in self._x.matrices.items()}

    def _plan(self, dense: bool = False, fixed: int = 0) -> Plan:
        from mercer.gram.cpu.compiled import can_compile

        return make_plan(
            self.program,
            self.shape,
            self._widths(),
            self.dtype.itemsize,
            can_compile(self.program),
            fixed,
            dense,
            self._z.packed_bytes([s.rows for s in self.program.sources if s.kind == "direct"]),
        )

    def _engine(self, plan: Plan) -> NumpyEngine:
        compiled = None
        if plan.compiled:
            from mercer.gram.cpu.compiled import compile_epilogue

            widths = self._widths()
            direct = [s.rows for s in self.program.sources if s.kind == "direct"]
            compiled = compile_epilogue(self.program, self.dtype, [widths[r] for r in direct])
            for rows in direct:
                self._z.packed(rows)  # now, before several threads ask for it at once
        return NumpyEngine(self.program, self._x, self._z, compiled, self._swapped)


def positions_of(index: Any, n: int, what: str) -> Any:
    """Rows or columns as a slice or an array of positions; a clear error for anything else."""
    if isinstance(index, slice):
        return index
    positions = np.asarray(index)
    if positions.dtype == bool:
        if positions.shape != (n,):
            raise IndexError(f"a mask of length {n} is needed, got shape {positions.shape}")
        return np.flatnonzero(positions)
    if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
        raise IndexError(f"{what}s are chosen by a slice or a list of positions, got {index!r:.80}")
    positions = positions.astype(np.intp)
    if positions.size and (positions.min() < -n or positions.max() >= n):
        missing = positions.max() if positions.max() >= n else positions.min()
        raise IndexError(f"{what} {missing} does not exist; there are {n}")
    return np.where(positions < 0, positions + n, positions)
