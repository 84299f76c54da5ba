"""What the primal and the dual perceptron share: options, labels, the record of a run, teaching."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np

from mercer._arrays import host, winners
from mercer._config import config
from mercer._lazy import record
from mercer._notices import NumericalWarning, warn
from mercer._parameters import (
    Count,
    Flag,
    Maybe,
    NonNegative,
    Number,
    OneOf,
    Positive,
    checked,
    random_from,
)
from mercer._steps import recorded
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import ClassifierMixin, check_fitted, classes_of, encode, labels_at
from mercer.learners._options import NotConverged, class_factors, labeled, weights_or_none
from mercer.solvers.online.memory import Memory
from mercer.solvers.online.rule import Rule
from mercer.solvers.online.run import Journal, Outcome, Schedule, Visits


@record
class Visit:
    """One visit of a perceptron: what it saw, what it said, and what it then was.

    `score` is f(x) before the update (one number per output, b included); `alpha` (signed, one row
    per example), `intercept`, `squared_norm` ‖w‖², `alignment` ⟨w, w*⟩ and the number of `mistakes`
    so far are those after it.
    """

    epoch: int
    index: int
    score: Any
    predicted: Any
    target: Any
    updated: bool
    alpha: np.ndarray
    intercept: Any
    squared_norm: float
    alignment: float | None
    mistakes: int


@record
class Trace:
    """Every visit of a perceptron as arrays, one entry per visit (rows: one column per output).

    `score` is f(x) before the update, `update` what was added to α of the visited example;
    `mistakes` so far, `intercept`, `squared_norm` ‖w‖² and `alignment` ⟨w, w*⟩ are those after it.
    """

    epoch: np.ndarray
    index: np.ndarray
    score: np.ndarray
    predicted: np.ndarray
    target: np.ndarray
    update: np.ndarray
    mistakes: np.ndarray
    intercept: np.ndarray
    squared_norm: np.ndarray
    alignment: np.ndarray | None
    #: Whole updates and what each is multiplied by: 0.1 three times is 0.3.
    units: np.ndarray
    rate: float
    #: The perceptron that made these visits, fitted.
    model: Any = None

    def __len__(self) -> int:
        return len(self.index)

    def visits(self, n_examples: int) -> Iterator[Visit]:
        """The same as records, each with a copy of α."""
        one = self.score.shape[1] == 1
        counts = np.zeros((n_examples, self.score.shape[1]))
        for t, i in enumerate(self.index):
            counts[i] += self.units[t]
            alpha, b, f = self.rate * counts, self.intercept[t], self.score[t]
            yield Visit(
                int(self.epoch[t]),
                int(i),
                float(f[0]) if one else f,
                self.predicted[t],
                self.target[t],
                bool(self.update[t].any()),
                alpha[:, 0] if one else alpha,
                float(b[0]) if one else b,
                float(self.squared_norm[t]),
                None if self.alignment is None else float(self.alignment[t]),
                int(self.mistakes[t]),
            )


#: The rule of `epochs`, which both perceptrons take right behind what they are made of.
EPOCHS = Positive(why="a part of a pass is allowed: 0.5 visits half of the examples")


@estimator
class PerceptronBase(ClassifierMixin):
    """Options, labels and the record of a run; a subclass learns and scores."""

    classes_: np.ndarray = field(init=False)
    _memory: Memory = field(init=False)

    _: KW_ONLY
    fit_intercept: bool = parameter(Flag(), default=False)
    averaging: str = parameter(OneOf("last", "average", "vote"), default="last")
    tie: str = parameter(OneOf("mistake", "first"), default="mistake")
    margin: float = parameter(NonNegative(), default=0.0)
    learning_rate: float = parameter(Positive(why="with 0 nothing is learned"), default=1.0)
    multi_class: str = parameter(OneOf("native", "ovr"), default="native")
    max_updates: int | None = parameter(Maybe(Count()), default=None)
    validation_fraction: float | None = parameter(
        Maybe(Number(0, 1, open_low=True, open_high=True)), default=None
    )
    n_iter_no_change: int = parameter(Count(), default=5)
    class_weight: Any = None
    shuffle: bool = parameter(Flag(), default=True)
    random_state: Any = None

    # --- options ----------------------------------------------------------------------------

    def _rule(self) -> Rule:
        n = len(self.classes_)
        ranked = n > 2 and self.multi_class == "native"
        outputs = 1 if n == 2 else n
        margin, rate = float(self.margin), float(self.learning_rate)
        return Rule(outputs, ranked, self.tie == "first", margin, rate, bool(self.fit_intercept))

    def _most_updates(self) -> float:
        return math.inf if self.max_updates is None else int(self.max_updates)

    def _hold_out(self, y: np.ndarray, random: Any) -> tuple[Any, np.ndarray | None]:
        """The positions to learn from, in order, and those to be judged by."""
        n = len(y)
        if self.validation_fraction is None:
            return n, None
        from sklearn.model_selection import train_test_split  # which loads much

        train, held = train_test_split(
            np.arange(n), test_size=self.validation_fraction, stratify=y, random_state=random
        )
        return np.sort(train), np.sort(held)

    # --- labels -----------------------------------------------------------------------------

    def _labels_so_far(self, y: np.ndarray, classes: Any) -> np.ndarray:
        """For `partial_fit`: the classes are those of the first call."""
        name = type(self).__name__
        if not hasattr(self, "_memory"):
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self.classes_ = classes_of(np.asarray(classes), name)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"`classes={list(np.unique(classes))}` is not the same as on last call to "
                f"partial_fit, was: {list(self.classes_)}"
            )
        return encode(y, self.classes_)

    def _weights_so_far(self, labels: np.ndarray, weights: Any) -> np.ndarray | None:
        """For `partial_fit`: the weights of examples times those of their classes."""
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs the labels of all examples, which "
                "partial_fit does not see: give a weight per class, or use fit"
            )
        factors = class_factors(self.classes_, labels, None, self.class_weight)
        if factors is None:
            return None if weights is None else np.asarray(weights)
        return factors[labels] if weights is None else weights * factors[labels]

    # --- learning ---------------------------------------------------------------------------

    def _begin(self, X: Any, y: Any, given: Any, random: Any) -> Any:
        """What a subclass sets before its first call of `_learn`; gives the start for that."""
        raise NotImplementedError

    def _learn(self, X: Any, labels: np.ndarray, schedule: Schedule, held: Any, start: Any) -> Any:
        """Visit the examples and set the attributes of the predictor: the outcome, the journal."""
        raise NotImplementedError

    def _fit(
        self, X: Any, y: np.ndarray, given: Any, intercept: Any, sample_weight: Any = None
    ) -> Self:
        """Learn from nothing, or from a given α or w, and b."""
        weights = weights_or_none(sample_weight, X)
        who = type(self).__name__
        self.classes_, labels, weights = labeled(who, y, weights, self.class_weight)
        rule, random = self._rule(), random_from(self.random_state)
        examples, held = self._hold_out(y, random)
        held = None if held is None else with_weight(held, weights)
        examples, order = with_weight(examples, weights), random if self.shuffle else None
        epochs, most = float(self.epochs), self._most_updates()  # type: ignore[attr-defined]
        schedule = Schedule(examples, epochs, order, most, weights)
        self._memory = Memory(rule, self.averaging, given_bias(intercept, rule.outputs))
        start = self._begin(X, y, given, random)
        outcome, journal = self._learn(X, labels, schedule, held, start)
        self.n_iter_: int = outcome.epochs
        self._record(outcome, journal, fresh=True)
        if getattr(self, "_store", None) is None:
            self._warn_of_mistakes(outcome, held)
        return self

    def _go_on(self, X: Any, y: np.ndarray, classes: Any, sample_weight: Any = None) -> Self:
        """One pass over X in the order given, from where the last call stopped."""
        first, labels = not hasattr(self, "_memory"), self._labels_so_far(y, classes)
        weights = self._weights_so_far(labels, weights_or_none(sample_weight, X))
        if first:
            self._memory = Memory(self._rule(), self.averaging)
            self._begin(X, y, None, random_from(self.random_state))
            self.n_iter_ = 0
        examples = with_weight(len(labels), weights)
        schedule = Schedule(examples, 1.0, None, self._most_updates(), weights)
        offset = self._memory.seen
        outcome, journal = self._learn(X, labels, schedule, None, None)
        self.n_iter_ += 1
        fresh = first or getattr(self, "_store", None) is not None
        self._record(outcome, journal, fresh=fresh, offset=offset)
        return self

    # --- the record of a run ----------------------------------------------------------------

    def _record(self, outcome: Outcome, journal: Journal, *, fresh: bool, offset: int = 0) -> None:
        """Attributes that say what happened; with `fresh`, earlier calls are not counted in."""
        tally, rule = self._memory.tally, self._memory.rule
        made = np.repeat(journal.positions + offset, rule.updates(journal.units))
        if fresh:
            self.mistakes_, self.history_ = made, outcome.history
        else:
            self.mistakes_ = np.concatenate([self.mistakes_, made])
            last = len(self.history_)
            self.history_ = self.history_ + [
                record | {"epoch": last + record["epoch"]} for record in outcome.history
            ]
        self.n_mistakes_: int = tally.updates
        self.n_visits_: int = tally.visits
        self.interrupted_: bool = outcome.interrupted
        self.converged_: bool = outcome.converged
        self._unfinished = outcome.unfinished
        if outcome.interrupted:
            warn(
                f"{type(self).__name__} was interrupted after {tally.visits} visits and "
                f"{tally.updates} updates. What it has learned so far is kept and can be used.",
                NumericalWarning,
            )

    def _warn_of_mistakes(self: Any, outcome: Outcome, held: Any) -> None:
        """The last predictor is the one of interest, and its last epoch was not clean: say so."""
        stopped = outcome.interrupted or self.n_mistakes_ >= self._most_updates()
        if outcome.converged or stopped or held is not None:
            return
        if self.averaging == "last" and outcome.epochs > 1:
            made = [record["mistakes"] for record in outcome.history]
            warn(
                f"not converged: epoch {outcome.epochs} of {self.epochs:g} still made {made[-1]} "
                f"mistakes (the fewest in an epoch: {min(made)}). The classes overlap in feature "
                "space, or more epochs are needed; averaging='average' does not need convergence.",
                NotConverged,
            )

    # --- predictions ------------------------------------------------------------------------

    def _scores(self, X: Any) -> Any:
        """Scores, one column per output."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> Any:
        """f(x) for every class, or for the second of two; a vote gives shares of the votes."""
        check_fitted(self, "n_mistakes_")
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Any:
        """The class with the highest score; the first one at a tie, or at a score of zero."""
        check_fitted(self, "n_mistakes_")
        scores = self._scores(X)
        return labels_at(winners(scores), self.classes_)

    # --- online learning --------------------------------------------------------------------

    def regret(
        self, expansion: Callable[[Any], Any], X: Any, y: Any, loss: str = "mistakes"
    ) -> float:
        """Σₜ ℓ(fₜ) − Σₜ ℓ(f*): what was lost by learning, against knowing f* from the start.

        `X`, `y` are the examples that were shown, in that order; f* is a `KernelExpansion` (or any
        function that scores examples). ℓ counts updates ("mistakes") or is max(0, 1 − t f)
        ("hinge").
        """
        check_fitted(self, "n_mistakes_")
        checked("regret", "loss", loss, OneOf("mistakes", "hinge"))
        labels = encode(np.asarray(host(y)), self.classes_)
        memory, n = self._memory, len(labels)
        scores = np.asarray(host(expansion(X)), dtype=np.float64).reshape(n, -1)
        if scores.shape[1] != memory.rule.outputs:
            raise ValueError(
                f"f* gives {scores.shape[1]} score(s) an example; the model has "
                f"{memory.rule.outputs} output(s)"
            )
        units, hinge = memory.rule.judge(scores, labels)
        cost = hinge if loss == "hinge" else memory.rule.updates(units)
        visits = np.full(n, self.n_visits_ // n)
        left = self.n_visits_ - int(visits.sum())
        if left:
            if self._unfinished is None or len(self._unfinished) != left:
                raise ValueError(
                    f"the model made {self.n_visits_} visits, which is no number of passes over "
                    f"{n} examples: give all examples that it was shown"
                )
            visits[self._unfinished] += 1
        own = memory.tally.loss if loss == "hinge" else memory.tally.updates
        return float(own - visits @ cost)

    # --- teaching ---------------------------------------------------------------------------

    def _visits(self, X: Any, y: Any) -> Visits:
        """Fit, and give every visit of the predictor that is kept."""
        with warnings.catch_warnings(), config(device="cpu"):
            warnings.simplefilter("ignore", NotConverged)
            parts = recorded(lambda: self.fit(X, y))  # type: ignore[attr-defined]
        columns = ((v.positions, v.scores, v.units) for v in parts)
        return Visits(*(np.concatenate(c)[: self.n_visits_] for c in zip(*columns, strict=True)))

    def _trace(
        self, visits: Visits, y: Any, own: np.ndarray, separator: np.ndarray | None
    ) -> Trace:
        """The record of a run; `own` is k(x, x) and `separator` f* of all examples."""
        rule, at = self._memory.rule, visits.positions
        labels = encode(np.asarray(host(y)), self.classes_)
        lengths = [record["visits"] for record in self.history_]
        update = rule.rate * visits.units
        b = rule.rate * np.cumsum(visits.units, axis=0) * rule.bias
        before = np.vstack([np.zeros((1, rule.outputs)), b])[:-1]
        # ‖w + uφ(x)‖² = ‖w‖² + 2u⟨w, φ(x)⟩ + u²k(x, x)
        grown = 2.0 * (update * (visits.scores - before)).sum(axis=1)
        grown += np.square(update).sum(axis=1) * np.asarray(own, dtype=np.float64)[at]
        aligned = None if separator is None else (update * separator[at]).sum(axis=1).cumsum()
        return Trace(
            np.repeat(np.arange(1, len(lengths) + 1), lengths)[: len(at)],
            at,
            visits.scores,
            self.classes_[winners(visits.scores)],
            self.classes_[labels[at]],
            update,
            np.cumsum(rule.updates(visits.units)),
            b,
            np.cumsum(grown),
            aligned,
            visits.units,
            rule.rate,
            self,
        )


def with_weight(examples: Any, weights: np.ndarray | None) -> Any:
    """Those of the examples (a number of them: the first so many) whose weight is not 0."""
    if weights is None or weights.all():
        return examples
    index = np.arange(examples) if isinstance(examples, int) else examples
    return index[weights[index] > 0]


def given_bias(bias: Any, outputs: int) -> np.ndarray | None:
    """A given b, one number per output."""
    if bias is None:
        return None
    given = np.atleast_1d(np.asarray(bias, dtype=np.float64))
    if given.shape != (outputs,) or not np.isfinite(given).all():
        raise ValueError(f"intercept_init needs {outputs} finite number(s), got {bias!r}")
    return given
