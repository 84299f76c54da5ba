"""Labels by scores in float32, and again in float64 where those do not decide.

A label needs the signs of scores and none of their digits. In float32 a product takes half the
time, an exponential a third. Each k is wrong by `ROUNDING` max k at most, so a score Σᵢ αᵢ kᵢ by
that times Σ|α|. A row with a score nearer to zero, whose sign could make another class the winner,
is asked for again: every label is the one that float64 gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import are_float_rows, winners
from mercer._machine.jit import may_compile
from mercer.expansion import KernelExpansion
from mercer.formula.nodes import statistics
from mercer.gram.accuracy import TOLERANCE, Ends, product_error, rounding_error
from mercer.gram.base import simplified
from mercer.gram.cpu.single_precision import suffices
from mercer.gram.host import HostGram
from mercer.gram.operand import squared_norms
from mercer.learners.svms.many_classes import PairExpansion
from mercer.learners.svms.votes import pair_votes, pairs_per_class

SINGLE = np.dtype(np.float32)
#: Pairs of examples from which this is faster than float64.
PAIRS = 30_000
#: The rounding of k relative to its largest value: of the rows to float32, and of products of them
#: (`suffices` and the plan of a Gram see to both), and of sums.
EPS = float(np.finfo(np.float32).eps)
ROUNDING = 2 * TOLERANCE[4] + 8 * EPS


def quick_winners(
    expansion: KernelExpansion, X: Any, classes: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """The index of the class of every row by float32, and the rows that need more digits.

    None where float32 is no gain, or has too few digits for the kernel.
    """
    points = expansion.points
    if not are_float_rows(X) or not are_float_rows(points) or X.shape[0] * len(expansion) < PAIRS:
        return None
    if expansion.has_monomials(X):
        return None
    many = expansion if isinstance(expansion, PairExpansion) and may_compile() else None
    kinds = {X.dtype, points.dtype}
    # Rows in float32 have no more digits: a compiled pass over many classes is the gain then.
    exact = many is not None and kinds == {SINGLE}
    if not exact and kinds != {np.dtype(np.float64)}:
        return None
    rounding = 0.0 if exact else _rounding(X, expansion)

    gram = _rounded(expansion, X)
    if gram is None:
        return None
    bounds = np.asarray(rounding * gram.largest * expansion.weights, dtype=SINGLE)
    if many:
        found = many.in_panels(gram, lambda K, scratch: many.judged(K, bounds, scratch))
    else:
        found = expansion.over(gram, lambda scores: _judged(scores, bounds, classes))
    return found[:, 0], np.flatnonzero(found[:, 1])


def _rounding(X: np.ndarray, expansion: KernelExpansion) -> float:
    """How far k is off in float32, relative to its largest value: less where distances are short.

    Fewer rows are then in doubt: noisy data with large coefficients take 0.6 of the time.
    """
    formula = simplified(expansion.kernel)
    nodes, both = statistics(formula), (X, expansion.points)
    if [node.op for node in nodes] != ["sqdist"] or nodes[0].value.steps:
        return ROUNDING
    ends = Ends.uncentered(max(float(squared_norms(rows).max()) for rows in both))
    error = product_error(formula, nodes[0], X.shape[1], ends, SINGLE)
    error += rounding_error(formula, nodes[0], ends, EPS / 2)
    return min(ROUNDING, 2 * error + 8 * EPS)  # twice: the estimate was met to within 6 %


def _rounded(expansion: KernelExpansion, X: Any) -> HostGram | None:
    """K in float32; None where that has too few digits."""
    try:
        with np.errstate(over="ignore"):
            gram = expansion.gram_in_single(X)
    except ValueError:  # numbers that only float64 can hold
        return None
    if not isinstance(gram, HostGram) or gram.dtype != np.float32:
        return None
    return gram if X.dtype == np.float32 or suffices(gram) else None


def _judged(scores: np.ndarray, bounds: np.ndarray, classes: int) -> np.ndarray:
    """The winner of every row, and whether another class could win with other signs of scores."""
    near = np.abs(scores) <= bounds
    if scores.ndim == 1:
        return np.stack([winners(scores), near], axis=1)
    votes = pair_votes(scores, classes)
    best = winners(votes)
    rows = np.flatnonzero(near.any(axis=1))
    doubtful = np.zeros(len(scores), dtype=bool)
    if len(rows):
        unsure, own = pairs_per_class(near[rows], classes), (np.arange(len(rows)), best[rows])
        most = votes[rows] + unsure
        least = votes[rows][own] - unsure[own]
        most[own] = -1
        doubtful[rows] = most.max(axis=1) >= least
    return np.stack([best, doubtful], axis=1)
