"""How large the terms of a perceptron's score are: what the rule of ties measures rounding by.

Written out, a score is Σₑ Σⱼ uₑ φⱼ(xₑ) φⱼ(x) + Σ (steps of b), over the updates e. The primal
perceptron adds it up over e first, the dual over j: that is k(xₑ, x), and where k comes from a dot
product, its rounding is relative to Σⱼ |φⱼ(xₑ) φⱼ(x)|, not to k, which may be 0. By Cauchy and
Schwarz, Σ |terms| ≤ ‖φ(x)‖ Σₑ |uₑ| ‖φ(xₑ)‖ + Σ |steps of b|: one running sum, the same in the
primal and in the dual, is taken as the size.

A kernel without dot products, such as the Gaussian, has values that are correct relative to
themselves, however small. A tiny score of tiny terms is then no tie, and the size is
Σₑ |uₑ k(xₑ, x)| + Σ |steps of b|. That costs as much as the score, so the running sum serves as an
upper bound, and only where it leaves a tie open is the size itself computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mercer._arrays import host
from mercer._tiles import cut
from mercer.formula import statistics
from mercer.gram import Gram
from mercer.solvers.online.rule import Rule
from mercer.solvers.online.run import Journal
from mercer.tuning import SCRATCH_BYTES

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
