"""Every classifier and regressor with no arguments, next to scikit-learn's with no arguments.

Twelve data sets that need no download, raw and standardized, five times five folds. Per cent right
for classes, 100 R² for numbers. `MERCER_BENCH_REPEATS=1` makes one round instead of five, and
`--table` prints every mean.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from _harness import Row, below, claim, main
from sklearn import datasets
from sklearn.base import BaseEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import mercer

REPEATS = int(os.environ.get("MERCER_BENCH_REPEATS", "5"))

#: Ours, and scikit-learn's counterpart where there is one.
CLASSIFIERS = {
    "KernelSVC": SVC,
    "KernelRidgeClassifier": RidgeClassifier,
    "KernelLogisticRegression": LogisticRegression,
    "KernelNeighborsClassifier": KNeighborsClassifier,
    "KernelPerceptron": Perceptron,
    "KernelCentroidClassifier": NearestCentroid,
    "NadarayaWatsonClassifier": None,
}
#: Plain means, of a class or of neighbors. They have one width for all columns and directions, and
#: no fit makes up for that: what they are behind is the price of the method, not of a default.
MEANS = {"KernelCentroidClassifier", "KernelNeighborsRegressor", "NadarayaWatsonRegressor"}
REGRESSORS = {
    "KernelSVR": SVR,
    "KernelRidge": KernelRidge,
    "KernelNeighborsRegressor": KNeighborsRegressor,
    "NadarayaWatsonRegressor": None,
    "LocalLinearRegressor": None,
}


def data() -> Iterator[tuple[str, bool, np.ndarray, np.ndarray]]:
    """Name, whether there are classes, rows, targets."""
    for name in ("iris", "wine", "breast_cancer", "digits"):
        yield name, True, *getattr(datasets, f"load_{name}")(return_X_y=True)
    yield "moons", True, *datasets.make_moons(400, noise=0.25, random_state=0)
    yield "circles", True, *datasets.make_circles(400, noise=0.15, factor=0.5, random_state=0)
    yield "mixture", True, *datasets.make_classification(500, 20, n_informative=8, random_state=0)
    yield "diabetes", False, *datasets.load_diabetes(return_X_y=True)
    for i, noise in ((1, 1.0), (2, 1.0), (3, 0.1)):  # some third of the signal, or less
        rows, y = getattr(datasets, f"make_friedman{i}")(400, noise=noise, random_state=0)
        yield f"friedman{i}", False, rows, y
    x = np.random.default_rng(0).uniform(-3, 3, (300, 1))
    yield "wave", False, x, np.sin(2 * x[:, 0]) + 0.2 * np.random.default_rng(1).normal(size=300)


@dataclass(frozen=True)
class Result:
    """Mean scores on one data set, scaled or not."""

    data: str
    scaled: bool
    classes: bool
    name: str
    ours: float
    counterpart: float | None
    yardstick: float  # SVC() or SVR()


def score(model: BaseEstimator, X: np.ndarray, y: np.ndarray, classes: bool, scaled: bool) -> float:
    folds = RepeatedStratifiedKFold if classes else RepeatedKFold
    model = make_pipeline(StandardScaler(), model) if scaled else model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of scikit-learn's do not converge on raw columns
        cv = folds(n_splits=5, n_repeats=REPEATS, random_state=0)
        return 100.0 * float(np.mean(cross_val_score(model, X, y, cv=cv)))


def results() -> Iterator[Result]:
    for name, classes, X, y in data():
        for scaled in (False, True):
            first = score(SVC() if classes else SVR(), X, y, classes, scaled)
            for ours, theirs in (CLASSIFIERS if classes else REGRESSORS).items():
                mine = score(getattr(mercer, ours)(), X, y, classes, scaled)
                other = None if theirs is None else score(theirs(), X, y, classes, scaled)
                yield Result(name, scaled, classes, ours, mine, other, first)


def measure() -> list[Row]:
    found = []
    for r in results():
        found.append(r)
        if "--table" in sys.argv:
            other = "" if r.counterpart is None else f"{r.counterpart:7.1f}"
            kind = "standardized" if r.scaled else "raw"
            print(
                f"{r.data:14}{kind:13}{r.name:27}{r.ours:7.1f}{other:>8}{r.yardstick:8.1f}",
                flush=True,
            )
    classes = [r for r in found if r.classes]
    numbers = [r for r in found if not r.classes]
    rows = [
        worst("KernelSVC() behind SVC()", [r for r in classes if r.name == "KernelSVC"], 1.0),
        worst("a classifier behind SVC()", classes, 4.0),
        worst("the same, without means", [r for r in classes if r.name not in MEANS], 4.0),
        worst("a regressor behind SVR()", numbers, 2.0),
        worst("the same, without means", [r for r in numbers if r.name not in MEANS], 2.0),
        worst("a learner behind its counterpart", found, 1.0, counterpart=True),
    ]
    ahead = float(np.mean([r.ours - r.yardstick for r in found]))
    name = "100 less the mean lead over SVC() and SVR()"
    return [*rows, claim(name, 100.0 - ahead, None, below(100.0, "points"))]


def worst(name: str, among: list[Result], bound: float, counterpart: bool = False) -> Row:
    """The largest distance behind, of all learners and data sets; the note says where it is."""
    gaps = [(r.counterpart if counterpart else r.yardstick, r) for r in among]
    gap, r = max(((g - r.ours, r) for g, r in gaps if g is not None), key=lambda pair: pair[0])
    where = f"{r.name} on {r.data}, {'standardized' if r.scaled else 'raw'}"
    return claim(f"{name}, worst of all", gap, None, below(bound, "points"), where)


if __name__ == "__main__":
    main(measure)
