"""Rows on a device: checked and moved there, and what is computed once for each of them."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import numpy as np
import torch

from mercer._arrays import host, is_sparse
from mercer._config import get_config
from mercer._tiles import cut
from mercer.engines.cuda.ops import (
    NARROW,
    STEP_NUMBERS,
    apply_steps,
    computed_in,
    evaluate_torch,
    widened,
)
from mercer.formula import Formula
from mercer.formula.inputs import numeric
from mercer.formula.nodes import Input, set_size, statistics
from mercer.gram.row_values import over_sets, row_weights

#: Rows of Z that the center is the mean of.
SOME: Final = 16


#: Operands are padded to a multiple of the tallest and widest tile.
PADDING: Final = 256


def current(device: torch.device) -> Any:
    """Launches go to the thread's current GPU: it must be the one that holds the data."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def whole_tiles(n: int) -> int:
    return -(-n // PADDING) * PADDING


def extended(vector: torch.Tensor) -> torch.Tensor:
    """Row values up to whole tiles; the last one is repeated, so that k stays finite there."""
    extra = whole_tiles(len(vector)) - len(vector)
    return torch.cat([vector, vector[-1:].expand(extra, *vector.shape[1:])]).contiguous()


@cache
def has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None


def interpreted() -> bool:
    return os.environ.get("TRITON_INTERPRET") == "1"


def runs_on(device: torch.device) -> bool:
    """Whether Triton's kernels run there: on a GPU, or under its interpreter."""
    return device.type == "cuda" or interpreted()


@dataclass
class DeviceSide:
    """Rows on the device: the numbers of each input, row values, and what kernels read."""

    n: int
    matrices: dict[Input, torch.Tensor]
    centers: dict[Input, torch.Tensor | None]
    raw: Any
    values: tuple[torch.Tensor, ...] = ()
    cache: dict[Any, Any] = field(default_factory=dict)
    #: Row values up to whole tiles, by their place.
    whole: dict[int, torch.Tensor] = field(default_factory=dict)

    def take(self, index: Any) -> DeviceSide:
        """Some of the rows; a run of them shares what was prepared for all."""
        prepared: dict[Any, Any] = {}
        if isinstance(index, slice):
            start, stop, _ = index.indices(self.n)
            index, n = slice(start, stop), stop - start
            for key, parts in self.cache.items():
                if key[0] == "parts":
                    prepared[key] = tuple(part[start:] for part in parts)
        else:
            index = torch.as_tensor(index, device=self.device)
            n = len(index)
        matrices = {key: m[index] for key, m in self.matrices.items()}
        # The rows themselves are often one of the inputs: they are copied once.
        same = [matrices[key] for key, m in self.matrices.items() if m is self.raw]
        if same or self.raw is None:
            raw = same[0] if same else None
        else:
            raw = self.raw[host(index) if is_sparse(self.raw) else index]
        values = tuple(v[index] for v in self.values)
        if "diagonal" in self.cache:
            prepared["diagonal"] = self.cache["diagonal"][index]
        return DeviceSide(n, matrices, self.centers, raw, values, prepared)

    def numbers(self, rows: Input) -> torch.Tensor:
        """The numbers of one input, in float32 or float64."""
        return widened(self.matrices[rows])

    @property
    def device(self) -> torch.device:
        return next(iter(self.matrices.values())).device

    def centered(self, rows: Input, part: slice = slice(None)) -> torch.Tensor:
        """These rows about their center."""
        numbers, center = widened(self.matrices[rows][part]), self.centers.get(rows)
        return numbers if center is None else numbers - center

    def norms(self, rows: Input) -> torch.Tensor:
        """‖x − c‖² of every row about the center, in float64."""
        key = ("norms", rows)
        if key not in self.cache:
            parts = [
                torch.linalg.vector_norm(self.centered(rows, part), dim=1, dtype=torch.float64)
                for part in self.chunks()
            ]
            self.cache[key] = (parts[0] if len(parts) == 1 else torch.cat(parts)).square_()
        return self.cache[key]  # type: ignore[no-any-return]

    def padded(self, i: int) -> torch.Tensor:
        """Row values up to whole tiles."""
        if i not in self.whole:
            self.whole[i] = extended(self.values[i])
        return self.whole[i]

    def middle(self, rows: Input, dtype: torch.dtype) -> torch.Tensor:
        """About the mean of the rows, from `SOME` of them."""
        return self.matrices[rows][:: max(1, self.n // SOME)].mean(0, dtype=dtype)

    def chunks(self) -> Iterator[slice]:
        """The rows in parts whose copies in another precision are small beside the rest."""
        return cut(0, self.n, self.at_a_time)

    @property
    def at_a_time(self) -> int:
        """Rows, or pairs of rows, of which copies are small beside the rest."""
        return max(1, STEP_NUMBERS // max(m.shape[1] for m in self.matrices.values()))


def to_device(
    X: Any, name: str, beside: torch.Tensor | None = None, checked: bool = True
) -> torch.Tensor:
    """A validated 2-D floating tensor: where it is, on the device of `beside`, or as configured."""
    if not isinstance(X, torch.Tensor):
        rows = numeric(X)
        rows = rows.toarray() if is_sparse(rows) else rows
        if beside is None:
            X = torch.as_tensor(np.ascontiguousarray(rows), device=get_config().device)
        else:
            X = torch.as_tensor(rows).to(device=beside.device, dtype=computed_in(beside.dtype))
    if X.ndim != 2:
        raise ValueError(
            f"expected a 2-D tensor (rows, columns), {name} has shape {tuple(X.shape)}"
        )
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"{name} is empty: shape {tuple(X.shape)}")
    if X.dtype.is_complex:
        raise TypeError(f"a kernel on vectors needs real numbers; {name} is {X.dtype}")
    if not X.dtype.is_floating_point and X.dtype not in NARROW:
        X = X.double()
    if checked:
        check_finite(X, name)
    return X


# The first use of each of PyTorch's functions loads a module onto the device, for tens of
# milliseconds: few and common ones are used here, where every process starts.


def check_finite(X: torch.Tensor, name: str) -> None:
    """Raise ValueError if an entry is NaN or infinite; a sum shows nearly always that none is."""
    if not X.dtype.is_floating_point or math.isfinite(float(X.sum(dtype=torch.float64))):
        return
    if not bool(torch.isfinite(X).all()):
        raise ValueError(f"{name} contains NaN or infinite values; drop or fill in those rows")


def squared_norms(X: torch.Tensor) -> torch.Tensor:
    return (X * X).sum(1)


def row_vector(formula: Formula, side: DeviceSide) -> torch.Tensor:
    """A formula in statistics of one row, for every row, in float64."""
    known: dict[Formula, Any] = {n: _row_statistic(n, side) for n in statistics(formula)}
    value = evaluate_torch(formula, known)
    if not isinstance(value, torch.Tensor) or value.ndim == 0:
        value = torch.full((side.n,), float(value), dtype=torch.float64, device=side.device)
    return value.contiguous()


def largest_of(values: Mapping[Formula, torch.Tensor]) -> dict[Formula, float]:
    """The largest row value by size of each formula that is no norm, in one wait for the device."""
    new = {f: v for f, v in values.items() if f.op != "prepared_norm"}
    sizes = [torch.linalg.vector_norm(v, math.inf) for v in new.values()]
    largest = dict(zip(new, torch.stack(sizes).tolist() if sizes else (), strict=True))
    for formula, top in largest.items():
        if not math.isfinite(top):
            raise ValueError(
                f"k cannot be computed for some row: {formula!r} overflows or is not defined "
                "there; scale the data or use float64"
            )
    return largest


def _row_statistic(node: Formula, side: DeviceSide) -> torch.Tensor:
    plain = node.op == "sqnorm" and side.centers.get(node.value[1]) is None
    if plain or node.op == "prepared_norm":
        return side.norms(node.value[1])
    along = side.cache.get(("along", node.value[1])) if node.op == "prepared_shift" else None
    if along is not None:
        return along  # type: ignore[no-any-return]
    return torch.cat([_of_some_rows(node, side.take(part)) for part in side.chunks()])


def _of_some_rows(node: Formula, side: DeviceSide) -> torch.Tensor:
    if node.op == "sqnorm":
        return squared_norms(side.matrices[node.value[1]].double())
    if node.op == "prepared_shift":
        center = side.centers[node.value[1]]
        assert center is not None
        c = center.double()
        return side.matrices[node.value[1]].double() @ c - 0.5 * (c @ c)
    if node.op == "rowfn":
        _, function, rows = node.value
        here = widened(apply_steps(side.raw, rows)).cpu().numpy()
        return torch.as_tensor(row_weights(function, here, "the data"), device=side.device)
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
