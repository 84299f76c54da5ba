"""Rows as they come in, and as the engines want them: validated once, in one dtype."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer._arrays import is_plain, is_sparse
from mercer._examples import count
from mercer.formula.inputs import check_finite, numeric
from mercer.formula.nodes import Formula, Input, statistics

#: Statistics whose input is read as numbers.
_DOUBLE = np.dtype(np.float64)
_NUMERIC = frozenset({"dot", "sqdist", "l1", "linf", "sqnorm", "reduce"})


def as_rows(raw: Any) -> Any:
    """Examples that can be mapped and selected: CSR for any sparse format, an array for lists."""
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
    values = raw
    if not rows.steps and is_plain(raw) and raw.ndim == 2:
        return raw
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
    """Rows of both sides must have the same columns."""
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


def dtype_of(raw: Any, rows: Input, values: Any) -> np.dtype:
    """The dtype of K for these rows: that of the data, even if an input map widened it."""
    if not rows.steps or values.dtype == np.float32 or not rows.steps[-1].widens:
        return values.dtype  # type: ignore[no-any-return]
    for step in rows.steps[:-1]:
        raw = step(raw)
    return numeric(raw).dtype  # type: ignore[no-any-return]


def common_dtype(dtypes: Iterable[Any]) -> np.dtype:
    """float32 where all floating numbers are float32; float64 otherwise."""
    dtypes = list(dtypes)
    if _DOUBLE in dtypes:
        return _DOUBLE
    kinds = {d.newbyteorder("=") for d in dtypes if getattr(d, "kind", "") == "f"}
    return np.dtype(np.float32) if kinds == {np.dtype(np.float32)} else _DOUBLE
