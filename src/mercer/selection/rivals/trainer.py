"""A rival in a fold: fitted on the rows themselves instead of a kernel matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer.learners.catalog import Learner
from mercer.maps.learned.choice import JUDGE_ROWS, ROUNDS
from mercer.maps.learned.metric import ROUND_ROWS
from mercer.selection.rivals.named import TREE_COLUMNS, Rival
from mercer.selection.trainers.base import Fold, Outcome
from mercer.selection.trainers.grid import GridTrainer

#: What the choice of a learned metric takes, and what is left of it where most is settled, as the
#: cubes of so many rows.
CHOICE, SETTLED = 5_000**3, 3_000**3


class RivalTrainer(GridTrainer):
    """Values of a rival's grid, judged like those of a learner with a kernel."""

    def __init__(self, rival: Rival, task: str, classes: int) -> None:
        self.rival: Rival = rival
        self.task: str = task
        self.classes: int = classes
        self.entry: Learner = Learner(rival.name)
        self.learner: str = rival.name
        self.grid = rival.grid_for(task)
        self.takes_centers = rival.learns_metric
        self.settled: dict[str, Any] = {}

    def make(self, kernel: Any, index: int, unit: float, spread: float, last: bool = False) -> Any:
        model = self.rival.make(self.task, self.classes, self.grid.values[index])
        return self.weighted(model, last)

    def final(self, kernel: Any, outcomes: Sequence[Outcome], unit: float, y: Any) -> Any:
        model = super().final(kernel, outcomes, unit, y)
        if self.rival.learns_metric:
            model.set_params(**self.settled, n_centers=self.centers_for(len(y)))
        return model

    def keep(self, model: Any, rows: int) -> None:
        if self.rival.learns_metric and rows >= JUDGE_ROWS:
            self.settled = model.chosen_

    def work(self, n: int) -> float:
        if not self.rival.learns_metric:
            return super().work(n)
        centers = self.centers_for(n)
        solving = n**3 if centers is None else 3 * n * centers**2
        rounds = self.settled.get("rounds", ROUNDS)
        return (SETTLED if self.settled else CHOICE) + rounds * min(n, ROUND_ROWS) ** 3 + solving

    def size(self, fold: Fold) -> int:
        return 1 if self.rival.dense else super().size(fold)

    def near(self, index: int) -> list[int]:
        # Settings of trees are in no order but that of their promise.
        return list(range(len(self.grid.values))) if self.rival.dense else super().near(index)

    def takes_rows(self, fold: Fold) -> bool:
        return True

    def support(self, model: Any, n: int) -> int:
        return n if self.rival.keeps_rows else 0

    def memory(self, model: Any) -> int:
        return 0 if self.rival.keeps_rows else _array_bytes(model)


def _array_bytes(model: Any, depth: int = 0) -> int:
    """Of all arrays in a model, or in what it holds."""
    if isinstance(model, np.ndarray):
        return model.nbytes
    if isinstance(model, (list, tuple)):
        return sum(_array_bytes(part, depth + 1) for part in model)
    inside = getattr(model, "__dict__", {}) if depth < 3 else {}
    return sum(_array_bytes(part, depth + 1) for part in inside.values())


def rival_trainers(
    rivals: list[Rival], X: Any, task: str, classes: int, class_weight: tuple[Any, Any]
) -> list[RivalTrainer]:
    """Those that can be fitted on such rows: none for strings."""
    if not hasattr(X, "shape"):
        return []
    wide = is_sparse(X) and X.shape[1] > TREE_COLUMNS
    rivals = [r for r in rivals if not (is_sparse(X) and r.learns_metric)]
    made = [RivalTrainer(r, task, classes) for r in rivals if not (wide and r.dense)]
    for trainer in made:
        trainer.class_weight = class_weight
    if class_weight[0] is not None:
        made = [t for t in made if hasattr(t.make(None, 0, 1.0, 1.0), "class_weight")]
    return made
