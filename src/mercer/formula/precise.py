"""The same formulas in many digits (mpmath), and as enclosures: how a counterexample is decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce, singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.formula.inputs import Columns, Factor, Matrix, Scale, Step, Unit, Warped
from mercer.formula.nodes import Formula, Input, set_size
from mercer.formula.ops import OPS, larger, payload

if TYPE_CHECKING:
    from mercer.formula.interval import Interval


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
        return +_pairwise(mpmath, formula, x, z, None)


#: k of a kernel that is no formula, from two operands ("x" or "z") and their rows of intervals.
Leaf = Callable[[Any, tuple[str, "list[Interval]"], tuple[str, "list[Interval]"]], "Interval"]


def pairwise_interval(
    formula: Formula, x: Iterable[float], z: Iterable[float], leaf: Leaf | None = None
) -> Interval:
    """An enclosure of k(x, z), every float taken as the exact number it is.

    Functions in the formula are run on intervals; ``leaf`` gives the value of opaque kernels.
    Raises `Open` where the value cannot be enclosed, `NotRenderable` where there is no way to it.
    """
    from mercer.formula.interval import Context

    return Context.mpf(_pairwise(Context, formula, x, z, leaf))


def _pairwise(mp: Any, formula: Formula, x: Any, z: Any, leaf: Leaf | None) -> Any:
    points = {"x": [mp.mpf(float(v)) for v in x], "z": [mp.mpf(float(v)) for v in z]}
    rows: dict[tuple[str, Input], list[Any]] = {}

    def take(side: str, inputs: Input) -> list[Any]:
        if (side, inputs) not in rows:
            value = points[side]
            for step in inputs.steps:
                value = _apply(step, mp, value)
            rows[side, inputs] = value
        return rows[side, inputs]

    values: dict[int, Any] = {}
    for node in formula.walk(bodies=False):
        if node.op == "opaque" and leaf is not None:
            kernel, inputs = node.value
            values[id(node)] = leaf(kernel, ("x", take("x", inputs)), ("z", take("z", inputs)))
        elif node.op == "opaque_diag" and leaf is not None:
            side, kernel, inputs = node.value
            row = side, take(side, inputs)
            values[id(node)] = leaf(kernel, row, row)
        else:
            values[id(node)] = _value(mp, node, values, take)
    return values[id(formula)]


@singledispatch
def _apply(step: Step, mp: Any, row: list[Any]) -> list[Any]:
    """The row after a step; by default as it is: among categories numbers stay what they are."""
    if not step.renderable:
        raise NotRenderable(f"{step} is a Python function; it has no exact rendering")
    return row


@_apply.register
def _columns(step: Columns, mp: Any, row: list[Any]) -> list[Any]:
    if any(isinstance(name, str) for name in step.names):
        raise NotRenderable("columns chosen by name have no meaning for bare points")
    return [row[i] for i in step.names]  # type: ignore[index]


@_apply.register
def _scale(step: Scale, mp: Any, row: list[Any]) -> list[Any]:
    return [v / mp.mpf(float(s)) for v, s in zip(row, step.lengths.array, strict=True)]


@_apply.register
def _matrix(step: Matrix, mp: Any, row: list[Any]) -> list[Any]:
    matrix = step.matrix.array
    return [
        mp.fsum(v * mp.mpf(float(m)) for v, m in zip(row, matrix[:, j], strict=True))
        for j in range(matrix.shape[1])
    ]


@_apply.register
def _factor(step: Factor, mp: Any, row: list[Any]) -> list[Any]:
    if step.columns is None:
        return _matrix(step, mp, row)
    # The factor of the given matrix itself, and not the rounded one that blocks are made of.
    return [
        mp.fsum(v * mp.mpf(m) for v, m in zip(row, column, strict=True)) / mp.sqrt(mp.mpf(square))
        for column, square in step.columns
    ]


@_apply.register
def _unit(step: Unit, mp: Any, row: list[Any]) -> list[Any]:
    norm = mp.sqrt(mp.fsum(v**2 for v in row))
    return [v / norm for v in row] if norm else row


@_apply.register
def _warped(step: Warped, mp: Any, row: list[Any]) -> list[Any]:
    if not hasattr(mp, "trace"):
        raise NotRenderable(f"{step} is a Python function; it has no exact rendering")
    return list(mp.trace(step, _as_array([row]))[0])


def _as_array(rows: list[list[Any]]) -> np.ndarray:
    return np.array(rows, dtype=object)


def _value(mp: Any, node: Formula, values: dict[int, Any], take: Callable[..., Any]) -> Any:
    if node.op == "const":
        return mp.mpf(node.value)
    if node.op == "param":
        return mp.mpf(node.value[1])
    if node.op in _STATISTICS:
        x, z = take("x", node.value), take("z", node.value)
        return _STATISTICS[node.op](mp, [(a, b) for a, b in zip(x, z, strict=True)])
    if node.op == "sqnorm":
        side, rows = node.value
        return mp.fsum(v**2 for v in take(side, rows))
    if node.op == "rowfn" and hasattr(mp, "trace"):
        side, function, rows = node.value
        return mp.trace(function, _as_array([take(side, rows)])).ravel()[0]
    if node.op == "reduce":
        return _reduce(mp, node, take)
    precise = OPS[node.op].precise if node.op in OPS else None
    if precise is not None:
        return precise(mp, *(values[id(a)] for a in node.args), *payload(node))
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
        return reduce(larger, total)
    if how == "prod":
        return mp.fprod(total)
    if set_size(how):
        return _over_sets(mp, total, set_size(how))
    return mp.fsum(total) / (len(total) if how == "mean" else 1)


def _over_sets(mp: Any, values: list[Any], size: int) -> Any:
    """The sum over all sets of `size` values of their products, one value after the other."""
    if size > len(values):
        return mp.mpf(0)
    sums = [mp.mpf(1)] + [mp.mpf(0)] * size
    for value in values:
        sums[1:] = [total + value * less for total, less in zip(sums[1:], sums[:-1], strict=True)]
    return sums[size]


_STATISTICS: dict[str, Callable[..., Any]] = {
    "dot": lambda mp, pairs: mp.fsum(a * b for a, b in pairs),
    "sqdist": lambda mp, pairs: mp.fsum((a - b) ** 2 for a, b in pairs),
    "l1": lambda mp, pairs: mp.fsum(abs(a - b) for a, b in pairs),
    "linf": lambda mp, pairs: reduce(larger, (abs(a - b) for a, b in pairs)),
}
