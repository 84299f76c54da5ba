"""Derivatives: ∂f/∂p for a parameter p, or ∂f/∂s for a statistic s, as a formula again.

One line an operation: the table gives the derivative in each argument.
"""

from __future__ import annotations

from collections.abc import Callable

from mercer.formula.nodes import Formula, const

Rule = Callable[[Formula], list[Formula]]


def _mul(node: Formula) -> list[Formula]:
    parts = []
    for i in range(len(node.args)):
        others = node.args[:i] + node.args[i + 1 :]
        parts.append(Formula("mul", (const(1.0), *others)))
    return parts


def _div(node: Formula) -> list[Formula]:
    u, v = node.args
    return [const(1.0).over(v), -(u.over(v * v))]


def _extreme(sign: float) -> Rule:
    """max and min pass the derivative of the side that wins; the first one on a tie."""

    def rule(node: Formula) -> list[Formula]:
        u, v = node.args
        first = (sign * (u - v)).apply("step")
        return [first, const(1.0) - first]

    return rule


def _arc(sign: float) -> Rule:
    def rule(node: Formula) -> list[Formula]:
        u = node.args[0]
        return [const(sign) * (const(1.0) - u * u).plus().rsqrt()]

    return rule


DERIVATIVES: dict[str, Rule] = {
    "add": lambda n: [const(1.0)] * len(n.args),
    "mul": _mul,
    "pow": lambda n: [const(n.value) * n.args[0] ** (n.value - 1)],
    "exp": lambda n: [n],
    "exp2": lambda n: [const(0.6931471805599453) * n],
    "log": lambda n: [const(1.0).over(n.args[0])],
    "sqrt": lambda n: [const(0.5).over(n)],
    "rsqrt": lambda n: [const(-0.5) * n * n * n],
    "div": _div,
    "tanh": lambda n: [const(1.0) - n * n],
    "abs": lambda n: [n.args[0].apply("sign")],
    "sin": lambda n: [n.args[0].apply("cos")],
    "cos": lambda n: [-n.args[0].apply("sin")],
    "arccos": _arc(-1.0),
    "arcsin": _arc(1.0),
    "max": _extreme(1.0),
    "min": _extreme(-1.0),
    "step": lambda n: [const(0.0)],
    "sign": lambda n: [const(0.0)],
    "eq": lambda n: [const(0.0), const(0.0)],
}


def derive(formula: Formula, wrt: Formula) -> Formula:
    """∂formula/∂wrt, where `wrt` is a parameter or statistic node of it.

    >>> from mercer.formula.nodes import ROOT, param, sqdist
    >>> g = param("gamma", 2.0)
    >>> from mercer.formula import simplify
    >>> simplify(derive((-g * sqdist(ROOT)).exp(), g))
    (-1 * exp2((-2.88539 * sqdist)) * sqdist)
    """
    slope: dict[int, Formula | None] = {}
    for node in formula.walk(bodies=False):
        if node is wrt:
            slope[id(node)] = const(1.0)
        elif node.op == "reduce":
            slope[id(node)] = _reduction(node, wrt)
        else:
            slope[id(node)] = _chain(node, [slope[id(a)] for a in node.args])
    return slope[id(formula)] or const(0.0)


def _chain(node: Formula, inner: list[Formula | None]) -> Formula | None:
    if all(part is None for part in inner):
        return None
    outer = DERIVATIVES[node.op](node)
    terms = [
        _times(o, i) for o, i in zip(outer, inner, strict=True) if i is not None and not _zero(o)
    ]
    if not terms:
        return None
    return terms[0] if len(terms) == 1 else Formula("add", terms)


def _times(outer: Formula, inner: Formula) -> Formula:
    if outer.op == "const" and outer.value == 1.0:
        return inner
    if inner.op == "const" and inner.value == 1.0:
        return outer
    return outer * inner


def _zero(node: Formula) -> bool:
    return node.op == "const" and node.value == 0.0


def _reduction(node: Formula, wrt: Formula) -> Formula | None:
    """A parameter inside a column-wise body: Σ differentiates inside, Π by log-derivative."""
    how, rows = node.value
    if not any(inner is wrt for inner in node.args[0].walk()):
        return None
    body = node.args[0]
    slope = derive(body, wrt)
    if how in ("sum", "mean"):
        return Formula("reduce", (slope,), node.value)
    if how == "prod":
        return node * Formula("reduce", (slope.over(body),), ("sum", rows))
    raise NotImplementedError("the maximum over columns has no derivative table entry")
