"""Points in one precision, which new rows are compared with again and again.

What depends on the points alone is computed once: the points in the precision of the answer, their
norms. What is left is a product, and the formula in place. For a `OneProduct`, where a product
keeps the digits of k; `make_gram` serves everything else, and gives the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer._machine.threads import WORTH_FLOPS, single_threaded_blas, threads_for
from mercer._machine.triangular import multiply_upper
from mercer._tiles import Scratch, Tiling, cut, sweep
from mercer.formula import Formula, Input
from mercer.formula.evaluate import evaluate_into
from mercer.gram.base import simplified
from mercer.gram.dispatch import HOST, engine_for
from mercer.gram.host import HostGram
from mercer.gram.one_product import OneProduct, one_product
from mercer.gram.plan.accuracy import DIRECT_COLUMNS
from mercer.gram.plan.folded import beside
from mercer.gram.plan.range import check_range
from mercer.gram.rows.prepared import Side, squared_norms
from mercer.gram.rows.sparse import stays_sparse
from mercer.kernels.core import Kernel

#: Bytes of K that stay in the cache of a core while the formula is applied to them.
FEW = 1 << 20
#: Flops, times the bytes of a number, up to which one thread makes K in one piece: for 58 million
#: flops in float32 it took 1.5 ms, tiles 2.6 ms with one thread and more than 3 ms with two.
ONE_PIECE = 4e8
#: Pairs of rows up to which panels take less time than a `Gram` takes to plan and to make K: for
#: 300 000 in 2 to 30 columns 1.1 to 1.7 times less, for a million in 2 columns 1.1 to 1.4 times
#: more.
SOON = 400_000
#: Multiply-adds beyond which to prepare both sides costs little, and other methods may be faster.
MOST_WORK = 2e8
#: Rows that are handled at a time: K of them and of 200 points takes 400 kB, so that it stays in
#: the cache of a core from one step to the next.
PANEL_ROWS = 256
#: Rows from which values per row are worth a place in the product.
SEVERAL = 32


class PreparedPoints:
    """The points of one kernel in one precision; `prepared_points` makes them."""

    def __init__(self, kernel: Kernel, form: OneProduct, points: Any) -> None:
        self.kernel, self.form, self.dtype = kernel, form, form.dtype
        self._key: Input = form.node.value
        self._given = points
        dense = points.toarray() if is_sparse(points) else points
        self._center: np.ndarray | None = None
        if form.node.op == "sqdist" and not self._keeps_digits(float(squared_norms(dense).max())):
            self._center = dense.mean(axis=0, dtype=np.float64).astype(dense.dtype)
        self._z = self._side(dense, form.program.row_z)
        norms = self._norms(self._z)
        self._largest_norm, self._largest = float(norms.max()), form.largest(norms)
        self._known = dict(zip(form.of_z, self._z.values, strict=True))

    def over(
        self, X: Any, then: Callable[[np.ndarray, np.ndarray], np.ndarray], outputs: int
    ) -> np.ndarray | None:
        """``then(K, norms)`` of rows that one thread soon has, a panel at a time.

        `norms`: the squared ones of its rows. `then` must not keep K, in whose place the next panel
        is made; `outputs` says how many numbers it multiplies each k with. None for many rows, or
        where k would lose digits.
        """
        served = self._is_soon_done(X.shape[0], outputs) and self._serves(X)
        x = self._asked(X) if served else None
        if x is None:
            return None
        m, norms, found = self._z.n, self._norms(x), []
        height = min(x.n, max(SEVERAL, FEW // (m * self.dtype.itemsize)))
        K, loop = np.empty((height, m), dtype=self.dtype), self.form.loop(x.n * m)
        with single_threaded_blas():
            for rows in cut(0, x.n, height):
                panel = K[: rows.stop - rows.start]
                if not self._fill(x, rows, panel, loop):
                    return None  # and a Gram says so
                found.append(then(panel, norms[rows]))
        return found[0] if len(found) == 1 else np.concatenate(found)

    def times_upper(self, X: Any, T: np.ndarray) -> np.ndarray | None:
        """K T for an upper triangular T, of as many rows as `gram` takes, in the memory of K.

        Panel by panel, each multiplied while it is in the cache of its thread.
        """
        x = self._asked(X) if self._takes(X) else None
        if x is None:
            return None
        n, m = x.n, self._z.n
        K = np.empty((n, m), dtype=self.dtype)
        loop, finite = self.form.loop(K.size), True

        def body(rows: slice, columns: slice, scratch: Scratch) -> None:
            nonlocal finite
            finite = self._fill(x, rows, K[rows], loop) and finite
            multiply_upper(K[rows], T)

        threads = threads_for(float(K.size) * (2 * X.shape[1] + m))
        with single_threaded_blas():
            sweep(Tiling((n, m), (PANEL_ROWS, m), threads), body, "features")
        return K if finite else None  # and a Gram says so

    def _is_soon_done(self, n: int, outputs: int) -> bool:
        """Whether one thread has K of so many rows before others could help, or a `Gram` begins."""
        m, columns = self._z.matrices[self._key].shape
        flops = n * m * (2 * (columns + outputs) + self.form.operations)
        return self._is_few(n) or (n * m <= SOON and flops < WORTH_FLOPS)

    def _is_few(self, n: int) -> bool:
        """Whether one thread makes K of so many rows in one piece."""
        m, columns = self._z.matrices[self._key].shape
        flops = 2.0 * n * m * columns
        few = n * m * self.dtype.itemsize <= FEW
        return few and (flops * self.dtype.itemsize <= ONE_PIECE or threads_for(flops) == 1)

    def _fill(self, x: Side, rows: slice, out: np.ndarray, loop: Any) -> bool:
        """K of some of the rows, by a compiled loop if there is one; whether it is finite."""
        form, m = self.form, self._z.n
        left, right = x.matrices[self._key][rows], self._z.matrices[self._key]
        epilogue = form.program.epilogue
        values = [v[rows] for v in x.values]
        if loop is None and len(out) >= SEVERAL and right.shape[1] <= m and self._folded:
            left, (right, epilogue) = beside(left, values[0], 1.0), self._folded
        np.matmul(left, right.T, out=out)
        if loop is not None:
            loop.fill(x, self._z, rows, slice(0, m), [out], out)
        else:
            for part in cut(0, len(out), PANEL_ROWS):
                known = {form.tile: out[part], **self._known}
                known |= {n: v[part, None] for n, v in zip(form.of_x, values, strict=True)}
                with np.errstate(all="ignore"):
                    evaluate_into(known[form.tile], epilogue, known)
        return form.diagonal.op == "const" or bool(np.isfinite(out).all())

    @cached_property
    def _folded(self) -> tuple[np.ndarray, Formula] | None:
        """The points for a product that has the values per row in it, and the formula of that.

        a x·z + v(x) + w(z) = (x, v(x), 1)·(a z, 1, w(z)): three passes over K less.
        """
        if self.form.folded is None:
            return None
        factor, epilogue = self.form.folded
        points = self._z.matrices[self._key] * self.dtype.type(factor)
        return beside(points, 1.0, self._z.values[0]), epilogue

    def bound(self, norms: np.ndarray) -> float:
        """√(max k(x, x) max k(z, z)), which bounds |k|, for rows with these squared norms."""
        return math.sqrt(self.form.largest(norms) * self._largest)

    def gram(self, X: Any) -> HostGram | None:
        """K of more rows, without what is computed once; None where another way may be faster."""
        x = self._asked(X) if self._takes(X) else None
        if x is None:
            return None
        check_range(self.form.formula, x, self._z, self.dtype)
        return HostGram.of_sides(self.kernel, self.form.program, x, self._z)

    def _takes(self, X: Any) -> bool:
        """Whether no other way of making K of these rows may be faster."""
        (n, columns), m = X.shape, self._z.n
        by_differences = self.form.node.op == "sqdist" and columns <= DIRECT_COLUMNS
        other = by_differences or stays_sparse(X, self._given) or n * m * columns > MOST_WORK
        return not other and self._serves(X)

    def _serves(self, X: Any) -> bool:
        """Whether the rows can be taken; their numbers are not looked at."""
        settings = get_config()
        unlimited = settings.memory is None and settings.device == HOST.name
        return unlimited and engine_for(self.kernel, X, self._given) is HOST

    def _asked(self, X: Any) -> Side | None:
        """New rows as the program takes them; None where k would lose digits."""
        x = self._side(X.toarray() if is_sparse(X) else X, self.form.program.row_x)
        largest = max(float(self._norms(x).max()), self._largest_norm)
        return x if self._keeps_digits(largest) else None

    def _keeps_digits(self, norm: float) -> bool:
        """Whether k does, of rows and points whose squared norms reach this."""
        spread = 0.0 if self._center is None else self._largest_norm
        return self.form.keeps_digits(self._given.shape[1], norm, spread)

    def _side(self, dense: np.ndarray, formulas: tuple[Formula, ...]) -> Side:
        with np.errstate(over="ignore"):
            moved = dense if self._center is None else dense - self._center
            moved = moved.astype(self.dtype, copy=False)
            norms = squared_norms(moved)
            # What they are of rows that are not finite is not looked at.
            values = self.form.values(formulas, norms)
        key = self._key
        return Side(len(dense), self.dtype, {key: moved}, {}, values, raw=moved, norms={key: norms})

    def _norms(self, side: Side) -> np.ndarray:
        return side.norms[self._key]


def prepared_points(kernel: Kernel, points: Any, dtype: np.dtype) -> PreparedPoints | None:
    """The points for questions in this precision, where a product answers them."""
    form = None if kernel.is_opaque else one_product(simplified(kernel), dtype)
    return None if form is None else PreparedPoints(kernel, form, points)
