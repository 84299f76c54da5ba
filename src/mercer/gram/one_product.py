"""Kernels that are a function of one product x·z, or of ‖x − z‖² alone, in one precision.

What the formula decides by itself, whatever the points, is found once and kept: the program, what
of it goes into the product, how large rows may be, its compiled loop. To find that again for every
model would take as long as K of a few hundred rows.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from mercer._machine.jit import compiles
from mercer.formula import Formula, evaluate
from mercer.formula.monomials import powers_of_dot
from mercer.formula.nodes import statistics
from mercer.gram.base import simplified_diagonal
from mercer.gram.cpu.single_precision import LARGEST, keeps
from mercer.gram.plan.accuracy import Method, choose
from mercer.gram.plan.folded import folded_sum
from mercer.gram.plan.planner import least_to_compile, operations
from mercer.gram.plan.program import compile_program
from mercer.gram.plan.range import only_overflows


class OneProduct:
    """One formula in one precision; `one_product` makes it, and keeps it."""

    def __init__(self, formula: Formula, dtype: np.dtype) -> None:
        self.formula, self.dtype = formula, dtype
        (self.node,) = statistics(formula)
        self.program = compile_program(formula, {self.node.value: Method("product")})
        self.folded = folded_sum(self.program.epilogue)
        # The names of its inputs in the program: the product, and the values of rows.
        self.tile = Formula("tile", value=0)
        self.of_x = [Formula("rowx", value=i) for i in range(len(self.program.row_x))]
        self.of_z = [Formula("rowz", value=i) for i in range(len(self.program.row_z))]
        self.diagonal = simplified_diagonal(formula)
        powers = powers_of_dot(formula)
        self._powers = powers[1] if powers is not None and min(powers[1]) >= 0 else ()
        self.operations = operations(self.program.epilogue)
        #: By power of two, the largest squared norm that was found to keep the digits.
        self._kept: dict[int, float] = {}
        #: The loop, once it has run: from then on it costs no compiling.
        self._ready: Any = None

    def keeps_digits(self, norm: float) -> bool:
        """Whether k does, of rows whose squared norms reach this; NaN does not."""
        if not 0 < norm <= LARGEST:
            return norm == 0
        # Between two powers of two what `_keeps` compares grows with the norm: less is kept, too.
        power = math.ceil(math.log2(norm))
        if norm > self._kept.get(power, 0.0):
            if not self._keeps(norm):
                return False
            self._kept[power] = norm
        return True

    def _keeps(self, norm: float) -> bool:
        if self.dtype == np.float32 and not keeps(self.formula, self.node, norm):
            return False
        if self.node.op == "dot":
            return True
        return choose(self.formula, self.node, True, (norm, None), self.dtype).how == "product"

    def values(self, formulas: tuple[Formula, ...], norms: np.ndarray) -> tuple[np.ndarray, ...]:
        """One vector per value of a row that the program needs."""
        found = (evaluate(f, dict.fromkeys(statistics(f), norms)) for f in formulas)
        return tuple(np.asarray(value, dtype=self.dtype) for value in found)

    def on_diagonal(self, norms: np.ndarray) -> Any:
        """k(x, x) of rows with these squared norms."""
        return evaluate(self.diagonal, dict.fromkeys(statistics(self.diagonal), norms))

    def largest(self, norms: np.ndarray) -> float:
        """The largest k(x, x)."""
        if self.diagonal.op == "const":
            return float(self.diagonal.value)
        if self._powers:  # Σ aₙ ‖x‖²ⁿ grows with ‖x‖
            found, most = 0.0, float(norms.max())
            for a in reversed(self._powers):
                found = found * most + a
            return found
        with np.errstate(over="ignore"):  # where a Gram says so
            return max(0.0, float(np.max(self.on_diagonal(norms.astype(np.float64)))))

    def loop(self, pairs: int, repeats: int = 1) -> Any:
        """The compiled loop of the formula, where it pays for so many pairs, asked for so often."""
        work = pairs * self.operations
        if work < least_to_compile(math.inf):
            return None
        if self._ready is not None:
            return self._ready
        from mercer.gram.cpu import compiled

        done = compiled.work_done(self.program, self.dtype, [])
        if repeats * work < least_to_compile(done):
            compiled.done_by_numpy(self.program, self.dtype, [], work)
            return None
        if not (compiled.can_compile(self.program) and compiles()):
            return None
        found = compiled.compile_epilogue(self.program, self.dtype, [])
        if math.isinf(done):
            self._ready = found
        return found


@lru_cache(maxsize=256)
def one_product(formula: Formula, dtype: np.dtype) -> OneProduct | None:
    """The formula in this precision; None where it is none of one product."""
    found = statistics(formula)
    if len(found) != 1 or found[0].op not in ("dot", "sqdist") or found[0].value.steps:
        return None
    return OneProduct(formula, dtype) if only_overflows(formula) else None
