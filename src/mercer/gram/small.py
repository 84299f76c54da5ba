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
from mercer.gram.host import HostGram
from mercer.gram.plan.accuracy import DIRECT_COLUMNS, SMALL_WORK, Method
from mercer.gram.plan.program import Program, compile_program
from mercer.gram.plan.range import only_overflows
from mercer.gram.prepared_points import prepared_points
from mercer.gram.rows.validate import numeric_inputs
from mercer.kernels.core import Kernel

#: Multiplications of a square block at most: from here on two threads are faster.
SQUARE_WORK = 10_000_000
#: Entries of a square block from which each pair is looked at once: with fewer, SciPy's checks for
#: that take as long as the pairs.
HALVED = 20_000
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
    program, same = _served(kernel, X, Z, SMALL_WORK), Z is X
    if program is None:
        return None
    if is_sparse(X) or is_sparse(Z):
        if not {source.node.op for source in program.sources} <= {"dot", "sqdist"}:
            return None
        X, Z = (rows.toarray() if is_sparse(rows) else rows for rows in (X, Z))
    if not _are_in_order(X) or not (same or _are_in_order(Z)):
        return None
    return _square(program, X) if same else _evaluated(program, X, Z)


def host_block(kernel: Kernel | Formula, X: Any, Z: Any) -> np.ndarray:
    """k(x, z) for all rows of X and of Z on the host, also where it takes a `Gram` to answer.

    >>> from mercer import Gaussian
    >>> host_block(Gaussian(), [[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065]])
    """
    few = small_block(kernel, X, Z)
    return HostGram(kernel, X, None if Z is X else Z).dense() if few is None else few


def square_block(kernel: Kernel, X: Any) -> np.ndarray | None:
    """k(x, z) for all pairs of rows of X, for a function of one distance or of x·z.

    In few columns each pair is looked at once, where a loop over differences would not be worth
    compiling. In more columns distances are made of a product, where that keeps their digits.

    >>> from mercer import Gaussian
    >>> square_block(Gaussian(), np.array([[0.0], [1.0]])).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """
    program = _served(kernel, X, X, SQUARE_WORK)
    if program is None or len(program.sources) > 1 or not _are_in_order(X):
        return None
    if not _is_one_distance(program) or X.shape[1] > DIRECT_COLUMNS:
        points = prepared_points(kernel, X, X.dtype)
        return None if points is None else points.own()
    with np.errstate(all="ignore"):
        K = _square(program, X)
    return K if K is not None and np.isfinite(K).all() else None  # `Gram` says what overflows


def _served(kernel: Kernel | Formula, X: Any, Z: Any, most: int) -> Program | None:
    """How k is computed here, for up to so many multiplications; None: not here."""
    opaque = isinstance(kernel, Kernel) and kernel.is_opaque
    if opaque or not _is_unlimited() or not _is_few(X, Z, most):
        return None
    program = _of_rows_as_they_are(simplified(kernel))
    return program if program is not None and engine_for(kernel, X, Z) is HOST else None


def _square(program: Program, X: np.ndarray) -> np.ndarray | None:
    halved = _is_one_distance(program) and len(X) ** 2 >= HALVED
    return _halved(program, X) if halved else _evaluated(program, X, X)


def _halved(program: Program, X: np.ndarray) -> np.ndarray | None:
    """Every pair of rows of X once, as one vector."""
    from scipy.spatial.distance import pdist, squareform

    source, own = program.sources[0], np.zeros(1)
    values = pdist(X, METRIC[source.node.op])
    if not _is_in_range(source, values, X):
        return None
    for part in (own, values):  # one vector of both would be copied by `squareform`
        evaluate_into(part, program.epilogue, {_TILES[0]: part})
    K: np.ndarray = squareform(values, checks=False)
    K.reshape(-1)[:: len(X) + 1] = own
    return K


def _evaluated(program: Program, X: np.ndarray, Z: np.ndarray) -> np.ndarray | None:
    tiles = [np.empty((len(X), len(Z))) for _ in program.sources]
    for source, values in zip(program.sources, tiles, strict=True):
        if source.kind == "product":
            np.dot(X, Z.T, out=values)
        else:
            direct(source.node, X, Z, values)
        if not _is_in_range(source, values, X, Z):
            return None
    evaluate_into(tiles[0], program.epilogue, dict(zip(_TILES, tiles, strict=False)))
    return tiles[0]


def _is_in_range(source: Any, values: np.ndarray, *rows: np.ndarray) -> bool:
    """Whether all values are numbers that are not too large for the formula; `Gram` says if not.

    A sum over a row with NaN or ∞ is one, too. The largest difference may pass over a NaN.
    """
    if not values.max() < LARGE:
        return False
    if source.kind == "product":
        return bool(values.min() > -LARGE)
    return source.node.op != "linf" or all(map(is_plain, rows))


def _is_one_distance(program: Program) -> bool:
    return len(program.sources) == 1 and program.sources[0].kind == "direct"


def _are_in_order(X: np.ndarray) -> bool:
    """Whether loops can read the numbers of X, of which there are some, as they are."""
    return X.flags.c_contiguous and X.size > 0


def _is_unlimited() -> bool:
    settings = get_config()
    return settings.memory is None and settings.device == "cpu"


def _is_few(X: Any, Z: Any, most: int) -> bool:
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
