"""prepare: from the Rows of X and Z to two operands and the program that runs on them.

Sizes and norms decide how distances are made (`mercer.gram.accuracy`); row values, centers and
norms are computed here, once per Gram.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mercer._arrays import is_sparse
from mercer.formula import Formula
from mercer.formula.nodes import Input
from mercer.gram import accuracy
from mercer.gram.byte_rows import GridRows, about, on_grid
from mercer.gram.form import Form, Program, compile_program
from mercer.gram.range import check_range
from mercer.gram.row_values import row_value
from mercer.gram.rows import NOTHING, Operand, Rows, check_widths, common_dtype, made_dense
from mercer.tuning import BYTE_FLOPS, DIRECT_COLUMNS, SMALL_WORK

#: How much longer than the shortest row, in squares, a center may be that x·z is put right for
#: afterwards: the product with it takes the digits of a row near 0.
NEAR_ORIGIN = 4.0
#: ‖x − c‖² for all rows of both operands.
Norms = tuple[np.ndarray, np.ndarray]
#: The rows of both operands as bytes, per input.
Grids = dict[Input, tuple[GridRows, GridRows]]
_DOUBLE = np.dtype(np.float64)


class _Choice(NamedTuple):
    """The numbers of X and of Z as one program reads them, and what goes with them."""

    numbers: tuple[dict[Input, Any], dict[Input, Any]]
    program: Program
    methods: Mapping[Input, accuracy.Method]
    centers: Mapping[Input, np.ndarray | None] = NOTHING
    norms: Mapping[Input, Norms] = NOTHING
    grids: Grids | Mapping[Input, Any] = NOTHING

    def operand(self, rows: Rows, dtype: np.dtype, which: int) -> Operand:
        """Prepare the rows of X (0) or of Z (1) for the program.

        Held rows are prepared once per choice. An opaque kernel prepares both operands together.
        """
        numbers = self.numbers[which]
        key: Any = None
        kept = rows.is_held and not self.grids and not self.program.opaque
        if kept and rows.owns(*numbers.values()):
            centers = (None if c is None else c.tobytes() for c in self.centers.values())
            key = (self.program, dtype, which, *map(id, numbers.values()), *centers)
            if key in rows.kept:
                return rows.kept[key]  # type: ignore[no-any-return]
        grids = {k: pair[which] for k, pair in self.grids.items()} if self.grids else NOTHING
        norms = {k: pair[which] for k, pair in self.norms.items()} if self.norms else {}
        operand = Operand(
            rows.n, dtype, numbers, self.centers, raw=rows.raw, grids=grids, norms=norms
        )
        if key is not None:
            rows.kept[key] = operand
        return operand


def prepare(
    form: Form, X: Rows, Z: Rows | None
) -> tuple[Operand, Operand, Program, Mapping[Input, accuracy.Method]]:
    """Both operands of K with all that is computed once per row, the program, and its methods.

    Without Z it is K(X, X).
    """
    other = X if Z is None else Z
    dtypes = (*X.dtypes, *other.dtypes)
    dtype = _DOUBLE if form.is_double or _DOUBLE in dtypes else common_dtype(dtypes)
    choice = _choose(form, X, other, dtype)
    program = choice.program
    x = choice.operand(X, dtype, 0)
    z = x if Z is None else choice.operand(Z, dtype, 1)
    if program.opaque:
        x, z = _with_states(program, x, z, X.raw, None if Z is None else Z.raw)
    if Z is None and (program.row_x or program.row_z or z is not x):
        z = replace(x, states=z.states, n=z.n, values=())
    if program.row_x or program.row_z:
        add_values(x, program.row_x, "X")
        add_values(z, program.row_z, "X" if Z is None else "Z")
    if dtype not in form.in_range:
        check_range(form.formula, x, z, dtype)
    return x, z, program, choice.methods


def _choose(form: Form, X: Rows, Z: Rows, dtype: np.dtype) -> _Choice:
    """Decide how K is made of these rows: by sizes and, where they do not decide, by norms."""
    left, right = X.numbers(dtype), Z.numbers(dtype)
    sparse = X.is_sparse or Z.is_sparse
    if sparse:
        left, right = made_dense(X, Z, left, right)
    by_size = not (sparse and any(map(is_sparse, (*left.values(), *right.values()))))
    for key, x in left.items():
        z = right[key]
        if x is not z:
            check_widths(x, z)
        few = x.shape[0] * z.shape[0] * x.shape[1] < BYTE_FLOPS
        by_size = by_size and few and is_direct(x, z)
    if by_size:
        return _Choice((left, right), form.of_differences, form.by_size)
    grids = on_grid(form.multiplied, left, right)
    numbers = left, right
    methods, centers, norms = _methods(form, (X, Z), numbers, dtype, grids)
    program = compile_program(form.formula, methods)
    return _Choice(numbers, program, methods, centers, norms, grids)


def is_direct(x: Any, z: Any) -> bool:
    """Whether differences of dense rows cost no more than a product, whatever the numbers are."""
    few = x.shape[1] <= DIRECT_COLUMNS
    return bool(few or x.shape[0] * z.shape[0] * x.shape[1] <= SMALL_WORK)


def add_values(operand: Operand, formulas: tuple[Formula, ...], name: str) -> Operand:
    """Give the operand one vector per formula in the statistics of one row."""
    if len(operand.values) != len(formulas):
        operand.values = tuple(row_value(f, operand, name) for f in formulas)
    return operand


def _with_states(
    program: Program, x: Operand, z: Operand, X: Any, Z: Any
) -> tuple[Operand, Operand]:
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
            z = replace(x, n=leaf.count(state_z))
        x.states, z.states = (
            {**x.states, source.node: state_x},
            {**z.states, source.node: state_z},
        )
    return x, z


def swap_values(program: Program, x: Operand, z: Operand) -> tuple[Operand, Operand]:
    """The operands of the transpose: row values belong to their operand."""
    new = (replace(old, values=(), kept={}) for old in (x, z))
    return (
        add_values(next(new), program.row_x, "Z"),
        add_values(next(new), program.row_z, "X"),
    )


def _methods(
    form: Form,
    rows: tuple[Rows, Rows],
    numbers: tuple[dict[Input, Any], dict[Input, Any]],
    dtype: np.dtype,
    grids: Grids,
) -> tuple[dict[Input, accuracy.Method], dict[Input, np.ndarray | None], dict[Input, Norms]]:
    """The method of each squared distance, the center that is subtracted from its rows, if any, and
    their squared norms."""
    methods: dict[Input, accuracy.Method] = {}
    centers: dict[Input, np.ndarray | None] = {}
    norms: dict[Input, Norms] = {}
    for node in form.distances:
        key = node.value
        X, Z = numbers[0][key], numbers[1][key]
        if not (is_sparse(X) or is_sparse(Z)) and is_direct(X, Z):
            methods[key], centers[key] = accuracy.BY_SIZE, None
            continue
        chosen = _of_product(form, node, rows, (X, Z), dtype, grids)
        methods[key], centers[key], norms[key] = chosen
    return methods, centers, norms


def _of_product(
    form: Form,
    node: Formula,
    rows: tuple[Rows, Rows],
    numbers: tuple[Any, Any],
    dtype: np.dtype,
    grids: Grids,
) -> tuple[accuracy.Method, np.ndarray | None, Norms]:
    """Method, center and squared norms of one distance, which sizes alone do not decide."""
    (X, Z), key = numbers, node.value
    norms, sparse = _norms(rows, numbers), is_sparse(X) or is_sparse(Z)
    # How many numbers a product adds up at most. Products of bytes are exact: what follows them
    # rounds as the product of one column does.
    summed = (np.diff(m.indptr).max() if is_sparse(m) else m.shape[1] for m in (X, Z))
    columns = 1 if key in grids else int(max(summed))
    largest = _largest(norms)
    ends = accuracy.Ends(largest, largest)
    method = accuracy.choose(form.formula, node, columns, ends, dtype, sparse)
    if sparse or method.how != "repaired":
        return method, None, norms
    grid = grids[key][0].grid if key in grids else None
    # The mean of Z, on the grid if there is one.
    center: np.ndarray = Z.mean(axis=0, dtype=np.float64)
    center = center if grid is None else grid.step * grid.snap(center)
    center = center.astype(np.result_type(X, Z))
    least = min(norms[0].min(), norms[1].min())
    if key in form.reads_products and center @ center > NEAR_ORIGIN * least:
        return method, None, norms
    about_center = _norms(rows, numbers, center)
    ends = accuracy.Ends(largest, _largest(about_center), float(about_center[1].max()))
    method = accuracy.choose(form.formula, node, columns, ends, dtype)
    if not method.center:
        return method, None, norms
    if grid is not None:
        pair = grids.pop(key)
        error = max(operand.error for operand in pair)
        if accuracy.tolerates_rounding(form.formula, node, ends, error, dtype):
            grids[key] = about(grid.snap(center), *pair)
    return method, center, about_center


def _norms(
    rows: tuple[Rows, Rows], numbers: tuple[Any, Any], center: np.ndarray | None = None
) -> Norms:
    first = rows[0].norms(numbers[0], center)
    return first, first if numbers[0] is numbers[1] else rows[1].norms(numbers[1], center)


def _largest(norms: Norms) -> float:
    return max(float(of.max()) for of in norms)
