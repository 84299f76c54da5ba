"""Rows: the examples of one operand of K, whatever holds them, validated once.

A Gram makes Rows of X and Z, and of them an Operand: the rows prepared for one program, from which
any tile of K can be made. A fitted expansion or a feature map, which compares new rows with the
same examples again and again, holds their Rows, and with them what was computed once: the numbers
in each precision, norms, the operand of each program.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

import mercer.tuning as tuning
from mercer._arrays import host, is_plain, is_sparse
from mercer._config import get_config
from mercer._examples import count, take
from mercer._machine.jit import may_compile
from mercer._tiles import cut
from mercer.formula.inputs import check_finite, numeric
from mercer.formula.nodes import Formula, Input, statistics

if TYPE_CHECKING:
    from mercer.gram.byte_rows import GridRows
    from mercer.gram.form import Form

#: Columns of Z that the generated loops take at a time; they stay in the first-level cache.
CHUNK = 256
#: Rows of K that are made one by one, or TOGETHER, have a multiple of BLOCK entries, and read Z in
#: panels of BLOCK rows. Columns of a longer panel are farther apart in memory: with 256
#: rows an entry of K over 120 columns took 1.3 times as long, and one over 784 twice as long.
BLOCK, TOGETHER = 64, 4
NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Rows:
    """Examples, and the numbers that the inputs of a formula read of them.

    `dtypes`: of the numbers that k reads; of the examples themselves where k reads no numbers.

    >>> from mercer import Gaussian
    >>> from mercer.gram.form import form_of
    >>> Rows(form_of(Gaussian().formula()), [[1.0], [2.0]]).n
    2
    """

    #: Whether a model holds them, so that what is computed of them is kept.
    is_held = False

    def __init__(self, form: Form, raw: Any, name: str = "X") -> None:
        self.kept: dict[Hashable, Any] = {}
        if form.reads_as_given and is_plain(raw) and raw.ndim == 2:
            self.raw: Any = raw
            self.n: int = len(raw)
            self.is_sparse: bool = False
            self.matrices: dict[Input, Any] = dict.fromkeys(form.inputs, raw)
            self.dtypes: list[Any] = [raw.dtype]
            return
        self.raw = raw = as_rows(raw)
        self.n = check_not_empty(raw, name)
        self.matrices = {key: matrix(raw, key, name) for key in form.inputs}
        read: list[Any] = [dtype_of(raw, key, values) for key, values in self.matrices.items()]
        self.dtypes = read or [getattr(raw, "dtype", None)]
        self.is_sparse = any(map(is_sparse, self.matrices.values()))

    def owns(self, *matrices: Any) -> bool:
        """Whether all of these belong to this object, so that results on them may be kept."""
        return all(id(m) in self._own for m in matrices)

    @cached_property
    def _own(self) -> set[int]:
        return {id(m) for m in self.matrices.values()}

    def numbers(self, dtype: np.dtype) -> dict[Input, Any]:
        """The numbers of every input for a K of this precision."""
        # Numbers that an input map widened stay so in float32.
        if dtype == np.float32:
            return self.matrices
        for values in self.matrices.values():
            if values.dtype != dtype:
                break
        else:
            return self.matrices
        if dtype not in self.kept:
            self.kept[dtype] = {k: m.astype(dtype, copy=False) for k, m in self.matrices.items()}
            self._own |= {id(m) for m in self.kept[dtype].values()}
        return self.kept[dtype]  # type: ignore[no-any-return]

    def dense(self, rows: Any) -> np.ndarray:
        """A matrix among the numbers, a sparse one as a dense copy."""
        if not is_sparse(rows):
            return rows  # type: ignore[no-any-return]
        copy: np.ndarray = self.once(("dense", id(rows)), rows.toarray)
        self._own.add(id(copy))
        return copy

    def norms(self, rows: Any, center: np.ndarray | None = None) -> np.ndarray:
        """‖x − c‖² for every row of a matrix; kept where the matrix is."""
        with np.errstate(over="ignore"):
            if not self.owns(rows):
                return squared_norms(rows, center)
            where = None if center is None else center.tobytes()
            return self.once(("norms", id(rows), where), lambda: squared_norms(rows, center))  # type: ignore[no-any-return]

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The result of `make`, which is called once per key."""
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]


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
        return self.bytes_by_column(rows) <= tuning.COPY_SHARE * get_config().memory_bytes

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
    for part in panels(rows):
        block = rows[part] - center
        norms[part] = np.einsum("ij,ij->i", block, block)
    return norms


