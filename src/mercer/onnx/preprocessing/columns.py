"""Which columns a fitted model takes: how many, their names, which are text, which are used.

The first step that was fitted on the rows answers; a transformer of a kind that is not listed here
takes numbers in all columns.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from mercer.expansion import KernelExpansion
from mercer.maps.table import TableColumns
from mercer.onnx import NotExportable
from mercer.onnx.preprocessing.encoders import is_text
from mercer.onnx.preprocessing.transformers import chosen_columns

#: The columns that are text, and those that are used at all.
Columns = tuple[set[int], set[int]]


@singledispatch
def columns_of(step: Any, width: int) -> Columns:
    """Which columns of the rows that a step or a learner takes are text, and which are used."""
    known = set() if hasattr(step, "transform") or isinstance(step, str) else _words(step)
    return known, set(range(width))


@columns_of.register
def _(step: Pipeline, width: int) -> Columns:
    return columns_of(step.steps[0][1], width)


@columns_of.register
def _(step: ColumnTransformer, width: int) -> Columns:
    text, used = set(), set()
    for inner, index in chosen_columns(step):
        used |= set(index)
        text |= {index[i] for i in columns_of(inner, len(index))[0]}
    return text, used


@columns_of.register
def _(step: TableColumns, width: int) -> Columns:
    known = {str(column): i for i, column in enumerate(step.feature_names_in_)}
    text = {known[column] for column in step.categories_}
    return text, text | {known[column] for column in (*step.numbers_, *step.dates_)}


@columns_of.register
def _(step: FeatureUnion, width: int) -> Columns:
    parts = [columns_of(inner, width)[0] for _, inner in step.transformer_list]
    return set().union(*parts), set(range(width))


@columns_of.register(OneHotEncoder)
@columns_of.register(OrdinalEncoder)
def _(step: Any, width: int) -> Columns:
    return {i for i, c in enumerate(step.categories_) if is_text(c)}, set(range(width))


@columns_of.register
def _(step: SimpleImputer, width: int) -> Columns:
    return {i for i, v in enumerate(step.statistics_) if isinstance(v, str)}, set(range(width))


def width_of(first: Any) -> int:
    """How many columns the first step takes."""
    width = getattr(first, "n_features_in_", None)
    if width is None:
        points = _points(first)
        if points is None or points.ndim != 2:
            raise NotExportable(
                f"this {type(first).__name__} was fitted on objects that are no rows of numbers, "
                "so it has no form in ONNX; save it with mercer.save(model, path) instead"
            )
        width = points.shape[1]
    return int(width)


def names_of(first: Any) -> tuple[str, ...]:
    """The names of the columns; nothing where they have none."""
    names = getattr(first, "feature_names_in_", None)
    if names is None and isinstance(first, KernelExpansion):
        names = getattr(first.points, "columns", None)
    return () if names is None else tuple(map(str, names))


def _points(learner: Any) -> Any:
    """The rows that a learner keeps, as a frame or an array; None where it keeps none."""
    holders = (learner, *(vars(learner).get(name) for name in ("expansion_", "_memory")))
    found = [getattr(h, name, None) for h in holders for name in ("X_fit_", "points")]
    points = next((p for p in found if p is not None), None)
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
