"""Local models: smoothers, and neighbors in feature space. Their pairs are always in float64."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._examples import take
from mercer.formula import simplify
from mercer.formula.nodes import ROOT, Formula
from mercer.formula.profile import log2_of, never_negative
from mercer.formula.ranking import Ranking, ranking
from mercer.gram import host_gram
from mercer.learners.smoothers import divide
from mercer.onnx import NotExportable
from mercer.onnx.graph import Graph, Wire
from mercer.onnx.models.outputs import Outputs, highest
from mercer.onnx.operations import evaluate, squared_differences
from mercer.onnx.pairs import Pairs
from mercer.onnx.preprocessing.table import Table

NAN = float("nan")
#: Operations whose last digit is not the same everywhere.
ROUNDED = {"exp2", "log", "sqrt", "rsqrt", "tanh", "sin", "cos", "asin", "acos", "log1p"}
#: Examples whose neighbors are looked at before an export.
ASKED = 256


def _one_more(table: Table) -> Table:
    """A row of zeros at the end: some runtimes crash when they choose the largest of no rows."""
    g = table.graph
    if table.has_text:
        empty = {True: np.array([[""]], dtype=object), False: np.zeros((1, 1))}
        return table.each(lambda c: g.add("Concat", c.wire, empty[c.text], axis=0))
    zero = np.zeros((1, table.width))
    return table.replaced(table.graph.add("Concat", table.numbers(), zero, axis=0))


def _without_last(g: Graph, wire: Wire) -> Wire:
    return Wire(g.add("Slice", wire, np.array([0]), np.array([-1]), np.array([0])))


# --- smoothers ---------------------------------------------------------------------------------


def smoothing_regressor(model: Any, table: Table, out: Outputs) -> None:
    values = _smoothed(model, table)
    out.numbers("prediction", values, model.y_fit_.shape[1], model._one_output)


def smoothing_classifier(model: Any, table: Table, out: Outputs) -> None:
    g, values = table.graph, _smoothed(model, table)
    shares = g.add("Max", g.add("Min", values, 1.0), 0.0)
    shares = g.add("Div", shares, g.add("ReduceSum", shares, np.array([1])))
    out.probabilities(shares, len(model.classes_))
    out.labels(highest(g, shares), model.classes_)


def _smoothed(model: Any, table: Table) -> Wire:
    """Σ w t / Σ w, weights relative to the row's largest where log k is known; the nearest
    example's target where all weights are 0; NaN where a weight is negative."""
    g, table = table.graph, _one_more(table)
    h = np.broadcast_to(np.asarray(model.bandwidth_, dtype=float), table.width)
    scaled = table if (h == 1).all() else _divided(table, h)
    points = divide(model.X_fit_, model.bandwidth_)
    formula = simplify(model.kernel_.lower(ROOT))
    pairs = Pairs(scaled, points, formula, "float64")
    given = model.sample_weight_
    v = np.ones(len(model.y_fit_)) if given is None else given / given.max()
    log2 = log2_of(formula)
    weights = pairs.kernel() if log2 is None else _relative(g, pairs.value(log2))
    if log2 is None and not never_negative(formula):
        low = g.add("ReduceMin", weights, np.array([1]))
        size = g.add("Mul", g.add("ReduceMax", weights, np.array([1])), -1e-6)
        bad = g.add("Less", low, g.add("Min", size, 0.0))
        weights = g.add("Where", bad, NAN, g.add("Max", weights, 0.0))
    targets = model.y_fit_
    center = v @ targets / v.sum()
    sums = g.add("MatMul", weights, v[:, None] * (targets - center))
    total = g.add("MatMul", weights, v[:, None])
    none = g.add("Equal", total, 0.0)
    mean = g.add("Add", g.add("Div", sums, g.add("Where", none, 1.0, total)), center[None])
    counted = np.flatnonzero(v > 0)
    candidates = take(points, counted)
    rank = ranking(formula, host_gram(formula, candidates).diagonal().astype(np.float64))
    nearest = _nearest(Pairs(scaled, candidates, formula, "float64"), rank, 1)
    alone = g.add("Gather", targets[counted], g.add("Squeeze", nearest.indices, np.array([1])))
    return _without_last(g, g.add("Where", none, alone, mean))


