"""From rows as they come in to two sides and a program: everything that is done once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._examples import count
from mercer.formula import Formula
from mercer.formula.nodes import Input, statistics
from mercer.gram.byte_products.grid import Grid
from mercer.gram.byte_products.rows import GridRows, about, on_grid
from mercer.gram.plan import accuracy
from mercer.gram.plan.program import Program, compile_program
from mercer.gram.plan.range import check_range
from mercer.gram.rows.columns import without_empty_columns
from mercer.gram.rows.prepared import Side, row_value, squared_norms
from mercer.gram.rows.sparse import made_dense
from mercer.gram.rows.validate import check_widths, common_dtype, dtype_of, matrix, numeric_inputs

#: How much longer than the shortest row, in squares, a center may be that x·z is put right for
#: afterwards: the product with it takes the digits of a row near 0.
NEAR_ORIGIN = 4.0
#: ‖x − c‖² for all rows of both sides.
Norms = tuple[np.ndarray, np.ndarray]


def prepare(formula: Formula, X: Any, Z: Any) -> tuple[Side, Side, Program]:
    """Both sides of K with everything that is computed once per row, and the program."""
    left, right = _matrices(formula, X, Z)
    dtype = dtype_for([(X, left), (X if Z is None else Z, right)])
    dtype = np.dtype(np.float64) if accuracy.needs_double(formula) else dtype
    for side in (left, right):
        for key in side:
            if dtype == np.float64:  # rows that were widened for float32 stay so
                side[key] = side[key].astype(dtype, copy=False)
    made_dense(left, right)
    grids = on_grid(formula, left, right)
    left, right = without_empty_columns(formula, left, right, grids)
    methods, centers, norms = _methods(formula, left, right, dtype, grids)
    program = compile_program(formula, methods)
    on_left, on_right = ({key: pair[i] for key, pair in grids.items()} for i in (0, 1))
    of_left, of_right = ({key: pair[i] for key, pair in norms.items()} for i in (0, 1))
    x = Side(count(X), dtype, left, centers, raw=X, grids=on_left, norms=of_left)
    z = x
    if Z is not None:
        z = Side(count(Z), dtype, right, centers, raw=Z, grids=on_right, norms=of_right)
    x, z = _with_states(program, x, z, X, Z)
    x_values = _values(program.row_x, x, X, "X")
    if Z is None:
        z = replace(x, states=z.states, values=())
    x.values = x_values
    z.values = _values(program.row_z, z, X if Z is None else Z, "X" if Z is None else "Z")
    check_range(formula, x, z, dtype)
    return x, z, program


def _matrices(formula: Formula, X: Any, Z: Any) -> tuple[dict[Input, Any], dict[Input, Any]]:
    """The numbers of both sides for every input of the formula; one dict where Z is X."""
    inputs = numeric_inputs(formula)
    left = {key: matrix(X, key, "X") for key in inputs}
    right = left if Z is None else {key: matrix(Z, key, "Z") for key in inputs}
    for key in inputs:
        check_widths(left[key], right[key])
    return left, right


def dtype_for(sides: list[tuple[Any, dict[Input, Any]]]) -> np.dtype:
    """The dtype of the numbers that k reads; of the data itself if k reads no numbers."""
    read: list[Any] = [
        dtype_of(raw, key, values) for raw, side in sides for key, values in side.items()
    ]
    return common_dtype(read or [getattr(raw, "dtype", None) for raw, _ in sides])


def _values(
    formulas: tuple[Formula, ...], side: Side, raw: Any, name: str
) -> tuple[np.ndarray, ...]:
    return tuple(row_value(f, side, raw, name) for f in formulas)


def _with_states(program: Program, x: Side, z: Side, X: Any, Z: Any) -> tuple[Side, Side]:
    for source in program.sources:
        if source.kind != "opaque":
            continue
        leaf, rows = source.node.value
        left, right = X, Z
        for step in rows.steps:
            left = step(left)
            right = None if right is None else step(right)
        state_x, state_z = leaf.prepare_pair(left, right)
        if z is x:
            z = replace(x, n=leaf.count(state_z), states={})
        x.states[source.node], z.states[source.node] = state_x, state_z
    return x, z


def swap_values(program: Program, x: Side, z: Side) -> tuple[Side, Side]:
    def side(old: Side, formulas: tuple[Formula, ...], name: str) -> Side:
        return replace(old, values=_values(formulas, old, old.raw, name), functions={})

    return side(x, program.row_x, "Z"), side(z, program.row_z, "X")


def _methods(
    formula: Formula,
    left: dict[Input, Any],
    right: dict[Input, Any],
    dtype: np.dtype,
    grids: dict[Input, tuple[GridRows, GridRows]],
) -> tuple[dict[Input, accuracy.Method], dict[Input, np.ndarray | None], dict[Input, Norms]]:
    """How each squared distance is computed, the center that is taken off its rows, if any, and
    their squared norms, as they are read again and again."""
    methods: dict[Input, accuracy.Method] = {}
    centers: dict[Input, np.ndarray | None] = {}
    known: dict[Input, Norms] = {}
    for node in statistics(formula):
        if node.op != "sqdist":
            continue
        key = node.value
        X, Z = left[key], right[key]
        direct = accuracy.direct_by_size(X, Z)
        if direct is not None:
            methods[key], centers[key] = direct, None
            continue
        methods[key], centers[key], known[key] = _of_product(formula, node, X, Z, dtype, grids)
    return methods, centers, known


def _of_product(
    formula: Formula,
    node: Formula,
    X: Any,
    Z: Any,
    dtype: np.dtype,
    grids: dict[Input, tuple[GridRows, GridRows]],
) -> tuple[accuracy.Method, np.ndarray | None, Norms]:
    """The same for one distance, which sizes alone do not decide."""
    key, norms, sparse = node.value, _norms(X, Z), is_sparse(X) or is_sparse(Z)
    # Products of bytes are exact: what follows them rounds as the product of one column does.
    columns = 1 if key in grids else max(map(_most_summed, (X, Z)))
    ends = accuracy.Ends.uncentered(_largest(norms))
    method = accuracy.choose(formula, node, columns, ends, dtype, sparse)
    if sparse or method.how != "repaired":
        return method, None, norms
    grid = grids[key][0].grid if key in grids else None
    center = _center(X, Z, grid)
    if _reads_products(formula, key) and center @ center > NEAR_ORIGIN * _least(norms):
        return method, None, norms
    about_center = _norms(X, Z, center)
    ends = accuracy.Ends(ends.raw, _largest(about_center), float(about_center[1].max()))
    method = accuracy.choose(formula, node, columns, ends, dtype)
    if not method.center:
        return method, None, norms
    if grid is not None:
        sides = grids.pop(key)
        error = max(side.error for side in sides)
        if accuracy.tolerates_rounding(formula, node, ends, error, dtype):
            grids[key] = about(grid.snap(center), *sides)
    return method, center, about_center


def _center(X: Any, Z: Any, grid: Grid | None) -> np.ndarray:
    """The mean of Z, on the grid if there is one."""
    center: np.ndarray = Z.mean(axis=0, dtype=np.float64)
    center = center if grid is None else grid.step * grid.snap(center)
    return center.astype(np.result_type(X, Z))


def _reads_products(formula: Formula, key: Input) -> bool:
    return any(node.op == "dot" and node.value == key for node in statistics(formula))


def _least(norms: Norms) -> float:
    return min(float(side.min()) for side in norms)


def _most_summed(rows: Any) -> int:
    """How many numbers a product with one row adds up at most."""
    return int(np.diff(rows.indptr).max()) if is_sparse(rows) else int(rows.shape[1])


def _norms(X: Any, Z: Any, center: np.ndarray | None = None) -> Norms:
    with np.errstate(over="ignore"):
        first = squared_norms(X, center)
        return first, first if X is Z else squared_norms(Z, center)


def _largest(norms: Norms) -> float:
    return max(float(side.max()) for side in norms)