def panels(rows: Any) -> Iterator[slice]:
    """Rows of which a temporary copy is small."""
    return cut(0, rows.shape[0], max(1, tuning.CACHE_ELEMENTS // max(1, rows.shape[1])))


_DOUBLE = np.dtype(np.float64)
#: Statistics whose input is read as numbers.
_NUMERIC = frozenset({"dot", "sqdist", "l1", "linf", "sqnorm", "reduce"})


def as_rows(raw: Any) -> Any:
    """Examples that can be mapped and selected: CSR for any sparse format, arrays for lists of rows
    and for tensors."""
    raw = host(raw)
    if is_sparse(raw):
        return raw.tocsr()
    if isinstance(raw, (list, tuple)) and raw and isinstance(raw[0], (list, tuple, np.ndarray)):
        try:
            array = np.asarray(raw)
        except ValueError:  # rows of different lengths: perhaps a kernel on lists
            return raw
        return array if array.ndim == 2 and array.dtype.kind in "biuf" else raw
    return raw


def check_not_empty(rows: Any, name: str) -> int:
    """How many examples there are; an error where there are none."""
    n = count(rows)
    if n == 0:
        raise ValueError(f"{name} is empty: at least one example is needed")
    return n


def matrix(raw: Any, rows: Input, name: str) -> Any:
    """The numbers of `raw` after the input map: 2-D, finite, float32 or float64, or CSR."""
    if not rows.steps and is_plain(raw) and raw.ndim == 2:
        return raw
    values = raw
    for step in rows.steps:
        values = step(values)
    values = numeric(values)
    if values.shape[1] == 0:
        raise ValueError(f"{name} has no columns: shape {values.shape}")
    check_finite(values, name)
    if is_sparse(values):
        return values
    return np.ascontiguousarray(values)


def check_widths(x: Any, z: Any) -> None:
    """Raise an error unless both operands have as many columns."""
    if x.shape[1] != z.shape[1]:
        raise ValueError(f"X has {x.shape[1]} columns and Z has {z.shape[1]}: they must agree")


def numeric_inputs(formula: Formula) -> list[Input]:
    """The distinct inputs that a formula reads as numbers, in order of first use."""
    seen: dict[Input, None] = {}
    for node in statistics(formula):
        if node.op in _NUMERIC:
            value = node.value
            seen[value if isinstance(value, Input) else value[1]] = None
    return list(seen)


def dtype_of(raw: Any, rows: Input, values: Any) -> np.dtype:
    """The dtype of K for these rows: that of the data, even if an input map widened it."""
    if not rows.steps or values.dtype == np.float32 or not rows.steps[-1].widens:
        return values.dtype  # type: ignore[no-any-return]
    for step in rows.steps[:-1]:
        raw = step(raw)
    return numeric(raw).dtype  # type: ignore[no-any-return]


def common_dtype(dtypes: Iterable[Any]) -> np.dtype:
    """float32 where all floating numbers are float32; float64 otherwise."""
    kinds = {d.newbyteorder("=") for d in dtypes if getattr(d, "kind", "") == "f"}
    return np.dtype(np.float32) if kinds == {np.dtype(np.float32)} else _DOUBLE


# --- sparse rows -----------------------------------------------------------------------------
# Where a share s of the numbers is not 0, two rows of D columns have about D s² columns in common.
# Nanoseconds per pair on one core, measured with 30 to 20,000 columns:
#
#     dense rows                0.04 D       a matrix product
#     compiled loops            0.7 D s²     or 0.1 D s, see `mercer.gram.cpu.sparse_loops`
#     SciPy, both sparse        5 D s²       and more for the sparse matrix that it makes
#     SciPy, one operand dense  0.25 D s
#
# So the loops are ahead of dense rows below a fifth. Without them both operands stay sparse below a
# twentieth, and one does below 15 %. Fuller rows are made dense once, where a copy is small beside
# the memory limit; else tiles are made dense one by one, under the product.


def scatters(x: Any, z: Any) -> bool:
    """Whether a compiled loop multiplies these two sparse matrices."""
    return may_compile() and _count(x) * _count(z) / max(1, x.shape[1]) >= tuning.SMALL_WORK


def stays_sparse(rows: Any, others: Any) -> bool:
    """Whether a product with `others` takes `rows` as a sparse matrix."""
    most = tuning.SPARSE_IN_LOOPS if scatters(rows, others) else tuning.SPARSE_BOTH
    return is_sparse(rows) and (rows.shape[1] > tuning.SPARSE_COLUMNS or _share(rows) < most)


def made_dense(
    X: Rows, Z: Rows, left: dict[Input, Any], right: dict[Input, Any]
) -> tuple[dict[Input, Any], dict[Input, Any]]:
    """The numbers of both operands, sparse ones dense where they are better multiplied so."""
    same = right is left
    for key in left:
        x, z = left[key], right[key]
        few = x.shape[0] * z.shape[0] * x.shape[1] <= tuning.SMALL_WORK
        better = is_sparse(x) and is_sparse(z) and not (stays_sparse(x, z) or stays_sparse(z, x))
        if not few and not better:
            continue
        both = few or _share(x) >= tuning.SPARSE_ONE
        copies = [z] if same or not both else [x, z]
        size = sum(m.shape[0] * m.shape[1] * m.dtype.itemsize for m in copies)
        if size > tuning.COPY_SHARE * get_config().memory_bytes:
            continue
        right = {**right, key: Z.dense(z)}
        if same:
            left = right
        elif both:
            left = {**left, key: X.dense(x)}
    return left, right


def _count(rows: Any) -> int:
    """Numbers that are stored."""
    return int(rows.nnz if is_sparse(rows) else rows.shape[0] * rows.shape[1])


def _share(rows: Any) -> float:
    return float(_count(rows) / max(1, rows.shape[0] * rows.shape[1]))
