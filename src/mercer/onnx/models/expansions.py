"""Global models: f(x) = Σᵢ αᵢ k(xᵢ, x) + b, and what each learner makes of f."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.expansion import KernelExpansion
from mercer.formula import simplify
from mercer.formula.nodes import ROOT, Formula
from mercer.formula.ranking import linear_part
from mercer.onnx import NotExportable
from mercer.onnx.graph import Wire
from mercer.onnx.models.ensembles import sigmoids
from mercer.onnx.models.outputs import Outputs, highest, shares_of
from mercer.onnx.pairs import Pairs, check_vectors, dense, precision, working_dtype
from mercer.onnx.preprocessing.table import Table
from mercer.onnx.preprocessing.transformers import learned_inputs, transform


def values_of(f: KernelExpansion, table: Table) -> Wire:
    """f(x) in float64, of shape (N, outputs)."""
    g = table.graph
    coef = f.coef[:, None] if f.coef.ndim == 1 else f.coef
    coef = coef.astype(np.float64)
    intercept = np.broadcast_to(np.asarray(f.intercept, dtype=float), coef.shape[1:])
    if not len(coef):
        return Wire(g.add("Add", g.zeros(table.column(0).wire), intercept.reshape(1, -1)))
    formula = f.kernel.lower(ROOT)
    check_vectors(formula)
    linear = _linear_weights(formula, f, coef, table)
    if linear is not None:
        rows, weights, constant = linear
        product = g.add("MatMul", rows.numbers(), weights)
        return Wire(g.add("Add", product, (intercept + constant).reshape(1, -1)))
    dtype = working_dtype(formula, f.points, coef, intercept, g.fed)
    K = Pairs(table, f.points, formula, dtype).kernel()
    with precision(g, dtype):
        product = g.add("MatMul", K, coef)
    if dtype == "float32":
        product = g.cast(product, "float64")
    return Wire(g.add("Add", product, intercept.reshape(1, -1)))


def _linear_weights(
    formula: Formula, f: KernelExpansion, coef: np.ndarray, table: Table
) -> tuple[Table, np.ndarray, np.ndarray] | None:
    """Where k = s x·z + c, f is one weight vector: x·(s Σ αᵢ xᵢ) + c Σ αᵢ."""
    simple = simplify(formula)
    node, slope = linear_part(simple)
    if node is None or any(a.op not in ("const", "dot", "mul", "add") for a in simple.walk()):
        return None
    pairs = Pairs(table, f.points, formula, "float64")
    z = pairs.numbers(node.value)
    constant = sum(a.value for a in simple.args if a.op == "const") if simple.op == "add" else 0.0
    return pairs.rows(node.value), slope * (z.T @ coef), constant * coef.sum(axis=0)


# --- learners ----------------------------------------------------------------------------------


def expansion(f: KernelExpansion, table: Table, out: Outputs) -> None:
    values = values_of(f, table)
    out.numbers("prediction", values, 1 if f.coef.ndim == 1 else f.coef.shape[1], f.coef.ndim == 1)


def coordinates(model: Any, table: Table, out: Outputs) -> None:
    out.numbers("transformed", values_of(model.expansion_, table), len(model.eigenvalues_), False)


def logistic(model: Any, table: Table, out: Outputs) -> None:
    scores, classes = values_of(model.expansion_, table), len(model.classes_)
    out.probabilities(shares_of(out.graph, scores, classes), classes)
    out.decision(scores, model.classes_)


def ridge(model: Any, table: Table, out: Outputs) -> None:
    values = _ridge_values(model, table)
    width = 1 if model._single else model.dual_coef_.shape[1]
    out.numbers("prediction", values, width, model._single)


def ridge_classifier(model: Any, table: Table, out: Outputs) -> None:
    if model._multilabel:
        raise NotExportable(
            "KernelRidgeClassifier of several labels has no ONNX form: one per label has"
        )
    out.decision(_ridge_values(model, table), model.classes_)


def _ridge_values(model: Any, table: Table) -> Wire:
    """A primal solution with w of the polynomial features where they have nodes, else by a."""
    if model._primal is not None:
        from mercer.kernels import Linear, Polynomial
        from mercer.maps import PolynomialMap

        kernel, phi = model.kernel_, None
        if isinstance(kernel, Polynomial) and kernel.gamma == 1.0:
            monomials = PolynomialMap(kernel.degree, kernel.offset).fit(np.zeros((1, table.width)))
            phi = transform(monomials, table)
        elif isinstance(kernel, Linear):
            phi = table
        if phi is not None:
            g = table.graph
            product = g.add("MatMul", phi.numbers(), model._primal.astype(float))
            intercept = np.asarray(model.intercept_, dtype=float).reshape(1, -1)
            return Wire(g.add("Add", product, intercept))
    return values_of(model.expansion_, table)


def regressor(model: Any, table: Table, out: Outputs) -> None:
    expansion(model.expansion_, table, out)


def process(model: Any, table: Table, out: Outputs) -> None:
    """The mean of f; its deviation needs the factor of K, which ONNX has no operator for."""
    single = model.y_train_.ndim == 1
    width = 1 if single else model.y_train_.shape[1]
    out.numbers("prediction", values_of(model.expansion_, table), width, single)


def learned_regressor(model: Any, table: Table, out: Outputs) -> None:
    rows = _learned(model, table)
    expansion(model.expansion_, rows, out)


def learned_classifier(model: Any, table: Table, out: Outputs) -> None:
    rows = _learned(model, table)
    logistic(model, rows, out)


def _learned(model: Any, table: Table) -> Table:
    """Rows as a learned metric takes them."""
    if hasattr(model, "leaves_"):
        raise TypeError(
            f"{type(model).__name__} of {len(model.leaves_.leaves)} leaves has no ONNX form: with "
            "n_centers= it is one expansion, which has"
        )
    return learned_inputs(model.inputs_, table)


def one_class(model: Any, table: Table, out: Outputs) -> None:
    g, scores = out.graph, values_of(model.expansion_, table)
    inside = g.add("GreaterOrEqual", g.flat(scores), 0.0)
    out.labels(g.add("Cast", inside, to=7), np.array([-1, 1]))
    out.numbers("decision", scores, 1, True)


def centroids(model: Any, table: Table, out: Outputs) -> None:
    f = model.expansion_
    if len(model.classes_) == 2:  # one function, so that its precision is judged by its own values
        one, other = f.coef.T
        f = KernelExpansion(f.kernel, f.points, other - one, f.intercept[1] - f.intercept[0])
    out.decision(values_of(f, table), model.classes_)


def clusters(model: Any, table: Table, out: Outputs) -> None:
    scores = values_of(model.expansion_, table)
    groups = model.expansion_.coef.shape[1]
    out.labels(highest(out.graph, scores), np.arange(groups))
    out.numbers("scores", scores, groups, False)


def svc(model: Any, table: Table, out: Outputs) -> None:
    g, n = out.graph, len(model.classes_)
    values = values_of(model.expansion_, table)
    if n == 2:
        if model.probability:
            out.probabilities(_calibrated(model, values, out), n)
        out.decision(values, model.classes_)
        return
    # A positive score of the pair (i, j) votes for i, and the sums break ties.
    first, second = (np.eye(n)[index] for index in np.triu_indices(n, 1))
    won = g.number(g.add("Greater", values, 0.0))
    lost = g.add("Sub", 1.0, won)
    votes = g.add("Add", g.add("MatMul", won, first), g.add("MatMul", lost, second))
    sums = g.add("MatMul", values, first - second)
    squeezed = g.add("Div", sums, g.add("Mul", g.add("Add", g.add("Abs", sums), 1.0), 3.0))
    rest = g.add("Add", votes, squeezed)
    shape = model.decision_function_shape
    if model.probability:
        out.probabilities(_calibrated(model, rest if shape == "ovr" else values, out), n)
    out.labels(highest(g, rest if model.break_ties else votes), model.classes_)
    decision, width = (values, len(first)) if shape == "ovo" else (rest, n)
    out.numbers("decision", decision, width, False)


def _calibrated(model: Any, scores: Wire, out: Outputs) -> Wire:
    (found,) = model.calibrated_.calibrated_classifiers_
    return sigmoids(out.graph, found.calibrators, scores)


# --- perceptrons -------------------------------------------------------------------------------


def kernel_perceptron(model: Any, table: Table, out: Outputs) -> None:
    if model.averaging != "vote":
        out.decision(values_of(model.expansion_, table), model.classes_)
        return
    memory = model._memory
    K = None
    if len(memory.names):
        K = Pairs(table, memory.points, model.kernel_.lower(ROOT), "float64").kernel()
    _vote(model, K, np.zeros((1, memory.rule.outputs)), table, out)


def perceptron(model: Any, table: Table, out: Outputs) -> None:
    g = table.graph
    phi = table if model.feature_map_ is None else _features(model.feature_map_, table)
    if model.averaging == "vote":
        memory = model._memory
        before = g.add("MatMul", phi.numbers(), model._start_coef.T.astype(float))
        K = None
        if len(memory.names):
            K = g.add("MatMul", phi.numbers(), dense(memory.points).T.astype(float))
        _vote(model, K, before, phi, out)
        return
    product = g.add("MatMul", phi.numbers(), model.coef_.T.astype(float))
    out.decision(
        g.add("Add", product, model.intercept_.astype(float).reshape(1, -1)), model.classes_
    )


def _features(feature_map: Any, table: Table) -> Table:
    from mercer.formula.inputs import Warped
    from mercer.kernels.catalog import name_of, resolve
    from mercer.onnx.inputs import apply

    if hasattr(feature_map, "transform"):
        return transform(feature_map, table)
    return apply(Warped(resolve(feature_map), name_of(feature_map)), table)


def _vote(model: Any, K: Any, before: Any, table: Table, out: Outputs) -> None:
    """Every predictor decides by itself: partial sums over the updates, each for as long as it
    lasted, and then the share of the votes."""
    g, memory = out.graph, model._memory
    rule, visits = memory.rule, memory.tally.visits
    start = g.add("Add", g.zeros(table.column(0).wire), memory._vote_bias[None])
    start = g.add("Add", start, before)
    lasting = np.diff(np.concatenate([[1], memory._times, [visits + 1]])).astype(float) / visits
    steps = g.add("Unsqueeze", start, np.array([1]))
    if K is not None:
        at_update = g.columns(K, memory._columns)
        if rule.bias:
            at_update = g.add("Add", at_update, 1.0)
        each = g.add("Unsqueeze", at_update, np.array([2]))
        steps = g.add("Concat", steps, g.add("Mul", each, memory._weights[None]), axis=1)
    scores = g.add("CumSum", steps, np.array(1))
    if rule.ranked:
        winner = g.add("ArgMax", scores, axis=2, keepdims=1)
        marks = g.number(g.add("Equal", winner, np.arange(rule.outputs).reshape(1, 1, -1)))
    else:
        marks = g.add("Where", g.add("Greater", scores, 0.0), 1.0, -1.0)
    weighted = g.add("Mul", marks, lasting.reshape(1, -1, 1))
    out.decision(g.add("ReduceSum", weighted, np.array([1]), keepdims=0), model.classes_)


#: Why some learners cannot be exported, and what can be in their place.
REFUSED = {
    "LocalLinearRegressor": "it solves a small system of equations at every x, and ONNX has no "
    "operator for that. NadarayaWatsonRegressor (its degree 0) and KernelRidge can be exported",
    "GaussianProcessClassifier": "its variances are not written for ONNX. "
    "KernelLogisticRegression with the kernel it learned can be exported",
    "KernelQuantileRegressor": "several levels that never cross are not written for ONNX. "
    "KernelRidge and KernelSVR can be exported",
    "KernelDensity": "log p(x) of far rows needs sums relative to their largest term, which "
    "are not written for ONNX. KernelOneClass, which also finds outliers, can be exported",
    "SpectralClustering": "it finds groups among given examples; KernelKMeans, or a classifier "
    "fitted to labels_, can be exported",
    "DeformableTemplateClassifier": "it searches over deformations of images; the other "
    "classifiers can be exported on the pixels",
}


def refused(model: Any, table: Table, out: Outputs) -> None:
    name = type(model).__name__
    raise NotExportable(f"{name} has no form in ONNX: {REFUSED[name]}")
