"""Learners whose parameters are chosen on a quarter of the training rows, held out once more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._examples import take
from mercer.learners.catalog import Learner, find, learners
from mercer.selection.racing.clock import Stopwatch
from mercer.selection.scores import class_scores, judged_inside
from mercer.selection.trainers.base import Fold, Outcome, Trainer, decide
from mercer.selection.trainers.ridge import RidgeTrainer

#: The kernel of a fold, whose matrix is there already.
IN_FOLDS = "precomputed"


class GridTrainer(Trainer):
    """Values of a grid, in order, judged on the inner split; see `climb` for which are tried."""

    def make(self, kernel: Any, index: int, unit: float, spread: float, last: bool = False) -> Any:
        """The learner at an index of the grid."""
        settings = self.grid.settings(self.grid.values[index], unit, spread)
        return self.weighted(self.entry.estimator(self.task)(kernel, **settings), last)

    def weighted(self, model: Any, last: bool) -> Any:
        """With the weights of classes, by number in a fold and by name in the last fit."""
        weight = self.class_weight[last]
        return model if weight is None else model.set_params(class_weight=weight)

    def in_fold(self, index: int, fold: Fold) -> Any:
        """The learner at an index of the grid, for a fold."""
        return self.make(IN_FOLDS, index, fold.unit, fold.spread)

    def moved(self, model: Any, index: int, fold: Fold) -> Any:
        """The learner for the next index, which may start from the last solution."""
        if model is None or not self.grid.warm_start:
            return self.in_fold(index, fold)
        settings = self.grid.settings(self.grid.values[index], fold.unit, fold.spread)
        return model.set_params(**settings, warm_start=True)

    def judge(self, model: Any, cross: np.ndarray, y: np.ndarray, fold: Fold) -> float:
        if self.grid.chosen_by == "log probability":
            return mean_log_probability(model, cross, y)
        return judged_inside(fold.metric, model, cross, y, fold.classes)

    def takes_rows(self, fold: Fold) -> bool:
        """Whether it is fitted on the examples instead of their K."""
        return False

    def blocks(self, fold: Fold) -> tuple[Any, Any]:
        """What is fitted on, and what is predicted for."""
        return fold.examples() if self.takes_rows(fold) else (fold.train, fold.cross)

    def inner_blocks(self, fold: Fold, fit: np.ndarray, judge: np.ndarray) -> tuple[Any, Any]:
        """The same inside the training rows."""
        if self.takes_rows(fold):
            rows = fold.examples()[0]
            return take(rows, fit), take(rows, judge)
        return np.ascontiguousarray(fold.train[np.ix_(fit, fit)]), fold.train[np.ix_(judge, fit)]

    def size(self, fold: Fold) -> int:
        """How many values of the grid make sense here."""
        values = self.grid.values
        if not self.grid.at_most_rows:
            return len(values)
        most = len(fold.inner()[0])
        return max(1, sum(k <= most for k in values))

    def search(self, fold: Fold, start: int | None, size: int) -> dict[int, float]:
        """How good the first `size` values of the grid are, as far as they are tried."""
        fit, judge = fold.inner()
        block, cross = self.inner_blocks(fold, fit, judge)
        model: Any = None

        def score(index: int) -> float:
            nonlocal model
            model = self.moved(model, index, fold)
            model.fit(block, fold.y[fit])
            return self.judge(model, cross, fold.y[judge], fold)

        return climb(score, start, size)

    def fold(self, fold: Fold, start: int | None) -> Outcome:
        watch = Stopwatch()
        size = self.size(fold)
        tried = self.search(fold, start, size) if size > 1 else {}
        pick = smoothed_best(tried) if tried else 0
        model = self.in_fold(pick, fold)
        chosen = watch.seconds()
        found = self.outcome(model, fold, self.blocks(fold), pick, tried)
        return replace(found, choose_seconds=chosen)

    def outcome(
        self,
        model: Any,
        fold: Fold,
        rows: tuple[Any, Any],
        pick: int,
        tried: dict[int, float],
    ) -> Outcome:
        """Fit on the training rows, predict the test rows, and say what that took."""
        watch = Stopwatch()
        model.fit(rows[0], fold.y)
        fit_seconds, watch = watch.seconds(), Stopwatch()
        predicted, certainty = predictions(model, rows[1], fold.classes)
        predict_seconds = watch.seconds()
        scores, probable = None, False
        if fold.with_scores:
            scores, probable = class_scores(model, rows[1], fold.classes)
        kept = self.support(model, len(fold.y)), fit_seconds, predict_seconds
        memory = self.memory(model)
        return Outcome(predicted, certainty, *kept, pick, tried, memory, scores, probable)

    def picked(self, outcomes: Sequence[Outcome]) -> int:
        return pooled_best(outcomes)

    def final(self, kernel: Any, outcomes: Sequence[Outcome], unit: float, y: Any) -> Any:
        spread = float(np.std(y)) if self.task == "regression" else 1.0
        model = self.make(kernel, self.picked(outcomes), unit, spread or 1.0, last=True)
        centers = self.centers_for(len(y)) if self.entry.name == "ridge" else None
        return model.set_params(solver="nystrom", n_centers=centers) if centers else model


class VectorTrainer(GridTrainer):
    """A learner that is faster on the examples than on K, where k has a formula."""

    def in_fold(self, index: int, fold: Fold) -> Any:
        return self.make(fold.kernel or IN_FOLDS, index, fold.unit, fold.spread)

    def takes_rows(self, fold: Fold) -> bool:
        return fold.kernel is not None


class ScaleTrainer(GridTrainer):
    """A learner that takes the examples themselves and finds its own bandwidth."""

    def fold(self, fold: Fold, start: int | None) -> Outcome:
        model = self.make("gaussian(1)", 0, fold.unit, fold.spread)
        return self.outcome(model, fold, fold.examples(), 0, {})


def mean_log_probability(model: Any, cross: np.ndarray, y: np.ndarray) -> float:
    """The mean logarithm of the probability of the truth, which ties less often than a share."""
    index = np.searchsorted(model.classes_, y)
    known = index < len(model.classes_)
    known[known] = model.classes_[index[known]] == y[known]
    log = model.predict_log_proba(cross)
    picked = log[np.arange(len(y)), np.where(known, index, 0)]
    return float(np.mean(np.where(known, np.maximum(picked, -20.0), -20.0)))


def climb(score: Callable[[int], float], start: int | None, size: int) -> dict[int, float]:
    """Scores by index of a grid: upwards until they fall twice in a row; or around a start.

    The start is what the same training rows chose when fewer of them were drawn.
    """
    tried: dict[int, float] = {}
    if start is None:
        falls = 0
        for index in range(size):
            before = max(tried.values(), default=-math.inf)
            tried[index] = score(index)
            falls = falls + 1 if tried[index] < before else 0
            if falls >= 2:
                break
        return tried
    for index in range(max(0, start - 1), min(size, start + 2)):
        tried[index] = score(index)
    while True:
        low, high = min(tried), max(tried)
        best = smoothed_best(tried)
        if (
            best == high
            and high + 1 < size
            and tried[high] > tried[high - 1 if high > low else high]
        ):
            tried[high + 1] = score(high + 1)
        elif best == low and low > 0 and tried[low] > tried[low + 1 if low < high else low]:
            tried[low - 1] = score(low - 1)
        else:
            return tried


def smoothed_best(tried: dict[int, float]) -> int:
    """The best index when each score is averaged with its neighbors'; of equals the first.

    One held-out quarter is a noisy judge; a parameter whose neighbors do well is a safer choice.
    """
    best, value = -1, -math.inf
    for index in sorted(tried):
        score = smoothed(tried, index)
        if score > value + 1e-12:
            best, value = index, score
    return best


def smoothed(tried: dict[int, float], index: int) -> float:
    """The score at an index, averaged with those of its neighbors."""
    near = [tried[i] for i in (index - 1, index + 1) if i in tried]
    return (2 * tried[index] + sum(near)) / (2 + len(near))


def pooled_best(outcomes: Sequence[Outcome]) -> int:
    """Of the indices that some fold has chosen, the one that is best over all folds.

    Only those have been judged on rows held out; a value between them that no fold has tried would
    be a guess.
    """
    pooled: dict[int, list[float]] = {}
    for found in outcomes:
        worst = min(found.tried.values(), default=0.0)
        for index in {i for o in outcomes for i in o.tried}:
            pooled.setdefault(index, []).append(found.tried.get(index, worst))
    mean = {index: float(np.mean(values)) for index, values in pooled.items()}
    chosen = sorted({o.pick for o in outcomes})
    return max(chosen, key=lambda index: (smoothed(mean, index), -index)) if mean else chosen[0]


def predictions(model: Any, cross: Any, classes: int) -> tuple[np.ndarray, np.ndarray]:
    predicted = np.asarray(model.predict(cross))
    certainty = np.full(len(predicted), np.nan)
    if classes and hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(cross))
        certainty = decide(scores, classes)[1]
    return predicted, certainty


def trainer_of(
    entry: Learner, task: str, class_weight: tuple[Any, Any], one_by_one: bool = True
) -> Trainer:
    by_formula = entry.grid_for(task).chosen_by == "leave-one-out" and one_by_one
    kind: type[Trainer] = VectorTrainer if entry.name == "svm" else GridTrainer
    kind = ScaleTrainer if entry.chooses_scale else kind
    # The formula knows no weights and no groups; a quarter of the rows held out once more does.
    made = (RidgeTrainer if by_formula and class_weight[0] is None else kind)(entry, task)
    made.class_weight = class_weight
    return made


def names_of_learners(given: Iterable[Any]) -> list[str]:
    """What `compare` is given as learners; an estimator is told where it belongs."""
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"learners takes names such as 'ridge' or 'svm', got {name!r:.80}; an estimator of "
                "your own goes to rivals=[…]"
            )
    return names


def trainers_for(
    task: str,
    names: Iterable[str] | None = None,
    class_weight: tuple[Any, Any] = (None, None),
    one_by_one: bool = True,
) -> dict[str, Trainer]:
    """The learners named, or those of the catalog that are tried without being asked for.

    The first ones are the cheapest good judges. `class_weight` is for the folds, in which classes
    are numbers, and for the last fit; `one_by_one`: whether rows may be left out one by one.
    """
    if names is None:
        chosen = [entry for entry in learners(task) if entry.raced]
    else:
        chosen = [find(name, task) for name in names]
        if not chosen:
            raise ValueError("learners is empty: name at least one, or leave it out")
    if class_weight[0] is not None:
        chosen = [e for e in chosen if hasattr(e.estimator(task)(), "class_weight")]
        if not chosen:
            raise ValueError("none of these learners knows class_weight")
    return {entry.name: trainer_of(entry, task, class_weight, one_by_one) for entry in chosen}
