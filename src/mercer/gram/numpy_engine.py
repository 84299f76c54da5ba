"""The NumPy engine: sources by BLAS and broadcasting, the epilogue by ufuncs or a compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.formula import Formula, evaluate
from mercer.formula.inputs import is_sparse
from mercer.gram.accuracy import NEAR
from mercer.gram.program import Program, Source
from mercer.gram.sides import REDUCE, Side
from mercer.gram.tiles import Scratch

#: Elements handled at a time where temporaries should stay in cache.
CACHE_ELEMENTS = 1 << 16
#: Wider sparse rows are multiplied as sparse matrices, narrower ones as dense tiles.
SPARSE_COLUMNS = 4096

Epilogue = Callable[..., None]


@dataclass(frozen=True)
class NumpyEngine:
    """Fills tiles of k between two sides."""

    program: Program
    x: Side
    z: Side
    compiled: Any = None  # gram.compiled.Compiled, or None for ufuncs
    swapped: bool = False

    def fill(self, rows: slice, columns: slice, out: np.ndarray, scratch: Scratch) -> None:
        """k for these rows and columns, into `out`."""
        tiles: list[np.ndarray | None] = []
        for i, source in enumerate(self.program.sources):
            if self.compiled is not None and source.kind == "direct":
                tiles.append(None)
                continue
            # The first matrix is made in place of the result; the others need room of their own.
            room = out if not any(t is not None for t in tiles) else None
            if room is None:
                room = scratch.get(("tile", i), out.shape, self.x.dtype)
            self._source(source, rows, columns, room, scratch)
            tiles.append(room)
        if self.compiled is not None:
            self.compiled.fill(self.x, self.z, rows, columns, tiles, out)
        else:
            self._epilogue(rows, columns, tiles, out)

    def _epilogue(self, rows: slice, columns: slice, tiles: list[Any], out: np.ndarray) -> None:
        formula = self.program.epilogue
        if formula.op == "tile" and tiles[formula.value] is out:
            return
        step = max(1, CACHE_ELEMENTS // max(1, out.shape[1]))
        vx = [v[rows] for v in self.x.values]
        vz = [v[columns] for v in self.z.values]
        leaves = [n for n in formula.walk() if n.op in ("tile", "rowx", "rowz")]
        for start in range(0, out.shape[0], step):
            part = slice(start, start + step)
            known: dict[Formula, Any] = {}
            for node in leaves:
                if node.op == "tile":
                    tile = tiles[node.value]
                    assert tile is not None
                    known[node] = tile[part]
                else:
                    v = vx[node.value][part, None] if node.op == "rowx" else vz[node.value][None, :]
                    known[node] = v
            out[part] = evaluate(formula, known)

    def _source(
        self, source: Source, rows: slice, columns: slice, out: np.ndarray, scratch: Scratch
    ) -> None:
        node = source.node
        if source.kind == "opaque":
            leaf = node.value[0]
            left = leaf.select(self.x.states[node], rows)
            right = leaf.select(self.z.states[node], columns)
            out[...] = leaf.block(right, left).T if self.swapped else leaf.block(left, right)
        elif source.kind == "product":
            self._product(node.value, rows, columns, out)
        elif source.kind == "repaired":
            self._repaired(node, rows, columns, out)
        else:
            x = self.x.dense(source.rows, rows)
            z = self.z.dense(source.rows, columns)
            direct(node, x, z, out)

    def _product(self, inputs: Any, rows: slice, columns: slice, out: np.ndarray) -> None:
        x, z = self.x.matrices[inputs], self.z.matrices[inputs]
        if is_sparse(x) and is_sparse(z) and x.shape[1] > SPARSE_COLUMNS:
            out[...] = (x[rows] @ z[columns].T).toarray()
            return
        np.matmul(self.x.panel(inputs, rows), self.z.panel(inputs, columns).T, out=out)

    def _repaired(self, node: Formula, rows: slice, columns: slice, out: np.ndarray) -> None:
        inputs = node.value
        self._product(inputs, rows, columns, out)
        nx = _norms(self.x, inputs, rows)
        nz = _norms(self.z, inputs, columns)
        step = max(1, CACHE_ELEMENTS // max(1, out.shape[1]))
        for start in range(0, out.shape[0], step):
            part = slice(start, start + step)
            sums = nx[part, None] + nz[None, :]
            block = out[part]
            block *= -2
            block += sums
            sums *= sums.dtype.type(NEAR)
            i, j = np.nonzero(block < sums)
            if len(i):
                x = self.x.matrices[inputs][rows][part]
                z = self.z.matrices[inputs][columns]
                block[i, j] = _differences(x, z, i, j)


def _norms(side: Side, inputs: Any, index: slice) -> np.ndarray:
    from mercer.gram.sides import squared_norms

    return squared_norms(side.matrices[inputs][index], side.centers.get(inputs))


def _differences(x: Any, z: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """‖xᵢ − zⱼ‖² for a list of pairs."""
    values = np.empty(len(i), dtype=x.dtype)
    step = max(1, CACHE_ELEMENTS * 4 // x.shape[1]) if not is_sparse(x) else 4096
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        difference = x[i[part]] - z[j[part]]
        if is_sparse(difference):
            values[part] = np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
        else:
            values[part] = np.einsum("ij,ij->i", difference, difference)
    return values


def direct(node: Formula, x: np.ndarray, z: np.ndarray, out: np.ndarray) -> None:
    """A statistic from the coordinates themselves: a loop over columns where they are few."""
    if node.op == "reduce":
        how = node.value[0]
        body, atoms = node.args[0], [n for n in node.args[0].walk() if n.op == "coord"]
    else:
        how, body, atoms = _DIRECT[node.op], None, []

    def term(xj: np.ndarray, zj: np.ndarray) -> Any:
        if body is None:
            return _TERM[node.op](xj - zj)
        known = {n: xj if n.value == "x" else zj for n in atoms}
        return evaluate(body, known)

    columns = x.shape[1]
    if columns > 32:
        # Many columns: whole differences of a few rows at a time.
        step = max(1, 4 * CACHE_ELEMENTS // (len(z) * columns))
        for start in range(0, len(x), step):
            part = x[start : start + step, None, :]
            value = np.broadcast_to(term(part, z[None]), (len(part), len(z), columns))
            out[start : start + step] = REDUCE[how](value, axis=2)
        return
    step = max(1, CACHE_ELEMENTS // len(z))
    combine = {"sum": np.add, "mean": np.add, "prod": np.multiply, "max": np.maximum}[how]
    for start in range(0, len(x), step):
        block = out[start : start + step]
        for j in range(columns):
            value = term(x[start : start + step, j, None], z[None, :, j])
            if j == 0:
                block[...] = value
            else:
                combine(block, value, out=block)
        if how == "mean":
            block /= columns


_DIRECT = {"sqdist": "sum", "l1": "sum", "linf": "max"}
_TERM: dict[str, Callable[[Any], Any]] = {"sqdist": np.square, "l1": np.abs, "linf": np.abs}
