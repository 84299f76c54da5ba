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
from mercer.gram.cpu.engine import METRIC, direct
from mercer.gram.dispatch import HOST, engine_for
from mercer.gram.plan.accuracy import DIRECT_COLUMNS, SMALL_WORK, Method
from mercer.gram.plan.program import Program, compile_program
from mercer.gram.plan.range import only_overflows
from mercer.gram.rows.validate import numeric_inputs
from mercer.kernels.core import Kernel

#: Multiplications of a square block at most: from here on two threads are faster.
SQUARE_WORK = 10_000_000
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


def square_block(kernel: Kernel, X: Any) -> np.ndarray | None:
    """k(x, z) for all pairs of rows of X, for a function of one distance in few columns.

    Each pair is looked at once, where a loop over differences would not be worth compiling.

    >>> from mercer import Gaussian
    >>> square_block(Gaussian(), np.array([[0.0], [1.0]])).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """
    if not _is_unlimited() or kernel.is_opaque or not _is_few(X, X, SQUARE_WORK):
        return None
    program = _of_rows_as_they_are(simplified(kernel))
    served = program is not None and engine_for(kernel, X, X) is HOST and is_plain(X)
    if program is None or not served or len(program.sources) > 1:
        return None
    if program.sources[0].kind != "direct" or X.shape[1] > DIRECT_COLUMNS:
        return None
    with np.errstate(all="ignore"):
        K = (_evaluated if _is_few(X, X) else _halved)(program, X, X)
    return K if K is not None and np.isfinite(K).all() else None  # `Gram` says what overflows


def _halved(program: Program, X: np.ndarray, Z: np.ndarray) -> np.ndarray | None:
    """Every pair of rows of X, which is Z, once, as one vector."""
    from scipy.spatial.distance import pdist, squareform

    values = pdist(X, METRIC[program.sources[0].node.op])
    if not values.max() < LARGE:
        return None  # which may be too large for the formula, and `Gram` says so
    own = np.zeros(1)
    for part in (own, values):
        evaluate_into(part, program.epilogue, {Formula("tile", value=0): part})
    K: np.ndarray = squareform(values, checks=False)
    np.fill_diagonal(K, own)
    return K


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


def _is_few(X: Any, Z: Any, most: int = SMALL_WORK) -> bool:
    for rows in (X, Z):
        if not (type(rows) is np.ndarray or is_sparse(rows)):
            return False
        if rows.ndim != 2 or rows.dtype != np.float64:
            return False
    (n, columns), (m, others) = X.shape, Z.shape
    return columns == others and n * m * columns <= most


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
