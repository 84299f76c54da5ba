"""Questions about a formula's form: translation-invariant? radial? legal?"""

from __future__ import annotations

from mercer.formula.inputs import Columns, Matrix, Scale
from mercer.formula.nodes import DIFFERENCE, Formula, Input, statistics

_LINEAR = (Columns, Scale, Matrix)


def is_stationary(formula: Formula) -> bool:
    """k(x, z) is a function of x − z."""
    return all(_depends_on_difference(node) for node in statistics(formula))


def is_radial(formula: Formula) -> bool:
    """k(x, z) is a function of ‖x − z‖."""
    return all(n.op == "sqdist" and not n.value.steps for n in statistics(formula))


def _depends_on_difference(node: Formula) -> bool:
    if node.op == "reduce":
        return _linear(node.value[1]) and _only_difference(node.args[0])
    return node.op in ("sqdist", "l1", "linf") and _linear(node.value)


def _linear(rows: Input) -> bool:
    return all(isinstance(step, _LINEAR) for step in rows.steps)


def _only_difference(body: Formula) -> bool:
    if body is DIFFERENCE:
        return True
    if body.op == "coord":
        return False
    return all(_only_difference(a) for a in body.args)
