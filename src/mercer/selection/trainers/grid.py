"""Learners whose parameters are chosen on a quarter of the training rows, held out once more."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.kernels import Kernel
from mercer.selection.trainers.base import Fold, Outcome, RidgeTrainer, Trainer, decide


class GridTrainer(Trainer):
    """Places on a grid, in order, judged on the inner split; see `climb` for which are tried."""

    def __init__(self, size: int, start: int = 0) -> None:
        self.size, self.start = size, start

    def make(self, kernel: Any, place: int, unit: float, spread: float) -> Any:
        """The learner at a place on the grid."""
        raise NotImplementedError

    def again(self, model: Any, place: int, unit: float, spread: float) -> Any:
        """The learner for the next place, which may start from the last solution."""
        return self.make("precomputed", place, unit, spread)

    def judge(self, model: Any, cross: np.ndarray, y: np.ndarray, fold: Fold) -> float:
        return fold.metric(y, model.predict(cross))

    def places(self, fold: Fold) -> int:
        """How many places of the grid make sense here."""
        return self.size

    def fold(self, fold: Fold, start: int | None) -> Outcome:
        begin = time.perf_counter()
        tried: dict[int, float] = {}
        pick = self.start
        size = self.places(fold)
        if size > 1:
            fit, judge = fold.inner()
            block = np.ascontiguousarray(fold.train[np.ix_(fit, fit)])
            cross = fold.train[np.ix_(judge, fit)]
            model: Any = None

            def score(place: int) -> float:
                nonlocal model
                if model is None:
                    model = self.make("precomputed", place, fold.unit, fold.spread)
                else:
                    model = self.again(model, place, fold.unit, fold.spread)
                model.fit(block, fold.y[fit])
                return self.judge(model, cross, fold.y[judge], fold)

            tried = climb(score, start, size)
            pick = smoothed_best(tried)
        model = self.make("precomputed", pick, fold.unit, fold.spread)
        model.fit(fold.train, fold.y)
        done = time.perf_counter()
        predicted, certainty = predictions(model, fold.cross, fold.classes)
        end = time.perf_counter()
        support = support_of(model, len(fold.y))
        return Outcome(predicted, certainty, support, done - begin, end - done, pick, tried)

    def final(self, kernel: Kernel, outcomes: Sequence[Outcome], unit: float, y: Any) -> Any:
        pooled: dict[int, list[float]] = {}
        for outcome in outcomes:
            worst = min(outcome.tried.values(), default=0.0)
            for place in range(self.size):
                pooled.setdefault(place, []).append(outcome.tried.get(place, worst))
        means = {place: float(np.mean(values)) for place, values in pooled.items()}
        pick = smoothed_best(means) if self.size > 1 else self.start
        spread = float(np.std(y)) if self.task == "regression" else 1.0
        return self.make(kernel, pick, unit, spread or 1.0)


def climb(score: Callable[[int], float], start: int | None, size: int) -> dict[int, float]:
    """Scores of places on a grid: upwards until they fall twice in a row; or around a start.

    The start is what the same training rows chose when fewer of them were drawn.
    """
    tried: dict[int, float] = {}
    if start is None:
        falls = 0
        for place in range(size):
            before = max(tried.values(), default=-math.inf)
            tried[place] = score(place)
            falls = falls + 1 if tried[place] < before else 0
            if falls >= 2:
                break
        return tried
    for place in range(max(0, start - 1), min(size, start + 2)):
        tried[place] = score(place)
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
    """The best place when each score is averaged with its neighbours'; of equals the first.

    One held-out quarter is a noisy judge; a parameter whose neighbours do well is a safer choice.
    """
    best, value = -1, -math.inf
    for place in sorted(tried):
        near = [tried[i] for i in (place - 1, place + 1) if i in tried]
        score = (2 * tried[place] + sum(near)) / (2 + len(near))
        if score > value + 1e-12:
            best, value = place, score
    return best


def predictions(model: Any, cross: Any, classes: int) -> tuple[np.ndarray, np.ndarray]:
    predicted = np.asarray(model.predict(cross))
    certainty = np.full(len(predicted), np.nan)
    if classes and hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(cross))
        certainty = decide(scores, classes)[1]
    return predicted, certainty


def support_of(model: Any, n: int) -> int:
    support = getattr(model, "support_", None)
    if support is not None:
        return len(support)
    coef = getattr(getattr(model, "expansion_", None), "coef", None)
    if coef is None:
        return n
    return int(np.any(np.asarray(coef).reshape(len(coef), -1) != 0, axis=1).sum())


class SVCTrainer(GridTrainer):
    """C on a grid relative to 1 / mean k(x, x), each solution the start of the next."""

    learner, task = "KernelSVC", "classification"
    grid = (0.1, 0.4, 1.5, 6.0, 25.0, 100.0)

    def __init__(self) -> None:
        super().__init__(len(self.grid))

    def make(self, kernel: Any, place: int, unit: float, spread: float) -> Any:
        from mercer.learners import KernelSVC

        return KernelSVC(kernel, C=self.grid[place] / unit)

    def again(self, model: Any, place: int, unit: float, spread: float) -> Any:
        return model.set_params(C=self.grid[place] / unit, warm_start=True)


class SVRTrainer(GridTrainer):
    """C in units of the spread of the targets; the tube is a twentieth of it."""

    learner, task = "KernelSVR", "regression"
    grid = (0.5, 2.0, 8.0, 32.0, 128.0)
    tube = 0.05

    def __init__(self) -> None:
        super().__init__(len(self.grid))

    def make(self, kernel: Any, place: int, unit: float, spread: float) -> Any:
        from mercer.learners import KernelSVR

        C, epsilon = self.grid[place] * spread / unit, self.tube * spread
        return KernelSVR(kernel, C=C, epsilon=epsilon, tol=1e-3 * spread)

    def again(self, model: Any, place: int, unit: float, spread: float) -> Any:
        return model.set_params(C=self.grid[place] * spread / unit, warm_start=True)


class LogisticTrainer(GridTrainer):
    learner, task = "KernelLogisticRegression", "classification"
    grid = (1.0, 0.1, 0.01, 0.001)
    exponent = 2.3

    def __init__(self) -> None:
        super().__init__(len(self.grid))

    def make(self, kernel: Any, place: int, unit: float, spread: float) -> Any:
        from mercer.learners import KernelLogisticRegression

        return KernelLogisticRegression(kernel, alpha=self.grid[place] * unit, random_state=0)

    def judge(self, model: Any, cross: np.ndarray, y: np.ndarray, fold: Fold) -> float:
        """The mean logarithm of the probability of the truth, which ties less than a share."""
        place = np.searchsorted(model.classes_, y)
        known = place < len(model.classes_)
        known[known] = model.classes_[place[known]] == y[known]
        log = model.predict_log_proba(cross)
        picked = log[np.arange(len(y)), np.where(known, place, 0)]
        return float(np.mean(np.where(known, np.maximum(picked, -20.0), -20.0)))


class PerceptronTrainer(GridTrainer):
    learner, task = "KernelPerceptron", "classification"

    def __init__(self) -> None:
        super().__init__(1)

    def make(self, kernel: Any, place: int, unit: float, spread: float) -> Any:
        from mercer.learners import KernelPerceptron

        return KernelPerceptron(kernel, epochs=10, averaging="average", random_state=0)


class NeighboursTrainer(GridTrainer):
    grid = (1, 3, 5, 9, 17, 33)

    def __init__(self, task: str) -> None:
        super().__init__(len(self.grid))
        self.task = task
        kind = "Classifier" if task == "classification" else "Regressor"
        self.learner = f"KernelNeighbors{kind}"

    def make(self, kernel: Any, place: int, unit: float, spread: float) -> Any:
        import mercer.learners as learners

        return getattr(learners, self.learner)(kernel, n_neighbors=self.grid[place])

    def places(self, fold: Fold) -> int:
        most = len(fold.inner()[0])
        return max(1, sum(k <= most for k in self.grid))


class SmootherTrainer(Trainer):
    """Its bandwidth is chosen by leave-one-out from the examples themselves."""

    needs_examples = True
    only_weights = True
    exponent = 2.0

    def __init__(self, task: str) -> None:
        self.task = task
        kind = "Classifier" if task == "classification" else "Regressor"
        self.learner = f"NadarayaWatson{kind}"

    def _make(self, kernel: Any) -> Any:
        import mercer.learners as learners

        return getattr(learners, self.learner)(kernel, bandwidth="loo")

    def fold(self, fold: Fold, start: int | None) -> Outcome:
        begin = time.perf_counter()
        X, test = fold.examples()
        model = self._make("gaussian(1)").fit(X, fold.y)
        done = time.perf_counter()
        predicted, certainty = predictions(model, test, fold.classes)
        end = time.perf_counter()
        return Outcome(predicted, certainty, len(fold.y), done - begin, end - done, 0)

    def final(self, kernel: Kernel, outcomes: Sequence[Outcome], unit: float, y: Any) -> Any:
        return self._make(kernel)


def trainers_for(task: str) -> dict[str, Trainer]:
    """Every learner of a task, by a short name; the first ones are the cheapest good judges."""
    if task == "classification":
        return {
            "ridge": RidgeTrainer(task),
            "svm": SVCTrainer(),
            "logistic": LogisticTrainer(),
            "perceptron": PerceptronTrainer(),
            "neighbours": NeighboursTrainer(task),
            "smoother": SmootherTrainer(task),
        }
    return {
        "ridge": RidgeTrainer(task),
        "svm": SVRTrainer(),
        "neighbours": NeighboursTrainer(task),
        "smoother": SmootherTrainer(task),
    }
