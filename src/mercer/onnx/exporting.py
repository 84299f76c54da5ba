"""From a fitted model to a ModelProto: its input, its preprocessing, its learner, its outputs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._arrays import is_tensor
from mercer.expansion import KernelExpansion
from mercer.learners.catalog import registered
from mercer.onnx import expansions, local
from mercer.onnx.encoders import is_text
from mercer.onnx.errors import NotExportable
from mercer.onnx.graph import FLOATS, Graph
from mercer.onnx.outputs import Outputs
from mercer.onnx.table import Column, Table
from mercer.onnx.transformers import chosen_columns, transform

#: What each learner becomes. A new learner is one line here.
LEARNERS: dict[str, Callable[[Any, Table, Outputs], None]] = {
    "KernelExpansion": expansions.expansion,
    "KernelPerceptron": expansions.kernel_perceptron,
    "Perceptron": expansions.perceptron,
    "KernelRidge": expansions.ridge,
    "KernelRidgeClassifier": expansions.ridge_classifier,
    "KernelLogisticRegression": expansions.logistic,
    "KernelSVC": expansions.svc,
    "KernelSVR": expansions.regressor,
    "KernelOneClass": expansions.one_class,
    "KernelCentroidClassifier": expansions.centroids,
    "NadarayaWatsonRegressor": local.smoothing_regressor,
    "NadarayaWatsonClassifier": local.smoothing_classifier,
    "KernelNeighborsRegressor": local.neighbours_regressor,
    "KernelNeighborsClassifier": local.neighbours_classifier,
    "LocalLinearRegressor": expansions.refused,
    "DeformableTemplateClassifier": expansions.refused,
}


def build(model: Any, dtype: str) -> Any:
    if dtype not in FLOATS:
        raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}")
    steps, learner = _taken_apart(model)
    rule = _rule_for(learner)
    learner = _on_host(learner)
    graph = Graph(dtype)
    table = _fed(graph, steps, learner)
    names = table.names
    for step in steps:
        table = transform(step, table)
    out = Outputs(graph)
    rule(learner, table, out)
    kernel = getattr(learner, "kernel_", getattr(learner, "kernel", None))
    notes = {"mercer.model": type(learner).__name__}
    if kernel is not None:
        notes["mercer.kernel"] = repr(kernel)[:2000]
    if names:
        notes["mercer.columns"] = "\n".join(names)
    return graph.model(out.found, notes)


def _taken_apart(model: Any) -> tuple[list[Any], Any]:
    """The transformers in front, and the learner."""
    steps: list[Any] = []
    while isinstance(model, Pipeline):
        check_is_fitted(model)
        steps += [step for _, step in model.steps[:-1]]
        model = model.steps[-1][1]
    return steps, model


def _rule_for(learner: Any) -> Callable[[Any, Table, Outputs], None]:
    own = registered(type(learner))
    if own is not None and own.onnx is not None:
        check_is_fitted(learner)
        return own.onnx
    for cls in type(learner).__mro__:
        if cls.__name__ in LEARNERS and cls.__module__.startswith("mercer."):
            if not isinstance(learner, KernelExpansion):
                check_is_fitted(learner)
            return LEARNERS[cls.__name__]
    raise NotExportable(
        f"{type(learner).__name__} is not a model of this library; export takes one of "
        f"{', '.join(sorted(n for n, r in LEARNERS.items() if r is not expansions.refused))}, or a "
        "scikit-learn Pipeline that ends in one"
    )


def _on_host(learner: Any) -> Any:
    """A model that was fitted on a GPU, with arrays in the place of its tensors."""
    parts = [getattr(learner, name, None) for name in ("expansion_", "_memory")]
    holders = [vars(part) for part in (learner, *parts) if hasattr(part, "__dict__")]
    if not any(is_tensor(value) for held in holders for value in held.values()):
        return learner
    # Files hold arrays only, so that a model can be read anywhere: that is the conversion.
    from mercer.store import load, save

    with tempfile.TemporaryDirectory() as folder:
        save(learner, Path(folder) / "model")
        return load(Path(folder) / "model")


# --- the input ---------------------------------------------------------------------------------


def _fed(graph: Graph, steps: list[Any], learner: Any) -> Table:
    """One tensor X of all columns; where some are text, one tensor a column, by its name."""
    dtype = graph.fed
    first = next((s for s in steps if hasattr(s, "n_features_in_")), learner)
    width = _width(first)
    names = _names(first)
    text, used = _text_columns(first, width)
    if not text:
        X = graph.input("X", dtype, width)
        whole = X if dtype == "float64" else graph.cast(X, "float64")
        return Table.of(graph, whole, width, names)
    names = names or tuple(f"x{i}" for i in range(width))
    parts = []
    for i, name in enumerate(names):
        if i not in used:
            parts.append(Column(graph.constant(np.zeros((1, 1)))))  # a column that is dropped
        elif i in text:
            parts.append(Column(graph.input(name, "string", 1), text=True))
        else:
            wire = graph.input(name, dtype, 1)
            parts.append(Column(wire if dtype == "float64" else graph.cast(wire, "float64")))
    return Table(graph, width, names, None, tuple(parts))


def _width(first: Any) -> int:
    width = getattr(first, "n_features_in_", None)
    if width is None:
        points = _points(first)
        if points is None or points.ndim != 2:
            name = type(first).__name__
            raise NotExportable(
                f"this {name} was fitted on objects that are no rows of numbers, so it has no form "
                "in ONNX; save it with mercer.save(model, path) instead"
            )
        width = points.shape[1]
    return int(width)


def _points(learner: Any) -> Any:
    """The rows that a learner keeps, as a frame or an array."""
    own = isinstance(learner, KernelExpansion)
    expansion = learner if own else vars(learner).get("expansion_")
    points = getattr(learner, "X_fit_", None)
    points = expansion.points if points is None and expansion is not None else points
    if points is None:
        points = getattr(getattr(learner, "_memory", None), "points", None)
    if points is None or hasattr(points, "iloc") or hasattr(points, "tocsr"):
        return points
    try:
        return np.asarray(points)
    except ValueError:
        return None


def _words(learner: Any) -> set[int]:
    """The columns of a learner's own rows that hold words."""
    points = _points(learner)
    if points is None or points.ndim != 2 or hasattr(points, "tocsr"):
        return set()
    columns = points.to_numpy(object) if hasattr(points, "iloc") else points
    if columns.dtype.kind not in "OUS":
        return set()
    return {j for j, column in enumerate(columns.T) if any(isinstance(v, str) for v in column)}


