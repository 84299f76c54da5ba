"""Σ, Π, max or the mean over columns of a function of xⱼ and zⱼ, for every pair.

All pairs of all columns at once would be N × points × columns numbers. A few columns at a time
need no more than N × points × `BLOCK`, at the price of a few more nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.onnx.graph import Graph, Wire

#: Columns that are looked at together.
BLOCK = 16
_REDUCE = {"sum": "ReduceSum", "mean": "ReduceSum", "max": "ReduceMax"}
_JOIN = {"sum": "Add", "mean": "Add", "max": "Max", "prod": "Mul"}

#: From xⱼ, of shape (N, 1, columns), and zⱼ, (1, points, columns), the values (N, points, columns).
Body = Callable[[Wire, np.ndarray], Wire]


def over_columns(g: Graph, how: str, rows: Wire, z: np.ndarray, body: Body) -> Wire:
    """The reduction of `body` over all columns, of shape (N, points)."""
    total: Any = None
    width = z.shape[1]
    for start in range(0, width, BLOCK):
        stop = min(start + BLOCK, width)
        part = rows if width <= BLOCK else g.columns(rows, range(start, stop))
        x = g.add("Unsqueeze", part, np.array([1]))
        value = along(g, how, body(x, z[None, :, start:stop]), 2, stop - start)
        value = g.add("Squeeze", value, np.array([2]))
        total = value if total is None else g.add(_JOIN[how], total, value)
    return Wire(g.add("Div", total, float(width)) if how == "mean" else total)


def along(g: Graph, how: str, value: Wire, axis: int, n: int) -> Wire:
    """One reduction along an axis of length n, which stays as an axis of length 1."""
    if how == "prod":
        return _product(g, value, axis, n)
    return Wire(g.add(_REDUCE[how], value, np.array([axis])))


def _product(g: Graph, value: Wire, axis: int, n: int) -> Wire:
    """Π along an axis, half by half: older runtimes have no ReduceProd in float64."""
    while n > 1:
        half, odd = divmod(n, 2)
        first = g.add("Gather", value, np.arange(half), axis=axis)
        second = g.add("Gather", value, np.arange(half, 2 * half), axis=axis)
        product = g.add("Mul", first, second)
        if odd:
            last = g.add("Gather", value, np.array([n - 1]), axis=axis)
            product = g.add("Concat", product, last, axis=axis)
        value, n = product, half + odd
    return value


def squared_differences(g: Graph, rows: Wire, z: np.ndarray) -> Wire:
    """‖x − z‖² of every pair, each from its own differences."""

    def square(x: Wire, point: np.ndarray) -> Wire:
        gap = g.add("Sub", x, point)
        return Wire(g.add("Mul", gap, gap))

    return over_columns(g, "sum", rows, z, square)
