"""When a perceptron updates, and how: one rule for the primal, the dual and the budget algorithm.

One output (two classes) or one per class. *Separate* outputs are binary perceptrons, each with
targets t = ±1: update f ← f + η t k(x, ·) when t f(x) ≤ margin. *Ranked* outputs compete: the
rival is the best wrong class, and its f is lowered, that of the right class raised, when
f_right − f_rival ≤ margin. At equality the tie decides: "mistake" updates; "first" updates only
where the first of the two (the negative side, the lower class) is the wrong one.

Equal means equal up to rounding. A score is a sum, and two ways to add the same terms differ by a
few ε Σ |terms|: what lies within `TIE` Σ |terms|, `TIE` times the *size* of the score, is a tie. So
the primal and the dual perceptron, and blocks of any size, decide alike where the exact score is 0.
Which terms those are, and what they cost, says `mercer.solvers.online.rule`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mercer._arrays import host
from mercer._lazy import record
from mercer._tiles import cut
from mercer.formula import statistics
from mercer.gram import Gram
from mercer.solvers.online.run import Journal, Tally
from mercer.tuning import SCRATCH_BYTES

#: A score this small, relative to the sum of the absolute values of its terms, is a tie.
TIE = 8.0 * float(np.finfo(np.float64).eps)
#: What a row of scores calls for; OPEN: exact sizes are needed to tell.
NONE, UPDATE, OPEN = range(3)


@record
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
        """How many updates the rows of `units` make: one per ranked row, else one per output."""
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
        units, sizes = np.zeros(scores.shape), np.abs(scores)
        losses = np.empty(len(scores))
        for i in range(len(scores)):
            loss = np.zeros(1)
            next_update(scores, sizes, True, labels, i, i + 1, np.zeros(self.outputs),
                        *self.numbers, units[i], loss)  # fmt: skip
            losses[i] = loss[0]
        return units, losses


def next_update(
    scores: Any,
    sizes: Any,
    exact: bool,
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

    `sizes` are Σ |terms| of the scores with b, or, if not `exact`, upper bounds of them. Bounds may
    leave open whether row i is a tie; the answer is ~i then, and the row must be asked about again
    with exact sizes. The hinge losses of all rows looked at are added to `loss`.
    """
    for i in range(start, stop):
        if ranked:
            made = _beside_rival(
                scores, sizes, exact, i, labels[i], bias, first, margin, units, loss
            )
        else:
            right = labels[i] - positive
            made = _against_rest(scores, sizes, exact, i, right, bias, first, margin, units, loss)
        if made == OPEN:
            return ~i
        if made == UPDATE:
            return i
    units[:] = 0.0
    return stop


def _beside_rival(
    scores: Any, sizes: Any, exact: bool, i: int, right: int, bias: Any, first: bool, margin: float,
    units: Any, loss: Any,
) -> int:  # fmt: skip
    """Whether the right class does not win clearly; then it gains what its rival loses."""
    rival, best = -1, -np.inf
    for c in range(scores.shape[1]):
        score = scores[i, c] + bias[c]
        if c != right and (rival < 0 or score > best):
            best = score
            rival = c
    gap = scores[i, right] + bias[right] - best
    within = TIE * (sizes[i, right] + sizes[i, rival] + margin)
    if gap > margin + within:
        loss[0] += max(0.0, 1.0 - gap)
        return NONE
    tie = abs(gap - margin) <= within
    if tie and not exact and gap != margin:
        return OPEN
    lowest = _lowest_equal(scores, sizes, i, right, rival, bias)
    if lowest != rival and not exact:
        return OPEN
    rival = lowest
    loss[0] += max(0.0, 1.0 - gap)
    if tie and first and rival > right:
        return NONE
    units[:] = 0.0
    units[right] = 1.0
    units[rival] = -1.0
    return UPDATE


def _lowest_equal(scores: Any, sizes: Any, i: int, right: int, rival: int, bias: Any) -> int:
    """The lowest of the wrong classes whose scores are the rival's, up to rounding."""
    best = scores[i, rival] + bias[rival]
    for c in range(rival):
        if c != right and best - scores[i, c] - bias[c] <= TIE * (sizes[i, c] + sizes[i, rival]):
            return c
    return rival


def _against_rest(
    scores: Any, sizes: Any, exact: bool, i: int, right: int, bias: Any, first: bool, margin: float,
    units: Any, loss: Any,
) -> int:  # fmt: skip
    """Whether any output has the wrong sign; each of those moves by one unit."""
    made, lost = NONE, 0.0
    for c in range(scores.shape[1]):
        target = 1.0 if right == c else -1.0
        gap = target * (scores[i, c] + bias[c])
        tie = abs(gap - margin) <= TIE * (sizes[i, c] + margin)
        if tie and not exact and gap != margin:
            return OPEN
        lost += max(0.0, 1.0 - gap)
        units[c] = 0.0
        if (not first or target > 0.0) if tie else gap < margin:
            units[c] = target
            made = UPDATE
    loss[0] += lost
    return made


def add_update(
    scores: Any, sizes: Any, start: int, stop: int, column: Any, terms: Any, weights: Any,
    learns: bool,
) -> None:  # fmt: skip
    """scores += k(x, xₑ) u on some rows, sizes += |term| |u|; `learns`: b gets u, too."""
    scores[start:stop] += column[:, None] * weights
    sizes[start:stop] += (np.abs(terms) + float(learns))[:, None] * np.abs(weights)


