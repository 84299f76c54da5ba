"""Missing values and categories: imputation, indicators, one-hot and ordinal codes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.onnx import NotExportable
from mercer.onnx.graph import Graph, Wire
from mercer.onnx.preprocessing.table import Column, Table

#: Text tensors have no NaN: an empty text is what is missing, as in a CSV file.
NO_TEXT = ""


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or value != value


def is_text(values: Any) -> bool:
    """Whether fitted values (categories, fill-ins) are those of a column of text."""
    values = np.asarray(values)
    return values.dtype.kind in "US" or (
        values.dtype.kind == "O" and any(isinstance(v, str) for v in values)
    )


def _gaps(g: Graph, column: Column, missing: Any) -> Wire:
    """Where the column has no value."""
    if column.text:
        return Wire(g.add("Equal", column.wire, NO_TEXT if is_missing(missing) else str(missing)))
    if is_missing(missing):
        return Wire(g.add("IsNaN", column.wire))
    return Wire(g.add("Equal", column.wire, float(missing)))


def imputer(t: Any, table: Table) -> Table:
    g = table.graph
    parts = []
    for i, fill in enumerate(t.statistics_):
        if is_missing(fill) and not t.keep_empty_features:
            continue  # scikit-learn leaves out a column that had no value at all
        column = table.column(i)
        if is_missing(fill):
            fill = 0.0
        value = str(fill) if column.text else float(fill)
        filled = g.add("Where", _gaps(g, column, t.missing_values), value, column.wire)
        parts.append(Column(filled, column.text))
    names = () if len(parts) < table.width else table.names
    result = Table(g, len(parts), names, None, tuple(parts))
    if t.add_indicator:
        flags = indicator(t.indicator_, table)
        if flags.width:
            flagged = tuple(flags.column(i) for i in range(flags.width))
            return Table(g, len(parts) + flags.width, (), None, result.parts + flagged)
    return result


def indicator(t: Any, table: Table) -> Table:
    g = table.graph
    flags = [
        Column(g.number(_gaps(g, table.column(int(i)), t.missing_values))) for i in t.features_
    ]
    return Table(g, len(flags), (), None, tuple(flags))


def table_columns(t: Any, table: Table) -> Table:
    """The columns of `mercer.maps.table.TableColumns`: dates come in as seconds since 1970."""
    from mercer.maps.table import MISSING

    g = table.graph
    names = (*t.numbers_, *t.dates_, *t.categories_)
    parts = []
    for name in names:
        column = table.column(table.names.index(name))
        if column.text:
            empty = g.add("Equal", column.wire, NO_TEXT)
            parts.append(Column(g.add("Where", empty, MISSING, column.wire), text=True))
        else:
            infinite = g.add("IsInf", column.wire)
            parts.append(Column(g.add("Where", infinite, math.nan, column.wire)))
    return Table(g, len(parts), names, None, tuple(parts))


def one_hot(t: Any, table: Table) -> Table:
    """Codes times a matrix: it drops columns and gathers rare categories in one product."""
    g = table.graph
    parts = []
    for i, categories in enumerate(t.categories_):
        hot = _matches(g, table.column(i), categories)
        matrix, unknown = _layout(t, i, len(categories))
        wire = g.add("MatMul", hot, matrix)
        if unknown is not None:
            known = g.add("ReduceSum", hot, np.array([1]))
            rest = g.add("Sub", 1.0, known)
            wire = g.add("Add", wire, g.add("Mul", rest, unknown.reshape(1, -1)))
        if matrix.shape[1]:
            parts.append(Table.of(g, wire, matrix.shape[1]))
    if not parts:
        raise NotExportable("OneHotEncoder gives no column at all")
    return Table.joined(parts)


def _matches(g: Graph, column: Column, categories: Any) -> Wire:
    """(N, categories): 1 where the value is the category."""
    values = list(categories)
    if column.text:
        wanted = np.array([[NO_TEXT if is_missing(v) else str(v) for v in values]], dtype=object)
        return g.number(g.add("Equal", column.wire, wanted))
    gaps = np.array([[bool(is_missing(v)) for v in values]])
    numbers = np.array([[math.nan if is_missing(v) else float(v) for v in values]])
    same = g.add("Equal", column.wire, _as_fed(g, numbers))
    if gaps.any():  # NaN equals nothing, itself neither
        same = g.add("Or", same, g.add("And", g.add("IsNaN", column.wire), gaps))
    return g.number(same)


def _as_fed(g: Graph, numbers: np.ndarray) -> np.ndarray:
    """Categories as they arrive: a float32 input holds 0.1 rounded to float32."""
    return numbers.astype(g.fed).astype(np.float64)


def _layout(t: Any, i: int, n: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Which column each category goes to, and where unknown ones go (None: nowhere)."""
    rare = _rare(t, i)
    common = n - int(rare.sum())
    # Rare categories share the last column.
    column = np.where(rare, common, np.cumsum(~rare) - 1)
    width = common + int(rare.any())
    matrix = np.zeros((n, width))
    matrix[np.arange(n), column] = 1.0
    unknown = None
    if t.handle_unknown == "infrequent_if_exist" and rare.any():
        unknown = np.zeros(width)
        unknown[common] = 1.0
    if t.drop_idx_ is not None and t.drop_idx_[i] is not None:
        keep = np.arange(width) != column[int(t.drop_idx_[i])]
        matrix = matrix[:, keep]
        unknown = None if unknown is None else unknown[keep]
    return matrix, unknown


def _rare(t: Any, i: int) -> np.ndarray:
    """Which categories of a column an encoder has taken together as rare ones."""
    categories = t.categories_[i]
    together = getattr(t, "infrequent_categories_", None)  # only where it may do so
    listed = [] if together is None or together[i] is None else list(together[i])
    gap = any(is_missing(v) for v in listed)
    return np.array([gap if is_missing(v) else v in listed for v in categories], dtype=bool)


def ordinal(t: Any, table: Table) -> Table:
    if any(_rare(t, i).any() for i in range(len(t.categories_))):
        raise NotExportable("OrdinalEncoder with rare categories is not exported; OneHotEncoder is")
    g = table.graph
    columns = []
    for i, categories in enumerate(t.categories_):
        hot = _matches(g, table.column(i), categories)
        codes = np.arange(len(categories), dtype=float)
        gap = [j for j, v in enumerate(categories) if is_missing(v)]
        if gap:
            codes[gap] = 0.0  # NaN · 0 would spoil the others: set below
        code = g.add("MatMul", hot, codes.reshape(-1, 1))
        if gap:
            here = g.add("Greater", g.columns(hot, gap), 0.5)
            code = g.add("Where", here, float(t.encoded_missing_value), code)
        if t.handle_unknown == "use_encoded_value":
            known = g.add("Greater", g.add("ReduceSum", hot, np.array([1])), 0.5)
            code = g.add("Where", known, code, float(t.unknown_value))
        columns.append(code)
    return Table.of(g, g.side_by_side(columns), len(columns))
