"""Why these rows: what each column adds to answers of the winner, where that is known exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

import mercer
from mercer._escape.html import Markup, tag
from mercer._examples import take
from mercer._machine.deadline import optional
from mercer.reasons.factors import NotFactored
from mercer.report.pictures import captioned
from mercer.report.study import Study, as_fitted, held_back
from mercer.report.svg import figure
from mercer.report.tables import shown, table

#: Rows for the picture of all, rows that they are compared with, and rows drawn of each kind.
ROWS, BACKGROUND, EACH = 100, 48, 2
#: Columns beyond which nothing is explained, and columns in the table.
MOST_COLUMNS, LINES = 200, 8


def reasons(board: Any, data: Any, done: Study) -> list[Markup]:
    """The section; nothing where the winner's answers are no sum of products over columns."""
    if data.kind not in ("table", "vectors") or data.X.shape[1] > MOST_COLUMNS:
        return []
    made = optional(_section, board, as_fitted(board, data), done)
    return made or []


def _section(board: Any, data: Any, done: Study) -> list[Markup]:
    held, random = held_back(board), np.random.default_rng(0)
    chosen, words = _chosen(held, board.task)
    some = random.permutation(held.rows)[:ROWS]
    background = take(data.X, np.sort(random.permutation(len(data))[:BACKGROUND]))
    rows = np.concatenate([held.rows[chosen], some]).astype(int)
    try:
        found = mercer.explain_rows(board.best, take(data.X, rows), background, method="exact")
    except (NotFactored, ValueError, TypeError):
        return []
    names = data.X.index if hasattr(data.X, "iloc") else np.arange(len(data))
    figures = []
    for i, (index, said) in enumerate(zip(chosen, words, strict=True)):
        output = int(found.scores[i].argmax()) if found.values.ndim == 3 else None
        caption = (
            f"Row {names[rows[i]]}, {said}: {shown(held.truth[index])}, taken for "
            f"{shown(held.predicted[index])}."
        )
        drawn = figure(
            lambda ax, i=i, o=output: mercer.plot.waterfall(found, i, o, 7, ax),  # type: ignore[misc]
            (5.2, 3.6),
            f"reasons of row {names[rows[i]]}",
        )
        figures.append(captioned(drawn, caption))
    intro = (
        f"What each column adds to the score of the saved model, exactly: {found.definition}. This "
        "says what the model does with a column, not what would happen if the column were changed "
        "in the world; columns that go together share what they say."
    )
    return [
        tag("h2", "Why these rows"),
        tag("p", intro, class_="soft"),
        *_compared(found, len(chosen), done),
        tag("div", *figures, class_="pictures"),
    ]


def _chosen(held: Any, task: str) -> tuple[np.ndarray, list[str]]:
    """The worst rows, and of classes the least certain ones."""
    worst = held.worst(EACH)
    if task != "classification":
        return worst, ["far off"] * len(worst)
    rest = np.setdiff1d(np.flatnonzero(np.isfinite(held.certainty)), worst)
    unsure = rest[np.argsort(held.certainty[rest], kind="stable")[:EACH]]
    return np.concatenate([worst, unsure]), ["wrong"] * len(worst) + ["unsure"] * len(unsure)


def _compared(found: Any, first: int, done: Study) -> list[Markup]:
    """Mean |φ| beside the importance by shuffling, and a sentence where their first ones differ."""
    mean = np.abs(found.values[first:]).mean(axis=0)
    mean = mean if mean.ndim == 1 else mean.sum(axis=1)
    order = np.argsort(-mean, kind="stable")
    falls = {} if done.importance is None else dict(
        zip(done.importance.names, done.importance.fall, strict=True)
    )  # fmt: skip
    lines = []
    for j in order[:LINES]:
        name = found.feature_names[j]
        fall = f"{falls[name]:.3g}" if name in falls else "–"
        lines.append([shown(name), f"{mean[j]:.3g}", fall])
    heads = ["column", "mean |Shapley value|", "score lost by shuffling"]
    made = [table(heads, lines, frozenset({1, 2}), fixed=True)]
    by_shapley, by_shuffling = (
        found.feature_names[order[0]],
        max(falls, key=falls.__getitem__, default=""),
    )
    if by_shuffling and by_shapley != by_shuffling:
        words = (
            f"The two disagree on the first column: {shown(by_shapley)} moves the scores most, "
            f"while {shown(by_shuffling)} costs most when it is shuffled. A column can move scores "
            "that are far from the boundary, and others can stand in for a shuffled one."
        )
        made.append(tag("p", words, class_="soft"))
    return made
