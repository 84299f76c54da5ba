"""The operations of a formula: one record each, with all that formulas themselves know of it.

A record says what the operation is in NumPy and in many digits, its derivative, its sign, whether
it rises or falls, and where it is defined; evaluation, folding of constants, derivatives and the
analysis of `profile` read it here. Code for a target (Numba, Triton, PyTorch, ONNX) is in that
target's own table, by the name of the operation. An operation of your own needs NumPy only; what
has no form for a target is computed by NumPy instead, or refused by name:

>>> import numpy as np
>>> from mercer.formula.nodes import ROOT, Formula, dot
>>> register_op(Op("softplus", lambda u: np.logaddexp(u, 0), sign=nonnegative, slope=1))
>>> from mercer.formula import evaluate
>>> evaluate(dot(ROOT).apply("softplus"), {dot(ROOT): np.zeros(1)}).round(4)
array([0.6931])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Flag
from typing import Any

import numpy as np

from mercer._lazy import record
from mercer.formula.nodes import Formula, const


class Sign(Flag):
    """Facts about the sign of a value, true for every pair; zero is both."""

    UNKNOWN = 0
    NEVER_NEGATIVE = 1
    NEVER_POSITIVE = 2


#: The sign of a node, from the node and the signs of its arguments.
SignRule = Callable[[Formula, Sequence[Sign]], Sign]


def unknown(node: Formula, parts: Sequence[Sign]) -> Sign:
    return Sign.UNKNOWN


def nonnegative(node: Formula, parts: Sequence[Sign]) -> Sign:
    return Sign.NEVER_NEGATIVE


def of_argument(node: Formula, parts: Sequence[Sign]) -> Sign:
    return parts[0]


def _of_all(node: Formula, parts: Sequence[Sign]) -> Sign:
    both = parts[0]
    for part in parts[1:]:
        both &= part
    return both


def _of_product(node: Formula, parts: Sequence[Sign]) -> Sign:
    """Signs multiply; a factor without one, neither has the product."""
    if not all(parts):
        return Sign.UNKNOWN
    negative = sum(not part & Sign.NEVER_NEGATIVE for part in parts)
    return Sign.NEVER_POSITIVE if negative % 2 else Sign.NEVER_NEGATIVE


def _of_power(node: Formula, parts: Sequence[Sign]) -> Sign:
    return Sign.NEVER_NEGATIVE if node.value % 2 == 0 else parts[0]


def _of_extreme(enough: Sign) -> SignRule:
    """One argument of that sign decides; the other sign takes all of them."""

    def rule(node: Formula, parts: Sequence[Sign]) -> Sign:
        one = enough if any(part & enough for part in parts) else Sign.UNKNOWN
        return one | _of_all(node, parts)

    return rule


@record
class Op:
    """One operation.

    Parameters
    ----------
    name : str
    numpy : function of arrays
        A value that belongs to the node (the exponent of a power) comes after its arguments.
    derivative : function of a node that gives a formula for each argument, optional
    precise : function of mpmath and its numbers, optional
    sign : function of a node and the signs of its arguments
    slope : 1 where it never falls, −1 where it never rises, on its domain; else 0
    arity : int or None
        None for any number of arguments.
    domain : (float, float)
        Where it is defined; NumPy's answer elsewhere is not looked at.
    targets : mapping
        Its form for "numba", "triton", "torch" or "onnx", where their tables have none.
    """

    name: str
    numpy: Callable[..., Any]
    derivative: Callable[[Formula], list[Formula]] | None = None
    precise: Callable[..., Any] | None = None
    sign: SignRule = unknown
    slope: int = 0
    arity: int | None = 1
    domain: tuple[float, float] = (-math.inf, math.inf)
    targets: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def fold(self, node: Formula) -> float:
        """The value of a node whose arguments are numbers, in double precision."""
        return float(self.numpy(*(np.float64(a.value) for a in node.args), *payload(node)))


def payload(node: Formula) -> tuple[Any, ...]:
    """The value that belongs to the node of an operation, if it has one."""
    return () if node.value is None else (node.value,)


#: Every operation, by name.
OPS: dict[str, Op] = {}


def register_op(op: Op) -> None:
    """Add an operation to the formulas; a name is given once."""
    if op.name in OPS and OPS[op.name] != op:
        raise ValueError(f"there is an operation {op.name!r} already")
    OPS[op.name] = op


def form_of(name: str, target: str, table: Mapping[str, Callable[..., Any]]) -> Any:
    """The form of an operation for a target, from its table or the record; None if neither."""
    return table.get(name) or (OPS[name].targets.get(target) if name in OPS else None)


# --- what they are in NumPy ------------------------------------------------------------------


def _rsqrt(u: Any) -> Any:
    u = np.asarray(u)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(u == 0, u.dtype.type(0), 1 / np.sqrt(u))


def _quotient(u: Any, v: Any) -> Any:
    u, v = np.asarray(u), np.asarray(v)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(v == 0, np.result_type(u, v).type(0), u / v)


def integer_power(u: Any, n: int) -> Any:
    """uⁿ by squaring: exact for integers, and several times faster than `np.power`."""
    if n < 0:
        return 1 / integer_power(u, -n)
    result = None
    while n:
        if n & 1:
            result = u if result is None else result * u
        n >>= 1
        if n:
            u = u * u
    return np.ones_like(u) if result is None else result


def total(*terms: Any) -> Any:
    """Σ, from left to right."""
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


def product(*factors: Any) -> Any:
    """Π, from left to right."""
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


def _step(u: Any) -> Any:
    return (np.asarray(u) >= 0).astype(np.asarray(u).dtype)


def _equal(u: Any, v: Any) -> Any:
    return (np.asarray(u) == np.asarray(v)).astype(np.result_type(u, v))


#: Where ln u is cut off, so that 0 · ln 0 is 0; float32 has this number, too.
SMALLEST = 1e-37


# --- in many digits, of numbers and of intervals ------------------------------------------------


def larger(u: Any, v: Any) -> Any:
    """max(u, v); of intervals it is known even where the order of the two is not."""
    return v.larger(u) if hasattr(v, "larger") else max(u, v)


def smaller(u: Any, v: Any) -> Any:
    return -larger(-u, -v)


# --- their derivatives -----------------------------------------------------------------------


def _of_factors(node: Formula) -> list[Formula]:
    parts = []
    for i in range(len(node.args)):
        others = node.args[:i] + node.args[i + 1 :]
        parts.append(Formula("mul", (const(1.0), *others)))
    return parts


def _of_quotient(node: Formula) -> list[Formula]:
    u, v = node.args
    return [const(1.0).over(v), -(u.over(v * v))]


def _winner(sign: float) -> Callable[[Formula], list[Formula]]:
    """max and min pass the derivative of the side that wins; the first one on a tie."""

    def rule(node: Formula) -> list[Formula]:
        u, v = node.args
        first = (sign * (u - v)).apply("step")
        return [first, const(1.0) - first]

    return rule


def _arc(sign: float) -> Callable[[Formula], list[Formula]]:
    def rule(node: Formula) -> list[Formula]:
        u = node.args[0]
        return [const(sign) * (const(1.0) - u * u).plus().rsqrt()]

    return rule


def _of_real_power(node: Formula) -> list[Formula]:
    """The derivatives in the base and in the exponent; both 0 where the base is 0."""
    u, v = node.args
    return [(v * node).over(u), node * u.apply("max", SMALLEST).log()]


def _flat(node: Formula) -> list[Formula]:
    return [const(0.0)] * len(node.args)


# --- the records -----------------------------------------------------------------------------

_POSITIVE = (0.0, math.inf)

for _op in (
    Op(
        "add",
        total,
        lambda n: [const(1.0)] * len(n.args),
        lambda mp, *v: mp.fsum(v),
        sign=_of_all,
        arity=None,
    ),
    Op("mul", product, _of_factors, lambda mp, *v: mp.fprod(v), sign=_of_product, arity=None),
    Op(
        "pow",
        integer_power,
        lambda n: [const(n.value) * n.args[0] ** (n.value - 1)],
        lambda mp, u, n: u**n,
        sign=_of_power,
    ),
    Op(
        "power",
        np.power,
        _of_real_power,
        lambda mp, u, v: u**v if u else mp.mpf(v == 0),
        sign=nonnegative,
        arity=2,
        domain=_POSITIVE,
    ),
    Op("exp", np.exp, lambda n: [n], lambda mp, u: mp.exp(u), sign=nonnegative, slope=1),
    Op(
        "exp2",
        np.exp2,
        lambda n: [const(math.log(2.0)) * n],
        lambda mp, u: mp.mpf(2) ** u,
        sign=nonnegative,
        slope=1,
    ),
    Op(
        "log",
        np.log,
        lambda n: [const(1.0).over(n.args[0])],
        lambda mp, u: mp.log(u),
        slope=1,
        domain=_POSITIVE,
    ),
    Op(
        "sqrt",
        np.sqrt,
        lambda n: [const(0.5).over(n)],
        lambda mp, u: mp.sqrt(u),
        sign=nonnegative,
        slope=1,
        domain=_POSITIVE,
    ),
    Op(
        "rsqrt",
        _rsqrt,
        lambda n: [const(-0.5) * n * n * n],
        lambda mp, u: 1 / mp.sqrt(u) if u else mp.mpf(0),
        sign=nonnegative,
        domain=_POSITIVE,
    ),
    Op(
        "div",
        _quotient,
        _of_quotient,
        lambda mp, u, v: u / v if v else mp.mpf(0),
        sign=_of_product,
        arity=2,
    ),
    Op(
        "tanh",
        np.tanh,
        lambda n: [const(1.0) - n * n],
        lambda mp, u: mp.tanh(u),
        sign=of_argument,
        slope=1,
    ),
    Op("abs", np.abs, lambda n: [n.args[0].apply("sign")], lambda mp, u: abs(u), sign=nonnegative),
    Op("sin", np.sin, lambda n: [n.args[0].apply("cos")], lambda mp, u: mp.sin(u)),
    Op("cos", np.cos, lambda n: [-n.args[0].apply("sin")], lambda mp, u: mp.cos(u)),
    Op(
        "arccos",
        lambda u: np.arccos(np.clip(u, -1, 1)),
        _arc(-1.0),
        lambda mp, u: mp.acos(larger(-1, smaller(1, u))),
        sign=nonnegative,
        slope=-1,
    ),
    Op(
        "arcsin",
        lambda u: np.arcsin(np.clip(u, -1, 1)),
        _arc(1.0),
        lambda mp, u: mp.asin(larger(-1, smaller(1, u))),
        sign=of_argument,
        slope=1,
    ),
    Op(
        "min",
        np.minimum,
        _winner(-1.0),
        lambda mp, u, v: smaller(u, v),
        sign=_of_extreme(Sign.NEVER_POSITIVE),
        arity=2,
    ),
    Op(
        "max",
        np.maximum,
        _winner(1.0),
        lambda mp, u, v: larger(u, v),
        sign=_of_extreme(Sign.NEVER_NEGATIVE),
        arity=2,
    ),
    Op("step", _step, _flat, lambda mp, u: mp.mpf(u >= 0), sign=nonnegative, slope=1),
    Op("sign", np.sign, _flat, lambda mp, u: mp.sign(u), sign=of_argument),
    Op("eq", _equal, _flat, lambda mp, u, v: mp.mpf(u == v), sign=nonnegative, arity=2),
):
    register_op(_op)

#: Those of this package, which all targets but the compiled loops have a form for.
BUILT_IN = frozenset(OPS)


def without_form(operations: frozenset[str], target: str) -> list[str]:
    """The operations that came from outside without a form for a target."""
    outside = (operations - BUILT_IN) & OPS.keys()
    return sorted(name for name in outside if target not in OPS[name].targets)
