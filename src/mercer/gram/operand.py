"""Operand: rows prepared for one program, from which any tile of K can be made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer._examples import count, take
from mercer._tiles import cut
from mercer.formula import evaluate
from mercer.formula.nodes import Formula, Input, set_size, statistics
from mercer.tuning import COPIED_NUMBERS, COPIED_ROWS, COPY_SHARE

if TYPE_CHECKING:
    from mercer.gram.byte_rows import GridRows

#: Columns of Z that the generated loops take at a time; they stay in the first-level cache.
CHUNK = 256
#: Rows of K that are made one by one, or TOGETHER, have a multiple of BLOCK entries, and read Z in
#: panels of BLOCK rows. Columns of a longer panel are farther apart in memory: with 256
#: rows an entry of K over 120 columns took 1.3 times as long, and one over 784 twice as long.
BLOCK, TOGETHER = 64, 4
NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass
class Operand:
    """The rows, or the columns, of a Gram.

    `matrices`: the rows of each numeric input; `centers`: what products subtract from them;
    `values`: one vector per row value of the program; `states`: of opaque kernels; `norms`:
    ‖x − c‖² where it was computed; `kept`: copies in another order, values of users' functions.
    """

    n: int
    dtype: np.dtype
    matrices: dict[Input, Any]
    centers: Mapping[Input, np.ndarray | None]
    values: tuple[np.ndarray, ...] = ()
    states: Mapping[Formula, Any] = field(default_factory=lambda: NOTHING)
    raw: Any = None
    grids: Mapping[Input, GridRows] = field(default_factory=lambda: NOTHING)
    norms: dict[Input, np.ndarray] = field(default_factory=dict)
    kept: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def is_sparse(self) -> bool:
        """Whether one of the matrices is sparse."""
        return any(map(is_sparse, self.matrices.values()))

    def take(self, index: Any) -> Operand:
        """Some of the rows, by slice or indices."""
        states = {node: node.value[0].select(s, index) for node, s in self.states.items()}
        n = len(range(*index.indices(self.n))) if isinstance(index, slice) else len(index)
        matrices = {key: m[index] for key, m in self.matrices.items()}
        same = next((matrices[key] for key, m in self.matrices.items() if m is self.raw), None)
        raw = take(self.raw, index) if same is None and self.raw is not None else same
        values, grids = tuple(v[index] for v in self.values), self.grids
        grids = {key: g.take(index) for key, g in grids.items()} if grids else NOTHING
        return Operand(n, self.dtype, matrices, self.centers, values, states, raw, grids=grids)

    def panel(self, rows: Input, index: slice) -> np.ndarray:
        """Dense rows for the matrix product, minus the center if there is one."""
        block = self.dense(rows, index)
        center = self.centers.get(rows)
        return block if center is None else block - center

    def dense(self, rows: Input, index: slice) -> np.ndarray:
        block = self.matrices[rows][index]
        return block.toarray() if is_sparse(block) else block

    def squared_norms(self, rows: Input, index: slice = slice(None)) -> np.ndarray:
        """‖x − c‖² for every row, as the products have it."""
        if rows in self.grids:
            return self.grids[rows].take(index).squared_norms().astype(self.dtype)
        center = self.centers.get(rows)
        if rows not in self.norms and index == slice(None):
            self.norms[rows] = squared_norms(self.matrices[rows], center)
        if rows in self.norms:
            return self.norms[rows][index]
        return squared_norms(self.matrices[rows][index], center)

    def packed(self, rows: Input) -> np.ndarray:
        """All rows as (chunks, columns, CHUNK): what a loop over pairs reads without a stride."""
        if ("packed", rows) not in self.kept:
            chunks = -(-self.n // CHUNK)
            matrix = self.matrices[rows]
            packed = np.zeros((chunks, matrix.shape[1], CHUNK), dtype=matrix.dtype)
            for i in range(chunks):
                block = self.dense(rows, slice(i * CHUNK, min((i + 1) * CHUNK, self.n)))
                packed[i, :, : len(block)] = block.T
            self.kept["packed", rows] = packed
        return self.kept["packed", rows]  # type: ignore[no-any-return]

    def by_column(self, rows: Input, index: slice) -> tuple[Any, slice]:
        """Sparse rows by columns, for a loop over rows of the other operand, and their slice."""
        from mercer.gram.cpu.sparse_loops import columns_of

        if not self.keeps_columns(rows):
            return columns_of(self.matrices[rows][index]), slice(0, index.stop - index.start)
        if ("columns", rows) not in self.kept:
            self.kept["columns", rows] = columns_of(self.matrices[rows])
        return self.kept["columns", rows], index

    def keeps_columns(self, rows: Input) -> bool:
        """Whether a copy by columns is small beside the memory limit."""
        return self.bytes_by_column(rows) <= COPY_SHARE * get_config().memory_bytes

    def bytes_by_column(self, rows: Input) -> int:
        m = self.matrices[rows]
        return int(m.data.nbytes + m.indices.nbytes + m.indices.itemsize * (m.shape[1] + 1))


def squared_norms(rows: Any, center: np.ndarray | None = None) -> np.ndarray:
    """‖x − c‖² for every row, in panels."""
    if is_sparse(rows):
        if not rows.has_canonical_format:  # a number may be there in several parts
            return np.asarray(rows.multiply(rows).sum(axis=1), dtype=rows.dtype).ravel()
        norms, full = np.zeros(rows.shape[0], dtype=rows.dtype), np.diff(rows.indptr) > 0
        norms[full] = np.add.reduceat(np.square(rows.data), rows.indptr[:-1][full])
        return norms
    if center is None:
        return np.einsum("ij,ij->i", rows, rows)
    norms = np.empty(len(rows), dtype=rows.dtype)
    for part in _panels(rows):
        block = rows[part] - center
        norms[part] = np.einsum("ij,ij->i", block, block)
    return norms


def _panels(rows: Any) -> Iterator[slice]:
    """Rows of which a temporary copy is small."""
    return cut(0, rows.shape[0], max(1, min(COPIED_ROWS, COPIED_NUMBERS // max(1, rows.shape[1]))))


def row_value(formula: Formula, operand: Operand, name: str) -> np.ndarray:
    """A formula in statistics of one row, for every row; evaluated in float64, then narrowed."""
    values: dict[Formula, Any] = {}
    for node in statistics(formula):
        values[node] = statistic(node, operand, name)
    with np.errstate(all="ignore"):
        value = np.broadcast_to(np.asarray(evaluate(formula, values)), (operand.n,))
        value = value.astype(operand.dtype)
    if not np.isfinite(value).all():
        bad = int(np.argmin(np.isfinite(value)))
        raise ValueError(
            f"k cannot be computed for row {bad} of {name}: {formula!r} is {value[bad]} there. "
            "k(x, x) overflows or is negative; scale the data or use float64."
        )
    return value


def row_weights(function: Any, values: Any, name: str) -> np.ndarray:
    """f(x) for each row, from a function of rows."""
    weights = np.asarray(function(values), dtype=float)
    n = count(values)
    if weights.size != n:
        raise ValueError(
            f"reweight: f gave {weights.size} numbers for {n} rows; it takes a set of rows and "
            "gives one number for each"
        )
    weights = weights.reshape(n)
    if not np.isfinite(weights).all():
        raise ValueError(f"reweight: f gave NaN or infinite values on {name}")
    return weights


def statistic(node: Formula, operand: Operand, name: str) -> np.ndarray:
    """One statistic of one row, for every row."""
    if node.op not in _OF_A_ROW:
        raise TypeError(f"{node!r} is not a statistic of one row")
    return _OF_A_ROW[node.op](node, operand, name)


def _square(node: Formula, operand: Operand, name: str) -> np.ndarray:
    rows = node.value[1]
    if operand.centers.get(rows) is not None:
        return squared_norms(operand.matrices[rows]).astype(np.float64)
    if rows not in operand.norms:  # kept: the diagonal, the range and the accuracy read them
        operand.norms[rows] = squared_norms(operand.matrices[rows])
    return operand.norms[rows].astype(np.float64)


def _prepared_square(node: Formula, operand: Operand, name: str) -> np.ndarray:
    return operand.squared_norms(node.value[1]).astype(np.float64)


def _prepared_shift(node: Formula, operand: Operand, name: str) -> np.ndarray:
    """x·c − ½ c·c for the center c that products subtract from the rows."""
    rows = node.value[1]
    center = operand.centers[rows]
    assert center is not None
    c = center.astype(np.float64)
    matrix = operand.matrices[rows]
    # In panels: the product with a float64 vector makes a float64 copy of its rows.
    parts = [matrix[i : i + COPIED_ROWS] @ c for i in range(0, operand.n, COPIED_ROWS)]
    return np.concatenate(parts) - 0.5 * float(c @ c)


def _function_of_row(node: Formula, operand: Operand, name: str) -> np.ndarray:
    """The values of a user's function, which is called once on each set of rows."""
    _, function, rows = node.value
    key = function, rows
    if key not in operand.kept:
        operand.kept[key] = row_weights(function, _after_steps(rows, operand.raw), name)
    return operand.kept[key]  # type: ignore[no-any-return]