def _names(first: Any) -> tuple[str, ...]:
    names = getattr(first, "feature_names_in_", None)
    if names is None and isinstance(first, KernelExpansion) and hasattr(first.points, "columns"):
        names = first.points.columns
    return tuple(map(str, names)) if names is not None else ()


def _text_columns(step: Any, width: int) -> tuple[set[int], set[int]]:
    """Which columns are text, and which are used at all."""
    everything = set(range(width))
    if isinstance(step, Pipeline):
        return _text_columns(step.steps[0][1], width)
    name = type(step).__name__
    if name == "ColumnTransformer":
        text, used = set(), set()
        for inner, places in chosen_columns(step):
            used |= set(places)
            if not isinstance(inner, str):
                text |= {places[i] for i in _text_columns(inner, len(places))[0]}
        return text, used
    if name == "TableColumns":
        known = {str(column): i for i, column in enumerate(step.feature_names_in_)}
        text = {known[column] for column in step.categories_}
        return text, text | {known[column] for column in (*step.numbers_, *step.dates_)}
    if name == "FeatureUnion":
        text = set()
        for _, inner in step.transformer_list:
            text |= set() if isinstance(inner, str) else _text_columns(inner, width)[0]
        return text, everything
    if name in ("OneHotEncoder", "OrdinalEncoder"):
        return {i for i, c in enumerate(step.categories_) if is_text(c)}, everything
    if name == "SimpleImputer":
        return {i for i, v in enumerate(step.statistics_) if isinstance(v, str)}, everything
    if hasattr(step, "transform"):
        return set(), everything
    return _words(step), everything


def write(model: Any, path: str | os.PathLike[str]) -> None:
    """The file appears whole or not at all."""
    from mercer.store import write_atomically

    write_atomically(Path(path), lambda stream: stream.write(model.SerializeToString()))


__all__ = ["LEARNERS", "build", "write"]
