"""LearnedMetric: rows in which the Euclidean distance is the learned one."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Final, Self

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length

from mercer._config import get_config
from mercer._machine.threads import single_threaded_blas
from mercer._parameters import Check, Count, Either, Maybe, OneOf, check_parameters
from mercer.kernels.estimators import estimator, parameter
from mercer.maps._base import FeatureMap
from mercer.maps.learned.choice import METRICS, Member, Recipe, Search, chosen, family
from mercer.maps.learned.inputs import INPUTS, Inputs, merged
from mercer.maps.learned.rounds import PENALTIES, learned

#: Rows that a metric is learned from, and that gradients are averaged over.
ROUND_ROWS = 4000
#: Matrices of K's size that a factorization holds at a time, counted from the code.
MATRICES: Final = 6


def sample(n: int, most: int) -> np.ndarray:
    """All rows, or as many as fit into memory, drawn with a fixed seed."""
    most = min(most, math.isqrt(get_config().memory_bytes // (8 * MATRICES)))
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def unless_auto(value: Any) -> Any:
    """A number that is given; None where the data choose it."""
    return None if isinstance(value, str) else value


def roots_of(recipe: Recipe, Z: np.ndarray, Y: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    """A after each round, learned from at most `ROUND_ROWS` rows as the kernel takes them."""
    some = sample(len(Z), ROUND_ROWS)
    diagonal = recipe.member.metric == "diagonal"
    return learned(recipe.shapes[:-1], recipe.penalties[:-1], Z[some], Y[some], w[some], diagonal)


def standardized(Y: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets of mean 0 and variance 1, with the mean and spread of each."""
    mean = np.average(Y, axis=0, weights=w)
    spread = np.sqrt(np.average(np.square(Y - mean), axis=0, weights=w))
    spread = np.where(spread > 0, spread, 1.0)
    return (Y - mean) / spread, mean, spread


def metric_for(
    X: np.ndarray,
    Y: np.ndarray,
    w: np.ndarray,
    members: list[Member],
    rounds: int | None,
    search: Search,
    least: int = 0,
) -> tuple[Recipe, Inputs, list[np.ndarray]]:
    """The recipe for rows without copies; their inputs, and A after each round."""
    with single_threaded_blas():  # the same metric, however many threads there are
        recipe = chosen(X, Y, w, members, rounds, search, least)
        inputs = Inputs.of(recipe.member.inputs, X, w)
        roots = roots_of(recipe, inputs(X), Y - np.average(Y, axis=0, weights=w), w)
    return recipe, inputs, roots


@estimator
class LearnedMetric(FeatureMap):
    """x ↦ M^½ x, M learned from targets: columns that matter less shrink.

    Put it before any learner that goes by distances: neighbors, support vector machines, Gaussian
    processes. The metric is that of `mercer.RFMRegressor`, found in the same way.

    Parameters
    ----------
    metric : {"auto", "full", "diagonal"}, default "auto"
        All of M, one weight per column, or what folds choose.
    rounds : "auto" or int, default "auto"
        How often the metric is bent; "auto": as often as folds choose, at least once.
    inputs : {"values", "ranks", "both", "auto"}, default "values"
        What columns become first: of mean 0 and variance 1, ranks among the training rows, both.
    task : {"auto", "regression", "classification"}, default "auto"
        What targets are; "auto" takes fractions for regression, anything else for classes.

    Attributes
    ----------
    metric_ : ndarray of shape (n_inputs, n_inputs) or (n_inputs,)
        M, or its diagonal.
    rounds_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.maps import LearnedMetric
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> learned = LearnedMetric("diagonal", task="regression").fit(X, np.sin(3 * X[:, 1]))
    >>> learned.metric_.round(2)
    array([0., 1., 0.])
    """

    _parameters: ClassVar[dict[str, Check]]

    metric: str = parameter(OneOf("auto", *METRICS[1:]), default="auto")
    rounds: Any = parameter(Either(OneOf("auto"), Maybe(Count())), default="auto", was=None)
    _: KW_ONLY
    inputs: str = parameter(OneOf("auto", *INPUTS), default="values")
    task: str = parameter(OneOf("auto", "regression", "classification"), default="auto")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn M from rows and targets."""
        check_parameters(self, self._parameters)
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: M is learned from it"
            )
        rows = np.asarray(self._rows(X, reset=True), dtype=np.float64)
        y = np.asarray(y)
        check_consistent_length(rows, y)
        kind = type_of_target(y, input_name="y")
        classes = kind not in ("continuous", "continuous-multioutput", "unknown")
        if self.task == "classification" or (self.task == "auto" and classes):
            labels, codes = np.unique(y, return_inverse=True)
            Y = (codes.reshape(len(y), -1)[:, :1] == np.arange(len(labels))).astype(np.float64)
        else:
            Y, _, _ = standardized(y.astype(np.float64).reshape(len(y), -1), None)
        rows, Y, w = merged(rows, Y, None)
        members = family(self.inputs, 2.0, self.metric, rows.shape[1])
        search = Search(None, None, PENALTIES)
        learned = metric_for(
            rows, Y, w / w.mean(), members, unless_auto(self.rounds), search, least=1
        )
        _, self.inputs_, roots = learned
        self.root_: np.ndarray = roots[-1] if roots else np.ones(self.inputs_(rows[:1]).shape[1])
        self.metric_: np.ndarray = squared(self.root_)
        self.rounds_: int = len(roots)
        return self

    def _transform(self, X: Any) -> np.ndarray:
        Z = self.inputs_(np.asarray(X, dtype=np.float64))
        mapped = Z * self.root_ if self.root_.ndim == 1 else Z @ self.root_.T
        return np.asarray(mapped, dtype=X.dtype)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """learnedmetric0, learnedmetric1, …: directions, and no longer columns."""
        return np.array([f"learnedmetric{i}" for i in range(len(self.root_))], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def squared(root: np.ndarray) -> np.ndarray:
    """M = AᵀA, or its diagonal."""
    metric: np.ndarray = np.square(root) if root.ndim == 1 else root.T @ root
    return metric
