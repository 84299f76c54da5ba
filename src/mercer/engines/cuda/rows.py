"""Rows on a device: checked and moved there, and what is computed once for each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer.engines.cuda.ops import apply_steps, evaluate_torch
from mercer.formula import Formula
from mercer.formula.inputs import numeric
from mercer.formula.nodes import Input, set_size, statistics
from mercer.gram.rows.prepared import over_sets
from mercer.gram.rows.validate import row_weights


@dataclass
class DeviceSide:
    """Rows on the device: the numbers of each input, row values, and what kernels read."""

    n: int
    matrices: dict[Input, torch.Tensor]
    centers: dict[Input, torch.Tensor | None]
    raw: Any
    values: tuple[torch.Tensor, ...] = ()
    cache: dict[Any, Any] = field(default_factory=dict)

    def take(self, index: Any) -> DeviceSide:
        if not isinstance(index, slice):
            index = torch.as_tensor(np.asarray(index), device=self.device)
        return DeviceSide(
            len(range(*index.indices(self.n))) if isinstance(index, slice) else len(index),
            {key: m[index] for key, m in self.matrices.items()},
            self.centers,
            None if self.raw is None else self.raw[index],
            tuple(v[index] for v in self.values),
        )

    @property
    def device(self) -> torch.device:
        return next(iter(self.matrices.values())).device

    def centered(self, rows: Input) -> torch.Tensor:
        center = self.centers.get(rows)
        return self.matrices[rows] if center is None else self.matrices[rows] - center


def to_device(X: Any, name: str, beside: torch.Tensor | None = None) -> torch.Tensor:
    """A validated 2-D floating tensor: where it is, on the device of `beside`, or as configured."""
    if not isinstance(X, torch.Tensor):
        rows = numeric(X)
        rows = rows.toarray() if is_sparse(rows) else rows
        if beside is None:
            X = torch.as_tensor(np.ascontiguousarray(rows), device=get_config().device)
        else:
            X = torch.as_tensor(rows).to(device=beside.device, dtype=beside.dtype)
    if X.ndim != 2:
        raise ValueError(
            f"expected a 2-D tensor (rows, columns), {name} has shape {tuple(X.shape)}"
        )
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"{name} is empty: shape {tuple(X.shape)}")
    if X.dtype in (torch.float16, torch.bfloat16):
        X = X.float()
    elif not X.dtype.is_floating_point:
        if X.dtype.is_complex:
            raise TypeError(f"a kernel on vectors needs real numbers; {name} is {X.dtype}")
        X = X.double()
    if not all_finite(X):
        raise ValueError(f"{name} contains NaN or infinite values; drop or fill in those rows")
    return X


# The first use of each of PyTorch's functions loads a module onto the device, for tens of
# milliseconds: few and common ones are used here, where every process starts.


def all_finite(X: torch.Tensor) -> bool:
    """Whether no entry is NaN or infinite; a sum shows nearly always that there is none."""
    return math.isfinite(float(X.sum(dtype=torch.float64))) or bool(torch.isfinite(X).all())


def squared_norms(X: torch.Tensor) -> torch.Tensor:
    return (X * X).sum(1)


def row_vector(formula: Formula, side: DeviceSide, dtype: torch.dtype) -> torch.Tensor:
    """A formula in statistics of one row, for every row; evaluated in float64."""
    known: dict[Formula, Any] = {node: _row_statistic(node, side) for node in statistics(formula)}
    value = evaluate_torch(formula, known)
    if not isinstance(value, torch.Tensor) or value.ndim == 0:
        value = torch.full((side.n,), float(value), dtype=torch.float64, device=side.device)
    if not all_finite(value):
        raise ValueError(
            f"k cannot be computed for some row: {formula!r} overflows or is not defined there; "
            "scale the data or use float64"
        )
    return value.to(dtype).contiguous()


def _row_statistic(node: Formula, side: DeviceSide) -> torch.Tensor:
    if node.op == "sqnorm":
        return squared_norms(side.matrices[node.value[1]].double())
    if node.op == "prepared_norm":
        return squared_norms(side.centered(node.value[1]).double())
    if node.op == "prepared_shift":
        center = side.centers[node.value[1]]
        assert center is not None
        c = center.double()
        return side.matrices[node.value[1]].double() @ c - 0.5 * (c @ c)
    if node.op == "rowfn":
        _, function, rows = node.value
        host = apply_steps(side.raw, rows).cpu().numpy()
        return torch.as_tensor(row_weights(function, host, "the data"), device=side.device)
    how, rows = node.value
    block = side.matrices[rows].double()
    known = {n: block for n in node.args[0].walk() if n.op == "coord"}
    body = torch.zeros_like(block) + evaluate_torch(node.args[0], known)
    return over_sets(body.T, set_size(how)) if set_size(how) else _REDUCE[how](body, 1)


_REDUCE = {
    "sum": lambda t, d: t.sum(d),
    "mean": lambda t, d: t.mean(d),
    "prod": lambda t, d: t.prod(d),
    "max": lambda t, d: t.amax(d),
}
