"""Points that stay, which a fitted model compares new rows with again and again.

What depends on the points alone is computed once: the program of the formula, the points in the
precision of the answer, their norms. For a few hundred new rows that takes longer than K itself.
What is left is a product, and the formula in place. For functions of x·z or of ‖x − z‖² alone,
where a product keeps the digits of k; `make_gram` serves everything else, and gives the same
numbers.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from mercer._arrays import are_float_rows, is_sparse
from mercer._config import get_config
from mercer._machine.threads import single_threaded_blas, threads_for
from mercer.formula import Formula, evaluate
from mercer.formula.evaluate import evaluate_into
from mercer.formula.nodes import statistics
from mercer.gram.base import simplified, simplified_diagonal
from mercer.gram.cpu.single_precision import LARGEST, keeps
from mercer.gram.dispatch import HOST, engine_for, make_gram
from mercer.gram.host import HostGram
from mercer.gram.plan.accuracy import DIRECT_COLUMNS, Method, choose
from mercer.gram.plan.folded import beside, folded_sum
from mercer.gram.plan.program import compile_program
from mercer.gram.plan.range import check_range, only_overflows
from mercer.gram.rows.prepared import Side, squared_norms
from mercer.gram.rows.sparse import dense_bytes, stays_sparse
from mercer.kernels.core import Kernel

#: Bytes of K that stay in the cache of a core while the formula is applied to them.
FEW = 1 << 20
#: Flops, times the bytes of a number, up to which one thread makes K in one piece: for 58 million
#: flops in float32 it took 1.5 ms, tiles 2.6 ms with one thread and more than 3 ms with two.
ONE_PIECE = 4e8
#: Multiply-adds beyond which to prepare both sides costs little, and other methods may be faster.
MOST_WORK = 2e8
#: Bytes of a dense copy of sparse rows at most.
DENSE = 32_000_000
#: Rows from which values per row are worth a place in the product.
SEVERAL = 32


class StandingPoints:
    """The points of a model, prepared for every precision in which rows were compared with them.

    >>> from mercer import Gaussian
    >>> points = StandingPoints(Gaussian(), np.array([[0.0], [1.0]]))
    >>> points.prepared(np.array([[0.0]])).block(np.array([[0.0]]))[0].round(4)
    array([[1.    , 0.6065]])
    """

    def __init__(self, kernel: Kernel, points: Any) -> None:
        self.kernel, self.points = kernel, points
        self._known: dict[np.dtype, PreparedPoints | None] = {}

    def prepared(self, X: Any, dtype: np.dtype | None = None) -> PreparedPoints | None:
        """As rows like X are compared with them; None where only `make_gram` can do it.

        Without a `dtype` it is that of a `Gram`.
        """
        if not (_are_rows(X) and _are_rows(self.points) and X.shape[1] == self.points.shape[1]):
            return None
        dtype = np.result_type(X.dtype, self.points.dtype) if dtype is None else dtype
        if dtype not in self._known:
            self._known[dtype] = prepared_points(self.kernel, self.points, dtype)
        return self._known[dtype]

    def gram(self, X: Any) -> Any:
        """K between X and the points."""
        found = self.prepared(X)
        known = None if found is None else found.gram(X)
        return make_gram(self.kernel, X, self.points) if known is None else known


class PreparedPoints:
    """The points of one kernel in one precision; made by `StandingPoints`."""

    def __init__(self, kernel: Kernel, formula: Formula, points: Any, dtype: np.dtype) -> None:
        self.kernel, self.formula, self.dtype = kernel, formula, dtype
        (self.node,) = statistics(formula)
        self.program = compile_program(formula, {self.node.value: Method("product")})
        self._diagonal = simplified_diagonal(formula)
        self._given = points
        dense = points.toarray() if is_sparse(points) else points
        self._center: np.ndarray | None = None
        if self.node.op == "sqdist" and not self._keeps_digits(float(squared_norms(dense).max())):
            self._center = dense.mean(axis=0, dtype=np.float64).astype(dense.dtype)
        self._largest_norm = 0.0
        self._z = self._side(points, self.program.row_z)
        norms = self._norms(self._z)
        self._largest_norm, self._largest = float(norms.max()), self._most(norms)
        self._nodes = [Formula("rowx", value=i) for i in range(len(self.program.row_x))]
        self._known = {Formula("rowz", value=i): v for i, v in enumerate(self._z.values)}
        self._tile = Formula("tile", value=0)

    def block(self, X: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """K of a few rows, and their norms; None for many, or where k would lose digits."""
        (n, columns), m = X.shape, self._z.n
        flops = 2.0 * n * m * columns
        few = n * m * self.dtype.itemsize <= FEW
        few = few and (flops * self.dtype.itemsize <= ONE_PIECE or threads_for(flops) == 1)
        if not few or not self._serves(X):
            return None
        x, rows = self._side(X, self.program.row_x), self.node.value
        norms = self._norms(x)
        if not self._keeps_digits(max(float(norms.max()), self._largest_norm)):
            return None
        K = np.empty((n, m), dtype=self.dtype)
        folded = self._folded if n >= SEVERAL and columns <= m else None
        if folded is None:
            left, right, epilogue = x.matrices[rows], self._z.matrices[rows], self.program.epilogue
        else:
            left, (right, epilogue) = beside(x.matrices[rows], x.values[0], 1.0), folded
        with single_threaded_blas():
            np.matmul(left, right.T, out=K)
        known = {self._tile: K, **self._known}
        known |= {node: v[:, None] for node, v in zip(self._nodes, x.values, strict=True)}
        with np.errstate(all="ignore"):
            evaluate_into(K, epilogue, known)
        if self._diagonal.op != "const" and not np.isfinite(K).all():
            return None  # too large for the precision, and a Gram says so
        return K, norms

    @cached_property
    def _folded(self) -> tuple[np.ndarray, Formula] | None:
        """The points for a product that has the values per row in it, and the formula of that.

        a x·z + v(x) + w(z) = (x, v(x), 1)·(a z, 1, w(z)): three passes over K less.
        """
        found = folded_sum(self.program.epilogue)
        if found is None:
            return None
        factor, epilogue = found
        points = self._z.matrices[self.node.value] * self.dtype.type(factor)
        return beside(points, 1.0, self._z.values[0]), epilogue

    def bound(self, norms: np.ndarray) -> float:
        """√(max k(x, x) max k(z, z)), which bounds |k|, for rows with these squared norms."""
        return math.sqrt(self._most(norms) * self._largest)

    def gram(self, X: Any) -> HostGram | None:
        """K of more rows, without what is computed once; None where another way may be faster."""
        (n, columns), m = X.shape, self._z.n
        other = columns <= DIRECT_COLUMNS or stays_sparse(X) or n * m * columns > MOST_WORK
        if other or not self._serves(X):
            return None
        x = self._side(X, self.program.row_x)
        if not self._keeps_digits(max(float(self._norms(x).max()), self._largest_norm)):
            return None
        check_range(self.formula, x, self._z, self.dtype)
        return HostGram.of_sides(self.kernel, self.program, x, self._z)

    def _serves(self, X: Any) -> bool:
        """Whether the rows can be taken; their numbers are not looked at."""
        settings = get_config()
        unlimited = settings.memory is None and settings.device == HOST.name
        return unlimited and engine_for(self.kernel, X, self._given) is HOST

    def _side(self, rows: Any, formulas: tuple[Formula, ...]) -> Side:
        dense = rows.toarray() if is_sparse(rows) else rows
        with np.errstate(over="ignore"):
            moved = dense if self._center is None else dense - self._center
            moved = moved.astype(self.dtype, copy=False)
            norms = squared_norms(moved)
            # What they are of rows that are not finite is not looked at.
            values = [
                np.asarray(evaluate(f, dict.fromkeys(statistics(f), norms)), dtype=self.dtype)
                for f in formulas
            ]
        key = self.node.value
        return Side(
            len(dense), self.dtype, {key: moved}, {}, tuple(values), raw=moved, norms={key: norms}
        )

    def _norms(self, side: Side) -> np.ndarray:
        return side.norms[self.node.value]

    def _keeps_digits(self, norm: float) -> bool:
        """Whether k does, of rows whose squared norms reach this; NaN does not."""
        if not norm <= LARGEST:
            return False
        if self.dtype == np.float32 and not keeps(self.formula, self.node, norm):
            return False
        if self.node.op == "dot":
            return True
        return choose(self.formula, self.node, True, (norm, None), self.dtype).how == "product"

    def _most(self, norms: np.ndarray) -> float:
        """The largest k(x, x)."""
        if self._diagonal.op == "const":
            return float(self._diagonal.value)
        known = dict.fromkeys(statistics(self._diagonal), norms.astype(np.float64))
        return max(0.0, float(np.max(evaluate(self._diagonal, known))))


def _are_rows(rows: Any) -> bool:
    """Numbers that can be compared by products: an array, or a small CSR matrix."""
    if not are_float_rows(rows):
        return False
    return dense_bytes(rows) <= DENSE if is_sparse(rows) else bool(rows.flags.c_contiguous)


def prepared_points(kernel: Kernel, points: Any, dtype: np.dtype) -> PreparedPoints | None:
    """The points for questions in this precision, where a product answers them."""
    if kernel.is_opaque:
        return None
    formula = simplified(kernel)
    found = statistics(formula)
    if len(found) != 1 or found[0].op not in ("dot", "sqdist") or found[0].value.steps:
        return None
    return PreparedPoints(kernel, formula, points, dtype) if only_overflows(formula) else None
