"""The rivals that kernels race against, and those that a user brings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sklearn.base import clone

from mercer._suggest import suggest
from mercer.kernels import Linear
from mercer.learners.catalog import Grid, find
from mercer.learners.learned.estimators import RFMClassifier, RFMRegressor
from mercer.learners.rivals.linear import LinearClassifier
from mercer.learners.rivals.trees import TreesClassifier, TreesRegressor

#: Trees that boosting grows in all, and per class at most and at least.
TREES, MOST_TREES, LEAST_TREES = 300, 100, 20
#: Settings of boosting: times as many trees, times the step, and what differs from the defaults.
#: The first is tried on few rows; the others in the finals, as the time allows.
BOOSTING: tuple[tuple[int, float, dict[str, Any]], ...] = (
    (1, 1.0, {}),
    (2, 0.5, {"leaves": 16, "smallest": 5, "columns": 0.5}),
    (3, 0.3, {"leaves": 8, "smallest": 5, "columns": 0.5, "l2": 1.0}),
    (2, 1.0, {"leaves": 8}),
    (3, 0.3, {"leaves": 31, "columns": 0.5, "l2": 1.0}),
)
#: Sparse rows of more columns than this are not made dense for trees.
TREE_COLUMNS = 2_000

#: Why trees may win.
OF_TREES = (
    "trees do best on tables where columns are of different kinds, where some are of no use, and "
    "where the target jumps at thresholds: a smooth kernel on all columns at once sees none of that"
)

#: An estimator for a task, a number of classes and a value of the grid.
Make = Callable[[str, int, Any], Any]


@dataclass(frozen=True)
class Rival:
    """A learner on the columns as the preprocessing leaves them.

    `why` says when such a learner does better than a kernel; `stored`, whether a model file can
    hold it; `dense`, whether it takes dense rows only; `keeps_rows`, whether it keeps examples;
    `learns_metric`, whether it has a kernel after all, one that it learns from the rows; `who` is
    what a sentence calls it.
    """

    name: str
    title: str
    make: Make
    why: str
    grid: Mapping[str, Grid] = field(default_factory=dict)
    stored: bool = True
    dense: bool = False
    keeps_rows: bool = False
    learns_metric: bool = False
    who: str = "a rival"

    def grid_for(self, task: str) -> Grid:
        return self.grid.get(task, Grid(exponent=1.3))


def _linear(task: str, classes: int, value: Any) -> Any:
    if task == "classification":
        return LinearClassifier(C=value, max_iter=300)
    from sklearn.linear_model import Ridge

    return Ridge(alpha=value)


def _boosting(task: str, classes: int, value: Any) -> Any:
    # An iteration grows a tree per class: with many classes fewer of them, and larger steps.
    outputs = classes if classes > 2 else 1
    count = min(MOST_TREES, max(LEAST_TREES, TREES // outputs))
    made = TreesClassifier if task == "classification" else TreesRegressor
    longer, step, settings = value
    return made("boosting", longer * count, learning_rate=step * 10.0 / count, **settings)


def _forest(task: str, classes: int, value: Any) -> Any:
    made = TreesClassifier if task == "classification" else TreesRegressor
    return made("forest", MOST_TREES)


def _nearest(task: str, classes: int, value: Any) -> Any:
    return find("neighbors", task).estimator(task)(Linear(), n_neighbors=value)


def _learned(task: str, classes: int, value: Any) -> Any:
    return RFMClassifier() if task == "classification" else RFMRegressor()


#: The cheapest first: a time budget may not reach the last.
NAMED = {
    rival.name: rival
    for rival in (
        Rival(
            "linear",
            "a linear model",
            _linear,
            "a linear model does best where the relation is linear, or where rows are too few for "
            "anything else to be learned",
            {
                "classification": Grid(
                    (0.01, 0.1, 1.0, 10.0, 100.0), exponent=1.2, chosen_by="log probability"
                ),
                "regression": Grid((1e3, 1e2, 10.0, 1.0, 0.1, 1e-3), exponent=1.2),
            },
        ),
        Rival(
            "nearest",
            "nearest neighbors",
            _nearest,
            "nearest neighbors do best where rows come in many small groups that are alike",
            dict.fromkeys(
                ("classification", "regression"),
                Grid((1, 3, 5, 9, 17, 33), at_most_rows=True, exponent=2.0),
            ),
            keeps_rows=True,
        ),
        Rival(
            "boosting",
            "gradient boosting",
            _boosting,
            OF_TREES,
            dict.fromkeys(("classification", "regression"), Grid(BOOSTING, exponent=1.3)),
            dense=True,
        ),
        Rival(
            "forest",
            "a random forest",
            _forest,
            OF_TREES,
            dense=True,
        ),
        Rival(
            "rfm",
            "a kernel with a learned metric",
            _learned,
            "a learned metric does best where some columns or directions matter more than others",
            dict.fromkeys(("classification", "regression"), Grid(exponent=1.5)),
            dense=True,
            keeps_rows=True,
            learns_metric=True,
            who="a learned metric",
        ),
    )
}


def rivals_of(given: Any) -> list[Rival]:
    """From what `compare` is given: "all", None, names, estimators, or estimators by name.

    >>> [rival.name for rival in rivals_of("all")], rivals_of(None)
    (['linear', 'nearest', 'boosting', 'forest', 'rfm'], [])
    """
    if given is None or given == "none":
        return []
    if isinstance(given, str):
        given = list(NAMED) if given == "all" else given.split(",")
    if isinstance(given, Mapping):
        return [_own(str(name), model) for name, model in given.items()]
    if not isinstance(given, Iterable):
        given = [given]
    found = [_named(one.strip()) if isinstance(one, str) else _own("", one) for one in given]
    return list({rival.name: rival for rival in found}.values())


def _named(name: str) -> Rival:
    if name not in NAMED:
        raise ValueError(f"there is no rival {name!r}.{suggest(name, NAMED)}")
    return NAMED[name]


def _own(name: str, model: Any) -> Rival:
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise TypeError(
            f"a rival is one of {', '.join(NAMED)} or an estimator with fit and predict, such as "
            f"RandomForestClassifier(); got {model!r:.80}"
        )
    name = name or type(model).__name__
    why = "it is an estimator of your own, and you know best what it does"
    return Rival(name, name, partial(_copy, model), why, stored=False)


def _copy(model: Any, task: str, classes: int, value: Any) -> Any:
    return clone(model)


__all__ = ["NAMED", "TREE_COLUMNS", "Rival", "rivals_of"]
