"""A block of K of a few pairs, without sides, plans and tiles, which would take longer than K.

Only for kernels that are a function of distances and x·z, on plain arrays and CSR matrices in
double precision; `Gram` serves everything else, and gives the same numbers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mercer._arrays import is_plain, is_sparse
from mercer._config import get_config
from mercer.formula import Formula
from mercer.formula.evaluate import evaluate_into
from mercer.gram.base import simplified
from mercer.gram.cpu.engine import direct
from mercer.gram.dispatch import HOST, engine_for
from mercer.gram.plan.accuracy import SMALL_WORK, Method
from mercer.gram.plan.program import Program, compile_program
from mercer.gram.plan.range import only_overflows
from mercer.gram.rows.validate import numeric_inputs
from mercer.kernels.core import Kernel

#: Distances and products below which no kernel in use leaves the range of double precision.
LARGE = 1e30


def small_block(kernel: Kernel, X: Any, Z: Any) -> np.ndarray | None:
    """k(x, z) for all rows of X and of Z; None where it takes a `Gram` to answer.

    >>> from mercer import Gaussian
    >>> small_block(Gaussian(), np.array([[0.0]]), np.array([[0.0], [1.0]])).round(4)
    array([[1.    , 0.6065]])
    """
    if not _is_unlimited() or kernel.is_opaque or not _is_few(X, Z):
        return None
    program = _of_rows_as_they_are(simplified(kernel))
    if program is None or engine_for(kernel, X, Z) is not HOST:
        return None
    same = Z is X
    if is_sparse(X) or is_sparse(Z):
        if not {source.node.op for source in program.sources} <= {"dot", "sqdist"}:
            return None
        X, Z = (rows.toarray() if is_sparse(rows) else rows for rows in (X, Z))
    return _evaluated(program, X, Z) if is_plain(X) and (same or is_plain(Z)) else None


def _evaluated(program: Program, X: np.ndarray, Z: np.ndarray) -> np.ndarray | None:
    tiles = [np.empty((len(X), len(Z))) for _ in program.sources]
    for source, values in zip(program.sources, tiles, strict=True):
        if source.kind == "product":
            np.dot(X, Z.T, out=values)
        else:
            direct(source.node, X, Z, values)
        if not values.max() < LARGE > -values.min():
            return None  # which may be too large for the formula, and `Gram` says so
    known = {Formula("tile", value=i): values for i, values in enumerate(tiles)}
    evaluate_into(tiles[0], program.epilogue, known)
    return tiles[0]


def _is_unlimited() -> bool:
    settings = get_config()
    return settings.memory is None and settings.device == "cpu"


def _is_few(X: Any, Z: Any) -> bool:
    for rows in (X, Z):
        if not (type(rows) is np.ndarray or is_sparse(rows)):
            return False
        if rows.ndim != 2 or rows.dtype != np.float64:
            return False
    (n, columns), (m, others) = X.shape, Z.shape
    return columns == others and n * m * columns <= SMALL_WORK


@lru_cache(maxsize=1024)
def _of_rows_as_they_are(formula: Formula) -> Program | None:
    """The program of a function of distances and products of the rows, without values per row."""
    inputs = numeric_inputs(formula)
    if len(inputs) != 1 or inputs[0].steps or not only_overflows(formula):
        return None
    program = compile_program(formula, {inputs[0]: Method("direct")})
    known = {("product", "dot"), *(("direct", op) for op in ("sqdist", "l1", "linf"))}
    served = bool(program.sources) and {(s.kind, s.node.op) for s in program.sources} <= known
    return program if served and not program.row_x and not program.row_z else None
