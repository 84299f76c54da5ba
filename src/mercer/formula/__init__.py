"""The intermediate representation between a kernel and the engines that compute it.

`nodes` holds the expression itself and `ops` its operations, a record each; the other files are
passes over the same nodes: `simplify`, `derive`, `evaluate` (NumPy, the oracle), `precise` (many
digits), and what `shape` and `profile` read off a formula's form.
"""

from mercer.formula.derive import derive
from mercer.formula.evaluate import evaluate
from mercer.formula.inputs import FrozenArray
from mercer.formula.nodes import ROOT, Formula, Input, at_diagonal, statistics
from mercer.formula.ops import Op, register_op
from mercer.formula.precise import NotRenderable, pairwise_interval, pairwise_mp
from mercer.formula.simplify import simplify

__all__ = [
    "ROOT", "Formula", "FrozenArray", "Input", "NotRenderable", "Op", "at_diagonal", "derive",
    "evaluate", "pairwise_interval", "pairwise_mp", "register_op", "simplify", "statistics",
]  # fmt: skip
