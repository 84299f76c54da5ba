"""Gram: the matrix K of k(x, z) for all rows of X and Z, as an operator that never has to exist."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mercer._config import get_config, show_bytes
from mercer.formula import Formula, at_diagonal, derive, simplify
from mercer.formula.inputs import is_sparse
from mercer.formula.nodes import ROOT, Input, statistics
from mercer.gram import accuracy
from mercer.gram.device import on_device
from mercer.gram.numpy_engine import NumpyEngine
from mercer.gram.overflow import check_range
from mercer.gram.plan import Plan, make_plan
from mercer.gram.program import Program, compile_program
from mercer.gram.rows import (
    as_rows,
    check_not_empty,
    common_dtype,
    count,
    dtype_of,
    matrix,
    numeric_inputs,
)
from mercer.gram.sides import GrowingSide, Side, row_value, squared_norms
from mercer.gram.tiles import Scratch, Tiling, cut, sweep
from mercer.kernels.core import Kernel

#: Edge of the squares that are mirrored at a time.
MIRROR = 256


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

    #: The function k(x, z) may depend on the order of its arguments here.
    _swapped = False

    def __new__(cls, kernel: Kernel | Formula, X: Any, Z: Any = None) -> Gram:
        if cls is Gram and on_device(kernel, X):
            from mercer.gram.torch_engine import DeviceGram

            return object.__new__(DeviceGram)
        return object.__new__(cls)

    def __init__(self, kernel: Kernel | Formula, X: Any, Z: Any = None) -> None:
        self.kernel = kernel
        formula = kernel.lower(ROOT) if isinstance(kernel, Kernel) else kernel
        self.formula = simplify(formula)
        X, Z = as_rows(X), as_rows(Z)
        check_not_empty(X, "X")
        if Z is not None:
            check_not_empty(Z, "Z")
        self._square = Z is None
        self._x, self._z, self.program = _prepare(self.formula, X, Z)
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
            x, z = _swap_values(self, x, z)
        return Gram._of(self, x, z, self._square, not self._swapped)

    def take(self, rows: Any = None, columns: Any = None) -> Gram:
        """The Gram of some rows and columns (slices or positions); nothing is prepared again."""
        x = self._x if rows is None else self._x.take(_index(rows, self.shape[0], "row"))
        z = self._z if columns is None else self._z.take(_index(columns, self.shape[1], "column"))
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
            _set_diagonal(tile, rows, columns, diagonal)
            if triangle:
                _mirror(out, rows, columns)

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
            _set_diagonal(tile, rows, columns, diagonal)
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

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        """A dense block, by slices or positions."""
        part = self.take(rows, columns)
        values = part.dense()
        if self._square:
            i = np.arange(self.shape[0])[_index(rows, self.shape[0], "row")]
            j = np.arange(self.shape[1])[_index(columns, self.shape[1], "column")]
            same = i[:, None] == j[None, :]
            if same.any():
                values[same] = self.diagonal()[i[np.nonzero(same)[0]]]
        return values

    def tile(self, rows: slice, columns: slice, out: np.ndarray | None = None) -> np.ndarray:
        """One tile, here and now: no threads of ours, no planning; for loops that walk K.

        The diagonal is not set exactly; `block` does that.
        """
        rows, columns = _stretch(rows, self.shape[0]), _stretch(columns, self.shape[1])
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

    def growing(self) -> GrowingColumns:
        """K with an empty list of columns, to which columns of this one are appended."""
        return GrowingColumns(self)

    @functools.cached_property
    def _diagonal(self) -> np.ndarray:
        if not self._square:
            raise ValueError(f"K has shape {self.shape}: only K(X, X) has a diagonal k(x, x)")
        formula = simplify(at_diagonal(self.formula))
        return row_value(formula, self._x, self._x.raw, "X")

    def diagonal(self) -> np.ndarray:
        """k(x, x) for every row."""
        return self._diagonal.copy()

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
        from mercer.gram.compiled import can_compile

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
            from mercer.gram.compiled import compile_epilogue

            widths = self._widths()
            direct = [s.rows for s in self.program.sources if s.kind == "direct"]
            compiled = compile_epilogue(self.program, self.dtype, [widths[r] for r in direct])
            for rows in direct:
                self._z.packed(rows)  # now, before several threads ask for it at once
        return NumpyEngine(self.program, self._x, self._z, compiled, self._swapped)


class GrowingColumns:
    """k(x, z) for all rows x and a list of z that grows: the log of an online learner.

    The chosen rows are copied side by side, so that any stretch of the list is one matrix product.
    """

    def __init__(self, gram: Gram) -> None:
        self._gram = gram
        self._log = GrowingSide(gram._z)
        self._compiled = gram._walker.compiled
        self._scratch = Scratch(0)

    def __len__(self) -> int:
        return self._log.n

    @property
    def positions(self) -> np.ndarray:
        """Which columns of the full matrix the list holds, in order."""
        return self._log.positions

    def append(self, positions: Any) -> None:
        self._log.append(np.atleast_1d(positions))

    def tile(self, rows: slice, columns: slice, out: np.ndarray | None = None) -> np.ndarray:
        """k between some rows and a stretch of the list."""
        rows, columns = _stretch(rows, self._gram.shape[0]), _stretch(columns, len(self))
        if out is None:
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            out = np.empty(shape, dtype=self._gram.dtype)
        part = self._log.view(columns)
        engine = NumpyEngine(
            self._gram.program, self._gram._x, part, self._compiled, self._gram._swapped
        )
        engine.fill(rows, slice(0, part.n), out, self._scratch)
        return out


def _stretch(index: slice, n: int) -> slice:
    """A slice with both its ends, as loops over tiles want it."""
    start, stop, step = index.indices(n)
    if step != 1:
        raise IndexError(f"a tile is a stretch of rows and columns, not {index}")
    return slice(start, max(start, stop))


def _index(index: Any, n: int, what: str) -> Any:
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


def _set_diagonal(
    tile: np.ndarray, rows: slice, columns: slice, diagonal: np.ndarray | None
) -> None:
    if diagonal is None:
        return
    start, stop = max(rows.start, columns.start), min(rows.stop, columns.stop)
    if start < stop:
        at = np.arange(start, stop)
        tile[at - rows.start, at - columns.start] = diagonal[start:stop]


def _mirror(out: np.ndarray, rows: slice, columns: slice) -> None:
    """Copy what is above the diagonal below it, in squares that fit the cache."""
    first = max(rows.start, columns.start)
    # The end of the panel is an edge: before it lie squares on the diagonal, behind it none.
    for part in cut(first, min(rows.stop, columns.stop), MIRROR):
        above = slice(rows.start, part.start)
        out[part, above] = out[above, part].T
        square = out[part, part]
        square[...] = np.triu(square) + np.triu(square, 1).T
    for part in cut(max(first, rows.stop), columns.stop, MIRROR):
        out[part, rows] = out[rows, part].T


def _prepare(formula: Formula, X: Any, Z: Any) -> tuple[Side, Side, Program]:
    inputs = numeric_inputs(formula)
    left = {key: matrix(X, key, "X") for key in inputs}
    right = left if Z is None else {key: matrix(Z, key, "Z") for key in inputs}
    for key in inputs:
        if left[key].shape[1] != right[key].shape[1]:
            raise ValueError(
                f"X has {left[key].shape[1]} columns and Z has {right[key].shape[1]}: "
                "they must agree"
            )
    dtype = _dtype([(X, left), (X if Z is None else Z, right)])
    for side in (left, right):
        for key in inputs:
            if dtype == np.float64:  # rows that were widened for float32 stay so
                side[key] = side[key].astype(dtype, copy=False)
    methods, centers = _methods(formula, left, right, dtype)
    program = compile_program(formula, methods)
    x = Side(count(X), dtype, left, centers, raw=X)
    z = x if Z is None else Side(count(Z), dtype, right, centers, raw=Z)
    x, z = _with_states(program, x, z, X, Z)
    x_values = _values(program.row_x, x, X, "X")
    if Z is None:
        z = Side(x.n, dtype, x.matrices, centers, (), z.states, X, x.functions)
    x.values = x_values
    z.values = _values(program.row_z, z, X if Z is None else Z, "X" if Z is None else "Z")
    check_range(formula, x, z, dtype)
    return x, z, program


def _dtype(sides: list[tuple[Any, dict[Input, Any]]]) -> np.dtype:
    """That of the numbers k reads, or of the data itself where it reads none."""
    read: list[Any] = [
        dtype_of(raw, key, values) for raw, side in sides for key, values in side.items()
    ]
    return common_dtype(read or [getattr(raw, "dtype", None) for raw, _ in sides])


def _values(
    formulas: tuple[Formula, ...], side: Side, raw: Any, name: str
) -> tuple[np.ndarray, ...]:
    return tuple(row_value(f, side, raw, name) for f in formulas)


def _with_states(program: Program, x: Side, z: Side, X: Any, Z: Any) -> tuple[Side, Side]:
    for source in program.sources:
        if source.kind != "opaque":
            continue
        leaf, rows = source.node.value
        left, right = X, Z
        for step in rows.steps:
            left = step(left)
            right = None if right is None else step(right)
        state_x, state_z = leaf.prepare_pair(left, right)
        if z is x:
            z = Side(leaf.count(state_z), x.dtype, x.matrices, x.centers, raw=X)
        x.states[source.node], z.states[source.node] = state_x, state_z
    return x, z


def _swap_values(gram: Gram, x: Side, z: Side) -> tuple[Side, Side]:
    def side(old: Side, formulas: tuple[Formula, ...], name: str) -> Side:
        values = _values(formulas, old, old.raw, name)
        return Side(old.n, old.dtype, old.matrices, old.centers, values, old.states, raw=old.raw)

    return side(x, gram.program.row_x, "Z"), side(z, gram.program.row_z, "X")


def _methods(
    formula: Formula, left: dict[Input, Any], right: dict[Input, Any], dtype: np.dtype
) -> tuple[dict[Input, accuracy.Method], dict[Input, np.ndarray | None]]:
    methods: dict[Input, accuracy.Method] = {}
    centers: dict[Input, np.ndarray | None] = {}
    for node in statistics(formula):
        if node.op != "sqdist":
            continue
        key = node.value
        X, Z = left[key], right[key]
        center = None if is_sparse(X) or is_sparse(Z) else Z.mean(axis=0, dtype=np.float64)
        center = None if center is None else center.astype(np.result_type(X, Z))
        norms = _largest_norms(X, Z, center)
        methods[key] = accuracy.choose(formula, node, X, Z, norms, dtype)
        centers[key] = center if methods[key].center else None
    return methods, centers


def _largest_norms(X: Any, Z: Any, center: np.ndarray | None) -> tuple[float, float | None]:
    sides = [X] if X is Z else [X, Z]
    with np.errstate(over="ignore"):
        raw = max(float(squared_norms(s).max()) for s in sides)
        if center is None:
            return raw, None
        return raw, max(float(squared_norms(s, center).max()) for s in sides)


# --- what a kernel delegates here ------------------------------------------------------------


def diagonal(kernel: Kernel, X: Any) -> np.ndarray:
    """k(x, x) for every row of X."""
    X = as_rows(X)
    check_not_empty(X, "X")
    formula = simplify(at_diagonal(kernel.lower(ROOT)))
    matrices = {key: matrix(X, key, "X") for key in numeric_inputs(kernel.lower(ROOT))}
    dtype = _dtype([(X, matrices)])
    side = Side(count(X), dtype, matrices, {}, raw=X)
    return row_value(formula, side, X, "X")


def distance(kernel: Kernel, X: Any, Z: Any = None) -> np.ndarray:
    """√(k(x,x) − 2k(x,z) + k(z,z)); in float64, because it cancels where x and z are close."""
    k = kernel.lower(ROOT)
    square = at_diagonal(k, "x") + at_diagonal(k, "z") - 2.0 * k
    gram = Gram(square.plus().sqrt(), _widened(X), None if Z is None else _widened(Z))
    values = gram.dense()
    if Z is None:
        np.fill_diagonal(values, 0.0)
    return values.astype(np.float32) if _is_single(X) and (Z is None or _is_single(Z)) else values


def _is_single(X: Any) -> bool:
    if hasattr(X, "dtypes"):  # a DataFrame
        return all(dtype == np.float32 for dtype in np.atleast_1d(X.dtypes))
    return getattr(X, "dtype", None) == np.float32


def _widened(X: Any) -> Any:
    return X.astype(np.float64) if _is_single(X) else X


def distance_to_mean(kernel: Kernel, X: Any, sample: Any) -> np.ndarray:
    """‖φ(x) − φ̄‖ = √(k(x,x) − (2/N) Σᵢ k(x, xᵢ) + (1/N²) Σᵢⱼ k(xᵢ, xⱼ)), φ̄ the mean of the sample.

    >>> from mercer import Linear, distance_to_mean
    >>> distance_to_mean(Linear(), [[3.0, 4.0]], [[-1.0, 0.0], [1.0, 0.0]])
    array([5.])
    """
    n = count(sample)
    ones = np.full(n, 1.0 / n)
    # In float64, as in `distance`: the three terms cancel where x is close to the mean.
    single = _is_single(X) and _is_single(sample)
    X, sample = _widened(X), _widened(sample)
    own = diagonal(kernel, X)
    cross = Gram(kernel, X, sample) @ ones
    spread = float(ones @ (Gram(kernel, sample) @ ones))
    values = np.sqrt(np.maximum(own - 2.0 * cross + spread, 0.0))
    return values.astype(np.float32) if single else values


def gradient(kernel: Kernel, X: Any, Z: Any = None) -> dict[str, np.ndarray]:
    """∂k/∂p for every scalar parameter p that the formula names."""
    formula = kernel.lower(ROOT)
    named = {n.value[0]: n for n in formula.walk() if n.op == "param"}
    result = {}
    for path, node in named.items():
        slope = derive(formula, node)
        result[path] = Gram(slope, X, Z).dense()
    return result


__all__ = ["Gram", "diagonal", "distance", "distance_to_mean", "gradient"]
