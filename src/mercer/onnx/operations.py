"""One table: what each operation of a formula is in ONNX.

The twin of `mercer.formula.ops`. Arguments are wires or NumPy numbers; where all are numbers,
NumPy computes and no node is made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any

import numpy as np

from mercer.formula.nodes import Formula, set_size
from mercer.formula.ops import OPS, form_of, payload
from mercer.onnx import NotExportable
from mercer.onnx.graph import Graph, Wire


def _chain(op: str) -> Callable[..., Any]:
    def joined(g: Graph, u: Any, v: Any) -> Any:
        if isinstance(u, Wire) or isinstance(v, Wire):
            return g.add(op, u, v)
        return u + v if op == "Add" else u * v

    return lambda g, *args: reduce(partial(joined, g), args)


def _plain(op: str) -> Callable[..., Any]:
    return lambda g, *args: g.add(op, *args)


def integer_power(g: Graph, u: Wire, n: int) -> Wire:
    """uⁿ by squaring, as the engines do."""
    if n < 0:
        return Wire(g.add("Div", 1.0, integer_power(g, u, -n)))
    result: Wire | None = None
    while n:
        if n & 1:
            result = u if result is None else Wire(g.add("Mul", result, u))
        n >>= 1
        if n:
            u = Wire(g.add("Mul", u, u))
    if result is None:
        return Wire(g.add("Add", g.add("Mul", u, 0.0), 1.0))
    return result


def _quotient(g: Graph, u: Any, v: Any) -> Wire:
    """u / v, and 0 where v is 0."""
    if not isinstance(v, Wire) and np.all(np.asarray(v) != 0):
        return Wire(g.add("Div", u, v))
    none = g.add("Equal", v, 0.0)
    safe = g.add("Where", none, 1.0, v)
    return Wire(g.add("Where", none, 0.0, g.add("Div", u, safe)))


def cosine(g: Graph, u: Wire) -> Wire:
    """As a sine: many runtimes have no Cos in float64."""
    return Wire(g.add("Sin", g.add("Add", u, math.pi / 2)))


def arcsin(g: Graph, u: Wire) -> Wire:
    """arcsin of u clipped to [−1, 1]."""
    u = g.add("Max", g.add("Min", u, 1.0), -1.0)
    if g.dtype == "float32":
        return Wire(g.add("Asin", u))
    # Runtimes have no Asin in float64: that of float32 starts Newton's method on sin y = t, and
    # arcsin u = π/2 − 2 arcsin √((1 − u)/2) keeps t where the slope is mild.
    size = g.add("Abs", u)
    steep = g.add("Greater", size, 0.5)
    half = g.add("Sqrt", g.add("Mul", g.add("Sub", 1.0, size), 0.5))
    t = g.add("Where", steep, half, size)
    y = g.cast(g.add("Asin", g.cast(t, "float32")), "float64")
    error = g.add("Sub", g.add("Sin", y), t)
    y = g.add("Sub", y, g.add("Div", error, cosine(g, y)))
    folded = g.add("Sub", math.pi / 2, g.add("Mul", y, 2.0))
    return Wire(g.add("Mul", g.add("Where", steep, folded, y), g.add("Sign", u)))


ONNX: dict[str, Callable[..., Any]] = {
    "add": _chain("Add"),
    "mul": _chain("Mul"),
    "pow": integer_power,
    **{op.lower(): _plain(op) for op in ("Exp", "Log", "Sqrt", "Tanh", "Abs", "Sin", "Sign")},
    **{op.lower(): _plain(op) for op in ("Min", "Max")},
    "exp2": lambda g, u: g.add("Exp", g.add("Mul", u, math.log(2.0))),
    "power": _plain("Pow"),
    "rsqrt": lambda g, u: _quotient(g, 1.0, g.add("Sqrt", u)),
    "div": _quotient,
    "cos": cosine,
    "arcsin": arcsin,
    "arccos": lambda g, u: g.add("Sub", math.pi / 2, arcsin(g, u)),
    "step": lambda g, u: g.number(g.add("GreaterOrEqual", u, 0.0)),
    "eq": lambda g, u, v: g.number(g.add("Equal", u, v)),
}


def _form(node: Formula) -> Any:
    form = form_of(node.op, "onnx", ONNX)
    if form is None:
        raise NotExportable(f"the operation {node.op!r} of {node!r:.80} has no ONNX form")
    return form


def evaluate(g: Graph, formula: Formula, known: Mapping[Formula, Any]) -> Any:
    """The value of a formula, given wires or numbers for its statistics."""
    values: dict[int, Any] = {id(node): value for node, value in known.items()}
    for node in formula.walk(bodies=False):
        if id(node) in values:
            continue
        args = [values[id(a)] for a in node.args]
        dynamic = any(isinstance(a, Wire) for a in args)
        if node.op == "const":
            value = node.value
        elif node.op == "param":
            value = node.value[1]
        elif dynamic:
            value = _form(node)(g, *args, *payload(node))
        else:
            with np.errstate(all="ignore"):
                value = OPS[node.op].numpy(*args, *payload(node))
        values[id(node)] = value
    return values[id(formula)]


# --- reductions over columns, for every pair ----------------------------------------------------

# All pairs of all columns at once would be N × points × columns numbers. A few columns at a time
# need no more than N × points × `BLOCK`, at the price of a few more nodes.

#: Nodes that a sum over sets of columns may take.
MOST_NODES = 5000
#: Columns that are reduced together: a choice between memory and the number of nodes.
BLOCK = 16
_REDUCE = {"sum": "ReduceSum", "mean": "ReduceSum", "max": "ReduceMax"}
_JOIN = {"sum": "Add", "mean": "Add", "max": "Max", "prod": "Mul"}

#: From xⱼ, of shape (N, 1, columns), and zⱼ, (1, points, columns), the values (N, points, columns).
Body = Callable[[Wire, np.ndarray], Wire]


def over_columns(g: Graph, how: str, rows: Wire, z: np.ndarray, body: Body) -> Wire:
    """The reduction of `body` over all columns, of shape (N, points)."""
    total: Any = None
    width = z.shape[1]
    if set_size(how):
        return _over_sets(g, set_size(how), rows, z, body)
    for start in range(0, width, BLOCK):
        stop = min(start + BLOCK, width)
        part = rows if width <= BLOCK else g.columns(rows, range(start, stop))
        x = g.add("Unsqueeze", part, np.array([1]))
        value = along(g, how, body(x, z[None, :, start:stop]), 2, stop - start)
        value = g.add("Squeeze", value, np.array([2]))
        total = value if total is None else g.add(_JOIN[how], total, value)
    return Wire(g.add("Div", total, float(width)) if how == "mean" else total)


def _over_sets(g: Graph, size: int, rows: Wire, z: np.ndarray, body: Body) -> Wire:
    """The sum over all sets of columns of their products, a column at a time (see `over_sets`)."""
    width = z.shape[1]
    if width * size > MOST_NODES:
        raise NotExportable(
            f"sets of {size} of {width} columns need {width * size} nodes, and a file takes "
            f"{MOST_NODES} at most; save the model with mercer.save(model, path) instead"
        )
    sums: list[Any] = []
    for j in range(width):
        x = g.add("Unsqueeze", g.columns(rows, [j]), np.array([1]))
        value = g.add("Squeeze", body(x, z[None, :, j : j + 1]), np.array([2]))
        longer = [value, *(g.add("Mul", value, less) for less in sums[: size - 1])]
        both = zip(longer, sums, strict=False)
        sums = [g.add("Add", own, more) for more, own in both] + longer[len(sums) :]
    zero = g.add("Mul", sums[0], 0.0)
    return Wire(sums[-1] if len(sums) == size else zero)


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
