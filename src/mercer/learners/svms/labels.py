"""Labels by scores in float32, and again in float64 where those do not decide.

A label needs the signs of scores and none of their digits. In float32 a product takes half the
time, an exponential a third. Each k is wrong by `ROUNDING` max k at most, so a score Σᵢ αᵢ kᵢ by
that times Σ|α|. A row with a score nearer to zero, whose sign could make another class the winner,
is asked for again: every label is the one that float64 gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import is_sparse, winners
from mercer.expansion import KernelExpansion
from mercer.gram.cpu.single_precision import suffices
from mercer.gram.dispatch import make_gram
from mercer.gram.host import HostGram
from mercer.gram.plan.accuracy import TOLERANCE
from mercer.learners.svms.votes import pair_votes, pairs_per_class

#: Pairs of examples from which this is faster than float64.
PAIRS = 30_000
#: The rounding of k relative to its largest value: of the rows to float32, and of products of them
#: (`suffices` and the plan of a Gram see to both), and of sums.
ROUNDING = 2 * TOLERANCE[4] + 8 * float(np.finfo(np.float32).eps)


def quick_winners(
    expansion: KernelExpansion, X: Any, classes: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """The index of the class of every row by float32, and the rows that need more digits.

    None where float32 is no gain, or has too few digits for the kernel.
    """
    both = (X, expansion.points)
    if not all(_is_double(rows) for rows in both) or X.shape[0] * len(expansion) < PAIRS:
        return None

    def judged(scores: np.ndarray, largest: float) -> np.ndarray:
        return _judged(scores, np.float32(ROUNDING * largest) * expansion.weights, classes)

    single = np.dtype(np.float32)
    points = expansion.prepared(X, single)
    few = None if points is None else points.block(X)
    if few is not None:
        found = judged(expansion.scores(few[0]), few[1])
        return found[:, 0], np.flatnonzero(found[:, 1])
    try:
        with np.errstate(over="ignore"):
            gram: Any = None if points is None else points.gram(X)
            if gram is None:
                gram = make_gram(expansion.kernel, *(rows.astype(single) for rows in both))
    except ValueError:  # numbers that only float64 can hold
        return None
    if not isinstance(gram, HostGram) or gram.dtype != single or not suffices(gram):
        return None
    found = expansion.over(gram, lambda scores: judged(scores, gram.largest))
    return found[:, 0], np.flatnonzero(found[:, 1])


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


def _is_double(rows: Any) -> bool:
    plain = type(rows) is np.ndarray or is_sparse(rows)
    return plain and rows.ndim == 2 and rows.dtype == np.float64
