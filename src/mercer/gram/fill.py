"""fill: the one place that makes numbers of K, tile by tile.

    program ──► sources: one matrix per statistic ──► epilogue: the formula over them ──► tile of K

Products are made by the first entry of `PRODUCTS` that serves both operands. Distances come from a
product, or from differences; a compiled loop takes differences and the formula in one pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mercer._arrays import is_sparse
from mercer._tiles import Scratch, cut, whole_rows
from mercer.formula import Formula, evaluate
from mercer.formula.evaluate import evaluate_into
from mercer.formula.nodes import Input, is_column_product, set_size
from mercer.gram.accuracy import CANCELED
from mercer.gram.byte_rows import worth
from mercer.gram.form import Program
from mercer.gram.row_values import over_sets, reduced
from mercer.gram.rows import Operand, scatters, stays_sparse
from mercer.tuning import CACHE_ELEMENTS


@dataclass(eq=False, repr=False)
class Filler:
    """Fills tiles of K between two operands.

    `compiled`: the loop of the program, or None for ufuncs. `swapped`: k is called as k(z, x).
    `paneled`: inputs whose sparse rows are multiplied in panels.
    """

    program: Program
    x: Operand
    z: Operand
    compiled: Any = None
    swapped: bool = False
    paneled: frozenset[Any] = frozenset()

    def fill(self, rows: slice, columns: slice, out: np.ndarray, scratch: Scratch) -> None:
        """Write k of these rows and columns into `out`."""
        if self.compiled is None and self.program.fused and not out.flags.c_contiguous:
            # SciPy's distances need a contiguous result.
            whole = scratch.get("whole", out.shape, out.dtype)
            self.fill(rows, columns, whole, scratch)
            out[...] = whole
            return
        # An array per source: the first is made in that of the result, others in scratch memory. A
        # compiled loop takes differences as it goes and needs no matrix of them.
        tiles: list[np.ndarray | None] = [None] * len(self.program.sources)
        place: np.ndarray | None = out
        for i, source in enumerate(self.program.sources):
            if self.compiled is None or source.kind != "direct":
                same = scratch.get(("tile", i), out.shape, self.x.dtype) if place is None else out
                tiles[i], place = same, None
        if not self.program.fused:
            self._fill_matrices(rows, columns, tiles, scratch)
        if self.compiled is not None:
            matrices = [t for t in tiles if t is not None and t is not out]
            operands = self._of_loop(rows, columns)
            self.compiled.module.fill(self.compiled.numbers, *matrices, *operands, whole_rows(out))
            return
        # An infinite distance is a valid result, and float32 may not hold every constant.
        with np.errstate(over="ignore"):
            for source, tile in zip(self.program.sources, tiles, strict=True):
                if source.kind == "direct":
                    x, z = self.x.dense(source.rows, rows), self.z.dense(source.rows, columns)
                    direct(source.node, x, z, tile)
            self._epilogue(rows, columns, tiles, out)

    def multiply(self, rows: slice, V: np.ndarray, out: np.ndarray) -> None:
        """Add k(x[rows], z) Vᵀ to `out` without a tile in memory; `V` holds one vector per row."""
        operands = self._of_loop(rows, slice(0, self.z.n))
        self.compiled.module.multiply(self.compiled.numbers, *operands, V, out)

    def _of_loop(self, rows: slice, columns: slice) -> list[Any]:
        """The operands of the compiled loop: rows of each direct source, and row values."""
        operands: list[Any] = []
        for key in self.program.direct:
            operands += [np.ascontiguousarray(self.x.dense(key, rows)), self.z.packed(key)]
        operands += [v[rows] for v in self.x.values]
        operands += [v[columns] for v in self.z.values]
        return [*operands, columns.start, columns.stop]

    def _fill_matrices(
        self, rows: slice, columns: slice, tiles: list[Any], scratch: Scratch
    ) -> None:
        """Make the sources that are no differences: products, then what is made of them."""
        products = {}
        for source, tile in zip(self.program.sources, tiles, strict=True):
            if source.kind == "product":
                products[source.rows] = tile
                self.product(source.rows).make(self, source.rows, (rows, columns), tile, scratch)
        for source, tile in zip(self.program.sources, tiles, strict=True):
            if source.kind == "repaired":
                product = products.get(source.rows)
                self._repaired(source.node, rows, columns, tile, product, scratch)
            elif source.kind == "opaque":
                self._opaque(source.node, rows, columns, tile)

    def _epilogue(self, rows: slice, columns: slice, tiles: list[Any], out: np.ndarray) -> None:
        formula = self.program.epilogue
        if formula.op == "tile" and tiles[formula.value] is out:
            return
        values: dict[Formula, Any] = {}
        for node in _leaves(formula):
            if node.op == "tile":
                values[node] = tiles[node.value]
            elif node.op == "rowx":
                values[node] = self.x.values[node.value][rows, None]
            else:
                values[node] = self.z.values[node.value][None, columns]
        if out.size <= CACHE_ELEMENTS:
            evaluate_into(out, formula, values)
            return
        for part in cut(0, len(out), max(1, CACHE_ELEMENTS // out.shape[1])):
            block = out[part]
            here = {n: v if len(v) == 1 else v[part] for n, v in values.items()}
            here |= {n: block for n, v in values.items() if v is out}
            evaluate_into(block, formula, here)

    def _opaque(self, node: Formula, rows: slice, columns: slice, out: Any) -> None:
        leaf = node.value[0]
        left = leaf.select(self.x.states[node], rows)
        right = leaf.select(self.z.states[node], columns)
        out[...] = leaf.block(right, left).T if self.swapped else leaf.block(left, right)

    def product(self, inputs: Input) -> Product:
        """The way in which x·z of this input is made."""
        return next(way for way in PRODUCTS if way.serves(self, inputs))

    def _repaired(
        self, node: Formula, rows: slice, columns: slice, out: Any, product: Any, scratch: Scratch
    ) -> None:
        """‖x − z‖², from the product where it has enough digits, and from x − z elsewhere."""
        inputs = node.value
        if product is None:
            self.product(inputs).make(self, inputs, (rows, columns), out, scratch)
        else:
            out[...] = product
        x, z = self.x.matrices[inputs][rows], self.z.matrices[inputs][columns]
        nx, nz = self.x.squared_norms(inputs, rows), self.z.squared_norms(inputs, columns)
        if self.compiled is not None and not (is_sparse(x) or is_sparse(z)):
            from mercer.gram.cpu.loops import distances_from_product

            distances_from_product(out, x, z, nx, nz, out.dtype.type(CANCELED))
            return
        step = max(1, CACHE_ELEMENTS // max(1, out.shape[1]))
        for start in range(0, out.shape[0], step):
            part = slice(start, start + step)
            sums = nx[part, None] + nz[None, :]
            block = out[part]
            block *= -2
            block += sums
            sums *= sums.dtype.type(CANCELED)
            i, j = np.nonzero(block < sums)
            if len(i):
                block[i, j] = _differences(x[part], z, i, j)


#: Rows and columns of a tile.
Part = tuple[slice, slice]


class Product(NamedTuple):
    """One way to make x·z: whom it serves, how, and in words."""

    words: str
    serves: Callable[[Filler, Input], bool]
    make: Callable[[Filler, Input, Part, np.ndarray, Scratch], None]


def _of_bytes(filler: Filler, key: Input, part: Part, out: Any, scratch: Scratch) -> None:
    if worth(out.shape):
        filler.x.grids[key].product(part[0], filler.z.grids[key], part[1], out, scratch)
    else:  # packing the bytes of a small tile takes longer
        _of_dense_rows(filler, key, part, out, scratch)


def _of_mixed_rows(filler: Filler, key: Input, part: Part, out: Any, scratch: Scratch) -> None:
    x, z = filler.x.matrices[key][part[0]], filler.z.matrices[key][part[1]]
    out[...] = x @ z.T if is_sparse(x) else (z @ x.T).T


def _in_panels(filler: Filler, key: Input, part: Part, out: Any, scratch: Scratch) -> None:
    from mercer.gram.cpu.sparse_loops import multiply_in_panels

    multiply_in_panels(filler.x.matrices[key], part[0], filler.z.matrices[key], part[1], out)


def _scattered(filler: Filler, key: Input, part: Part, out: Any, scratch: Scratch) -> None:
    from mercer.gram.cpu.sparse_loops import multiply_scattered

    multiply_scattered(filler.x.matrices[key], part[0], *filler.z.by_column(key, part[1]), out)


def _by_scipy(filler: Filler, key: Input, part: Part, out: Any, scratch: Scratch) -> None:
    x, z = filler.x.matrices[key][part[0]], filler.z.matrices[key][part[1]]
    out[...] = (x @ z.T).toarray()


def _of_dense_rows(filler: Filler, key: Input, part: Part, out: Any, scratch: Scratch) -> None:
    left, right = filler.x.panel(key, part[0]), filler.z.panel(key, part[1])
    if filler.x.matrices is not filler.z.matrices and np.may_share_memory(left, right):
        right = right.copy()  # NumPy multiplies a matrix with itself by another function of BLAS
    np.matmul(left, right.T, out=out)


def _one_is_sparse(filler: Filler, key: Input) -> bool:
    return is_sparse(filler.x.matrices[key]) != is_sparse(filler.z.matrices[key])


def _stay_sparse(filler: Filler, key: Input) -> bool:
    x, z = filler.x.matrices[key], filler.z.matrices[key]
    return is_sparse(x) and stays_sparse(z, x)


def _scatters(filler: Filler, key: Input) -> bool:
    both = filler.x.matrices[key], filler.z.matrices[key]
    return _stay_sparse(filler, key) and scatters(*both)


#: The first that serves makes the product.
PRODUCTS = (
    Product("of bytes", lambda filler, key: key in filler.x.grids, _of_bytes),
    Product("of sparse and dense rows", _one_is_sparse, _of_mixed_rows),
    Product("of sparse rows, in panels", lambda f, key: key in f.paneled, _in_panels),
    Product("of sparse rows, scattered", _scatters, _scattered),
    Product("of sparse rows", _stay_sparse, _by_scipy),
    Product("of dense rows", lambda filler, key: True, _of_dense_rows),
)


@lru_cache(maxsize=1024)
def _leaves(epilogue: Formula) -> tuple[Formula, ...]:
    return tuple(n for n in epilogue.walk() if n.op in ("tile", "rowx", "rowz"))


def _differences(x: Any, z: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """‖xᵢ − zⱼ‖² for a list of pairs."""
    values = np.empty(len(i), dtype=x.dtype)
    step = max(1, CACHE_ELEMENTS * 4 // x.shape[1]) if not is_sparse(x) else 4096
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        difference = x[i[part]] - z[j[part]]  # dense where one of them is
        if is_sparse(difference):
            values[part] = np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
        else:
            difference = np.asarray(difference)
            values[part] = np.einsum("ij,ij->i", difference, difference)
    return values


def direct(node: Formula, x: np.ndarray, z: np.ndarray, out: Any) -> None:
    """A statistic from the coordinates themselves: a loop over columns where they are few."""
    if node.op != "reduce":
        _distances(METRIC[node.op], x, z, out)
        return
    how = node.value[0]
    body, atoms = node.args[0], [n for n in node.args[0].walk() if n.op == "coord"]
    if _needs_double(node):
        x, z = x.astype(np.float64), z.astype(np.float64)

    def term(xj: np.ndarray, zj: np.ndarray) -> Any:
        values = {n: xj if n.value == "x" else zj for n in atoms}
        return evaluate(body, values)

    columns, size = x.shape[1], set_size(how)
    if size > columns:
        out[...] = 0.0
        return
    if columns > 32:
        # Many columns: whole differences of a few rows of each operand at a time.
        for other in cut(0, len(z), max(1, 4 * CACHE_ELEMENTS // columns)):
            right = z[None, other]
            step = max(1, 4 * CACHE_ELEMENTS // right.size)
            for rows in cut(0, len(x), step):
                left = x[rows, None]
                shape = (left.shape[0], right.shape[1], columns)
                value = np.broadcast_to(term(left, right), shape)
                out[rows, other] = reduced(how, value, axis=2)
        return
    step = max(1, CACHE_ELEMENTS // (len(z) * (1 + size)))
    for rows in cut(0, len(x), step):
        block, each = out[rows], (term(x[rows, j, None], z[None, :, j]) for j in range(columns))
        if size:
            block[...] = over_sets(each, size)
            continue
        combine = _COMBINE[how]
        for j, value in enumerate(each):
            if j == 0:
                block[...] = value
            else:
                combine(block, value, out=block)
        if how == "mean":
            block /= columns


@lru_cache(maxsize=1024)
def _needs_double(node: Formula) -> bool:
    """Whether float32 has too few digits for a reduction over columns.

    Errors of factors add up; many periods apart, no digits are left for a phase.
    """
    return is_column_product(node) or any(n.op in ("sin", "cos") for n in node.args[0].walk())


def _distances(metric: str, x: np.ndarray, z: np.ndarray, out: Any) -> None:
    """Distances in float64, by SciPy's loops."""
    from scipy.spatial.distance import cdist

    if out.dtype == np.float64 and out.flags.c_contiguous:
        cdist(x, z, metric, out=out)
        return
    z = z.astype(np.float64, copy=False)
    for rows in cut(0, len(x), max(1, CACHE_ELEMENTS // len(z))):
        out[rows] = cdist(x[rows], z, metric)


_COMBINE: dict[str, Any] = {"sum": np.add, "mean": np.add, "prod": np.multiply, "max": np.maximum}
METRIC = {"sqdist": "sqeuclidean", "l1": "cityblock", "linf": "chebyshev"}
