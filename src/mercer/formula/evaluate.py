"""What each operation means in NumPy, and the value of a formula given its statistics.

The float64 rendering here is the oracle that every engine is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mercer.formula.nodes import Formula


def _rsqrt(u: Any) -> Any:
    u = np.asarray(u)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(u == 0, u.dtype.type(0), 1 / np.sqrt(u))


def _quotient(u: Any, v: Any) -> Any:
    u, v = np.asarray(u), np.asarray(v)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(v == 0, np.result_type(u, v).type(0), u / v)


def _integer_power(u: Any, n: int) -> Any:
    """uⁿ by squaring: exact for integers, and several times faster than `np.power`."""
    if n < 0:
        return 1 / _integer_power(u, -n)
    result = None
    while n:
        if n & 1:
            result = u if result is None else result * u
        n >>= 1
        if n:
            u = u * u
    return np.ones_like(u) if result is None else result


def _sum(*terms: Any) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _prod(*factors: Any) -> Any:
    total = factors[0]
    for factor in factors[1:]:
        total = total * factor
    return total


def _clipped_arccos(u: Any) -> Any:
    return np.arccos(np.clip(u, -1, 1))


def _clipped_arcsin(u: Any) -> Any:
    return np.arcsin(np.clip(u, -1, 1))


NUMPY: dict[str, Callable[..., Any]] = {
    "add": _sum,
    "mul": _prod,
    "pow": _integer_power,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "div": _quotient,
    "tanh": np.tanh,
    "abs": np.abs,
    "sin": np.sin,
    "cos": np.cos,
    "arccos": _clipped_arccos,
    "arcsin": _clipped_arcsin,
    "min": np.minimum,
    "max": np.maximum,
    "step": lambda u: (np.asarray(u) >= 0).astype(np.asarray(u).dtype),
    "sign": np.sign,
    "eq": lambda u, v: (np.asarray(u) == np.asarray(v)).astype(np.result_type(u, v)),
}

#: The same operations on two numbers, for folding constants.
SCALAR: dict[str, Callable[..., float]] = {
    op: (lambda *v, f=function: float(f(*(np.float64(x) if i < 2 else x for i, x in enumerate(v)))))
    for op, function in NUMPY.items()
    if op != "pow"
} | {"pow": lambda u, n: float(_integer_power(np.float64(u), int(n)))}


def evaluate(
    formula: Formula,
    known: Mapping[Formula, Any],
    table: Mapping[str, Callable[..., Any]] = NUMPY,
) -> Any:
    """The value of `formula`, given the values of its statistics (anything that broadcasts).

    `table` says what the operations are; NumPy's by default.

    >>> from mercer.formula.nodes import ROOT, sqdist
    >>> evaluate((-sqdist(ROOT)).exp(), {sqdist(ROOT): np.array([0.0, 1.0])}).round(4)
    array([1.    , 0.3679])
    """
    values: dict[int, Any] = {id(node): value for node, value in known.items()}
    for node in formula.walk(bodies=False):
        if id(node) in values:
            continue
        if node.op == "const":
            values[id(node)] = node.value
        elif node.op == "param":
            values[id(node)] = node.value[1]
        elif node.op == "pow":
            values[id(node)] = _integer_power(values[id(node.args[0])], node.value)
        elif node.op in table:
            values[id(node)] = table[node.op](*(values[id(a)] for a in node.args))
        else:
            raise KeyError(f"no value was given for the statistic {node!r}")
    return values[id(formula)]
