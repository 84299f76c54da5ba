"""One fold of a shared kernel matrix, and what a trainer makes of it.

A trainer sees the training block of K, its targets, and the block of K between test and training
rows; nothing about the test targets. It chooses the learner's parameters inside the training rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer.learners.catalog import Grid, Learner
from mercer.selection.folds import inner_split
from mercer.selection.metrics import Metric


@dataclass
class Fold:
    """One fold. `unit`, the mean of k(x, x), is the unit of penalties; `spread`, of targets."""

    train: np.ndarray
    cross: np.ndarray
    y: np.ndarray
    classes: int  # 0 for regression
    metric: Metric
    unit: float
    seed: int
    examples: Callable[[], tuple[Any, Any]]
    with_scores: bool = False
    groups: np.ndarray | None = None
    times: np.ndarray | None = None
    kernel: Any = None  # where it computes K of the examples by a formula
    _inner: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def spread(self) -> float:
        return float(np.std(self.y)) or 1.0

    def inner(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions to fit on and positions to judge by, the same for every learner."""
        if self._inner is None:
            self._inner = inner_split(
                self.y, bool(self.classes), self.seed, self.groups, self.times
            )
        return self._inner


@dataclass(frozen=True)
class Outcome:
    """Predictions for the test rows and what they took; `pick` is the index in the grid that was
    chosen in `choose_seconds`, and `tried` maps indices to how good they were inside the training
    rows."""

    predicted: np.ndarray
    certainty: np.ndarray
    n_support: int
    fit_seconds: float
    predict_seconds: float
    pick: int
    tried: dict[int, float] = field(default_factory=dict)
    memory_bytes: int = 0  # of a model that keeps no examples
    scores: np.ndarray | None = None  # a column per class, where they are asked for
    probable: bool = False  # whether these are probabilities
    truth: np.ndarray | None = None  # the true classes, beside scores
    choose_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        return self.choose_seconds + self.fit_seconds + self.predict_seconds


#: Rows up to which the last fit takes all of K where that and a factor fit into the memory. In 8
#: columns, 12,000 rows took 10 s of one processor (R² .92), 3,000 centers of them 4 s (R² .88).
LAST_FIT_ROWS = 15_000
#: Centers of a last fit for which there is no time with all of K, from step to step.
CENTERS = (3_000, 1_000)
#: Stands for a candidate that has run in no fold: the first of its settings.
UNTRIED = Outcome(np.empty(0), np.empty(0), 0, 0.0, 0.0, 0, {0: 0.0})


class Trainer:
    """A learner of the catalog at work; `learner` is the name of its class."""

    #: For the folds, in which classes are numbers, and for the last fit.
    class_weight: tuple[Any, Any] = (None, None)

    #: Centers instead of all of K, for a learner that can take them: None until time is short.
    centers: int | None = None

    def __init__(self, entry: Learner, task: str) -> None:
        self.entry: Learner = entry
        self.task: str = task
        self.learner: str = entry.class_name(task)
        self.grid: Grid = entry.grid_for(task)
        self.takes_centers: bool = entry.name == "ridge"

    def fold(self, fold: Fold, start: int | None) -> Outcome:
        """`start`: the index in the grid that was best for this fold on fewer rows, if known."""
        raise NotImplementedError

    def support(self, model: Any, n: int) -> int:
        """Training examples that predictions of a fitted learner depend on."""
        support = getattr(model, "support_", None)
        if support is not None:
            return len(support)
        coef = getattr(getattr(model, "expansion_", None), "coef", None)
        if coef is None:
            return n
        return int(np.any(np.asarray(coef).reshape(len(coef), -1) != 0, axis=1).sum())

    def memory(self, model: Any) -> int:
        """Bytes of a model that keeps no examples; 0 for one that does."""
        return 0

    def picked(self, outcomes: Sequence[Outcome]) -> int:
        """The index in the grid that all folds together choose."""
        raise NotImplementedError

    def final(self, kernel: Any, outcomes: Sequence[Outcome], unit: float, y: Any) -> Any:
        """The learner to fit on all rows, its parameters chosen from what all folds found."""
        raise NotImplementedError

    def centers_for(self, n: int) -> int | None:
        """Centers of the last fit on n rows; None for all of K."""
        most = min(LAST_FIT_ROWS, math.isqrt(get_config().memory_bytes // 16))
        if self.takes_centers and self.centers is None and n > most:
            # More than a candidate had rows to be chosen on.
            return max(CENTERS[0], int(10 * math.sqrt(n)))
        return self.centers

    def cheaper(self, n: int) -> bool:
        """Take fewer centers for n rows from now on; False where that cannot be."""
        fewer = [m for m in CENTERS if m < (self.centers_for(n) or n)]
        self.centers = fewer[0] if self.takes_centers and fewer else self.centers
        return self.takes_centers and bool(fewer)

    def near(self, index: int) -> list[int]:
        """Which indices of the grid are tried beside one that is good."""
        return [i for i in (index + 1, index - 1) if 0 <= i < len(self.grid.values)]

    def keep(self, model: Any, rows: int) -> None:
        """Take what a fit on so many rows has chosen as settled, where choosing takes long."""

    def work(self, n: int) -> float:
        """What the last fit on n rows takes, in units of a pace."""
        return float(n**self.grid.exponent)


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
