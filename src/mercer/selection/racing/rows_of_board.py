"""Candidates as rows of the scoreboard, the baseline among them, and the winner's predictions."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mercer.data.dataset import Dataset
from mercer.selection.board.scoreboard import OutOfFold, Row
from mercer.selection.racing.entries import Data, Entry
from mercer.selection.racing.race import Race
from mercer.selection.scores import judged


def row_of(entry: Entry, race: Race) -> Row:
    n, total = race.last, len(race.data.splits[0])
    complete = entry.size == n and entry.folds >= total
    share = 1 - 1 / total
    support = round(float(np.mean([o.n_support for o in entry.outcomes])))
    outputs = max(1, race.data.classes if race.data.classes != 2 else 1)
    note = ""
    if entry.size < n:
        note = f"stopped after {entry.size} of {n} rows"
    elif not complete:
        note = f"stopped after {entry.folds} of {total} folds"
    return Row(
        name=entry.name,
        kernel="" if entry.kernel is None else repr(entry.kernel),
        learner=entry.trainer.learner,
        params={},
        mean=entry.mean,
        spread=float(np.std(entry.scores)),
        scores=tuple(entry.scores),
        fit_seconds=float(np.mean([o.choose_seconds + o.fit_seconds for o in entry.outcomes]))
        + entry.gram_seconds * share**2,
        predict_seconds=float(np.mean([o.predict_seconds for o in entry.outcomes]))
        + entry.gram_seconds * share * (1 - share),
        n_support=support,
        memory_bytes=round(float(np.mean([o.memory_bytes for o in entry.outcomes])))
        or int(support * (_bytes_of_a_row(race.data.X) + 8 * outputs)),
        rows_seen=entry.size,
        stopped=not complete,
        note=note,
        rival=entry.rival is not None,
    )


def _bytes_of_a_row(X: Any) -> float:
    if hasattr(X, "indptr"):
        return float((X.data.nbytes + X.indices.nbytes) / max(1, X.shape[0]))
    if hasattr(X, "nbytes"):
        return float(X.shape[1] * 8)
    return float(np.mean([len(x) for x in X[:200]]))


def baseline(data: Data) -> Row:
    """The most frequent class, or the mean."""
    scores = []
    begin = time.perf_counter()
    for train, test in (s for repeat in data.splits for s in repeat):
        shares, sure = None, False
        if data.classes:
            count = np.bincount(data.y[train], minlength=data.classes)
            guess: Any = count.argmax()
            shares, sure = np.tile(count / count.sum(), (len(test), 1)), True
        else:
            guess = data.y[train].mean()
        answers = np.full(len(test), guess)
        scores.append(judged(data.metric, data.y[test], answers, shares, sure))
    kind = "Classifier" if data.classes else "Regressor"
    seconds = (time.perf_counter() - begin) / max(1, len(scores))
    what = "the most frequent class" if data.classes else "the mean"
    return Row(
        name=f"baseline: {what}", kernel="", learner=f"Dummy{kind}", params={},
        mean=float(np.mean(scores)), spread=float(np.std(scores)), scores=tuple(scores),
        fit_seconds=seconds, predict_seconds=0.0, n_support=0, memory_bytes=8, rows_seen=data.n,
        note=f"always {what}",
    )  # fmt: skip


def with_baseline(rows: list[Row], base: Row) -> list[Row]:
    """The baseline, put by its score among the rows that saw everything."""
    ahead = [i for i, row in enumerate(rows) if not row.stopped and row.mean >= base.mean]
    position = ahead[-1] + 1 if ahead else min(1, len(rows))
    return [*rows[:position], base, *rows[position:]]


def out_of_fold(winner: Entry, found: Dataset, drawn: np.ndarray, first: int) -> OutOfFold:
    """Predictions of the winner for each row by the fit that had not seen it.

    The `first` folds, those of one cross-validation, hold every row once.
    """
    assert found.y is not None
    total = min(winner.folds, first)
    rows = np.concatenate(winner.tests[:total])
    predicted = np.concatenate([o.predicted for o in winner.outcomes[:total]])
    sure = np.concatenate([o.certainty for o in winner.outcomes[:total]])
    order = np.argsort(rows, kind="stable")
    where = drawn[rows[order]]
    if found.classes is not None:
        predicted = found.classes[predicted.astype(int)]
    return OutOfFold(where, found.y[where], predicted[order], sure[order])
