"""Whether k of rows in float32 has the digits that float32 can hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._arrays import is_sparse
from mercer.formula.nodes import Formula, statistics
from mercer.gram.accuracy import TOLERANCE, Ends, product_error, rounding_error, sensitivity
from mercer.gram.operand import Operand, squared_norms
from mercer.tuning import LARGEST_SINGLE, NEAR_STEPS, SAMPLE_ROWS

if TYPE_CHECKING:
    from mercer.gram.host import HostGram

EPS = float(np.finfo(np.float32).eps)
#: The rounding of k relative to its largest value: of the rows to float32 and of products of them,
#: both of which the tolerance bounds, and of sums.
ROUNDING = 2 * TOLERANCE[4] + 8 * EPS
#: Statistics whose rounding is known.
_ROUNDED = {"sqdist", "dot", "l1", "linf"}
#: Those that a common shift of all rows does not change.
_DIFFERENCES = {"sqdist", "l1", "linf"}


def rounding(gram: HostGram) -> float | None:
    """How far k of a Gram in float32 is off, relative to the largest k; None: too few digits.

    A bound for any kernel. Where k is a function of one distance that is short, its own slope
    gives a smaller one.
    """
    errors = errors_in_single(gram)
    if errors is None:
        return None
    (node, largest, error), *others = errors
    if others or node.op != "sqdist":
        return ROUNDING
    columns, ends = gram.operands()[0].matrices[node.value].shape[1], Ends(largest, largest)
    error += product_error(gram.formula, node, columns, ends, np.dtype(np.float32))
    return min(ROUNDING, 2 * error + 8 * EPS)  # twice: the estimate was met to within 6 %


def errors_in_single(
    gram: HostGram, centered: bool = False
) -> list[tuple[Formula, float, float]] | None:
    """The node of each statistic, its largest squared norm (or sum of |x|), and the error of k by
    rounding the rows to float32; None where one of the errors is too large, or unknown.

    `centered`: the mean of dense rows is subtracted before, where only differences are read (see
    `movable`).
    """
    errors = []
    free = movable(gram.formula) if centered else set()
    operands = gram.operands()[:1] if gram.square else gram.operands()
    for node in statistics(gram.formula):
        if node.op in ("sqnorm", "rowfn"):
            continue
        if node.op not in _ROUNDED:
            return None
        moved = node.value in free
        norms = [_norm(operand, node, moved) for operand in operands]
        error = _error(gram.formula, node, max(norms), norms[-1] if moved else 0.0)
        if error > TOLERANCE[4]:
            return None
        errors.append((node, max(norms), error))
    return errors


def is_far(gram: HostGram) -> bool:
    """Whether rows that can be moved are farther from 0 than from one another."""
    side = gram.operands()[0]
    for key in movable(gram.formula):
        rows, grid = side.matrices[key], side.grids.get(key)
        if not is_sparse(rows) and (grid is None or abs(grid.grid.low) > NEAR_STEPS):
            some = rows[:: max(1, len(rows) // SAMPLE_ROWS)]
            mean = some.mean(axis=0)
            if mean @ mean > 0.5 * squared_norms(some).mean():
                return True
    return False


def movable(formula: Formula) -> set[Any]:
    """Inputs that only differences read: their mean can be subtracted before they are rounded."""
    read: dict[Any, set[str]] = {}
    for node in statistics(formula):
        key = node.value[1] if node.op in ("sqnorm", "reduce") else node.value
        read.setdefault(key, set()).add(node.op)
    return {key for key, ops in read.items() if ops <= _DIFFERENCES}


def _error(formula: Formula, node: Formula, largest: float, spread: float) -> float:
    """The error of k by rounding rows whose squared norms (or sums of |x|) reach `largest`.

    `spread`: what those of Z reach, where its mean is subtracted from all rows before.
    """
    if not largest <= LARGEST_SINGLE:
        return math.inf
    if node.op == "sqdist":
        return rounding_error(formula, node, Ends(largest, largest, spread), EPS / 2)
    top = 2.0 ** math.ceil(math.log2(largest or 1.0))
    # The largest k of a function of x·z is that of the longest row with itself.
    slope = sensitivity(formula, node, top, top if node.op == "dot" else 0.0)
    return 2 * EPS * largest * slope


def _norm(operand: Operand, node: Formula, centered: bool) -> float:
    """The largest ‖x‖², or sum of |x|."""
    rows, sums = operand.matrices[node.value], node.op in ("l1", "linf")
    if centered and not is_sparse(rows):
        rows = rows - rows.mean(axis=0)
    with np.errstate(over="ignore"):
        if sums:
            sizes = np.asarray(abs(rows).sum(axis=1))
        elif centered or operand.centers.get(node.value) is not None:
            sizes = squared_norms(rows)
        else:
            sizes = operand.squared_norms(node.value)
    return float(sizes.max(initial=0.0))
