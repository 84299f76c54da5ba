"""The value of a formula given its statistics.

In NumPy and float64 this is the oracle that every engine is compared with.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from mercer.formula.nodes import Formula, const
from mercer.formula.ops import OPS, payload


def in_numpy(op: str) -> Callable[..., Any] | None:
    """The NumPy function of an operation; None for a statistic."""
    return OPS[op].numpy if op in OPS else None


def evaluate(
    formula: Formula,
    inputs: Mapping[Formula, Any],
    meaning: Callable[[str], Callable[..., Any] | None] = in_numpy,
) -> Any:
    """The value of `formula`, given the values of its statistics (anything that broadcasts).

    `meaning` gives the function for the name of an operation; NumPy's by default.

    >>> import numpy as np
    >>> from mercer.formula.nodes import ROOT, sqdist
    >>> evaluate((-sqdist(ROOT)).exp(), {sqdist(ROOT): np.array([0.0, 1.0])}).round(4)
    array([1.    , 0.3679])
    """
    values: dict[int, Any] = {id(node): value for node, value in inputs.items()}
    for node in _in_order(formula):
        if id(node) not in values:
            values[id(node)] = _value(node, [values.get(id(a)) for a in node.args], meaning)
    return values[id(formula)]


@lru_cache(maxsize=1024)
def _in_order(formula: Formula) -> tuple[Formula, ...]:
    """The nodes of a formula, arguments first; cached, because every small K needs them."""
    return tuple(formula.walk(bodies=False))


def _value(
    node: Formula, args: list[Any], meaning: Callable[[str], Callable[..., Any] | None]
) -> Any:
    """The value of one node, from those of its arguments."""
    if node.op == "const":
        return node.value
    if node.op == "param":
        return node.value[1]
    function = meaning(node.op)
    if function is None:
        raise _no_value(node)
    return function(*args, *payload(node))


#: Operations that have a value without any statistic.
_NUMBERS = ("const", "param")
#: Operations that NumPy can write over one of their arguments; several are taken from the left.
_IN_PLACE: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "tanh": np.tanh,
    "min": np.minimum,
    "max": np.maximum,
}


def evaluate_into(out: np.ndarray, formula: Formula, inputs: Mapping[Formula, Any]) -> None:
    """out = the value of `formula`, as `evaluate` gives it, in as little fresh memory as possible.

    `out` may be the value of one statistic, which is overwritten then.
    """
    formula = in_powers_of_e(formula) if out.dtype == np.float32 else formula
    numbers, steps = _steps(formula)
    values: dict[int, Any] = {**numbers, **{id(node): value for node, value in inputs.items()}}
    for key, node, args, read_once in steps:
        if key in values:
            continue
        arguments = [values[arg] for arg in args]
        ufunc = _IN_PLACE.get(node.op)
        if ufunc is None:
            values[key] = _value(node, arguments, in_numpy)
            continue
        # What is read here and nowhere else may be written over.
        room = None
        for arg in read_once:
            room = out if values[arg] is out else room
        values[key] = _applied(ufunc, arguments, room)
    if values[id(formula)] is not out:
        out[...] = values[id(formula)]


@lru_cache(maxsize=1024)
def in_powers_of_e(formula: Formula) -> Formula:
    """2^(c u) as e^(c ln 2 · u): in float32 NumPy has that in vectors on every processor.

    Without AVX-512 2ᵘ is computed number by number: 2.5 ns each, where eᵘ takes 1.3.

    >>> from mercer.formula.nodes import const, dot, ROOT
    >>> in_powers_of_e((const(2.0) * dot(ROOT)).apply("exp2"))
    exp((1.38629 * dot))
    """

    def natural(node: Formula, args: tuple[Formula, ...]) -> Formula:
        if node.op != "exp2" or args[0].op != "mul":
            return Formula(node.op, args, node.value)
        numbers = [a for a in args[0].args if a.op == "const"]
        if len(numbers) != 1:
            return Formula(node.op, args, node.value)
        scaled = const(math.log(2.0) * numbers[0].value)
        rest = [scaled if a is numbers[0] else a for a in args[0].args]
        return Formula("exp", [Formula("mul", rest)])

    return formula.rebuild(natural)


#: What is computed in a step: where its value is kept, the node, where its arguments are, and those
#: of them that no other step reads.
_Step = tuple[int, Formula, tuple[int, ...], tuple[int, ...]]


@lru_cache(maxsize=1024)
def _steps(formula: Formula) -> tuple[dict[int, float], tuple[_Step, ...]]:
    """The numbers in a formula, and all other nodes in the order of their computation."""
    nodes = tuple(formula.walk(bodies=False))
    uses = Counter(id(a) for node in nodes for a in node.args)
    numbers = {id(node): _value(node, [], in_numpy) for node in nodes if node.op in _NUMBERS}
    steps = []
    for node in nodes:
        args = tuple(map(id, node.args))
        if id(node) not in numbers:
            steps.append((id(node), node, args, tuple(arg for arg in args if uses[arg] == 1)))
    return numbers, tuple(steps)


def _applied(ufunc: np.ufunc, args: list[Any], room: np.ndarray | None) -> Any:
    """All of `args` together, in any order: with `room` first, nothing else is as large."""
    if len(args) == 1:
        return ufunc(args[0], out=room)
    if room is not None:
        args = [room, *(arg for arg in args if arg is not room)]
    result = args[0]
    for arg in args[1:]:
        result = ufunc(result, arg, out=room)
    return result


def _no_value(node: Formula) -> Exception:
    if node.args and node.op != "reduce":
        return TypeError(
            f"the operation {node.op!r} has no form here; mercer.formula.ops.register_op takes one"
        )
    return KeyError(f"no value was given for the statistic {node!r}")
