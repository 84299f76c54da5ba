"""Recursive feature machines and `compare` beside trees and tuned SVMs, on tables of a folder.

    MERCER_DATA=folder PYTHONPATH=src python bench/tables.py [--rows 1500] [--splits 2]
        [--budget 20] [--task regression] [--without "tuned SVM,xrfm"] [--jobs 4] [--out FILE]
        [name …]

Tables are `*.csv.gz` of the folder and of its `tables/` (the last column is the target; the name
begins with its task), arrays X and y of `uci_*.npz` and `*_housing.npz` there, and those that
scikit-learn brings along or generates. Columns are made ready
once per split, for all alike: missing numbers become the median with a column that says so, words
become one-hot columns; `compare` has the table as it is. Every model is fitted on at most `--rows`
rows and judged on up to 5000 others: R² or the share of right answers.

`RFM fixed` is the same without a learned metric. LightGBM and CatBoost try settings, judged on a
fifth of the rows, for as many CPU seconds as RFM took, or as the budget allows; `xrfm` has a search
of its own on a fifth of the rows; with `--budget` the winner of `compare` is one of the models.

Prints a line per table and split, then by task the mean rank, on how many tables each model is the
best, the median gap to the best, of classes the ranks in balanced accuracy and log loss, and what
was asked beside what was found. `--jobs` processes of one thread each take a split at a time;
`--out` keeps what `compare` said and every score. "Level" is within one standard error of the
difference of the losses, row by row.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
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
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from mercer import RFMClassifier, RFMRegressor, set_config
from mercer._machine.deadline import now
from mercer.selection import compare

JUDGED = 5000
#: What xrfm chooses from, beside its defaults: norm, power, and whether the metric is diagonal.
FOREIGN = [("l2", 1.0, False), ("l2", 1.0, True), ("l2", 0.7, True), ("l1", 1.0, True)]
BANDWIDTHS = (2.0, 10.0)
#: Models that are trees, and what the two that are searched may try: their defaults first.
TREES = ("boosting", "forest", "LightGBM", "CatBoost")
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "LightGBM": [
        {},
        {"learning_rate": 0.05, "n_estimators": 300},
        {"num_leaves": 8, "n_estimators": 300},
        {"min_child_samples": 5},
        {"learning_rate": 0.03, "n_estimators": 600, "num_leaves": 16, "colsample_bytree": 0.7},
        {"learning_rate": 0.05, "n_estimators": 300, "subsample": 0.7, "subsample_freq": 1},
    ],
    "CatBoost": [{"iterations": 300}, {}, {"depth": 4}, {"depth": 8, "iterations": 300}],
}
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
    for path in [] if folder is None else sorted(folder.rglob("*.npz")):
        name = path.stem.removeprefix("uci_")
        known = path.stem.startswith("uci_") or path.stem.endswith("_housing")
        if known and (not names or name in names):
            made = np.load(path, allow_pickle=False)
            yield name, "regression", pd.DataFrame(made["X"]), made["y"].astype(float)
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
        cut, best = len(X) // 5, np.inf
        for norm, power, diagonal in FOREIGN:
            for bandwidth in BANDWIDTHS:
                kernel = {"kernel": norm, "bandwidth": bandwidth, "exponent": power}
                options = {
                    "model": {**kernel, "diag": diagonal},
                    "fit": {"reg": 1e-3, "iters": 3, "verbose": False},
                }
                one = xRFM(options, device="cpu", random_state=0, verbose=False)
                one.fit(X[cut:], t[cut:], X[:cut], t[:cut])
                said = np.asarray(one.predict(X[:cut])).reshape(t[:cut].shape)
                wrong = float(
                    np.mean(said != t[:cut] if self.classes else np.square(said - t[:cut]))
                )
                if wrong < best:
                    best, self.model = wrong, one
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        said = np.asarray(self.model.predict(self.scale.transform(X).astype(np.float32))).ravel()
        found: np.ndarray = self.labels[said] if self.classes else said * self.unit + self.center
        return found


class Searched:
    """Boosting of another package: settings in a fixed order while the seconds last."""

    def __init__(self, make: Any, settings: list[dict[str, Any]], classes: bool) -> None:
        self.make, self.settings, self.classes, self.seconds = make, settings, classes, 0.0

    def fit(self, X: np.ndarray, y: np.ndarray) -> Searched:
        end, cut, best = time.process_time() + self.seconds, len(X) // 5, np.inf
        chosen: dict[str, Any] = {}
        for one in self.settings:
            begin = time.process_time()
            said = np.ravel(self.make(**one).fit(X[cut:], y[cut:]).predict(X[:cut]))
            wrong = float(np.mean(said != y[:cut] if self.classes else np.square(said - y[:cut])))
            if wrong < best:
                best, chosen = wrong, one
            if 3 * time.process_time() - 2 * begin > end:  # one more, and the last one on all rows
                break
        self.model = self.make(**chosen).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.ravel(self.model.predict(X))

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        self.classes_ = self.model.classes_
        return np.asarray(self.model.predict_proba(X))


def of_rare_classes(model: Any, X: Any, truth: np.ndarray, said: np.ndarray) -> dict[str, float]:
    """What each class counts alike for, and what probabilities are worth where there are any."""
    told = {"balanced accuracy": float(balanced_accuracy_score(truth, said))}
    if hasattr(model, "predict_proba"):
        sure = np.clip(model.predict_proba(X), 1e-6, 1.0)
        known = np.isin(truth, model.classes_)
        told["log loss"] = float(log_loss(truth[known], sure[known], labels=model.classes_))
    return told


def prepared(frame: Any, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    numbers = SimpleImputer(strategy="median", add_indicator=True)
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    ready = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_exclude="number")),
    )
    made = ready.fit_transform(frame.iloc[train])
    return np.asarray(made, dtype=float), np.asarray(ready.transform(frame.iloc[test]), dtype=float)


def models(task: str) -> dict[str, Any]:
    """Fresh models by name; those of other packages where they are installed."""
    which = int(task == "classification")
    scaled = make_pipeline(StandardScaler(), SVC() if which else SVR(epsilon=0.05))
    prefix = "svc__" if which else "regressor__svr__"
    grid = {f"{prefix}{name}": values for name, values in GRID.items()}
    if not which:
        scaled = TransformedTargetRegressor(scaled, transformer=StandardScaler())
    learned = (RFMRegressor, RFMClassifier)[which]
    found = {
        "RFM": learned(),
        "RFM fixed": learned("fixed"),
        "boosting": (HistGradientBoostingRegressor, HistGradientBoostingClassifier)[which](
            random_state=0
        ),
        "forest": (RandomForestRegressor, RandomForestClassifier)[which](random_state=0),
        "tuned SVM": GridSearchCV(scaled, grid, cv=3),
    }
    others = {
        "LightGBM": ("lightgbm", ("LGBMRegressor", "LGBMClassifier"), {"verbose": -1, "n_jobs": 1}),
        "CatBoost": (
            "catboost",
            ("CatBoostRegressor", "CatBoostClassifier"),
            {"verbose": 0, "allow_writing_files": False, "thread_count": 1},
        ),
    }
    for name, (package, classes, options) in others.items():
        if find_spec(package):
            make = partial(getattr(import_module(package), classes[which]), **options)
            found[name] = Searched(make, SETTINGS[name], bool(which))
    if find_spec("xrfm"):
        found["xrfm"] = Foreign(bool(which))
    return found


@dataclass
class Result:
    """What a model lost row by row, in units of the variance, and the seconds of CPU."""

    losses: np.ndarray
    seconds: float
    told: dict[str, float] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)

    @property
    def score(self) -> float:
        return 1.0 - float(self.losses.mean())


def results_of(
    task: str, frame: Any, y: np.ndarray, seed: int, given: argparse.Namespace
) -> dict[str, Result]:
    """All models on one split."""
    order = np.random.default_rng(seed).permutation(len(y))
    count = min(given.rows, int(0.7 * len(y)))
    train, test = order[:count], order[count : count + JUDGED]
    X, T = prepared(frame, train, test)
    truth = y[test]

    def lost(said: np.ndarray) -> np.ndarray:
        if task == "classification":
            return (np.asarray(said).astype(str) != truth.astype(str)).astype(float)
        wrong: np.ndarray = np.square(said - truth) / np.var(truth)
        return wrong

    found: dict[str, Result] = {}
    for name, model in models(task).items():
        if name in given.without:
            continue
        if isinstance(model, Searched):
            model.seconds = given.budget or found["RFM"].seconds
        start = time.process_time()
        model.fit(X, y[train])
        seconds = time.process_time() - start
        said = np.asarray(model.predict(T))
        told = of_rare_classes(model, T, truth, said) if task == "classification" else {}
        found[name] = Result(lost(said), seconds, told)
    if given.budget:
        start, begin = time.process_time(), now()
        board = compare(frame.iloc[train], y[train], task=task, budget=given.budget, progress=False)
        seconds, spent = time.process_time() - start, now() - begin
        said = np.asarray(board.best.predict(frame.iloc[test]))
        one = Result(lost(said), seconds)
        one.told = {"spent": spent / given.budget, "rows": board.saved.rows / count}
        one.said = {"winner": board.rows[0].name, "board": [(r.name, r.mean) for r in board.rows]}
        one.said["notes"] = list(board.notes)
        if task == "classification":
            one.told |= of_rare_classes(board.best, frame.iloc[test], truth, said)
        if board.headline is not None:
            low, high = board.headline.low, board.headline.high
            one.told["covered"] = float(low <= one.score <= high)
            # The score on these rows is not the truth either.
            own, middle = 1.645 * float(one.losses.std()) / len(test) ** 0.5, (low + high) / 2
            one.told["agrees"] = float(abs(one.score - middle) <= np.hypot(high - middle, own))
            one.said["headline"] = board.headline.to_dict()
        found["compare"] = one
    return found


def level(ours: Result, other: Result) -> bool:
    """Ahead, or behind by no more than one standard error."""
    behind = ours.losses - other.losses
    return bool(behind.mean() <= behind.std() / np.sqrt(len(behind)))


def summary(task: str, results: dict[str, dict[str, Result]]) -> None:
    names = list(next(iter(results.values())))
    table = np.array([[row[name].score for name in names] for row in results.values()])
    ranks = np.array([rankdata(-row.round(6)) for row in table])
    best = table.max(axis=1, keepdims=True)
    print(f"\n{task}, {len(table)} tables: mean rank, best on, median gap to the best")
    order = np.argsort(ranks.mean(axis=0))
    for j in order:
        won = int((table[:, j] >= best[:, 0] - 1e-9).sum())
        gap = float(np.median(best[:, 0] - table[:, j]))
        print(f"  {names[j]:10} {ranks[:, j].mean():.2f}  {won:3}  {gap:.4f}")
    for what, sign in (("balanced accuracy", -1), ("log loss", 1)):
        whose = [name for name in names if all(what in row[name].told for row in results.values())]
        if whose:
            told = [[sign * row[name].told[what] for name in whose] for row in results.values()]
            means = np.mean([rankdata(np.round(row, 6)) for row in told], axis=0)
            print(f"  mean rank in {what}:", *(
                f"{whose[j]} {means[j]:.2f}" for j in np.argsort(means)
            ))  # fmt: skip
    place = {names[j]: i + 1 for i, j in enumerate(order)}
    trees = [name for name in TREES if name in names]
    if "RFM" in names and trees:
        asked_of_learned(task, results, trees, place["RFM"])
    if "compare" in names:
        asked_of_compare(results)


def asked(what: str, found: float, bound: str, unit: str = "%") -> None:
    print(f"  {what:66} {found:7.4g} {unit}  (asked {bound})")


def share(of: Sequence[float]) -> float:
    return 100.0 * float(np.mean(of))


def asked_of_learned(
    task: str, results: dict[str, dict[str, Result]], trees: list[str], place: int
) -> None:
    rows = list(results.values())
    best_tree = [max((row[t] for t in trees), key=lambda r: r.score) for row in rows]
    pairs = list(zip(rows, best_tree, strict=True))
    asked("RFM: place in mean rank", place, "1" if task == "regression" else "1 or 2", " ")
    if task == "regression":
        ahead = share([row["RFM"].score > tree.score for row, tree in pairs])
        asked(f"RFM ahead of the best of {', '.join(trees)}", ahead, "≥ 75")
        gaps = [max(r.score for r in row.values()) - row["RFM"].score for row in rows]
        asked(
            "median gap of RFM to the best of all, in % of variance", 100 * np.median(gaps), "≤ 0.3"
        )
    else:
        even = share([level(row["RFM"], tree) for row, tree in pairs])
        asked(f"RFM ahead of or level with the best of {', '.join(trees)}", even, "≥ 70")
    if "RFM fixed" in rows[0]:
        behind = max(row["RFM fixed"].score - row["RFM"].score for row in rows)
        asked("most that RFM is behind its own fixed kernel, in points", 100 * behind, "≤ 2", " ")


def asked_of_compare(results: dict[str, dict[str, Result]]) -> None:
    rows = list(results.values())
    others = [[r for name, r in row.items() if name != "compare"] for row in rows]
    ours = [row["compare"] for row in rows]
    best = [max(r.score for r in row) for row in others]
    told = [one.told for one in ours]
    near = share([one.score >= top - 0.01 for one, top in zip(ours, best, strict=True)])
    asked("compare within 0.01 of the best of all others", near, "≥ 80")
    first = share([one.score >= top for one, top in zip(ours, best, strict=True)])
    asked("compare first or tied", first, "≥ 40")
    if "LightGBM" in rows[0]:
        asked(
            "compare ahead of or level with LightGBM",
            share([level(row["compare"], row["LightGBM"]) for row in rows]),
            "≥ 75",
        )
    for key, what in (("covered", ""), ("agrees", ", its own error added")):
        covered = [o[key] for o in told if key in o]
        asked(f"test score inside the announced interval{what}", share(covered), "85–95")
    asked("budgets kept (a tenth more is allowed)", share([o["spent"] <= 1.1 for o in told]), "100")
    asked(
        "time unspent, in the median",
        100 * float(np.median([1 - o["spent"] for o in told])),
        "≤ 15",
    )
    asked("saved on all rows given", share([o["rows"] == 1 for o in told]), "100")


def joined(runs: list[Result]) -> Result:
    """Splits of one table as one."""
    told = {name: float(np.mean([r.told[name] for r in runs])) for name in runs[0].told}
    seconds = float(np.mean([r.seconds for r in runs]))
    return Result(np.concatenate([r.losses for r in runs]), seconds, told)


def _begin() -> None:
    """One process of several: one thread, so that none waits for another."""
    warnings.simplefilter("ignore")
    threadpool_limits(1)
    set_config(threads=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first split")
    parser.add_argument("--budget", type=float)
    parser.add_argument("--task", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--out", default="", help="a file of JSON for what was found, split by split"
    )
    parser.add_argument("--without", default="", help="models that are left out, with commas")
    given = parser.parse_args()
    given.without = given.without.split(",")
    runs: dict[tuple[str, str], list[dict[str, Result]]] = {}
    results: dict[str, dict[str, dict[str, Result]]] = {"regression": {}, "classification": {}}
    kept: list[dict[str, Any]] = []
    with ProcessPoolExecutor(given.jobs, get_context("spawn"), _begin) as pool:
        going = {
            pool.submit(results_of, task, frame, y, seed, given): (task, name, seed)
            for name, task, frame, y in tables(given.names)
            if given.task in ("", task)
            for seed in range(given.first, given.first + given.splits)
        }
        for job in as_completed(going):
            (task, name, seed), run = going[job], job.result()
            runs.setdefault((task, name), []).append(run)
            told = [f"{m} {r.score:.4f} ({r.seconds:.1f} s)" for m, r in run.items()]
            print(f"{name:18} {seed}", *told, *(r.told for m, r in run.items() if m == "compare"),
                  flush=True)  # fmt: skip
            kept += [
                {"table": name, "seed": seed, "model": m, "score": r.score, "tests": len(r.losses)}
                | {"error": float(r.losses.std() / np.sqrt(len(r.losses))), "seconds": r.seconds}
                | r.told | r.said
                for m, r in run.items()
            ]  # fmt: skip
            if given.out:
                Path(given.out).write_text(json.dumps(kept, indent=1))
    for (task, name), found in runs.items():
        results[task][name] = {model: joined([run[model] for run in found]) for model in found[0]}
    for task, by_table in results.items():
        if by_table:
            summary(task, by_table)


if __name__ == "__main__":
    main()
