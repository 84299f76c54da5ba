"""Kernels that are a function of one product x·z, or of ‖x − z‖² alone, in one precision.

What the formula decides by itself, whatever the points, is found once and kept: the program, what
of it goes into the product, how large rows may be, its compiled loop. To find that again for every
model would take as long as K of a few hundred rows.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from mercer._machine.jit import compiles
from mercer.formula import Formula, evaluate
from mercer.formula.monomials import powers_of_dot
from mercer.formula.nodes import statistics
from mercer.gram.base import simplified_diagonal
from mercer.gram.cpu.single_precision import LARGEST, keeps
from mercer.gram.plan import planner
from mercer.gram.plan.accuracy import TOLERANCE, Ends, Method, product_error
from mercer.gram.plan.folded import folded_sum
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
        self.operations = planner.operations(self.program.epilogue)

    def keeps_digits(self, columns: int, norm: float, spread: float = 0.0) -> bool:
        """Whether k does, of rows whose squared norms reach this; NaN does not.

        `spread`: what those of the points reach, where their mean is taken off all rows.
        """
        if not 0 < norm <= LARGEST:
            return norm == 0
        if self.dtype == np.float32 and not keeps(self.formula, self.node, norm, spread):
            return False
        if self.node.op == "dot":
            return True
        ends = Ends(norm, norm, spread)
        error = product_error(self.formula, self.node, columns, ends, self.dtype)
        return error <= TOLERANCE[self.dtype.itemsize]

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

    def loop(self, pairs: int) -> Any:
        """The compiled loop of the formula where so many pairs are worth it, else None."""
        return self._compiled if pairs * self.operations >= planner.COMPILE_WORK else None

    @cached_property
    def _compiled(self) -> Any:
        from mercer.gram.cpu import compiled

        if not (compiled.can_compile(self.program) and compiles()):
            return None
        return compiled.compile_epilogue(self.program, self.dtype, [])


@lru_cache(maxsize=256)
def one_product(formula: Formula, dtype: np.dtype) -> OneProduct | None:
    """The formula in this precision; None where it is none of one product."""
    found = statistics(formula)
    if len(found) != 1 or found[0].op not in ("dot", "sqdist") or found[0].value.steps:
        return None
    return OneProduct(formula, dtype) if only_overflows(formula, dtype) else None