def _divided(table: Table, h: np.ndarray) -> Table:
    """Divide numeric columns by h; keep strings."""
    if not table.has_text:
        return table.affine(factor=1.0 / h)
    column_of = {part.wire: i for i, part in enumerate(table.parts)}
    return table.each(
        lambda c: c.wire if c.text else table.graph.add("Div", c.wire, float(h[column_of[c.wire]]))
    )


def _relative(g: Graph, logs: Wire) -> Wire:
    """2^(log₂ w − the row's largest); a row without any weight stays at 0."""
    top = g.add("ReduceMax", logs, np.array([1]))
    nothing = g.add("Less", top, -1e300)
    shift = g.add("Where", nothing, 0.0, top)
    return Wire(g.add("Exp", g.add("Mul", g.add("Sub", logs, shift), float(np.log(2.0)))))


# --- neighbors --------------------------------------------------------------------------------


class Nearest(NamedTuple):
    """Indices (N, k) of the nearest points, and the ranking values there."""

    indices: Wire
    values: Wire


def _ranked(pairs: Pairs, rank: Ranking) -> Wire:
    g = pairs.graph
    value = g.add("Mul", pairs.value(rank.statistic), float(rank.scale))
    return value if rank.offset is None else Wire(g.add("Add", value, rank.offset[None]))


def _nearest(pairs: Pairs, rank: Ranking, k: int) -> Nearest:
    """The k best by scale · statistic + offset: of equal ones the first of the training set.

    Squared distances come from differences: a product cancels far from the origin, and its
    rounding would choose among equals.
    """
    g = pairs.graph
    values = g.add("Neg", _measured(pairs, rank)) if rank.by_distance else _ranked(pairs, rank)
    best, indices = g.add("TopK", values, np.array([k]), axis=1, outputs=2)
    return Nearest(indices, best)


def neighbors_regressor(model: Any, table: Table, out: Outputs) -> None:
    mean = _mean(model, table)
    out.numbers("prediction", mean, model.y_fit_.shape[1], model._one_output)


def neighbors_classifier(model: Any, table: Table, out: Outputs) -> None:
    mean = _mean(model, table)
    out.probabilities(mean, len(model.classes_))
    out.labels(highest(out.graph, mean), model.classes_)


def _mean(model: Any, table: Table) -> Wire:
    """The mean of the targets of the neighbors."""
    counts = [getattr(model, name, None) for name in ("sample_weight_", "_factors")]
    kept_out = {
        "weights='distance' or a function": model.weights not in (None, "uniform", "kernel"),
        "weights of examples or classes": any(c is not None for c in counts),
        "outlier_label": getattr(model, "outlier_label_", None) is not None,
        "several outputs of labels": isinstance(getattr(model, "classes_", None), list),
    }
    found = [what for what, present in kept_out.items() if present]
    if found:
        raise NotExportable(
            f"{type(model).__name__} is exported with equal or kernel weights, one output and no "
            f"label for outliers; this one has {' and '.join(found)}"
        )
    return _without_last(table.graph, _of_neighbors(model, _one_more(table)))


def _of_neighbors(model: Any, table: Table) -> Wire:
    g, rank = table.graph, model.ranking
    pairs = Pairs(table, model.X_fit_, rank.kernel, "float64")
    _refuse_ties(pairs, rank, 1 if model.radius is not None else int(model.n_neighbors))
    if model.radius is not None:
        return _within(model, pairs, rank)
    k = int(model.n_neighbors)
    found = _nearest(pairs, rank, k)
    targets = g.add("Gather", model.y_fit_, found.indices)  # (N, k, outputs)
    if model.weights in (None, "uniform"):
        return Wire(g.add("ReduceMean", targets, np.array([1]), keepdims=0))
    w = g.add("Unsqueeze", _weights(pairs, rank, found), np.array([2]))
    sums = g.add("ReduceSum", g.add("Mul", targets, w), np.array([1]), keepdims=0)
    return Wire(g.add("Div", sums, g.add("ReduceSum", w, np.array([1]), keepdims=0)))


