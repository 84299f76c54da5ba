"""One call of learning: from a memory and a set of examples to the memory after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from mercer._arrays import winners
from mercer._config import get_config
from mercer._examples import joined
from mercer.gram import Gram, diagonal, host_gram
from mercer.kernels import Kernel, Linear
from mercer.solvers.online.budget import BudgetPerceptron, Store
from mercer.solvers.online.dual import DualPerceptron
from mercer.solvers.online.memory import Memory, RunningScores
from mercer.solvers.online.rule import Part, Rule
from mercer.solvers.online.run import Journal, Outcome, Schedule, Tally, run
from mercer.solvers.requirements import resident
from mercer.tuning import SCRATCH_BYTES


def learn_dual(
    gram: Gram,
    labels: np.ndarray,
    memory: Memory,
    schedule: Schedule,
    *,
    earlier: Gram | None = None,
    held: np.ndarray | None = None,
    patience: int = 5,
    start: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[Outcome, Journal]:
    """The kernel perceptron on the examples of a square Gram.

    `earlier`: K between them and the points of the memory. `held`: which examples are held out to
    score it by. `start`: examples and the α they begin with.
    """
    rule, kernel = memory.rule, cast(Kernel, gram.kernel)
    given: list[Part] = []
    if earlier is not None:
        given.append((earlier, memory.alpha, diagonal(kernel, memory.points)))
    if start is not None and len(start[0]):
        given.append((gram.take(columns=start[0]), start[1], gram.diagonal()[start[0]]))
    scores = np.zeros((len(labels), rule.outputs))
    for K, weights, _ in given:
        scores += K @ weights
    before = None if held is None else scores[held] + memory.bias
    make = resident(gram).solver("perceptron", DualPerceptron)
    state = {"bias": memory.bias, "tally": memory.tally, "weights": schedule.weights}
    walker = make(gram, labels, rule, scores=scores, before=given, **state)
    validation = None
    if held is not None and before is not None:

        def block(index: np.ndarray) -> np.ndarray:
            return np.asarray(gram.take(held, index).dense())

        validation = Validation(walker, rule, memory.averaging, labels[held], block, before)
    outcome = run(walker, schedule, validation, patience)
    _back_to_best(outcome, validation, walker.journal, memory)
    memory.absorb(walker.journal, labels, lambda index: kernel.points(gram.points(), index), start)
    return outcome, walker.journal


def learn_primal(
    features: Callable[[Any], Any],
    labels: np.ndarray,
    memory: Memory,
    schedule: Schedule,
    coef: np.ndarray,
    late: np.ndarray,
    reach: np.ndarray,
    *,
    held: np.ndarray | None = None,
    patience: int = 5,
    block: int = 4096,
) -> tuple[Outcome, Journal, np.ndarray, np.ndarray, np.ndarray]:
    """The perceptron on features; gives w after it, Σ (t − 1) u φ and Σ |u| ‖φ‖, too."""
    from mercer.solvers.online.primal import PrimalPerceptron  # which is compiled

    rule = memory.rule
    walker = PrimalPerceptron(
        features,
        labels,
        rule,
        coef,
        late=late,
        reach=reach,
        bias=memory.bias,
        tally=memory.tally,
        weights=schedule.weights,
        block=block,
    )
    validation = None
    if held is not None:
        phi = features(held)
        before = np.asarray(phi @ coef.T) + memory.bias

        def products(positions: np.ndarray) -> np.ndarray:
            return host_gram(Linear(), phi, features(positions)).dense()

        validation = Validation(walker, rule, memory.averaging, labels[held], products, before)
    outcome = run(walker, schedule, validation, patience)
    if _back_to_best(outcome, validation, walker.journal, memory):
        journal = walker.journal
        walker.coef, walker.late = np.array(coef), np.array(late)
        for at in range(0, len(journal), block):
            rows = features(journal.positions[at : at + block])
            units = rule.rate * journal.units[at : at + block]
            walker.coef += np.asarray((rows.T @ units).T)
            times = journal.times[at : at + block] - 1
            walker.late += np.asarray((rows.T @ (units * times[:, None])).T)
    memory.absorb(walker.journal, labels, features if memory.averaging == "vote" else None)
    return outcome, walker.journal, walker.coef, walker.late, walker.reach


def learn_on_budget(
    gram: Gram,
    labels: np.ndarray,
    memory: Memory,
    schedule: Schedule,
    store: Store,
    random: Any,
    *,
    held: np.ndarray | None = None,
    patience: int = 5,
) -> tuple[Outcome, Journal, Store]:
    """The kernel perceptron with at most as many points as the budget of the store."""
    walker = BudgetPerceptron(
        gram,
        labels,
        memory.rule,
        store,
        random=random,
        offset=memory.seen,
        bias=memory.bias,
        bias_late=memory.bias_late,
        tally=memory.tally,
        weights=schedule.weights,
    )
    marks: list[Any] = []

    def keep() -> None:
        n = len(walker.store)
        memory.points = joined(walker.store.points) if n else gram.points(slice(0, 0))
        memory.names = np.array(walker.store.names, dtype=np.int64)
        memory.alpha, memory.late = walker.store.weights[:n].copy(), walker.store.late[:n].copy()
        memory.bias, memory.bias_late = walker.bias.copy(), walker.bias_late.copy()

    def validation() -> float:
        keep()
        state = (walker.store.copy(), walker.bias.copy(), walker.bias_late.copy())
        marks.append((state, replace(walker.tally)))
        scores = np.tile(memory.intercept, (len(labels[held]), 1))
        if len(memory.names):
            scores += host_gram(gram.kernel, gram.points(held), memory.points) @ memory.coef
        return accuracy(scores, labels[held])

    outcome = run(walker, schedule, None if held is None else validation, patience)
    if outcome.best is not None:
        state, memory.tally = marks[outcome.best]
        walker.store, walker.bias, walker.bias_late = state
    keep()
    memory.seen += len(labels)
    return outcome, walker.journal, walker.store


def _back_to_best(
    outcome: Outcome, validation: Validation | None, journal: Journal, memory: Memory
) -> bool:
    """Forget the updates after the best epoch; whether there were any."""
    if validation is None or outcome.best is None:
        return False
    kept, memory.tally = validation.marks[outcome.best]
    if kept == len(journal):
        return False
    journal.cut(kept)
    return True


class Validation:
    """The score of a learner on held-out examples after every epoch: the share it gets right.

    Scores are kept between epochs, so that an epoch costs only k between the held-out examples and
    those that it added. `marks` lead back to an epoch.

    `block(positions)` is K between the held-out examples and some of those learned from; `scores`
    are those of the predictor that the run starts from, b included.
    """

    def __init__(
        self,
        walker: Any,
        rule: Rule,
        averaging: str,
        labels: np.ndarray,
        block: Callable[[np.ndarray], np.ndarray],
        scores: np.ndarray,
    ) -> None:
        self.labels: np.ndarray = labels
        self.block: Callable[[np.ndarray], np.ndarray] = block
        self.rule: Rule = rule
        self.journal: Journal = walker.journal
        self.tally: Tally = walker.tally
        self.running: RunningScores = RunningScores(len(labels), rule, averaging, scores)
        self.marks: list[tuple[int, Tally]] = []
        self._done = 0

    def __call__(self) -> float:
        limit = min(SCRATCH_BYTES, get_config().memory_bytes // 4)
        step = max(1, limit // (8 * len(self.labels)))
        while self._done < len(self.journal):
            new = slice(self._done, min(self._done + step, len(self.journal)))
            K = self.block(self.journal.positions[new])
            self.running.add(K, self.rule.rate * self.journal.units[new], self.journal.times[new])
            self._done = new.stop
        self.marks.append((len(self.journal), replace(self.tally)))
        return accuracy(self.running.scores(self.tally.visits), self.labels)


def accuracy(scores: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(winners(scores) == labels))
