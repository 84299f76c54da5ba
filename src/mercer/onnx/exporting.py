"""From a fitted model to a ModelProto: its input, its preprocessing, its learner, its outputs."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._arrays import host, is_tensor
from mercer.expansion import KernelExpansion
from mercer.learners.catalog import registered
from mercer.learners.probabilities import CalibratedScores
from mercer.onnx import NotExportable
from mercer.onnx.graph import FLOATS, Graph, Wire
from mercer.onnx.models import ensembles, expansions, local, rivals
from mercer.onnx.models.outputs import Outputs
from mercer.onnx.preprocessing.columns import columns_of, names_of, width_of
from mercer.onnx.preprocessing.table import Column, Table
from mercer.onnx.preprocessing.transformers import transform
from mercer.store.files import write_atomically

Rule = Callable[[Any, Table, Outputs], None]

#: What each learner becomes. A new learner is one line here.
LEARNERS: dict[str, Rule] = {
    "KernelExpansion": expansions.expansion,
    "KernelPerceptron": expansions.kernel_perceptron,
    "Perceptron": expansions.perceptron,
    "KernelRidge": expansions.ridge,
    "KernelRidgeClassifier": expansions.ridge_classifier,
    "KernelLogisticRegression": expansions.logistic,
    "KernelSVC": expansions.svc,
    "KernelSVR": expansions.regressor,
    "GaussianProcessRegressor": expansions.process,
    "RFMRegressor": expansions.learned_regressor,
    "RFMClassifier": expansions.learned_classifier,
    "KernelOneClass": expansions.one_class,
    "KernelCentroidClassifier": expansions.centroids,
    "KernelFisherDiscriminant": expansions.centroids,
    "KernelKMeans": expansions.clusters,
    "KernelPCA": expansions.coordinates,
    "NadarayaWatsonRegressor": local.smoothing_regressor,
    "NadarayaWatsonClassifier": local.smoothing_classifier,
    "KernelNeighborsRegressor": local.neighbors_regressor,
    "KernelNeighborsClassifier": local.neighbors_classifier,
    "TreesRegressor": rivals.trees_regressor,
    "TreesClassifier": rivals.trees_classifier,
    "LinearClassifier": rivals.linear_classifier,
    **dict.fromkeys(expansions.REFUSED, expansions.refused),
}
#: Of scikit-learn, those that a comparison may choose.
LINEAR = {"LogisticRegression": rivals.linear_classifier, "Ridge": rivals.linear_regressor}


def build(model: Any, dtype: str) -> Any:
    if dtype not in FLOATS:
        raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}")
    steps, learner = _taken_apart(model)
    _rule_for(learner)
    graph = Graph(dtype)
    table = _fed(graph, steps, learner)
    names = table.names
    out = Outputs(graph)
    write_model(model, table, out)
    inside = getattr(learner, "estimator_", learner)  # without its calibration
    kernel = getattr(inside, "kernel_", getattr(inside, "kernel", None))
    notes = {"mercer.model": type(inside).__name__}
    if kernel is not None:
        notes["mercer.kernel"] = repr(kernel)[:2000]
    if names:
        notes["mercer.columns"] = "\n".join(names)
    return graph.model(out.found, notes)


def write_model(model: Any, table: Table, out: Outputs) -> None:
    """A model, with the transformers in front of it, into outputs."""
    steps, learner = _taken_apart(model)
    for step in steps:
        table = transform(step, table)
    _rule_for(learner)(_on_host(learner), table, out)


def _taken_apart(model: Any) -> tuple[list[Any], Any]:
    """The transformers in front, and the learner; of a search, the best one."""
    steps: list[Any] = []
    while isinstance(model, Pipeline) or hasattr(model, "best_estimator_"):
        if isinstance(model, Pipeline):
            check_is_fitted(model)
            steps += [step for _, step in model.steps[:-1]]
            model = model.steps[-1][1]
        else:
            model = model.best_estimator_
    return steps, model


def _rule_for(learner: Any) -> Rule:
    if isinstance(learner, CalibratedScores):
        check_is_fitted(learner)
        return partial(_calibrated, _rule_for(learner.estimator_))
    own = registered(type(learner))
    if own is not None and own.onnx is not None:
        check_is_fitted(learner)
        return own.onnx
    for cls in type(learner).__mro__:
        if cls.__name__ in LEARNERS and cls.__module__.startswith("mercer."):
            if not isinstance(learner, KernelExpansion):
                check_is_fitted(learner)
            return LEARNERS[cls.__name__]
    if type(learner).__module__.startswith("sklearn."):
        rule = LINEAR.get(type(learner).__name__)
        if rule is None and type(learner).__name__ in ensembles.RULES:
            rule = partial(ensembles.RULES[type(learner).__name__], write_model)
        if rule is not None:
            check_is_fitted(learner)
            return rule
    own_names = (n for n, r in LEARNERS.items() if r is not expansions.refused)
    raise NotExportable(
        f"{type(learner).__name__} is not a model that export knows; it takes one of "
        f"{', '.join(sorted([*own_names, *ensembles.RULES]))}, or a scikit-learn Pipeline that "
        "ends in one"
    )


def _calibrated(rule: Rule, model: Any, table: Table, out: Outputs) -> None:
    inside = copy(model)
    inside.estimator_ = _on_host(model.estimator_)
    rivals.calibrated(inside, rule, table, out)


def _on_host(model: Any) -> Any:
    """A model with arrays in place of the tensors that a fit on a GPU leaves; else itself."""
    held = vars(model)
    fetched = {name: host(value) for name, value in held.items() if is_tensor(value)}
    for name in {"expansion_", "_memory"} & set(held):
        part = _on_host(held[name])
        fetched |= {} if part is held[name] else {name: part}
    if not fetched:
        return model
    other = copy(model)
    vars(other).update(fetched)
    return other


def _fed(graph: Graph, steps: list[Any], learner: Any) -> Table:
    """One tensor X of all columns; where some are text, one tensor per column, by its name."""
    first = next((s for s in steps if hasattr(s, "n_features_in_")), learner)
    width, names = width_of(first), names_of(first)
    text, used = columns_of(first, width)

    def numbers(name: str, columns: int) -> Wire:
        wire = graph.input(name, graph.fed, columns)
        return wire if graph.fed == "float64" else graph.cast(wire, "float64")

    if not text:
        return Table.of(graph, numbers("X", width), width, names)
    names = names or tuple(f"x{i}" for i in range(width))
    parts = []
    for i, name in enumerate(names):
        if i not in used:
            parts.append(Column(graph.constant(np.zeros((1, 1)))))  # a column that is dropped
        elif i in text:
            parts.append(Column(graph.input(name, "string", 1), text=True))
        else:
            parts.append(Column(numbers(name, 1)))
    return Table(graph, width, names, None, tuple(parts))


def write(model: Any, path: str | os.PathLike[str]) -> None:
    """The file appears whole or not at all."""
    write_atomically(Path(path), lambda stream: stream.write(model.SerializeToString()))
