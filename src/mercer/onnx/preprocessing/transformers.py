"""Transformers in front of a model, and feature maps, as nodes: one entry per class.

Everything here works on float64, whatever the model takes and gives: it costs little, and a year
minus the mean of all years keeps its digits.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import boxcox

from mercer.formula.nodes import ROOT
from mercer.maps.learned.inputs import SPREAD_OF_RANKS
from mercer.onnx import NotExportable
from mercer.onnx.graph import Graph, Wire
from mercer.onnx.operations import arcsin, cosine
from mercer.onnx.preprocessing.encoders import imputer, indicator, one_hot, ordinal, table_columns
from mercer.onnx.preprocessing.table import ELEMENTWISE, Table

# --- Columns that become several, or ranks: polynomials, splines, bins and quantiles --------------


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


def transform(transformer: Any, table: Table) -> Table:
    """The table after a fitted transformer."""
    if transformer is None or (isinstance(transformer, str) and transformer == "passthrough"):
        return table
    for cls in type(transformer).__mro__:
        rule = RULES.get(cls.__name__)
        if rule is not None:
            return rule(transformer, table)
    if hasattr(transformer, "build_analyzer"):
        raise NotExportable(
            f"{type(transformer).__name__} splits text into words by a regular expression, which "
            "ONNX's standard operators do not have: apply it before the exported model, or save "
            "the pipeline with mercer.save"
        )
    raise NotExportable(
        f"{type(transformer).__name__} has no form in ONNX here; there are rules for "
        f"{', '.join(sorted(RULES))}. Apply it before the exported model, or use one of these"
    )


# --- scaling -----------------------------------------------------------------------------------


def _shifted(table: Table, shift: Any, scale: Any) -> Table:
    return table.affine(shift, None if scale is None else 1.0 / scale)


def _min_max(t: Any, table: Table) -> Table:
    table = table.apply("Mul", t.scale_.reshape(1, -1)).apply("Add", t.min_.reshape(1, -1))
    if t.clip:
        low, high = map(float, t.feature_range)
        table = table.apply("Max", low).apply("Min", high)
    return table


def _normalizer(t: Any, table: Table) -> Table:
    g, x = table.graph, table.numbers()
    rows = np.array([1])
    if t.norm == "l2":
        length = g.add("Sqrt", g.add("ReduceSumSquare", x, rows))
    else:
        size = "ReduceSum" if t.norm == "l1" else "ReduceMax"
        length = g.add(size, g.add("Abs", x), rows)
    length = g.add("Where", g.add("Equal", length, 0.0), 1.0, length)
    return table.replaced(g.add("Div", x, length))


def _power(t: Any, table: Table) -> Table:
    """Yeo–Johnson or Box–Cox, one λ per column, and then perhaps standardized."""
    g = table.graph
    columns = []
    for i, value in enumerate(map(float, t.lambdas_)):
        x = table.column(i).wire
        columns.append(_box_cox(g, x, value) if t.method == "box-cox" else _johnson(g, x, value))
    table = table.replaced(g.side_by_side(columns))
    if not t.standardize:
        return table
    # The power of 1 (of 0 for Yeo–Johnson) is 0: two answers tell what else is done to a power.
    first = 1.0 if t.method == "box-cox" else 0.0
    rows = np.repeat([[first], [first + 1.0]], t.n_features_in_, axis=1)
    # A warning says that these rows have no names of columns.
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        zero, one = np.asarray(t.transform(rows))
    factor = (one - zero) / boxcox(2.0, t.lambdas_)
    return table.affine(-zero / factor, factor)


def _box_cox(g: Graph, x: Any, power: float) -> Wire:
    if power == 0.0:
        return Wire(g.add("Log", x))
    return Wire(g.add("Div", g.add("Sub", g.add("Pow", x, power), 1.0), power))


def _johnson(g: Graph, x: Wire, power: float) -> Wire:
    up = _box_cox(g, g.add("Add", g.add("Max", x, 0.0), 1.0), power)
    down = _box_cox(g, g.add("Sub", 1.0, g.add("Min", x, 0.0)), 2.0 - power)
    return Wire(g.add("Sub", up, down))


# --- linear maps and choices of columns --------------------------------------------------------


def _pca(t: Any, table: Table) -> Table:
    matrix = t.components_.T
    if getattr(t, "whiten", False):
        matrix = matrix / np.sqrt(t.explained_variance_)
    if getattr(t, "mean_", None) is not None:
        table = table.affine(t.mean_)
    whole = table.graph.add("MatMul", table.numbers(), matrix.astype(float))
    return table.replaced(whole, matrix.shape[1])


def _function(t: Any, table: Table) -> Table:
    if t.func is None:
        return table
    if t.func not in ELEMENTWISE or t.kw_args:
        raise NotExportable(
            f"FunctionTransformer({getattr(t.func, '__name__', t.func)}) is Python; it can be "
            f"exported with one of {', '.join(f.__name__ for f in ELEMENTWISE)}"
        )
    return ELEMENTWISE[t.func](table)


# --- composition -------------------------------------------------------------------------------


def _pipeline(t: Any, table: Table) -> Table:
    for _, step in t.steps:
        table = transform(step, table)
    return table


def _union(t: Any, table: Table) -> Table:
    weights = t.transformer_weights or {}
    parts = []
    for name, step in t.transformer_list:
        if isinstance(step, str) and step == "drop":
            continue
        part = transform(step, table)
        if name in weights:
            part = part.apply("Mul", float(weights[name]))
        parts.append(part)
    return Table.joined(parts)


def chosen_columns(t: Any) -> list[tuple[Any, list[int]]]:
    """What a fitted ColumnTransformer does with which columns, in the order of its output."""
    width = t.n_features_in_
    plan = []
    for _, step, chosen in t.transformers_:
        at = _indices(chosen, width, list(getattr(t, "feature_names_in_", ())))
        if not (isinstance(step, str) and step == "drop") and at:
            plan.append((step, at))
    return plan


def _indices(chosen: Any, width: int, names: list[str]) -> list[int]:
    """The columns that a ColumnTransformer was given by index, name, slice or mask."""
    if isinstance(chosen, slice):
        start, stop = chosen.start, chosen.stop
        start = names.index(start) if isinstance(start, str) else start
        stop = names.index(stop) + 1 if isinstance(stop, str) else stop  # names: the last is in
        return list(range(width)[start : stop : chosen.step])
    each: list[Any] = [chosen] if isinstance(chosen, str | Integral) else list(chosen)
    if each and isinstance(each[0], bool | np.bool_):
        return [int(i) for i in np.flatnonzero(each)]
    return [names.index(c) if isinstance(c, str) else range(width)[c] for c in each]


def _column_transformer(t: Any, table: Table) -> Table:
    if t.transformer_weights:
        raise NotExportable("ColumnTransformer(transformer_weights=…) is not exported: drop them")
    return Table.joined([transform(step, table.take(at)) for step, at in chosen_columns(t)])


# --- feature maps of this library --------------------------------------------------------------


def _monomials(t: Any, table: Table) -> Table:
    """Level by level: every monomial is one of the level below times one column."""
    g, monomials = table.graph, t._monomials
    if hasattr(t, "_scale"):  # the Taylor series of a Gaussian
        table = table.affine(factor=np.broadcast_to(t._scale, table.width))
        square = g.add("ReduceSumSquare", table.numbers(), np.array([1]))
        level = g.add("Exp", g.add("Mul", square, -0.5))
    else:
        level = g.add("Add", g.zeros(table.numbers()), 1.0)
    x, kept = table.numbers(), []
    for degree, variable, parent, _ in monomials._levels():
        if degree:
            level = g.add("Mul", g.columns(level, parent), g.columns(x, variable))
        if degree in monomials.begin:
            kept.append(level)
    whole = g.add("Mul", g.side_by_side(kept), monomials.weights.reshape(1, -1))
    return table.replaced(whole, monomials.n_out)


def _polar(t: Any, table: Table) -> Table:
    g = table.graph
    turned_columns, others = t.split(table.width)
    x1, x2 = (table.column(i).wire for i in turned_columns)
    r = g.add("Sqrt", g.add("Add", g.add("Mul", x1, x1), g.add("Mul", x2, x2)))
    safe = g.add("Where", g.add("Equal", r, 0.0), 1.0, r)
    # Each arcsin only where its slope is mild: of the smaller of the two coordinates.
    a, b = arcsin(g, g.add("Div", x1, safe)), arcsin(g, g.add("Div", x2, safe))
    side = g.add("Where", g.add("Less", x1, 0.0), -1.0, 1.0)
    behind = g.add("Sub", g.add("Mul", side, math.pi), a)
    along = g.add("Where", g.add("Less", x2, 0.0), behind, a)
    across = g.add("Mul", side, g.add("Sub", math.pi / 2, b))
    steep = g.add("Greater", g.add("Abs", x1), g.add("Abs", x2))
    angle = g.add("Where", steep, across, along)
    if t.winding is None:
        pair = [r, angle]
    else:
        turned = g.add("Sub", angle, g.add("Mul", r, float(t.winding)))
        pair = [cosine(g, turned), g.add("Sin", turned)]
    rest = [table.take(others).numbers()] if others else []
    return table.replaced(g.side_by_side([*pair, *rest]))


def _fourier(t: Any, table: Table) -> Table:
    g, width = table.graph, t._n_features_out
    angles = g.add("MatMul", table.numbers(), t.frequencies_.T.astype(float))
    half = width // 2
    both = g.columns(angles, range(half))
    parts = [cosine(g, both), g.add("Sin", both)] if half else []
    if width % 2:
        last = g.columns(angles, [len(t.frequencies_) - 1])
        parts.append(cosine(g, g.add("Add", last, float(t._phase))))
    return table.replaced(g.add("Mul", g.side_by_side(parts), float(t._scale)), width)


def _nystrom(t: Any, table: Table) -> Table:
    from mercer.onnx.pairs import Pairs

    A = t.normalization_
    pairs = Pairs(table, t.components_, t.kernel_.lower(ROOT), "float64")
    return table.replaced(table.graph.add("MatMul", pairs.kernel(), A), A.shape[1])


def _learned_metric(t: Any, table: Table) -> Table:
    table = learned_inputs(t.inputs_, table)
    if t.root_.ndim == 1:
        return table.affine(factor=t.root_)
    return table.replaced(table.graph.add("MatMul", table.numbers(), t.root_.T.copy()))


def learned_inputs(inputs: Any, table: Table) -> Table:
    """Columns as a learned metric takes them: values of one spread, ranks, or both."""
    g = table.graph
    columns = [
        ranks(g, table.column(j).wire, k, np.linspace(0.0, 1.0, len(k)))
        for j, k in zip(inputs.ranked, inputs.knots.T, strict=True)
    ]
    values = table.affine(inputs.center, 1.0 / inputs.scale)
    if not columns:
        return values
    spread = g.add("Mul", g.add("Sub", g.side_by_side(columns), 0.5), 1.0 / SPREAD_OF_RANKS)
    ranked = Table.of(g, spread, len(columns))
    if inputs.kind == "both":
        return Table.joined([values, ranked])
    at = {int(j): i for i, j in enumerate(inputs.ranked)}
    parts = [ranked.take([at[j]]) if j in at else values.take([j]) for j in range(table.width)]
    return Table.joined(parts)


def _kernel_pca(t: Any, table: Table) -> Table:
    from mercer.onnx.models.expansions import values_of

    return table.replaced(values_of(t.expansion_, table), len(t.eigenvalues_))


RULES: dict[str, Callable[[Any, Table], Table]] = {
    "StandardScaler": lambda t, table: _shifted(table, t.mean_ if t.with_mean else None, t.scale_),
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": lambda t, table: table.affine(factor=1.0 / t.scale_),
    "RobustScaler": lambda t, table: _shifted(table, t.center_, t.scale_),
    "CommonScale": lambda t, table: table.apply("Div", float(t.scale_)),
    "Normalizer": _normalizer,
    "PolynomialFeatures": polynomial,
    "KBinsDiscretizer": bins,
    "QuantileTransformer": quantiles,
    "SplineTransformer": splines,
    "PowerTransformer": _power,
    "PCA": _pca,
    "TruncatedSVD": _pca,
    "SelectorMixin": lambda t, table: table.take(np.flatnonzero(t.get_support()).tolist()),
    "FunctionTransformer": _function,
    "Pipeline": _pipeline,
    "FeatureUnion": _union,
    "ColumnTransformer": _column_transformer,
    "SimpleImputer": imputer,
    "MissingIndicator": indicator,
    "OneHotEncoder": one_hot,
    "OrdinalEncoder": ordinal,
    "TableColumns": table_columns,
    "PolynomialMap": _monomials,
    "TaylorGaussianMap": _monomials,
    "PolarMap": _polar,
    "RandomFourierMap": _fourier,
    "NystromMap": _nystrom,
    "KernelPCA": _kernel_pca,
    "LearnedMetric": _learned_metric,
}
