"""Ridge regression in a fold: penalties by closed-form leave-one-out errors.

All other learners choose their parameters on a quarter of the training rows, held out once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median_low
from typing import Any

import numpy as np

from mercer.gram import Gram, host_gram
from mercer.kernels import Precomputed
from mercer.learners.catalog import find
from mercer.learners.ridges.estimators import as_columns, signs
from mercer.selection.racing.clock import Stopwatch
from mercer.selection.trainers.base import Fold, Outcome, Trainer, decide
from mercer.solvers.linear import exact
from mercer.solvers.linear.problem import RidgeProblem


@dataclass(frozen=True)
class Penalty:
    """The index of the best penalty, and the solution there."""

    index: int
    error: float
    coef: np.ndarray
    intercept: np.ndarray
    tried: dict[int, float]


#: Rows up to which the last ridge fit looks for its penalty once more.
AGAIN_ROWS = 3_000
#: Penalties relative to the mean of k(x, x), and the index at which the descent begins.
PENALTIES = find("ridge", "regression").grid_for("regression").values
BEGIN = 9


def best_penalty(gram: Gram, targets: np.ndarray, unit: float, start: int | None) -> Penalty:
    """λ of the least leave-one-out error: downhill from a start, one factorization per step."""
    tried: dict[int, float] = {}
    models: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def error(index: int) -> float:
        try:
            alphas = np.array([PENALTIES[index] * unit])
            found = exact.cholesky_path(gram, RidgeProblem(targets, alphas, intercept=True))
        except np.linalg.LinAlgError:
            tried[index] = -math.inf
            return math.inf
        value = float(np.mean((found.loo[0] - targets) ** 2))
        tried[index] = -value if math.isfinite(value) else -math.inf
        models[index] = (found.coef[0], found.intercept[0])
        return -tried[index]

    best = descend(error, BEGIN if start is None else start, len(PENALTIES))
    if best not in models:
        raise ValueError("K + λI is singular for every penalty")
    return Penalty(best, -tried[best], *models[best], tried)


class RidgeTrainer(Trainer):
    """λ by closed-form leave-one-out errors."""

    def fold(self, fold: Fold, start: int | None) -> Outcome:
        watch = Stopwatch()
        targets = as_columns(signs(fold.y, fold.classes) if fold.classes else fold.y)
        found = best_penalty(host_gram(Precomputed(), fold.train), targets, fold.unit, start)
        solved, watch = watch.seconds(), Stopwatch()
        one = solved / len(found.tried)
        scores = fold.cross @ found.coef.astype(fold.cross.dtype)
        scores = scores.astype(np.float64) + found.intercept
        predicted, certainty = decide(scores, fold.classes)
        if fold.classes == 2:
            scores = np.column_stack([-scores[:, 0], scores[:, 0]])
        known = len(fold.y), one, watch.seconds(), found.index, found.tried
        made = Outcome(predicted, certainty, *known, choose_seconds=solved - one)
        return replace(made, scores=scores) if fold.with_scores else made

    def picked(self, outcomes: Sequence[Outcome]) -> int:
        # In the middle of what the folds chose, and one of them.
        return median_low([o.pick for o in outcomes])

    def final(self, kernel: Any, outcomes: Sequence[Outcome], unit: float, y: Any) -> Any:
        middle = self.picked(outcomes)
        make = partial(self.entry.estimator(self.task), kernel, fit_intercept=True, random_state=0)
        if len(y) <= AGAIN_ROWS and self.centers is None:
            # All rows choose once more around what the folds chose, for three solutions.
            alphas = [PENALTIES[i] * unit for i in range(len(PENALTIES)) if abs(i - middle) <= 1]
            return make(alphas=alphas)
        alpha, centers = PENALTIES[middle] * unit, self.centers_for(len(y))
        if centers is None:
            return make(alpha=alpha)
        return make(alpha=alpha, solver="nystrom", n_centers=centers)

    def work(self, n: int) -> float:
        power, centers = self.grid.exponent, self.centers_for(n)
        if centers is not None:  # N M² operations instead of N³/3
            return float(3 * n * min(n, centers) ** (power - 1))
        return float((3 if n <= AGAIN_ROWS else 1) * n**power)


def descend(loss: Callable[[int], float], start: int, size: int) -> int:
    """The index of the least loss, downhill step by step from `start` (one valley is assumed)."""
    known: dict[int, float] = {}

    def at(i: int) -> float:
        if i not in known:
            known[i] = loss(i)
        return known[i]

    index = min(max(start, 0), size - 1)
    while True:
        near = [i for i in (index + 1, index - 1) if 0 <= i < size]
        if at(index) == math.inf and near:
            # Nothing could be solved here: towards larger penalties.
            if index + 1 >= size:
                return index
            index += 1
            continue
        better = [i for i in near if at(i) < at(index)]
        if not better:
            return index
        index = min(better, key=at)
