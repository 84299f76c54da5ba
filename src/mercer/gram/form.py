"""Form: what a formula decides by itself, whatever the rows are, found once and kept.

formula ──► form_of(formula) ──► inputs, distances, programs, checks of range
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from mercer.formula import Formula
from mercer.formula.nodes import Input, statistics
from mercer.gram.base import simplified
from mercer.gram.plan.accuracy import LITTLE_WORK, Method, needs_double
from mercer.gram.plan.program import Program, compile_program
from mercer.gram.plan.range import is_always_in_range
from mercer.gram.rows.validate import numeric_inputs
from mercer.kernels.core import Kernel


class Form:
    """A formula, and the answers that all rows share.

    `inputs`: what is read as numbers; `distances`: its nodes ‖x − z‖²; `multiplied`: inputs of
    which products are made; `reduced`: inputs whose columns are read one by one.

    >>> from mercer import Gaussian
    >>> form_of(Gaussian().formula()).distances
    (sqdist,)
    """

    def __init__(self, formula: Formula) -> None:
        found = statistics(formula)
        self.formula = formula
        self.inputs = tuple(numeric_inputs(formula))
        self.distances = tuple(node for node in found if node.op == "sqdist")
        self.multiplied: tuple[Input, ...] = tuple(
            dict.fromkeys(node.value for node in found if node.op in ("dot", "sqdist"))
        )
        self.reduced = frozenset(node.value[1] for node in found if node.op == "reduce")
        self.is_double = needs_double(formula)
        self._in_range: dict[np.dtype, bool] = {}

    def program(self, methods: Mapping[Input, Method]) -> Program:
        """The program in which each distance is made by its method."""
        return compile_program(self.formula, methods)

    @cached_property
    def of_differences(self) -> Program:
        """The program of a K that is little work: every distance from differences."""
        return self.program({node.value: LITTLE_WORK for node in self.distances})

    def is_always_in_range(self, dtype: np.dtype) -> bool:
        """Whether no rows of finite numbers make a part of k overflow or underflow."""
        if dtype not in self._in_range:
            self._in_range[dtype] = is_always_in_range(self.formula, dtype)
        return self._in_range[dtype]

    @cached_property
    def reads_products(self) -> frozenset[Any]:
        """Inputs of which k reads x·z itself."""
        return frozenset(n.value for n in statistics(self.formula) if n.op == "dot")


@lru_cache(maxsize=1024)
def form_of(formula: Formula) -> Form:
    """The form of a simplified formula."""
    return Form(formula)


def form_for(kernel: Kernel | Formula) -> Form:
    """The form of a kernel's formula, found again for every kernel that equals an earlier one."""
    try:
        return _form(kernel)
    except TypeError:  # a parameter that cannot be hashed, or no kernel at all
        return form_of(simplified(kernel))


@lru_cache(maxsize=1024)
def _form(kernel: Kernel | Formula) -> Form:
    return form_of(simplified(kernel))
