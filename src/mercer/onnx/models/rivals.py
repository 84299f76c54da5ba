"""Learners without a kernel that a comparison may choose, and scores with probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.learners.rivals.trees import Trees
from mercer.onnx import NotExportable
from mercer.onnx.graph import Graph, Wire
from mercer.onnx.models.outputs import Outputs, highest, shares_of
from mercer.onnx.preprocessing.table import Table

Rule = Callable[[Any, Table, Outputs], None]


def _linear(model: Any, table: Table) -> Wire:
    """Xwᵀ + b, of shape (N, outputs)."""
    g, weights = table.graph, np.atleast_2d(model.coef_).astype(np.float64)
    product = g.add("MatMul", table.numbers(), weights.T)
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=float), len(weights))
    return Wire(g.add("Add", product, intercept.reshape(1, -1)))


def linear_regressor(model: Any, table: Table, out: Outputs) -> None:
    out.numbers("prediction", _linear(model, table), 1, True)


def linear_classifier(model: Any, table: Table, out: Outputs) -> None:
    scores = _linear(model, table)
    out.probabilities(shares_of(out.graph, scores, len(model.classes_)), len(model.classes_))
    out.decision(scores, model.classes_)


# --- trees ---------------------------------------------------------------------------------------


def _tree_sums(model: Any, table: Table) -> Wire:
    """All rows go down all trees at once, a level at a time; (N, outputs)."""
    g, trees, X = table.graph, model.trees_, table.numbers()
    if trees is None:
        raise NotExportable("this version of scikit-learn does not show the trees of boosting")
    if model.method == "forest":  # it was grown on numbers in single precision
        X = g.cast(g.cast(X, "float32"), "float64")
    rows = g.add("Shape", X, start=0, end=1)
    shape = g.add("Concat", rows, np.array([len(trees.roots)]), axis=0)
    at = g.add("Expand", trees.roots.reshape(1, -1), shape)
    for _ in range(trees.depth):
        feature, threshold = (g.add("Gather", v, at) for v in (trees.feature, trees.threshold))
        value = g.add("GatherElements", X, feature, axis=1)
        below = g.add("LessOrEqual", value, threshold)
        if trees.missing is not None:
            absent = g.add("And", g.add("IsNaN", value), g.add("Gather", trees.missing, at))
            below = g.add("Or", below, absent)
        left, right = (g.add("Gather", side, at) for side in (trees.left, trees.right))
        at = g.add("Where", below, left, right)
    return Wire(g.add("Add", _leaf_sums(g, trees, at, rows), model.start_.reshape(1, -1)))


def _leaf_sums(g: Graph, trees: Trees, leaves: Wire, rows: Wire) -> Wire:
    """Trees have a value per output, or stand in turn for one output after the other."""
    values = g.add("Gather", trees.value, leaves, axis=0)  # (N, trees, values of a leaf)
    shape = g.add("Concat", rows, np.array([-1, trees.outputs]), axis=0)
    sums = g.add("ReduceSum", g.add("Reshape", values, shape), np.array([1]), keepdims=0)
    return Wire(g.add("Div", sums, float(trees.divisor)) if trees.divisor > 1 else sums)


def trees_regressor(model: Any, table: Table, out: Outputs) -> None:
    out.numbers("prediction", _tree_sums(model, table), 1, True)


def trees_classifier(model: Any, table: Table, out: Outputs) -> None:
    g, sums, count = out.graph, _tree_sums(model, table), len(model.classes_)
    shares, decision = sums, sums
    if model.method == "boosting":
        shares = shares_of(g, sums, count)
    elif count == 2:
        decision = g.add("Sub", g.columns(sums, [1]), g.columns(sums, [0]))
    out.labels(highest(g, shares), model.classes_)
    out.probabilities(shares, count)
    out.numbers("decision", decision, 1 if count == 2 else count, count == 2)


# --- calibrated scores ---------------------------------------------------------------------------


def calibrated(model: Any, rule: Rule, table: Table, out: Outputs) -> None:
    """Probabilities from the scores that `rule` gives of the estimator inside; its labels."""
    g, inner, count = out.graph, Outputs(out.graph), len(model.classes_)
    inner.fed = "float64"
    rule(model.estimator_, table, inner)
    asked = "probabilities" if hasattr(model.estimator_, "predict_proba") else "decision"
    if asked not in inner.found:
        raise NotExportable(
            f"probabilities are made of the {asked} of {type(model.estimator_).__name__}, which "
            "has none in ONNX; compare without probabilities, or with another learner"
        )
    scores = inner.found[asked][0]
    if asked == "probabilities":
        scores = g.add("Log", g.add("Clip", scores, 1e-9, 1.0))
    elif count == 2:
        column = g.add("Unsqueeze", scores, np.array([1]))
        scores = g.side_by_side([g.add("Neg", column), column])
    coef = np.asarray(model.coef, dtype=float).T
    made = g.add("Add", g.add("MatMul", scores, coef), np.asarray(model.intercept, dtype=float))
    out.found["label"] = inner.found["label"]
    out.probabilities(Wire(g.add("Softmax", made, axis=1)), count)
