"""The winner of the votes of all pairs of classes, for some rows at a time, in one compiled pass.

In NumPy it takes a dozen passes over arrays with a row per pair, which is most of the time of a
prediction of 26 classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import njit


@njit(nogil=True)
def judge(sums: Any, intercept: Any, bounds: Any, found: Any) -> None:
    """found[r]: the class with most votes in row r, and whether other signs could change that.

    `sums` has, per class, other class and row, the sum over the support vectors of the first with
    their coefficients against the second; `bounds`, per pair, how large a score may be and yet have
    the wrong sign.
    """
    classes, others, n = sums.shape
    votes, unsure = np.zeros((classes, n), np.int32), np.zeros((classes, n), np.int32)
    pair = 0
    for i in range(others):
        for j in range(i + 1, classes):
            b, bound = intercept[pair], bounds[pair]
            pair += 1
            for r in range(n):
                score = sums[i, j - 1, r] + sums[j, i, r] + b
                won, near = np.int32(score > 0), np.int32(abs(score) <= bound)
                votes[i, r] += won
                votes[j, r] += 1 - won
                unsure[i, r] += near
                unsure[j, r] += near
    for r in range(n):
        best = 0
        for c in range(1, classes):
            best = c if votes[c, r] > votes[best, r] else best
        least, doubtful = votes[best, r] - unsure[best, r], False
        for c in range(classes):
            doubtful |= c != best and votes[c, r] + unsure[c, r] >= least
        found[r, 0] = best
        found[r, 1] = doubtful
