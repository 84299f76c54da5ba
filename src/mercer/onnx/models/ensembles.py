"""Models made of models: votes, means, one against the rest, calibrated folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx

from mercer.onnx import NotExportable
from mercer.onnx.graph import Graph, Wire
from mercer.onnx.models.outputs import Outputs, highest
from mercer.onnx.preprocessing.table import Table

#: Writes a model, with what stands in front of it, into outputs: `exporting.write_model`.
Write = Callable[[Any, Table, Outputs], None]


def _asked(write: Write, model: Any, table: Table, graph: Graph, *names: str) -> tuple[str, Wire]:
    """The first of these outputs that a model inside has, in float64."""
    inner = Outputs(graph)
    inner.fed = "float64"
    write(model, table, inner)
    name = next((n for n in names if n in inner.found), None)
    if name is None:
        wanted = " or ".join(names)
        raise NotExportable(f"the {type(model).__name__} inside has no {wanted} in ONNX")
    return name, inner.found[name][0]


def _mean(g: Graph, parts: Sequence[Wire], weights: Any = None) -> Wire:
    shares = np.ones(len(parts)) if weights is None else np.asarray(weights, dtype=float)
    scaled = [g.add("Mul", p, float(s)) for p, s in zip(parts, shares / shares.sum(), strict=True)]
    return Wire(g.add("Sum", *scaled))


def _votes(g: Graph, labels: Wire, classes: int) -> Wire:
    """1 in the column of the class that a model inside, which counts classes from 0, gives."""
    column = g.add("Unsqueeze", g.add("Cast", labels, to=onnx.TensorProto.INT64), np.array([1]))
    return g.number(g.add("Equal", column, np.arange(classes)[None]))


def mean_regressor(write: Write, model: Any, table: Table, out: Outputs) -> None:
    """VotingRegressor, BaggingRegressor."""
    g = out.graph
    parts = [_asked(write, one, rows, g, "prediction")[1] for one, rows in _inside(model, table)]
    column = g.add("Unsqueeze", _mean(g, parts, _weights(model)), np.array([1]))
    out.numbers("prediction", Wire(column), 1, True)


def voting_classifier(write: Write, model: Any, table: Table, out: Outputs) -> None:
    """VotingClassifier, BaggingClassifier: the mean of probabilities, or of votes."""
    g, n = out.graph, len(model.classes_)
    soft = getattr(model, "voting", "soft") == "soft"
    soft &= all(hasattr(one, "predict_proba") for one, _ in _inside(model, table))
    parts = []
    for one, rows in _inside(model, table):
        _, wire = _asked(write, one, rows, g, "probabilities" if soft else "label")
        parts.append(wire if soft else _votes(g, wire, n))
    shares = _mean(g, parts, _weights(model))
    out.labels(highest(g, shares), model.classes_)
    if hasattr(model, "predict_proba"):
        out.probabilities(shares, n)


def _weights(model: Any) -> list[float] | None:
    """The weight of each model inside; those that were dropped have none."""
    if getattr(model, "weights", None) is None:
        return None
    return [
        w
        for w, (_, one) in zip(model.weights, model.estimators, strict=True)
        if not isinstance(one, str)
    ]


def _inside(model: Any, table: Table) -> list[tuple[Any, Table]]:
    """The models inside, each with the columns it was given."""
    chosen = getattr(model, "estimators_features_", None)
    if chosen is None:
        return [(one, table) for one in model.estimators_]
    return [
        (m, table.take(list(map(int, c)))) for m, c in zip(model.estimators_, chosen, strict=True)
    ]


def one_vs_rest(write: Write, model: Any, table: Table, out: Outputs) -> None:
    g = out.graph
    if model.multilabel_:
        raise NotExportable("OneVsRestClassifier of several labels per row is not exported")
    scores = []
    for one in model.estimators_:
        _, wire = _asked(write, one, table, g, "decision")
        scores.append(g.add("Unsqueeze", wire, np.array([1])))
    out.decision(g.side_by_side(scores), model.classes_)


def calibrated_folds(write: Write, model: Any, table: Table, out: Outputs) -> None:
    """CalibratedClassifierCV: the mean over its folds of sigmoids of scores."""
    g, n = out.graph, len(model.classes_)
    parts = []
    for fold in model.calibrated_classifiers_:
        if any(not hasattr(c, "a_") for c in fold.calibrators):
            raise NotExportable(
                f"CalibratedClassifierCV(method={model.method!r}) is not exported: take 'sigmoid'"
            )
        _, wire = _asked(write, fold.estimator, table, g, "decision")
        scores = wire if n > 2 else g.add("Unsqueeze", wire, np.array([1]))
        parts.append(sigmoids(g, fold.calibrators, scores))
    shares = _mean(g, parts)
    out.labels(highest(g, shares), model.classes_)
    out.probabilities(shares, n)


def sigmoids(g: Graph, calibrators: Sequence[Any], scores: Wire) -> Wire:
    """The sigmoid of every score, as scikit-learn's calibration gives it."""
    slope, offset = (np.array([[getattr(c, p) for c in calibrators]]) for p in ("a_", "b_"))
    shares = g.add("Sigmoid", g.add("Neg", g.add("Add", g.add("Mul", scores, slope), offset)))
    if len(calibrators) == 1:
        return g.side_by_side([g.add("Sub", 1.0, shares), shares])
    total = g.add("ReduceSum", shares, np.array([1]))
    none = g.add("Equal", total, 0.0)
    even = g.add("Where", none, 1.0 / len(calibrators), shares)
    return Wire(g.add("Div", even, g.add("Where", none, 1.0, total)))


RULES: dict[str, Callable[[Write, Any, Table, Outputs], None]] = {
    "VotingRegressor": mean_regressor,
    "BaggingRegressor": mean_regressor,
    "VotingClassifier": voting_classifier,
    "BaggingClassifier": voting_classifier,
    "OneVsRestClassifier": one_vs_rest,
    "CalibratedClassifierCV": calibrated_folds,
}
