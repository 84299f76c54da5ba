"""`compare` within a time budget against scikit-learn's SVC or SVR tuned over C and γ, and against
the rivals that stood in its race.

Both get the same training rows and choose on them alone; both are judged by rows that neither saw.
The peer is GridSearchCV with five folds on all cores, over what one would write first: the numbers
as they are (a9a), standardized (concrete), one-hot letters (splice), tf-idf of words (SMS); C and γ
in steps of ten (γ of three on concrete).

On all tables of numbers or letters, each rival is also fitted alone on all training rows: where it
stood in the race, what `compare` chose must not be more than half a point behind the best of them
on rows kept apart. What the choice of those rows does to the difference is said beside each.

    python bench/compare_selection.py [--only=concrete] [--only=rivals] [--seconds=30]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _harness import (
    Row,
    all_cores,
    at_most,
    below,
    claim,
    cores,
    data_file,
    main,
    no_data,
    skipped,
)
from _tables import read_columns
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from mercer.data.dataset import Dataset
from mercer.selection import compare
from mercer.selection.preprocess import preprocessing
from mercer.selection.rivals.named import NAMED


@dataclass(frozen=True)
class Task:
    """Training and held-out rows, for both sides; `budget` in seconds is ours."""

    name: str
    X: Any
    y: np.ndarray
    Z: Any
    t: np.ndarray
    pipeline: Any
    grid: dict[str, list[Any]]
    budget: float
    peer_X: Any = None
    peer_Z: Any = None

    @property
    def score(self) -> Any:
        return r2_score if self.y.dtype.kind == "f" else accuracy_score


C = [1.0, 10.0, 100.0]


def a9a() -> Task | None:
    path = data_file("a9a.npz")
    if path is None:
        return None
    with np.load(path) as file:
        X, y = file["X_train"].astype(np.float64), file["y_train"]
        Z, t = file["X_test"].astype(np.float64), file["y_test"]
    grid = {"svc__C": C, "svc__gamma": [0.001, 0.01, 0.1, 1.0]}
    return Task("a9a, 5000 rows", X[:5000], y[:5000], Z, t, make_pipeline(SVC()), grid, 15.0)


def concrete() -> Task | None:
    path = data_file("uci_concrete.npz")
    if path is None:
        return None
    with np.load(path) as file:
        X, y = file["X"].astype(np.float64), file["y"].astype(np.float64)
    X, Z, y, t = train_test_split(X, y, test_size=0.3, random_state=0)
    grid = {"svr__C": [1.0, 10.0, 100.0, 1000.0], "svr__gamma": [0.01, 0.03, 0.1, 0.3]}
    pipeline = make_pipeline(StandardScaler(), SVR())
    return Task("concrete", X, y, Z, t, pipeline, grid, 1.2)


def splice() -> Task | None:
    path = data_file("splice_junction.tsv.gz")
    if path is None:
        return None
    columns = read_columns(path)
    texts = np.array([s.strip() for s in columns["sequence"]])
    X, Z, y, t = train_test_split(
        texts, np.array(columns["label"]), test_size=0.3, random_state=0, stratify=columns["label"]
    )
    letters = [np.array([list(s) for s in part]) for part in (X, Z)]
    grid = {"svc__C": C, "svc__gamma": [0.001, 0.01, 0.1, 1.0]}
    pipeline = make_pipeline(OneHotEncoder(handle_unknown="ignore"), SVC())
    return Task("splice", list(X), y, list(Z), t, pipeline, grid, 20.0, *letters)


def sms() -> Task | None:
    path = data_file("sms_spam.tsv.gz")
    if path is None:
        return None
    columns = read_columns(path)
    X, Z, y, t = train_test_split(
        columns["text"],
        np.array(columns["label"]),
        test_size=0.3,
        random_state=0,
        stratify=columns["label"],
    )
    grid = {"svc__C": C, "svc__gamma": [0.01, 0.1, 1.0, 10.0]}
    pipeline = make_pipeline(TfidfVectorizer(), SVC())
    return Task("SMS", X, y, Z, t, pipeline, grid, 15.0)


FILES = {
    "a9a.npz": a9a,
    "uci_concrete.npz": concrete,
    "splice_junction.tsv.gz": splice,
    "sms_spam.tsv.gz": sms,
}


def one(task: Task) -> list[Row]:
    """Score, time and budget of one data set."""
    begin = time.perf_counter()
    board = compare(task.X, task.y, budget=task.budget)
    ours = time.perf_counter() - begin
    mine = 100 * task.score(task.t, board.best.predict(task.Z))
    peer_X = task.X if task.peer_X is None else task.peer_X
    peer_Z = task.Z if task.peer_Z is None else task.peer_Z
    search = GridSearchCV(task.pipeline, task.grid, cv=5, n_jobs=cores())
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(peer_X, task.y)
    theirs = time.perf_counter() - begin
    other = 100 * task.score(task.t, search.predict(peer_Z))
    chosen = ", ".join(f"{k.partition('__')[2]} {v:g}" for k, v in search.best_params_.items())
    names = f"{board.best_row.name} ({len(board.rows)} rows); peer {chosen}"
    unit = "R² %" if task.y.dtype.kind == "f" else "% right"
    return [
        # What is missing to the peer's score, in points; below zero is better than the peer.
        claim(
            f"compare, {task.name}: points behind tuned SVM",
            other - mine, None, below(0.5, "points"),
            f"{mine:.2f} against {other:.2f} {unit}; {names}",
        ),
        claim(
            f"compare, {task.name}: time against the grid",
            ours, theirs, at_most(1.0),
            f"grid of {len(search.cv_results_['params'])} × 5 fits on {cores()} cores",
        ),
        claim(
            f"compare, {task.name}: within the budget",
            ours / task.budget, None, below(1.1, "× budget"),
            f"{ours:.1f} s of {task.budget:g} s",
        ),
    ]  # fmt: skip


# ---------------------------------------------------------------- rivals


@dataclass(frozen=True)
class Table:
    """Training rows and rows kept apart."""

    name: str
    file: str
    read: Callable[[Path], tuple[Any, np.ndarray, Any, np.ndarray]]


def _standard(path: Path) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    with np.load(path) as file:
        X, Z = (file[k].astype(np.float32) for k in ("X_train", "X_test"))
        return X, file["y_train"], Z, file["y_test"]


def _numbers(path: Path) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    with np.load(path) as file:
        X, y = file["X"].astype(np.float64), file["y"].astype(np.float64)
    X, Z, y, t = train_test_split(X, y, test_size=0.3, random_state=0)
    return X, y, Z, t


def _letters(path: Path) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    columns = read_columns(path)
    frame = pd.DataFrame([list(s.strip()) for s in columns["sequence"]]).rename(columns=str)
    y = np.array(columns["label"])
    X, Z, y, t = train_test_split(frame, y, test_size=0.3, random_state=0, stratify=y)
    return X.reset_index(drop=True), y, Z.reset_index(drop=True), t


TABLES = (
    Table("concrete", "uci_concrete.npz", _numbers),
    Table("kin8nm", "uci_kin8nm.npz", _numbers),
    Table("california", "california_housing.npz", _numbers),
    Table("splice letters", "splice_junction.tsv.gz", _letters),
    Table("USPS", "usps.npz", _standard),
    Table("a9a, all rows", "a9a.npz", _standard),
    Table("MNIST, all rows", "mnist.npz", _standard),
)


def _chance(truth: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> float:
    """The standard error, in points, of the difference between two scores on the same rows."""
    if truth.dtype.kind == "f":
        gains = ((truth - theirs) ** 2 - (truth - ours) ** 2) / truth.var()
    else:
        gains = (ours == truth).astype(float) - (theirs == truth)
    return float(100 * gains.std() / np.sqrt(len(truth)))


def against_rivals(table: Table, seconds: float) -> Row:
    """How far the chosen model is behind the best rival that stood in the race."""
    name, target = f"compare, {table.name}: points behind its rivals", below(0.5, "points")
    path = data_file(table.file)
    if path is None:
        return skipped(name, target, no_data(table.file))
    X, y, Z, t = table.read(path)
    score = r2_score if y.dtype.kind == "f" else accuracy_score
    begin = time.perf_counter()
    board = compare(X, y, budget=seconds)
    ours = time.perf_counter() - begin
    mine = 100 * score(t, board.best.predict(Z))
    found = Dataset.of(X, y)
    others, luck = {}, {}
    for rival in (NAMED[row.learner] for row in board.rows if row.rival):
        values = rival.grid_for(board.task).values
        count = 0 if board.classes is None else len(board.classes)
        model = rival.make(board.task, count, values[len(values) // 2])
        alone = make_pipeline(*(step for _, step in preprocessing(found).steps), model)
        answers = alone.fit(found.X, found.y).predict(Z)
        others[rival.name] = 100 * score(t, answers)
        luck[rival.name] = _chance(t, board.best.predict(Z), answers)
    shown = ", ".join(f"{k} {v:.2f} (by chance ± {luck[k]:.2f})" for k, v in others.items())
    note = f"{mine:.2f} by {board.best_row.name} in {ours:.0f} s of {seconds:g} s; {shown}"
    print(f"{table.name}: {note}", flush=True)
    return claim(name, max(others.values(), default=mine) - mine, None, target, note)


def warm_up() -> None:
    """What is compiled at first use is compiled before the clock runs."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    compare(X, X[:, 0] > 0, cv=3)
    compare(X, X[:, 0], cv=3)
    compare(["".join(random.choice(list("ACGT"), 9)) for _ in range(40)], [0, 1] * 20, cv=3)
    compare([f"{'good day' if i % 2 else 'bad luck'} {i}" for i in range(40)], [0, 1] * 20, cv=3)


def measure() -> list[Row]:
    rows = []
    # For one of them alone: --only=concrete
    only = [a.partition("=")[2] for a in sys.argv if a.startswith("--only=")]
    with all_cores():
        warm_up()
        for file, make in FILES.items():
            if only and make.__name__ not in only:
                continue
            task = make()
            if task is None:
                name = f"compare, {make.__name__}: points behind tuned SVM"
                rows.append(skipped(name, below(0.5, "points"), no_data(file)))
            else:
                rows += one(task)
        seconds = [float(a.partition("=")[2]) for a in sys.argv if a.startswith("--seconds=")]
        for table in TABLES:
            if not only or "rivals" in only or table.name in only:
                rows.append(against_rivals(table, (seconds or [30.0])[0]))
    return rows


if __name__ == "__main__":
    main(measure)
