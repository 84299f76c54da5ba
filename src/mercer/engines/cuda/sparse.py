"""Sparse rows on a device, as they are given: x·z by sparse products, dense a few rows at a time.

A dense product of tensor cores costs a multiplication per column, a sparse one a slower one per
number that is stored, and no memory for zeros. So rows stay sparse where few numbers in a thousand
are stored, or where dense rows would not fit; and only where products are all that k needs of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mercer._arrays import host, is_sparse
from mercer._config import get_config
from mercer.engines.cuda.gram import CudaGram
from mercer.engines.cuda.memory import device_limit
from mercer.engines.cuda.methods import look, rounding, tolerance_of
from mercer.engines.cuda.ops import STEP_NUMBERS
from mercer.engines.cuda.rows import DeviceSide, largest_of, row_vector
from mercer.formula import Formula
from mercer.formula.inputs import check_finite, numeric
from mercer.formula.nodes import ROOT, Input, statistics
from mercer.gram.accuracy import Method, needs_double, slope_between
from mercer.gram.base import simplified
from mercer.gram.form import compile_program, form_of
from mercer.gram.rows import check_widths, numeric_inputs
from mercer.tuning import WORK_SHARE

#: Share of numbers that are stored, below which a sparse product is the faster one.
SPARSE_SHARE = 1 / 200


def sparse_gram(kernel: Any, X: Any, Z: Any) -> SparseGram | None:
    """K of rows that are multiplied as they are; None where they had better be dense."""
    sides = [X] if Z is None else [X, Z]
    if not all(is_sparse(side) for side in sides):
        return None
    formula, device = simplified(kernel), torch.device(get_config().device)
    if not _stay_sparse(formula, sides, device):
        return None
    gram = SparseGram(kernel, X, Z)
    # No center can be subtracted from sparse rows: far from zero the product would cancel.
    dtype = gram.torch_dtype
    ends = look(gram._x, gram._z)[ROOT].ends(False)
    for node in form_of(formula).distances:
        error = rounding(X.shape[1], ends, "high", dtype) * slope_between(formula, node, ends)
        if error > tolerance_of("high", dtype):
            return None
    return gram


def _stay_sparse(formula: Formula, sides: list[Any], device: torch.device) -> bool:
    plain = all(not key.steps for key in numeric_inputs(formula))
    dense = ("reduce", "l1", "linf", "rowfn")
    if not plain or any(node.op in dense for node in statistics(formula)):
        return False
    stored, entries = sum(side.nnz for side in sides), sum(np.prod(s.shape) for s in sides)
    return stored < SPARSE_SHARE * entries or 12 * entries > WORK_SHARE * device_limit(device)


class SparseRows:
    """Rows in CSR form: what `DeviceSide` holds instead of a tensor."""

    def __init__(
        self, starts: torch.Tensor, columns: torch.Tensor, values: torch.Tensor, width: int
    ) -> None:
        self.starts, self.columns, self.values = starts, columns, values
        self.shape: tuple[int, int] = (len(starts) - 1, width)
        self.dtype, self.device = values.dtype, values.device

    @classmethod
    def of(cls, rows: Any, device: torch.device) -> SparseRows:
        csr = rows.tocsr()
        csr.sum_duplicates()
        starts, columns, values = (
            torch.as_tensor(part, device=device)
            for part in (csr.indptr.astype(np.int64), csr.indices.astype(np.int64), csr.data)
        )
        return cls(starts, columns, values, csr.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> SparseRows:
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self))
            first, last = int(self.starts[start]), int(self.starts[stop])
            starts = self.starts[start : stop + 1] - first
            return SparseRows(
                starts, self.columns[first:last], self.values[first:last], self.shape[1]
            )
        counts = (self.starts[1:] - self.starts[:-1])[index]
        starts = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        # The place of every stored number: from the start of its row on.
        shift = torch.repeat_interleave(self.starts[:-1][index] - starts[:-1], counts)
        at = shift + torch.arange(len(shift), device=self.device)
        return SparseRows(starts, self.columns[at], self.values[at], self.shape[1])

    def to(self, dtype: torch.dtype) -> torch.Tensor:
        """Dense rows."""
        dense = torch.zeros(self.shape, dtype=dtype, device=self.device)
        rows = torch.repeat_interleave(
            torch.arange(len(self), device=self.device), self.starts[1:] - self.starts[:-1]
        )
        dense[rows, self.columns] = self.values.to(dtype)
        return dense

    def double(self) -> torch.Tensor:
        return self.to(torch.float64)

    def products(self, others: SparseRows) -> torch.Tensor:
        """x·z for all rows of both."""
        rows = torch.sparse_csr_tensor(
            self.starts, self.columns, self.values, self.shape, check_invariants=False
        )
        out = torch.empty(len(self), len(others), dtype=self.dtype, device=self.device)
        step = max(1, STEP_NUMBERS // self.shape[1])
        for start in range(0, len(others), step):
            dense = others[start : start + step].to(self.dtype)
            out[:, start : start + step] = rows @ dense.T.contiguous()
        return out


class SparseGram(CudaGram):
    """`Gram` of sparse rows: blocks by PyTorch's functions, from sparse products."""

    generated = False

    def __init__(self, kernel: Any, X: Any, Z: Any = None) -> None:
        self.kernel: Any = kernel
        self.formula: Formula = simplified(kernel)
        self.precision: str = get_config().precision
        self._as_tensor = False
        X = self._checked(X, "X")
        Z = X if Z is None else self._checked(Z, "Z")
        check_widths(X, Z)
        single = X.dtype == Z.dtype == np.float32 and not needs_double(self.formula)
        self.dtype: np.dtype = np.dtype(np.float32 if single else np.float64)
        self.torch_dtype: Any = torch.float32 if single else torch.float64
        self.square: bool = Z is X
        self.shared: dict[Any, Any] = {}
        self.exact: dict[Any, Any] = {}
        self.near: dict[Any, Any] = {}
        self.device: Any = torch.device(get_config().device)
        x = SparseRows.of(X.astype(self.dtype), self.device)
        z = x if self.square else SparseRows.of(Z.astype(self.dtype), self.device)
        a = DeviceSide(len(x), {ROOT: x}, {}, X)  # type: ignore[dict-item]
        b = DeviceSide(len(z), {ROOT: z}, {}, Z)  # type: ignore[dict-item]
        self.methods: dict[Input, Method] = {ROOT: Method("product", reason="sparse")}
        self.program: Any = compile_program(self.formula, self.methods)
        for side, formulas in ((a, self.program.row_x), (b, self.program.row_z)):
            values = {f: row_vector(f, side) for f in formulas}
            largest_of(values)
            side.values = tuple(v.to(self.torch_dtype) for v in values.values())
        self.shape: tuple[int, int] = (len(x), len(z))
        self._x, self._z = a, b

    @staticmethod
    def _checked(rows: Any, name: str) -> Any:
        rows = numeric(rows)
        check_finite(rows, name)
        return rows.tocsr()

    def _inner(self, x: DeviceSide, z: DeviceSide, rows: Input) -> torch.Tensor:
        left: Any = x.matrices[rows]
        return left.products(z.matrices[rows])  # type: ignore[no-any-return]

    @property
    def bytes_per_row(self) -> int:
        return 2 * self.dtype.itemsize * self._z.raw.nnz // max(1, self._z.n)

    def points(self, index: Any = None) -> Any:
        return self._x.raw if index is None else self._x.raw[np.asarray(host(index))]

    def of(self, kernel: Any) -> CudaGram:
        gram = (sparse_gram(kernel, self.points(), self.others())
                or CudaGram(kernel, self.points(), self.others()))  # fmt: skip
        gram._as_tensor = self._as_tensor
        return gram

    def in_double(self, index: Any = None) -> torch.Tensor:
        return SparseGram(self.kernel, self.points(index).astype(np.float64)).tensor()

    def doubled(self) -> CudaGram:
        return SparseGram(self.kernel, self.points().astype(np.float64))

    @property
    def T(self) -> CudaGram:
        return self if self.square else SparseGram(self.kernel, self._z.raw, self._x.raw)
