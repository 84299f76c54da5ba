"""Recursive feature machines at their defaults beside trees and tuned SVMs, on tables of a folder.

    MERCER_DATA=folder PYTHONPATH=src python bench/tables.py [--rows 1500] [--splits 2]
        [--budget 20] [name …]

Tables are `*.csv.gz` of the folder and of its `tables/` (the last column is the target; the name
begins with its task), and those that scikit-learn brings along or generates. Columns are made ready
once per split, for all alike: missing numbers become the median with a column that says so, words
become one-hot columns. Every model is fitted on at most `--rows` rows and judged on up to 5000
others: R² or the share of right answers. `xrfm` has a fifth of the rows to choose its settings by;
with `--budget` the winner of `compare` in so many seconds is one of the models. Prints a line per
table, then by task the mean rank, on how many tables each model is the best, and the median gap to
the best.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn import datasets
from sklearn.compose import (
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from mercer import RFMClassifier, RFMRegressor
from mercer.selection import compare

JUDGED = 5000
#: What xrfm chooses from, beside its defaults: norm, power, and whether the metric is diagonal.
FOREIGN = [("l2", 1.0, False), ("l2", 1.0, True), ("l2", 0.7, True), ("l1", 1.0, True)]
BANDWIDTHS = (2.0, 10.0)
GRID = {"C": [1.0, 10.0, 100.0], "gamma": [0.01, 0.1, 1.0]}


def tables(names: list[str]) -> Iterator[tuple[str, str, Any, np.ndarray]]:
    """Name, task, frame and target."""
    import pandas as pd

    folder = Path(os.environ["MERCER_DATA"]) if "MERCER_DATA" in os.environ else None
    paths = [] if folder is None else sorted(folder.rglob("*.csv.gz"))
    for path in paths:
        task, _, name = path.name.split(".")[0].partition("_")
        if task in ("regression", "classification") and (not names or name in names):
            frame = pd.read_csv(path)
            y = frame.iloc[:, -1]
            target = y.to_numpy(float) if task == "regression" else y.astype(str).to_numpy()
            yield name, task, frame.iloc[:, :-1], target
    bundled = {
        "diabetes_scores": ("regression", datasets.load_diabetes),
        "breast_cancer": ("classification", datasets.load_breast_cancer),
        "digits": ("classification", datasets.load_digits),
        "friedman1": ("regression", partial(_generated, datasets.make_friedman1, noise=1.0)),
        "friedman2": ("regression", partial(_generated, datasets.make_friedman2, noise=50.0)),
        "friedman3": ("regression", partial(_generated, datasets.make_friedman3, noise=0.1)),
        "useless": ("classification", partial(_generated, datasets.make_classification)),
        "sparse_lines": ("regression", partial(_generated, datasets.make_sparse_uncorrelated)),
    }
    for name, (task, load) in bundled.items():
        if not names or name in names:
            X, y = load(return_X_y=True)
            yield name, task, pd.DataFrame(X), y


def _generated(make: Any, return_X_y: bool, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    found: tuple[np.ndarray, np.ndarray] = make(n_samples=4000, random_state=0, **options)
    return found


class Foreign:
    """xrfm on standardized columns, its settings chosen on a fifth of the rows."""

    def __init__(self, classes: bool) -> None:
        self.classes = classes

    def fit(self, X: np.ndarray, y: np.ndarray) -> Foreign:
        from xrfm import xRFM

        self.scale = StandardScaler().fit(X)
        t: Any
        if self.classes:
            self.labels, t = np.unique(y, return_inverse=True)
        else:
            self.center, self.unit = float(y.mean()), float(y.std())
            t = ((y - self.center) / self.unit)[:, None].astype(np.float32)
        X = self.scale.transform(X).astype(np.float32)
        cut, best = len(X) // 5, -np.inf
        for norm, power, diagonal in FOREIGN:
            for bandwidth in BANDWIDTHS:
                kernel = {"kernel": norm, "bandwidth": bandwidth, "exponent": power}
                options = {
                    "model": {**kernel, "diag": diagonal},
                    "fit": {"reg": 1e-3, "iters": 3, "verbose": False},
                }
                one = xRFM(options, device="cpu", random_state=0, verbose=False)
                one.fit(X[cut:], t[cut:], X[:cut], t[:cut])
                score = self._score(one, X[:cut], t[:cut])
                if score > best:
                    best, self.model = score, one
        return self

    def _score(self, model: Any, X: np.ndarray, t: np.ndarray) -> float:
        said = np.asarray(model.predict(X))
        right = said.ravel() == t if self.classes else -np.square(said - t)
        return float(np.mean(right))

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        X = self.scale.transform(X).astype(np.float32)
        if self.classes:
            return self._score(self.model, X, np.searchsorted(self.labels, y))
        wrong = -self._score(self.model, X, ((y - self.center) / self.unit)[:, None])
        return 1.0 - wrong * self.unit**2 / float(np.var(y))


class Winner:
    """What `compare` chooses and saves within a budget of seconds."""

    def __init__(self, budget: float, task: str) -> None:
        self.budget, self.task = budget, task

    def fit(self, X: np.ndarray, y: np.ndarray) -> Winner:
        self.best = compare(X, y, task=self.task, budget=self.budget, progress=False).best
        return self

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        return float(self.best.score(X, y))


def prepared(frame: Any, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    numbers = SimpleImputer(strategy="median", add_indicator=True)
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    ready = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_exclude="number")),
    )
    made = ready.fit_transform(frame.iloc[train])
    return np.asarray(made, dtype=float), np.asarray(ready.transform(frame.iloc[test]), dtype=float)


def models(task: str, budget: float | None) -> dict[str, Any]:
    """Fresh models by name; those of other packages where they are installed."""
    which = int(task == "classification")
    scaled = make_pipeline(StandardScaler(), SVC() if which else SVR(epsilon=0.05))
    prefix = "svc__" if which else "regressor__svr__"
    grid = {f"{prefix}{name}": values for name, values in GRID.items()}
    if not which:
        scaled = TransformedTargetRegressor(scaled, transformer=StandardScaler())
    found = {
        "RFM": (RFMRegressor, RFMClassifier)[which](),
        "boosting": (HistGradientBoostingRegressor, HistGradientBoostingClassifier)[which](
            random_state=0
        ),
        "forest": (RandomForestRegressor, RandomForestClassifier)[which](random_state=0),
        "tuned SVM": GridSearchCV(scaled, grid, cv=3),
    }
    others = {
        "LightGBM": ("lightgbm", ("LGBMRegressor", "LGBMClassifier"), {"verbose": -1}),
        "CatBoost": (
            "catboost",
            ("CatBoostRegressor", "CatBoostClassifier"),
            {"verbose": 0, "allow_writing_files": False},
        ),
    }
    for name, (package, classes, options) in others.items():
        try:
            found[name] = getattr(import_module(package), classes[which])(**options)
        except ImportError:
            continue
    if find_spec("xrfm"):
        found["xrfm"] = Foreign(bool(which))
    if budget is not None:
        found["compare"] = Winner(budget, task)
    return found


def scores(
    task: str, frame: Any, y: np.ndarray, seed: int, rows: int, budget: float | None
) -> dict[str, Any]:
    """(score, seconds of CPU) by model on one split."""
    order = np.random.default_rng(seed).permutation(len(y))
    count = min(rows, int(0.7 * len(y)))
    train, test = order[:count], order[count : count + JUDGED]
    X, T = prepared(frame, train, test)
    found = {}
    for name, model in models(task, budget).items():
        start = time.process_time()
        model.fit(X, y[train])
        seconds = time.process_time() - start
        found[name] = (model.score(T, y[test]), seconds)
    return found


def summary(task: str, results: dict[str, dict[str, float]]) -> None:
    if not results:
        return
    names = list(next(iter(results.values())))
    table = np.array([[row[name] for name in names] for row in results.values()])
    ranks = np.array([rankdata(-row.round(6)) for row in table])
    best = table.max(axis=1, keepdims=True)
    print(f"\n{task}, {len(table)} tables: mean rank, best on, median gap to the best")
    for j in np.argsort(ranks.mean(axis=0)):
        won = int((table[:, j] >= best[:, 0] - 1e-9).sum())
        gap = float(np.median(best[:, 0] - table[:, j]))
        print(f"  {names[j]:10} {ranks[:, j].mean():.2f}  {won:3}  {gap:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--budget", type=float)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    results: dict[str, dict[str, dict[str, float]]] = {"regression": {}, "classification": {}}
    for name, task, frame, y in tables(given.names):
        settings = given.rows, given.budget
        runs = [scores(task, frame, y, seed, *settings) for seed in range(given.splits)]
        means = {model: float(np.mean([run[model][0] for run in runs])) for model in runs[0]}
        cpu = {model: float(np.mean([run[model][1] for run in runs])) for model in runs[0]}
        results[task][name] = means
        told = "  ".join(f"{m} {s:.4f} ({cpu[m]:.1f} s)" for m, s in means.items())
        print(f"{name:18} {told}", flush=True)
    for task, found in results.items():
        summary(task, found)


if __name__ == "__main__":
    main()
