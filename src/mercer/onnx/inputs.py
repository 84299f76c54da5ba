"""Input maps of a kernel (columns, scaling, matrices, unit length, warps) as nodes."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from mercer.formula.inputs import (
    Categories,
    Columns,
    Matrix,
    NonNegative,
    Scale,
    Step,
    Unit,
    Warped,
)
from mercer.kernels.catalog import FUNCTIONS
from mercer.onnx import NotExportable
from mercer.onnx.graph import Wire
from mercer.onnx.preprocessing.table import ELEMENTWISE, Table
from mercer.onnx.preprocessing.transformers import transform


@singledispatch
def apply(step: Step, table: Table) -> Table:
    """The table after one input map."""
    raise NotExportable(f"the input map {step} has no form in ONNX")


@apply.register
def _(step: Columns, table: Table) -> Table:
    chosen = []
    for name in step.names:
        if isinstance(name, str) and name not in table.names:
            raise NotExportable(
                f"the kernel picks the column {name!r} by name, but the model was fitted on rows "
                "without names; use positions, or fit on a DataFrame"
            )
        chosen.append(table.names.index(name) if isinstance(name, str) else name % table.width)
    return table.take(chosen)


@apply.register
def _(step: Scale, table: Table) -> Table:
    return table.affine(factor=1.0 / step.lengths.array)


@apply.register
def _(step: Matrix, table: Table) -> Table:
    matrix = step.matrix.array.astype(np.float64)
    whole = table.graph.add("MatMul", table.numbers(), matrix)
    return table.replaced(whole, matrix.shape[1])


@apply.register
def _(step: Unit, table: Table) -> Table:
    g, x = table.graph, table.numbers()
    peak = _or_one(g, g.add("ReduceMax", g.add("Abs", x), np.array([1])))
    x = g.add("Div", x, peak)
    length = g.add("Sqrt", g.add("ReduceSumSquare", x, np.array([1])))
    return table.replaced(g.add("Div", x, _or_one(g, length)))


def _or_one(g: Any, wire: Wire) -> Wire:
    return Wire(g.add("Where", g.add("Equal", wire, 0.0), 1.0, wire))


@apply.register
def _(step: NonNegative, table: Table) -> Table:
    return table  # a graph cannot raise: negative entries are outside the domain there as here


@apply.register
def _(step: Categories, table: Table) -> Table:
    # Words stay words; numbers stay what they are, rounded like those of the points.
    g = table.graph
    if g.fed == "float64":
        return table

    def rounded(wire: Wire) -> Wire:
        return g.cast(g.cast(wire, g.fed), "float64")

    if table.has_text:
        return table.each(lambda column: column.wire if column.text else rounded(column.wire))
    return table.replaced(rounded(table.numbers()))


@apply.register
def _(step: Warped, table: Table) -> Table:
    owner = getattr(step.phi, "__self__", None)
    if owner is not None and hasattr(owner, "transform"):
        return transform(owner, table)
    known = ELEMENTWISE.get(step.phi)
    if known is None:
        names = sorted(n for n, f in FUNCTIONS.items() if f in ELEMENTWISE)
        raise NotExportable(
            f"warp({step.name}) is a Python function, and a file of operators holds no Python. "
            f"Use one of {', '.join(map(repr, names))}, or a transformer that can be exported "
            "(PolynomialMap, PolarMap, RandomFourierMap, a scaler), or apply the function to the "
            "rows before they reach the exported model"
        )
    return known(table)


def row_number(function: Any, table: Table) -> Wire:
    """f(x), one number per row, as (N, 1): what `reweight` multiplies with."""
    g = table.graph
    if function in ELEMENTWISE and table.width == 1:
        return ELEMENTWISE[function](table).numbers()
    length = g.add("Sqrt", g.add("ReduceSumSquare", table.numbers(), np.array([1])))
    if function is FUNCTIONS["norm"]:
        return Wire(length)
    if function is FUNCTIONS["inverse_norm"]:
        return Wire(g.add("Div", 1.0, g.add("Max", length, np.finfo(float).tiny)))
    name = getattr(function, "__name__", repr(function))
    raise NotExportable(
        f"reweight({name}) is a Python function, and a file of operators holds no Python; 'norm' "
        "and 'inverse_norm' can be exported"
    )
