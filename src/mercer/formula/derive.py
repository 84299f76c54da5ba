"""Derivatives: ∂f/∂p for a parameter p, or ∂f/∂s for a statistic s, as a formula again.

The record of an operation (`ops`) gives the derivative in each argument.
"""

from __future__ import annotations

from mercer.formula.nodes import SETS, Formula, Input, const, reduce_columns, set_size
from mercer.formula.ops import OPS


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
    derivative = OPS[node.op].derivative
    if derivative is None:
        raise NotImplementedError(f"the operation {node.op!r} has no derivative in its record")
    outer = derivative(node)
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
    if set_size(how):
        return _over_sets(body, slope, set_size(how), rows)
    raise NotImplementedError("the maximum over columns has no derivative table entry")


#: Sets larger than this have derivatives whose terms cancel in double precision.
LARGEST_SET = 10


def _over_sets(body: Formula, slope: Formula, size: int, rows: Input) -> Formula:
    """Σⱼ gⱼ′ · (sets of the other columns) = Σₛ (−1)ˢ (sets of size − 1 − s) · Σⱼ gⱼˢ gⱼ′."""
    if size > LARGEST_SET:
        raise NotImplementedError(
            f"sets of {size} columns have no derivative here: beyond {LARGEST_SET} its terms cancel"
        )
    terms = []
    for s in range(size):
        less = size - 1 - s
        sets = reduce_columns(f"{SETS}{less}", body, rows) if less else const(1.0)
        powers = reduce_columns("sum", body**s * slope if s else slope, rows)
        terms.append(const((-1.0) ** s) * sets * powers)
    return terms[0] if size == 1 else Formula("add", terms)
