"""When a perceptron updates, and how: one rule for the primal, the dual and the budget algorithm.

One output (two classes) or one a class. *Separate* outputs are binary perceptrons, each with
targets t = ±1: update f ← f + η t k(x, ·) when t f(x) ≤ margin. *Ranked* outputs compete: the
rival is the best wrong class, and its f is lowered, that of the right class raised, when
f_right − f_rival ≤ margin. At equality the tie decides: "mistake" updates; "first" updates only
where the first of the two (the negative side, the lower class) is the wrong one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._machine.jit import njit


@dataclass(frozen=True)
class Rule:
    """The conventions of one perceptron; `rate` is η, `bias` whether b learns too."""

    outputs: int
    ranked: bool
    first: bool = False
    margin: float = 0.0
    rate: float = 1.0
    bias: bool = False

    @property
    def numbers(self) -> tuple[bool, int, bool, float]:
        """What the compiled loops take: with one output, class 1 is the positive one."""
        return self.ranked, 1 if self.outputs == 1 else 0, self.first, self.margin

    def targets(self, labels: np.ndarray) -> np.ndarray:
        """±1 for every example and output."""
        columns = np.arange(self.outputs) + self.numbers[1]
        return np.where(labels[:, None] == columns[None, :], 1.0, -1.0)

    def updates(self, units: np.ndarray) -> Any:
        """How many updates the rows of `units` stand for: one a ranked row, else one an output."""
        count = np.count_nonzero(units, axis=-1)
        return np.minimum(count, 1) if self.ranked else count

    def cut(self, units: np.ndarray, allowed: float) -> int:
        """The number of updates in `units`, at most `allowed`: those beyond it become 0."""
        if self.ranked:
            return 1
        made = np.flatnonzero(units)
        if len(made) > allowed:
            units[made[int(allowed) :]] = 0.0
        return int(min(len(made), allowed))

    def judge(self, scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The updates that given scores call for, and their hinge losses max(0, 1 − t f)."""
        units = np.zeros(scores.shape)
        losses = np.empty(len(scores))
        for i in range(len(scores)):
            loss = np.zeros(1)
            next_update(scores, labels, i, i + 1, np.zeros(self.outputs), *self.numbers,
                        units[i], loss)  # fmt: skip
            losses[i] = loss[0]
        return units, losses


@njit(nogil=True)
def next_update(
    scores: Any,
    labels: Any,
    start: int,
    stop: int,
    bias: Any,
    ranked: bool,
    positive: int,
    first: bool,
    margin: float,
    units: Any,
    loss: Any,
) -> int:
    """The first row from `start` on that calls for an update, or `stop`; `units` says which.

    The hinge losses of all rows looked at are added to `loss`.
    """
    for i in range(start, stop):
        if ranked:
            made = _beside_rival(scores, i, labels[i], bias, first, margin, units, loss)
        else:
            right = labels[i] - positive
            made = _against_rest(scores, i, right, bias, first, margin, units, loss)
        if made:
            return i
    units[:] = 0.0
    return stop


@njit(nogil=True)
def _beside_rival(
    scores: Any, i: int, right: int, bias: Any, first: bool, margin: float, units: Any, loss: Any
) -> bool:
    """Whether the right class does not win clearly; then it gains what its rival loses."""
    rival, best = -1, -np.inf
    for c in range(scores.shape[1]):
        score = scores[i, c] + bias[c]
        if c != right and (rival < 0 or score > best):
            best = score
            rival = c
    gap = scores[i, right] + bias[right] - best
    loss[0] += max(0.0, 1.0 - gap)
    if not (gap < margin or (gap == margin and (not first or rival < right))):
        return False
    units[:] = 0.0
    units[right] = 1.0
    units[rival] = -1.0
    return True


@njit(nogil=True)
def _against_rest(
    scores: Any, i: int, right: int, bias: Any, first: bool, margin: float, units: Any, loss: Any
) -> bool:
    """Whether any output has the wrong sign; each of those moves by one unit."""
    made = False
    for c in range(scores.shape[1]):
        target = 1.0 if right == c else -1.0
        gap = target * (scores[i, c] + bias[c])
        loss[0] += max(0.0, 1.0 - gap)
        wrong = gap < margin or (gap == margin and (not first or target > 0.0))
        units[c] = target if wrong else 0.0
        made = made or wrong
    return made