def _refuse_ties(pairs: Pairs, rank: Ranking, k: int) -> None:
    """An error where examples are equally near by a kernel that rounds: the last digit would choose
    among them, and it is not the same in a runtime. Distances are exact, or nearly so."""
    points = pairs.points
    if rank.by_distance or getattr(points, "dtype", np.dtype(object)).kind not in "biuf":
        return
    points, first = np.unique(points, axis=0, return_index=True)
    some = np.unique(np.linspace(0, len(points) - 1, ASKED).astype(int))
    values = np.asarray(host_gram(rank.statistic, points[some], points).dense(), dtype=float)
    values = rank.scale * values + (0.0 if rank.offset is None else rank.offset[first])
    gaps = -np.diff(-np.sort(-values, axis=1)[:, 1 : k + 2], axis=1)  # the first is itself
    rounds = any(node.op in ROUNDED for node in rank.statistic.walk())
    if ((gaps < 1e-12 * np.abs(values).max()) & (rounds | (gaps > 0))).any():
        raise NotExportable(
            "examples are equally near to each other by this kernel, but for rounding, which would "
            "choose other neighbors elsewhere; take a kernel of the distance, or save the "
            "model with mercer.save(model, path) instead"
        )


def _weights(pairs: Pairs, rank: Ranking, found: Nearest) -> Wire:
    """k of the neighbors, relative to the largest where log k is known."""
    g = pairs.graph
    log2 = rank.log2
    if log2 is not None:
        statistic = g.add("Div", found.values, float(rank.scale))
        return _relative(g, _function_of(pairs, log2, rank.statistic, statistic))
    if rank.offset is not None:
        shift = g.add("Gather", rank.offset, found.indices)
        values = g.add("Div", g.add("Sub", found.values, shift), float(rank.scale))
    elif rank.kernel_by_statistic:
        statistic = g.add("Div", found.values, float(rank.scale))
        values = _function_of(pairs, rank.kernel, rank.statistic, statistic)
    else:
        values = g.add("GatherElements", pairs.kernel(), found.indices, axis=1)
    return _votes(g, values)


def _votes(g: Graph, values: Wire) -> Wire:
    """Weights ≥ 0 (NaN for a row where one is negative); rows without any weight vote alike."""
    low = g.add("ReduceMin", values, np.array([1]))
    values = g.add("Where", g.add("Less", low, 0.0), NAN, values)
    total = g.add("ReduceSum", values, np.array([1]))
    return Wire(g.add("Where", g.add("Equal", total, 0.0), 1.0, values))


def _function_of(pairs: Pairs, formula: Formula, statistic: Formula, wire: Wire) -> Wire:
    return wire if formula is statistic else Wire(evaluate(pairs.graph, formula, {statistic: wire}))


def _within(model: Any, pairs: Pairs, rank: Ranking) -> Wire:
    """All examples within the radius vote; where there are none, the nearest one does."""
    g, radius = pairs.graph, float(model.radius)
    if rank.distance_by_statistic:
        most = rank.statistic_at(np.array([radius]))
        inside = g.add("LessOrEqual", _measured(pairs, rank), float(most[0]))
    else:
        assert rank.diagonal is not None
        gap = g.add("Sub", g.add("Mul", pairs.kernel(), 2.0), rank.diagonal[None])
        least = g.add("Sub", pairs.own(rank.kernel), radius**2)
        inside = g.add("GreaterOrEqual", gap, least)
    w = g.number(inside)
    if model.weights == "kernel":
        k = pairs.kernel()
        low = g.add("ReduceMin", g.add("Mul", k, w), np.array([1]))
        k = g.add("Where", g.add("Less", low, 0.0), NAN, k)
        weighted = g.add("Mul", k, w)
        empty = g.add("Equal", g.add("ReduceSum", weighted, np.array([1])), 0.0)
        w = g.add("Where", empty, w, weighted)
    total = g.add("ReduceSum", w, np.array([1]))
    none = g.add("Equal", total, 0.0)
    mean = g.add("Div", g.add("MatMul", w, model.y_fit_), g.add("Where", none, 1.0, total))
    first = g.add("Squeeze", _nearest(pairs, rank, 1).indices, np.array([1]))
    return Wire(g.add("Where", none, g.add("Gather", model.y_fit_, first), mean))


def _measured(pairs: Pairs, rank: Ranking) -> Wire:
    """The distance itself: ‖x − z‖² of every pair from differences, so that a radius cuts where
    it should."""
    if not rank.by_distance:
        return pairs.value(rank.statistic)
    key = rank.statistic.value
    return squared_differences(pairs.graph, pairs.rows(key).numbers(), pairs.numbers(key))
