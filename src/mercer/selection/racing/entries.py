"""Candidates of a race, and the rows that they run on."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.kernels import Kernel
from mercer.selection.folds import Split
from mercer.selection.metrics import Metric
from mercer.selection.rivals.named import Rival
from mercer.selection.rivals.trainer import RivalTrainer
from mercer.selection.trainers.base import Outcome, Trainer


@dataclass
class Data:
    """Prepared rows, coded targets, folds, and the order in which rows are drawn."""

    X: Any
    y: np.ndarray
    classes: int
    metric: Metric
    splits: list[list[Split]]
    order: np.ndarray
    seed: int
    with_scores: bool = False  # whether classifiers are asked for more than answers
    groups: np.ndarray | None = None  # rows of a number belong together
    times: np.ndarray | None = None  # when a row was

    @property
    def n(self) -> int:
        return len(self.y)


@dataclass
class Entry:
    """One candidate and what is known of it; scores are those of the largest stage it was in."""

    kernel: Kernel | None  # None for a rival
    trainer: Trainer
    index: int  # among all candidates, in the order in which they were added
    size: int = 0
    unit: float = 1.0
    gram_seconds: float = 0.0
    scores: list[float] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    tests: list[np.ndarray] = field(default_factory=list)
    failed: str = ""
    folds: int = 0  # folds of this size that count: rivals have been tested on the same ones
    first: int = 1  # folds of one cross-validation, which everyone is to have
    in_vain: float = 0.0  # seconds after which it was stopped without a score
    history: dict[int, float] = field(default_factory=dict)  # pace of folds by rows of the stage
    chosen: list[Outcome] = field(default_factory=list)  # settings, where `outcomes` tells none
    fitted: dict[int, float] = field(default_factory=dict)  # pace of whole fits by their rows
    final: bool = False  # whether it was judged as it will be saved
    interval: tuple[float, float] = (0.0, 0.0)  # of its first score there

    @property
    def rival(self) -> Rival | None:
        return self.trainer.rival if isinstance(self.trainer, RivalTrainer) else None

    @property
    def own(self) -> bool:
        """Whether this is an estimator of the user's, which does not look at the clock."""
        return self.rival is not None and not self.rival.stored

    @property
    def name(self) -> str:
        if self.rival is not None:
            kind = " (rival without a kernel)" if self.rival.who == "a rival" else ""
            return f"{self.rival.title}{kind}"
        return f"{self.kernel!r} with {self.trainer.learner}"

    @property
    def kind(self) -> str:
        """What learns alike: kernels, trees, or a rival by its name."""
        if self.rival is None:
            return "kernel"
        return "trees" if self.rival.name in ("boosting", "forest") else self.rival.name

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores)) if self.scores else -math.inf

    @property
    def seconds(self) -> float:
        """To fit and predict a fold of the last stage: the median, as the first may compile."""
        if not self.outcomes:
            return math.nan
        return float(np.median([o.seconds for o in self.outcomes]))

    def state(self) -> dict[str, Any]:
        """What a stage changes, for a stage that is cut off before it counts."""
        names = ("size", "scores", "outcomes", "tests", "folds", "unit", "gram_seconds", "chosen",
                 "final", "interval")  # fmt: skip
        return {name: copy.copy(getattr(self, name)) for name in names}

    def forget(self, count: int) -> None:
        """Keep the first `count` folds: on the later ones some rivals were not run."""
        del self.scores[count:], self.outcomes[count:], self.tests[count:]

    def rank(self) -> tuple[float, ...]:
        """Sorts the best first: more rows, then most of the folds, then the higher mean; of equals
        the steadier one, then the one that keeps fewer examples, then the earlier. Candidates that
        were judged as they will be saved come before others: by more of the rows that judge.

        All folds are not asked for: whom the clock cut off in the last one would be behind everyone
        who was not, by however much it led."""
        spread = float(np.std(self.scores))
        support = float(np.mean([o.n_support for o in self.outcomes] or [0]))
        few = 2.0 * self.folds <= self.first
        stage = -len(self.scores) if self.final else -self.size
        known = (stage, few, -round(self.mean, 12), round(spread, 12))
        return (float(not self.final), *known, support)
