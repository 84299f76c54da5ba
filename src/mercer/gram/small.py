"""A block of K of a few pairs, without sides, plans and tiles, which would take longer than K.

Only for kernels that are a function of one distance, on plain arrays in double precision; `Gram`
serves everything else, and gives the same numbers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mercer._arrays import is_plain
from mercer._config import get_config
from mercer.formula import Formula
from mercer.formula.evaluate import evaluate_into
from mercer.gram.base import simplified
from mercer.gram.cpu.engine import direct
from mercer.gram.dispatch import HOST, engine_for
from mercer.gram.plan.accuracy import SMALL_WORK, Method
from mercer.gram.plan.program import Program, compile_program
from mercer.gram.plan.range import has_limits
from mercer.gram.rows.validate import numeric_inputs
from mercer.kernels.core import Kernel


def small_block(kernel: Kernel, X: Any, Z: Any) -> np.ndarray | None:
    """k(x, z) for all rows of X and of Z; None where it takes a `Gram` to answer.

    >>> from mercer import Gaussian
    >>> small_block(Gaussian(), np.array([[0.0]]), np.array([[0.0], [1.0]])).round(4)
    array([[1.    , 0.6065]])
    """
    if not (_is_few(X, Z) and is_plain(X) and (Z is X or is_plain(Z))):
        return None
    settings = get_config()
    if settings.memory is not None or settings.device != "cpu" or kernel.is_opaque:
        return None
    program = _one_distance(simplified(kernel))
    if program is None or engine_for(kernel, X, Z) is not HOST:
        return None
    values = np.empty((len(X), len(Z)))
    (source,) = program.sources
    direct(source.node, X, Z, values)
    evaluate_into(values, program.epilogue, {Formula("tile", value=0): values})
    return values


def _is_few(X: Any, Z: Any) -> bool:
    for rows in (X, Z):
        if type(rows) is not np.ndarray or rows.ndim != 2 or rows.dtype != np.float64:
            return False
    return X.shape[1] == Z.shape[1] and len(X) * Z.size <= SMALL_WORK


@lru_cache(maxsize=1024)
def _one_distance(formula: Formula) -> Program | None:
    """The program of a function of one distance between the rows as they are."""
    inputs = numeric_inputs(formula)
    if len(inputs) != 1 or inputs[0].steps or has_limits(formula):
        return None
    program = compile_program(formula, {inputs[0]: Method("direct")})
    kinds = [(s.kind, s.node.op) for s in program.sources]
    distance = kinds in ([("direct", op)] for op in ("sqdist", "l1", "linf"))
    return program if distance and not program.row_x and not program.row_z else None
