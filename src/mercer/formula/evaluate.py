"""The value of a formula given its statistics.

In NumPy and float64 this is the oracle that every engine is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mercer.formula.nodes import Formula
from mercer.formula.ops import OPS, payload


def in_numpy(op: str) -> Callable[..., Any] | None:
    """What an operation is in NumPy; None for a statistic."""
    return OPS[op].numpy if op in OPS else None


def evaluate(
    formula: Formula,
    known: Mapping[Formula, Any],
    meaning: Callable[[str], Callable[..., Any] | None] = in_numpy,
) -> Any:
    """The value of `formula`, given the values of its statistics (anything that broadcasts).

    `meaning` gives the function for the name of an operation; NumPy's by default.

    >>> import numpy as np
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
        else:
            function = meaning(node.op)
            if function is None:
                raise _no_value(node)
            values[id(node)] = function(*(values[id(a)] for a in node.args), *payload(node))
    return values[id(formula)]


def _no_value(node: Formula) -> Exception:
    if node.args and node.op != "reduce":
        return TypeError(
            f"the operation {node.op!r} has no form here; mercer.formula.ops.register_op takes one"
        )
    return KeyError(f"no value was given for the statistic {node!r}")
