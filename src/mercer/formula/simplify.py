"""Simplification: flatten, fold constants, drop neutral elements, and turn exp into exp2.

Each rule is a function of a node whose children are already simple; the table says which rule
serves which operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from mercer.formula.inputs import Scale
from mercer.formula.nodes import DIFFERENCE, Formula, Input, const, sqdist
from mercer.formula.ops import OPS

LOG2E = 1.0 / math.log(2.0)


def simplify(formula: Formula, images: dict[int, Formula] | None = None) -> Formula:
    """An equal formula with fewer nodes, parameters replaced by their values.

    ``images`` receives what became of each node, by its id.

    >>> from mercer.formula.nodes import ROOT, dot
    >>> simplify((dot(ROOT) * 2.0) * 3.0 + 0.0)
    (6 * dot)
    """
    return _simplified(formula) if images is None else formula.rebuild(_step, images)


@lru_cache(maxsize=4096)
def _simplified(formula: Formula) -> Formula:
    """Found again: every prediction asks for the same formula."""
    return formula.rebuild(_step)


def _step(node: Formula, args: tuple[Formula, ...]) -> Formula:
    if node.op == "param":
        return const(node.value[1])
    if node.op == "reduce":
        return Formula("reduce", (simplify(node.args[0]),), node.value)
    if node.op == "sqdist":
        return sqdist(unnamed(node.value))
    node = Formula(node.op, args, node.value)
    if args and all(a.op == "const" for a in args):
        with np.errstate(all="ignore"):
            return const(OPS[node.op].fold(node))
    rule = RULES.get(node.op)
    return rule(node) if rule else node


def unnamed(rows: Input) -> Input:
    """Drop the names of the lengths that columns are divided by: equal rows are then one input."""
    if not any(isinstance(step, Scale) and step.name for step in rows.steps):
        return rows
    return Input(tuple(Scale(s.lengths) if isinstance(s, Scale) else s for s in rows.steps))


def _add(node: Formula) -> Formula:
    terms, total = _flatten(node, "add", 0.0, lambda a, b: a + b)
    if total != 0.0:
        terms.append(const(total))
    return _join("add", terms, 0.0)


def _mul(node: Formula) -> Formula:
    factors, scale = _flatten(node, "mul", 1.0, lambda a, b: a * b)
    if scale == 0.0:
        return const(0.0)
    if len(factors) == 1 and factors[0].op == "add" and scale != 1.0 and not _exact(factors[0]):
        # A number is pushed into a sum so that it can meet the constants there.
        return simplify(Formula("add", [const(scale) * t for t in factors[0].args]))
    if scale != 1.0:
        factors.insert(0, const(scale))
    return _join("mul", factors, 1.0)


def _exact(node: Formula) -> bool:
    """xⱼ − zⱼ: subtracting close numbers rounds nothing, subtracting multiples of them does."""
    return node is DIFFERENCE


def _flatten(
    node: Formula, op: str, neutral: float, fold: Callable[[float, float], float]
) -> tuple[list[Formula], float]:
    rest: list[Formula] = []
    number = neutral
    stack = list(reversed(node.args))
    while stack:
        arg = stack.pop()
        if arg.op == op:
            stack.extend(reversed(arg.args))
        elif arg.op == "const":
            number = fold(number, arg.value)
        else:
            rest.append(arg)
    return rest, number


def _join(op: str, args: list[Formula], neutral: float) -> Formula:
    if not args:
        return const(neutral)
    return args[0] if len(args) == 1 else Formula(op, args)


def _pow(node: Formula) -> Formula:
    (base,) = node.args
    if node.value == 0:
        return const(1.0)
    if node.value == 1:
        return base
    if base.op == "pow":
        return Formula("pow", base.args, base.value * node.value)
    return node


def _power(node: Formula) -> Formula:
    """u^v by roots and products where v is 1/4, 1/2, 1 or 2."""
    base, exponent = node.args
    if exponent.op != "const":
        return node
    roots = {0.25: 2, 0.5: 1, 1.0: 0}
    if exponent.value in roots:
        for _ in range(roots[exponent.value]):
            base = base.sqrt()
        return base
    return base**2 if exponent.value == 2.0 else node


def _exp(node: Formula) -> Formula:
    return Formula("exp2", (simplify(const(LOG2E) * node.args[0]),))


def _div(node: Formula) -> Formula:
    top, bottom = node.args
    if bottom.op == "const" and bottom.value != 0.0:
        return simplify(const(1.0 / bottom.value) * top)
    return node


RULES: dict[str, Callable[[Formula], Formula]] = {
    "add": _add,
    "mul": _mul,
    "pow": _pow,
    "power": _power,
    "exp": _exp,
    "div": _div,
}
