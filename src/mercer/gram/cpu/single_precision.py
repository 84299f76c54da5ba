"""Whether k of rows in float32 has the digits that float32 can hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._arrays import is_sparse
from mercer.formula.nodes import Formula, statistics
from mercer.gram.accuracy import TOLERANCE, Ends, sensitivity, tolerates_rounding
from mercer.gram.operand import Operand, squared_norms

if TYPE_CHECKING:
    from mercer.gram.host import HostGram

#: Statistics whose rounding is known.
_ROUNDED = {"sqdist", "dot", "l1", "linf"}
#: Those that a common shift of all rows does not change.
_DIFFERENCES = {"sqdist", "l1", "linf"}
#: Squared norms beyond this are too near to the end of float32's range.
LARGEST = 1e30
#: Rows on a grid are about as far from 0 as from one another where it begins so near to it.
STEPS = 256
#: Rows that show where all of them are.
SOME = 128


def suffices(gram: HostGram, *, centered: bool = False) -> bool:
    """Whether rounding the rows of this Gram to float32 leaves k its digits.

    `centered`: their mean is taken off before, where only differences are read (see `movable`), and
    they are dense.
    """
    found = [n for n in statistics(gram.formula) if n.op not in ("sqnorm", "rowfn")]
    if not all(n.op in _ROUNDED for n in found):
        return False
    free = movable(gram.formula) if centered else set()
    sides = gram.sides()[:1] if gram.square else gram.sides()
    for n in found:
        norms = [_norm(side, n, n.value in free) for side in sides]
        if not keeps(gram.formula, n, max(norms), norms[-1] if n.value in free else 0.0):
            return False
    return True


def is_far(gram: HostGram) -> bool:
    """Whether rows that can be moved are farther from 0 than from one another."""
    side = gram.sides()[0]
    for key in movable(gram.formula):
        rows, grid = side.matrices[key], side.grids.get(key)
        if not is_sparse(rows) and (grid is None or abs(grid.grid.low) > STEPS):
            some = rows[:: max(1, len(rows) // SOME)]
            mean = some.mean(axis=0)
            if mean @ mean > 0.5 * squared_norms(some).mean():
                return True
    return False


def narrowed(gram: HostGram, order: Any = None) -> HostGram | None:
    """The same K(X, X) in float32, where that has the digits; None where it has not, or is already.

    Rows are rounded as they are: products of them have no mean taken off before. `order`: another
    one of the examples.
    """
    rows = gram.points()
    plain = type(rows) is np.ndarray or is_sparse(rows)
    if gram.dtype != np.float64 or not plain or rows.dtype != np.float64:
        return None
    if not gram.square or rows.size * 4 > gram.limit_bytes // 16 or not suffices(gram):
        return None
    try:
        single = rows.astype(np.float32)
        single = type(gram)(gram.kernel, single if order is None else single[order])
    except ValueError:  # numbers that only float64 can hold
        return None
    return single if single.dtype == np.float32 else None


def movable(formula: Formula) -> set[Any]:
    """Inputs that only differences read: their mean can be taken off before they are rounded."""
    read: dict[Any, set[str]] = {}
    for node in statistics(formula):
        key = node.value[1] if node.op in ("sqnorm", "reduce") else node.value
        read.setdefault(key, set()).add(node.op)
    return {key for key, ops in read.items() if ops <= _DIFFERENCES}


def keeps(formula: Formula, node: Formula, largest: float, spread: float = 0.0) -> bool:
    """The same for one statistic, of rows whose squared norms (or sums of |x|) reach `largest`.

    `spread`: what those of Z reach, where its mean is taken off all rows before.
    """
    unit = float(np.finfo(np.float32).eps) / 2
    if not largest <= LARGEST:
        return False
    if node.op == "sqdist":
        ends = Ends(largest, largest, spread)
        return tolerates_rounding(formula, node, ends, unit, np.float32(0))
    top = 2.0 ** math.ceil(math.log2(largest or 1.0))
    # The largest k of a function of x·z is that of the longest row with itself.
    slope = sensitivity(formula, node, top, top if node.op == "dot" else 0.0)
    return 4 * unit * largest * slope <= TOLERANCE[4]


def _norm(side: Operand, node: Formula, centered: bool) -> float:
    """The largest ‖x‖², or sum of |x|."""
    rows, sums = side.matrices[node.value], node.op in ("l1", "linf")
    if centered and not is_sparse(rows):
        rows = rows - rows.mean(axis=0)
    known = not centered and not sums and side.centers.get(node.value) is None
    with np.errstate(over="ignore"):
        if known:
            found = side.squared_norms(node.value)
        else:
            found = np.asarray(abs(rows).sum(axis=1)) if sums else squared_norms(rows)
    return float(found.max(initial=0.0))