class HostWalker:
    """What the algorithms of the host go on from: labels, b, what was counted so far, weights."""

    def __init__(
        self,
        labels: np.ndarray,
        rule: Rule,
        bias: Any = None,
        tally: Any = None,
        weights: Any = None,
    ) -> None:
        self.rule: Rule = rule
        self.labels: np.ndarray = np.ascontiguousarray(labels, dtype=np.int64)
        self.bias: Any = np.zeros(rule.outputs) if bias is None else np.array(bias, dtype=float)
        self.tally: Tally = Tally() if tally is None else tally
        self.weights: np.ndarray = np.ones(len(labels)) if weights is None else weights
        self.journal: Journal = Journal(rule.outputs)


#: The functions that compiled loops call.
RULE = (_lowest_equal, _beside_rival, _against_rest, next_update)


# How large the terms of a perceptron's score are: what the rule of ties measures rounding by.
# Written out, a score is Σₑ Σⱼ uₑ φⱼ(xₑ) φⱼ(x) + Σ (steps of b), over the updates e. The primal
# perceptron adds it up over e first, the dual over j: that is k(xₑ, x), and where k comes from a
# dot product, its rounding is relative to Σⱼ |φⱼ(xₑ) φⱼ(x)|, not to k, which may be 0. By Cauchy
# and Schwarz, Σ |terms| ≤ ‖φ(x)‖ Σₑ |uₑ| ‖φ(xₑ)‖ + Σ |steps of b|: one running sum, the same in
# the primal and in the dual, is taken as the size.
#
# A kernel without dot products, such as the Gaussian, has values that are correct relative to
# themselves, however small. A tiny score of tiny terms is then no tie, and the size is Σₑ |uₑ
# k(xₑ, x)| + Σ |steps of b|. That costs as much as the score, so the running sum serves as an
# upper bound, and only where it leaves a tie open is the size itself computed.


#: A summand of a score: K between all examples and some points, their coefficients and k(x, x).
Part = tuple[Gram, np.ndarray, Any]


class Sizes:
    """The sizes of the scores of a dual perceptron, after the updates of a journal.

    `before` and `bias`: what the scores began with. For a kernel that is not positive semi-definite
    √k(x, x) √k(z, z) bounds nothing, and a tie may go unseen.
    """

    def __init__(
        self, gram: Gram, rule: Rule, journal: Journal, before: Sequence[Part], bias: np.ndarray
    ) -> None:
        self._gram, self._rule, self._journal, self._before = gram, rule, journal, before
        #: Whether `bounds` are the sizes.
        self.final: bool = any(node.op == "dot" for node in statistics(gram.formula))
        self.norms: np.ndarray = norms(gram.diagonal())
        self.reach: np.ndarray = np.zeros(rule.outputs)
        for _, weights, own in before:
            self.reach += norms(own) @ np.abs(weights)
        self._bias = np.abs(bias)
        # Sums per example, and how many updates are in them; −1: not even `before`.
        self._sums = np.zeros((0, rule.outputs))
        self._included = np.full(len(self.norms), -1)

    def add(self, positions: np.ndarray, weights: np.ndarray) -> None:
        """Take in updates of the journal."""
        steps = np.abs(weights)
        self.reach += self.norms[positions] @ steps
        if self._rule.bias:
            self._bias = self._bias + steps.sum(axis=0)

    def bounds(self, rows: Any) -> np.ndarray:
        """The sizes of the scores of these rows, or upper bounds of them."""
        return np.multiply.outer(self.norms[rows], self.reach) + self._bias

    def terms(self, rows: Any, position: int) -> np.ndarray:
        """Upper bounds of |k| between these rows and an example; the sizes, if they are final."""
        return np.asarray(self.norms[rows] * self.norms[position])

    def exact(self, rows: Any) -> np.ndarray:
        """The sums over all updates for these rows, by products; no k is evaluated again later."""
        if not len(self._sums):
            self._sums = np.zeros((len(self.norms), self._rule.outputs))
        index = np.arange(len(self.norms))[rows]
        for included in np.unique(self._included[index]):
            some = index[self._included[index] == included]
            for K, weights in self._parts_since(int(included)):
                part = K.take(rows=some)
                for columns in cut(0, len(weights), max(1, SCRATCH_BYTES // (8 * len(some)))):
                    block = np.abs(host(part.take(columns=columns).dense()))
                    self._sums[some] += block @ np.abs(weights[columns])
            self._included[some] = len(self._journal)
        return self._sums[index] + self._bias

    def _parts_since(self, included: int) -> Iterator[tuple[Gram, np.ndarray]]:
        """What sums that hold so many updates lack."""
        if included < 0:
            yield from ((K, weights) for K, weights, _ in self._before)
        new = slice(max(included, 0), len(self._journal))
        positions, at = np.unique(self._journal.positions[new], return_inverse=True)
        if len(positions):
            steps = np.zeros((len(positions), self._rule.outputs))
            np.add.at(steps, at, self._rule.rate * np.abs(self._journal.units[new]))
            yield self._gram.take(columns=positions), steps


def norms(diagonal: Any) -> np.ndarray:
    """‖φ(x)‖ = √k(x, x), rounded up: a kernel in single precision is known to seven digits."""
    return np.asarray(1.001 * np.sqrt(np.abs(np.asarray(host(diagonal), dtype=np.float64))))
