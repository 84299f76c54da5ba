"""Learners at work on one fold of a shared kernel matrix, their parameters chosen inside it.

A trainer sees the training block of K, its targets, and the block of K between test and training
rows; nothing about the test targets. Penalties of ridge regression are chosen by closed-form
leave-one-out errors, all else on a quarter of the training rows held out once more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.gram.base import Gram
from mercer.gram.host import HostGram
from mercer.kernels import Kernel, Precomputed
from mercer.selection.metrics import Metric


@dataclass
class Fold:
    """One fold: `unit` is the mean of k(x, x), by which penalties are measured; `spread` of y."""

    train: np.ndarray
    cross: np.ndarray
    y: np.ndarray
    classes: int  # 0 for regression
    metric: Metric
    unit: float
    seed: int
    examples: Callable[[], tuple[Any, Any]]
    _inner: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def spread(self) -> float:
        return float(np.std(self.y)) or 1.0

    def inner(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions to fit on and positions to judge by, the same for every learner."""
        if self._inner is None:
            random = np.random.default_rng(self.seed)
            order = random.permutation(len(self.y))
            # Every fourth along the sorted targets: both parts see the same distribution.
            order = order[np.argsort(self.y[order], kind="stable")]
            held = np.zeros(len(order), dtype=bool)
            held[order[random.integers(4) :: 4]] = True
            if self.classes and len(np.unique(self.y[~held])) < 2:
                held[:] = False
                held[order[-1]] = True
            self._inner = np.flatnonzero(~held), np.flatnonzero(held)
        return self._inner


@dataclass(frozen=True)
class Outcome:
    """Predictions for the test rows and what they took; `tried` maps places on the grid to how
    good they were inside the training rows."""

    predicted: np.ndarray
    certainty: np.ndarray
    n_support: int
    fit_seconds: float
    predict_seconds: float
    pick: int
    tried: dict[int, float] = field(default_factory=dict)


class Trainer:
    """A learner with a grid of parameters to choose from."""

    learner: str
    task: str
    #: How the seconds of a fit grow with the rows, until two stages have shown it.
    exponent = 1.8
    #: Whether it takes any kernel, or only those that are weights (k ≥ 0, decaying).
    only_weights = False
    needs_examples = False

    @property
    def name(self) -> str:
        return self.learner

    def fold(self, fold: Fold, start: int | None) -> Outcome:
        """`start`: the place on the grid that was best for another fold, where known."""
        raise NotImplementedError

    def final(self, kernel: Kernel, outcomes: Sequence[Outcome], unit: float, y: Any) -> Any:
        """The learner to fit on all rows, its parameters chosen from what all folds found."""
        raise NotImplementedError

    def final_seconds(
        self, outcomes: Sequence[Outcome], train: float, n: int, exponent: float
    ) -> float:
        """What `final` will take on n rows, from folds of `train` rows."""
        fit = float(np.median([o.fit_seconds for o in outcomes]))
        # The choice on a grid is part of a fold's fit, and not of the last one.
        share = 1.0 if len(outcomes[0].tried) <= 1 else 0.6
        return share * fit * (n / train) ** exponent


# --- ridge ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Penalty:
    """The best place on the grid of penalties, and the solution there."""

    place: int
    error: float
    coef: np.ndarray
    intercept: np.ndarray
    tried: dict[int, float]


#: Rows up to which the last ridge fit looks for its penalty once more, and is exact at all.
AGAIN_ROWS, EXACT_ROWS = 3_000, 8_000
#: Penalties relative to the mean of k(x, x), and where the descent begins.
PENALTIES = tuple(10.0 ** (e / 2) for e in range(-13, 5))
BEGIN = 9


def best_penalty(gram: Gram, targets: np.ndarray, unit: float, start: int | None) -> Penalty:
    """λ of the least leave-one-out error: downhill from a start, one factorisation a step."""
    from mercer.solvers.linear.exact import cholesky_path

    tried: dict[int, float] = {}
    models: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def error(place: int) -> float:
        try:
            found = cholesky_path(gram, targets, np.array([PENALTIES[place] * unit]), None, True)
        except np.linalg.LinAlgError:
            tried[place] = -math.inf
            return math.inf
        value = float(np.mean((found.loo[0] - targets) ** 2))
        tried[place] = -value if math.isfinite(value) else -math.inf
        models[place] = (found.coef[0], found.intercept[0])
        return -tried[place]

    best = descend(error, BEGIN if start is None else start, len(PENALTIES))
    if best not in models:
        raise ValueError("K + λI is singular for every penalty")
    return Penalty(best, -tried[best], *models[best], tried)


