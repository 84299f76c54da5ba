"""Values of one row: what a formula reads of each row by itself, computed once per operand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from mercer._examples import count
from mercer.formula import evaluate
from mercer.formula.nodes import Formula, Input, set_size, statistics
from mercer.gram.rows import Operand, panels, squared_norms
from mercer.tuning import PRODUCT_ROWS


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
    parts = [matrix[i : i + PRODUCT_ROWS] @ c for i in range(0, operand.n, PRODUCT_ROWS)]
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
    for part in panels(operand.matrices[rows]):
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
