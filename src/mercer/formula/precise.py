"""The same formulas in many digits (mpmath): how a counterexample is confirmed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.formula.inputs import Columns, Matrix, NonNegative, Scale, Unit
from mercer.formula.nodes import Formula, Input


class NotRenderable(TypeError):
    """The formula holds a Python function or an opaque kernel: it has no exact rendering."""


def pairwise_mp(formula: Formula, x: Sequence[float], z: Sequence[float], dps: int = 50) -> Any:
    """k(x, z) with `dps` digits, every float taken as the exact number it is.

    >>> from mercer import Gaussian
    >>> import mpmath
    >>> mpmath.nstr(pairwise_mp(Gaussian().formula(), [0.0], [2.0]), 20)
    '0.13533528323661269189'
    """
    import mpmath

    with mpmath.workdps(dps):
        points = {"x": [mpmath.mpf(float(v)) for v in x], "z": [mpmath.mpf(float(v)) for v in z]}
        rows: dict[tuple[str, Input], list[Any]] = {}

        def take(side: str, inputs: Input) -> list[Any]:
            if (side, inputs) not in rows:
                value = points[side]
                for step in inputs.steps:
                    value = _apply(mpmath, step, value)
                rows[side, inputs] = value
            return rows[side, inputs]

        values: dict[int, Any] = {}
        for node in formula.walk(bodies=False):
            values[id(node)] = _value(mpmath, node, values, take)
        return +values[id(formula)]


def _apply(mp: Any, step: Any, row: list[Any]) -> list[Any]:
    if isinstance(step, Columns):
        if any(isinstance(name, str) for name in step.names):
            raise NotRenderable("columns chosen by name have no meaning for bare points")
        return [row[i] for i in step.names]  # type: ignore[index]
    if isinstance(step, Scale):
        return [v / mp.mpf(float(s)) for v, s in zip(row, step.lengths.array, strict=True)]
    if isinstance(step, Matrix):
        matrix = step.matrix.array
        return [
            mp.fsum(v * mp.mpf(float(m)) for v, m in zip(row, matrix[:, j], strict=True))
            for j in range(matrix.shape[1])
        ]
    if isinstance(step, Unit):
        norm = mp.sqrt(mp.fsum(v * v for v in row))
        return [v / norm for v in row] if norm else row
    if isinstance(step, NonNegative):
        return row
    if not step.renderable:
        raise NotRenderable(f"{step} is a Python function; it has no exact rendering")
    return [mp.mpf(float(v)) for v in np.ravel(step(np.asarray([[float(v) for v in row]])))]


def _value(mp: Any, node: Formula, known: dict[int, Any], take: Callable[..., Any]) -> Any:
    if node.op == "const":
        return mp.mpf(node.value)
    if node.op == "param":
        return mp.mpf(node.value[1])
    if node.op in _STATISTICS:
        x, z = take("x", node.value), take("z", node.value)
        return _STATISTICS[node.op](mp, [(a, b) for a, b in zip(x, z, strict=True)])
    if node.op == "sqnorm":
        side, rows = node.value
        return mp.fsum(v * v for v in take(side, rows))
    if node.op == "reduce":
        return _reduce(mp, node, take)
    if node.op == "pow":
        return known[id(node.args[0])] ** node.value
    if node.op in MPMATH:
        return MPMATH[node.op](mp, *(known[id(a)] for a in node.args))
    raise NotRenderable(f"{node!r} has no exact rendering")


def _reduce(mp: Any, node: Formula, take: Callable[..., Any]) -> Any:
    how, rows = node.value
    total = []
    for x, z in zip(take("x", rows), take("z", rows), strict=True):
        values: dict[int, Any] = {}
        for inner in node.args[0].walk():
            if inner.op == "coord":
                values[id(inner)] = x if inner.value == "x" else z
            else:
                values[id(inner)] = _value(mp, inner, values, take)
        total.append(values[id(node.args[0])])
    if how == "max":
        return max(total)
    if how == "prod":
        return mp.fprod(total)
    return mp.fsum(total) / (len(total) if how == "mean" else 1)


_STATISTICS: dict[str, Callable[..., Any]] = {
    "dot": lambda mp, pairs: mp.fsum(a * b for a, b in pairs),
    "sqdist": lambda mp, pairs: mp.fsum((a - b) ** 2 for a, b in pairs),
    "l1": lambda mp, pairs: mp.fsum(abs(a - b) for a, b in pairs),
    "linf": lambda mp, pairs: max(abs(a - b) for a, b in pairs),
}

MPMATH: dict[str, Callable[..., Any]] = {
    "add": lambda mp, *v: mp.fsum(v),
    "mul": lambda mp, *v: mp.fprod(v),
    "exp": lambda mp, u: mp.exp(u),
    "exp2": lambda mp, u: mp.mpf(2) ** u,
    "log": lambda mp, u: mp.log(u),
    "sqrt": lambda mp, u: mp.sqrt(u),
    "rsqrt": lambda mp, u: 1 / mp.sqrt(u) if u else mp.mpf(0),
    "div": lambda mp, u, v: u / v if v else mp.mpf(0),
    "tanh": lambda mp, u: mp.tanh(u),
    "abs": lambda mp, u: abs(u),
    "sin": lambda mp, u: mp.sin(u),
    "cos": lambda mp, u: mp.cos(u),
    "arccos": lambda mp, u: mp.acos(max(-1, min(1, u))),
    "arcsin": lambda mp, u: mp.asin(max(-1, min(1, u))),
    "min": lambda mp, u, v: min(u, v),
    "max": lambda mp, u, v: max(u, v),
    "step": lambda mp, u: mp.mpf(u >= 0),
    "sign": lambda mp, u: mp.sign(u),
    "eq": lambda mp, u, v: mp.mpf(u == v),
}
