"""K of a few pairs of plain arrays, without operands, plans and tiles: the one fast path.

It serves ``k(X)``, ``k(X, Z)`` and models that predict a few rows, where to make a `Gram` would
take longer than K: for kernels that are a function of distances and x·z, on arrays and CSR
matrices in double precision. `Gram` serves everything else, and gives the same numbers.
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
#: What stands for the sources in an epilogue: no program here has more than these.
_TILES = tuple(Formula("tile", value=i) for i in range(4))


def small_block(kernel: Kernel | Formula, X: Any, Z: Any) -> np.ndarray | None:
    """k(x, z) for all rows of X and of Z; None where it takes a `Gram` to answer.

    >>> from mercer import Gaussian
    >>> small_block(Gaussian(), np.array([[0.0]]), np.array([[0.0], [1.0]])).round(4)
    array([[1.    , 0.6065]])
    """
    program = _served(kernel, X, Z)
    if program is None:
        return None
    if is_sparse(X) or is_sparse(Z):
        if not {source.node.op for source in program.sources} <= {"dot", "sqdist"}:
            return None
        X, Z = (rows.toarray() if is_sparse(rows) else rows for rows in (X, Z))
    return _evaluated(program, X, Z) if _are_in_order(X) and _are_in_order(Z) else None


def _served(kernel: Kernel | Formula, X: Any, Z: Any) -> Program | None:
    """The program of k for few pairs; None where only a `Gram` can answer."""
    opaque = isinstance(kernel, Kernel) and kernel.is_opaque
    if opaque or not _is_unlimited() or not _is_few(X, Z):
        return None
    program = _of_rows_as_they_are(simplified(kernel))
    return program if program is not None and engine_for(kernel, X, Z) is HOST else None


def _evaluated(program: Program, X: np.ndarray, Z: np.ndarray) -> np.ndarray | None:
    tiles = [np.empty((len(X), len(Z))) for _ in program.sources]
    for source, values in zip(program.sources, tiles, strict=True):
        if source.kind == "product":
            np.dot(X, Z.T, out=values)
        else:
            direct(source.node, X, Z, values)
        if not _is_in_range(source, values, X, Z):
            return None
    with np.errstate(all="ignore"):
        evaluate_into(tiles[0], program.epilogue, dict(zip(_TILES, tiles, strict=False)))
        finite = np.isfinite(tiles[0].sum())
    return tiles[0] if finite else None  # a `Gram` says what overflows


def _is_in_range(source: Any, values: np.ndarray, *rows: np.ndarray) -> bool:
    """Whether all values are numbers that are not too large for the formula; `Gram` says if not.

    A sum over a row with NaN or ∞ is one, too. The largest difference may pass over a NaN.
    """
    if not values.max() < LARGE:
        return False
    if source.kind == "product":
        return bool(values.min() > -LARGE)
    return source.node.op != "linf" or all(map(is_plain, rows))


def _are_in_order(X: np.ndarray) -> bool:
    """Whether loops can read the numbers of X, of which there are some, as they are."""
    return X.flags.c_contiguous and X.size > 0


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