class RidgeTrainer(Trainer):
    """λ by closed-form leave-one-out errors."""

    # Cubic in theory; in practice larger matrices are faster per operation.
    exponent = 2.6

    def __init__(self, task: str) -> None:
        self.task = task
        self.learner = "KernelRidgeClassifier" if task == "classification" else "KernelRidge"

    def fold(self, fold: Fold, start: int | None) -> Outcome:
        begin = time.perf_counter()
        targets = indicators(fold.y, fold.classes)
        found = best_penalty(HostGram(Precomputed(), fold.train), targets, fold.unit, start)
        done = time.perf_counter()
        scores = fold.cross @ found.coef.astype(fold.cross.dtype)
        predicted, certainty = decide(scores.astype(np.float64) + found.intercept, fold.classes)
        end = time.perf_counter()
        return Outcome(
            predicted,
            certainty,
            len(fold.y),
            done - begin,
            end - done,
            found.place,
            found.tried,
        )

    def final(self, kernel: Kernel, outcomes: Sequence[Outcome], unit: float, y: Any) -> Any:
        from mercer.learners import KernelRidge, KernelRidgeClassifier

        middle = round(float(np.median([o.pick for o in outcomes])))
        cls = KernelRidgeClassifier if self.task == "classification" else KernelRidge
        if len(y) <= AGAIN_ROWS:
            # All rows choose once more around what the folds chose, for three solutions.
            alphas = [PENALTIES[i] * unit for i in range(len(PENALTIES)) if abs(i - middle) <= 1]
            return cls(kernel, alphas=alphas, fit_intercept=True, random_state=0)
        alpha = PENALTIES[middle] * unit
        if len(y) <= EXACT_ROWS:
            return cls(kernel, alpha=alpha, fit_intercept=True, random_state=0)
        return cls(
            kernel,
            alpha=alpha,
            fit_intercept=True,
            solver="nystrom",
            n_centers=centers_for(len(y)),
            random_state=0,
        )

    def final_seconds(
        self, outcomes: Sequence[Outcome], train: float, n: int, exponent: float
    ) -> float:
        one = float(np.median([o.fit_seconds / len(o.tried) for o in outcomes]))
        if n <= AGAIN_ROWS:
            return 3 * one * (n / train) ** exponent
        if n <= EXACT_ROWS:
            # Twice the digits of the folds, without the inverse that leave-one-out takes.
            return 1.2 * one * (n / train) ** exponent
        # Beyond, the learner goes on with some centres: N M² operations instead of N³.
        return 1.5 * one * n * centers_for(n) ** 2 / train**3


def centers_for(n: int) -> int:
    """Centres of a fit on very many rows: more than a candidate had rows to be chosen on."""
    return max(3_000, int(10 * math.sqrt(n)))


def descend(loss: Callable[[int], float], start: int, size: int) -> int:
    """The place of the least loss, downhill step by step from `start` (a valley is assumed)."""
    known: dict[int, float] = {}

    def at(i: int) -> float:
        if i not in known:
            known[i] = loss(i)
        return known[i]

    place = min(max(start, 0), size - 1)
    while True:
        near = [i for i in (place + 1, place - 1) if 0 <= i < size]
        if at(place) == math.inf and near:
            # Nothing could be solved here: towards larger penalties.
            if place + 1 >= size:
                return place
            place += 1
            continue
        better = [i for i in near if at(i) < at(place)]
        if not better:
            return place
        place = min(better, key=at)


def indicators(y: np.ndarray, classes: int) -> np.ndarray:
    """Targets of least squares: numbers, ±1, or one column of ±1 a class."""
    if not classes:
        return y[:, None].astype(np.float64)
    if classes == 2:
        return np.where(y == 1, 1.0, -1.0)[:, None]
    return np.where(y[:, None] == np.arange(classes), 1.0, -1.0)


def decide(scores: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Class (or number) and how sure it is: the gap between the two highest scores."""
    if not classes:
        values = scores.reshape(len(scores))
        return values, np.full(len(values), np.nan)
    if scores.ndim == 1 or scores.shape[1] == 1:
        scores = scores.reshape(len(scores))
        return (scores > 0).astype(int), np.abs(scores)
    top = np.partition(scores, -2, axis=1)
    return scores.argmax(axis=1), top[:, -1] - top[:, -2]
