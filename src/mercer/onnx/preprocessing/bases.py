"""Columns that become several, or ranks: polynomials, splines, bins and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.onnx import NotExportable
from mercer.onnx.graph import Graph, Wire
from mercer.onnx.preprocessing.table import Table


def polynomial(t: Any, table: Table) -> Table:
    """Every monomial as a product of columns; a column of ones stands for those it lacks."""
    g, x, powers = table.graph, table.numbers(), t.powers_
    ones, degree = powers.shape[1], max(1, int(powers.sum(axis=1).max()))
    factors = np.full((len(powers), degree), ones)
    for row, power in enumerate(powers):
        used = np.repeat(np.arange(ones), power)
        factors[row, : len(used)] = used
    wide = g.side_by_side([x, g.add("Add", g.zeros(x), 1.0)])
    made = g.columns(wide, factors[:, 0])
    for index in factors[:, 1:].T:
        made = g.add("Mul", made, g.columns(wide, index))
    return table.replaced(made, len(powers))


def bins(t: Any, table: Table) -> Table:
    """The number of inner edges that a value reaches; then perhaps one column per bin."""
    g = table.graph
    codes = []
    for i, edges in enumerate(t.bin_edges_):
        reached = g.add("GreaterOrEqual", table.column(i).wire, edges[1:-1].reshape(1, -1))
        codes.append(g.add("ReduceSum", g.number(reached), np.array([1])))
    if t.encode == "ordinal":
        return table.replaced(g.side_by_side(codes))
    hot = [
        g.number(g.add("Equal", code, np.arange(float(n))[None]))
        for code, n in zip(codes, t.n_bins_, strict=True)
    ]
    return table.replaced(g.side_by_side(hot), int(t.n_bins_.sum()))


def quantiles(t: Any, table: Table) -> Table:
    """The rank among the training values: linear between quantiles, a jump where some are equal."""
    if t.output_distribution != "uniform":
        raise NotExportable(
            "QuantileTransformer(output_distribution='normal') needs the inverse of the error "
            "function, which ONNX does not have: take 'uniform', or PowerTransformer"
        )
    columns = [
        ranks(table.graph, table.column(i).wire, q, t.references_)
        for i, q in enumerate(t.quantiles_.T)
    ]
    return table.replaced(table.graph.side_by_side(columns))


def ranks(g: Graph, x: Wire, q: np.ndarray, shares: np.ndarray) -> Wire:
    """Shares of the training rows below x: lines between quantiles, half a jump at equal ones."""
    widths, rises = np.diff(q), np.diff(shares)
    slope = np.divide(rises, widths, out=np.zeros_like(rises), where=widths > 0)
    jump = np.where(widths > 0, 0.0, rises)
    parts = g.add("Min", g.add("Max", g.add("Sub", x, q[None, :-1]), 0.0), widths[None])
    above, reached = (
        g.number(g.add(op, x, q[None, :-1])) for op in ("Greater", "GreaterOrEqual")
    )  # a value at a jump has its mean
    both = g.add("Mul", g.add("Add", above, reached), 0.5)
    made = g.add("Add", g.add("MatMul", parts, slope[:, None]), float(shares[0]))
    return Wire(g.add("Add", made, g.add("MatMul", both, jump[:, None])))


def splines(t: Any, table: Table) -> Table:
    """The basis of B-splines by the recursion of Cox and de Boor; constant beyond the knots."""
    if t.extrapolation != "constant":
        raise NotExportable(
            f"SplineTransformer(extrapolation={t.extrapolation!r}) is not exported: "
            "take the default, 'constant'"
        )
    g, k = table.graph, t.degree
    columns = []
    for i, spline in enumerate(t.bsplines_):
        knots = np.asarray(spline.t, dtype=float)
        first, last = knots[k], knots[-k - 1]
        x = g.add("Min", g.add("Max", table.column(i).wire, float(first)), float(last))
        # The last interval has its end, and none begins there.
        starts, ends = np.where(knots >= last, np.inf, knots)[:-1], knots[1:].copy()
        ends[ends == last] = np.inf
        after = g.add("GreaterOrEqual", x, starts[None])
        basis = g.number(g.add("And", after, g.add("Less", x, ends[None])))
        for degree in range(1, k + 1):
            n = len(knots) - degree - 1
            left, right = knots[:n], knots[degree + 1 :]
            up = g.add("Div", g.add("Sub", x, left[None]), (knots[degree:-1] - left)[None])
            down = g.add("Div", g.add("Sub", right[None], x), (right - knots[1 : n + 1])[None])
            low, high = (g.columns(basis, range(s, s + n)) for s in (0, 1))
            basis = g.add("Add", g.add("Mul", up, low), g.add("Mul", down, high))
        kept = len(knots) - k - 1 - (not t.include_bias)
        columns.append(g.columns(basis, range(kept)))
    return table.replaced(g.side_by_side(columns), t.n_features_out_)
