"""The intermediate representation between a kernel and the engines that compute it.

`nodes` holds the expression itself; the other files are tables over the same nodes: `simplify`,
`derive`, `evaluate` (NumPy, the oracle) and `precise` (many digits).
"""

from mercer.formula.derive import derive
from mercer.formula.evaluate import evaluate
from mercer.formula.inputs import FrozenArray
from mercer.formula.nodes import ROOT, Formula, Input, at_diagonal, statistics
from mercer.formula.precise import NotRenderable, pairwise_interval, pairwise_mp
from mercer.formula.simplify import simplify

__all__ = [
    "ROOT",
    "Formula",
    "FrozenArray",
    "Input",
    "NotRenderable",
    "at_diagonal",
    "derive",
    "evaluate",
    "pairwise_interval",
    "pairwise_mp",
    "simplify",
    "statistics",
]