def _opaque_diagonal(node: Formula, operand: Operand, name: str) -> np.ndarray:
    _, leaf, rows = node.value
    states = (state for opaque, state in operand.states.items() if opaque.value == (leaf, rows))
    state = next(states, None)
    if state is None:
        state = leaf.prepare(_after_steps(rows, operand.raw))
    return np.asarray(leaf.diag_of(state), dtype=float)


def _after_steps(rows: Input, raw: Any) -> Any:
    for step in rows.steps:
        raw = step(raw)
    return raw


def _reduction(node: Formula, operand: Operand, name: str) -> np.ndarray:
    how, rows = node.value
    result = np.empty(operand.n)
    for part in _panels(operand.matrices[rows]):
        block = operand.dense(rows, part).astype(np.float64)
        values = {n: block for n in node.args[0].walk() if n.op == "coord"}
        value = np.broadcast_to(evaluate(node.args[0], values), block.shape)
        result[part] = reduced(how, value, axis=1)
    return result


_OF_A_ROW: dict[str, Callable[[Formula, Operand, str], np.ndarray]] = {
    "sqnorm": _square,
    "prepared_norm": _prepared_square,
    "prepared_shift": _prepared_shift,
    "rowfn": _function_of_row,
    "opaque_diag": _opaque_diagonal,
    "reduce": _reduction,
}

_REDUCE: dict[str, Any] = {"sum": np.sum, "prod": np.prod, "max": np.max, "mean": np.mean}


def reduced(how: str, values: np.ndarray, axis: int) -> Any:
    """A reduction along the axis of the columns."""
    size = set_size(how)
    return over_sets(np.moveaxis(values, axis, 0), size) if size else _REDUCE[how](values, axis)


def over_sets(columns: Iterable[Any], size: int) -> Any:
    """Σ over all sets of `size` of these arrays of their product, in one pass over them.

    With each further array g, every sum of products of s arrays grows by g times that of s − 1.

    >>> over_sets(np.array([[2.0], [3.0], [5.0]]), 2)
    array([31.])
    """
    sums: list[Any] = []
    for g in columns:
        new = sums[-1] * g if 0 < len(sums) < size else None
        for s in range(len(sums) - 1, 0, -1):
            sums[s] += g * sums[s - 1]
        if sums:
            sums[0] += g
        else:
            sums.append(1.0 * g)  # a copy: it grows
        if new is not None:
            sums.append(new)
    return sums[-1] if len(sums) == size else 0.0 * sums[0]
