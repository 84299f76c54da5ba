"""Why these rows: what each column adds to answers of the winner, where that is known exactly."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mercer
from mercer._escape.html import Markup, tag
from mercer._examples import take
from mercer._machine.deadline import optional
from mercer.report.pictures import captioned
from mercer.report.study import Study, as_fitted, held_back
from mercer.report.svg import figure
from mercer.report.tables import shown, table

#: Rows for the picture of all, rows that they are compared with, and rows drawn of each kind.
ROWS, BACKGROUND, EACH = 100, 100, 2
#: Columns beyond which nothing is explained, and columns in the table.
MOST_COLUMNS, LINES = 200, 8
#: What the importances are called.
HEADS = {
    "shapley": "mean |Shapley value|",
    "gradient": "slope times spread",
    "permutation": "score lost by shuffling",
}


def reasons(board: Any, data: Any, done: Study) -> list[Markup]:
    """The section; nothing where the winner's answers are no sum of products over columns."""
    if data.kind not in ("table", "vectors") or data.X.shape[1] > MOST_COLUMNS:
        return []
    made = optional(_section, board, as_fitted(board, data), done)
    return made or []


def _section(board: Any, data: Any, done: Study) -> list[Markup]:
    held, random = held_back(board), np.random.default_rng(0)
    chosen, words = _chosen(held, board.task)
    rows = held.rows[chosen].astype(int)
    background = take(data.X, np.sort(random.permutation(len(data))[:BACKGROUND]))
    some = take(data.X, random.permutation(held.rows)[:ROWS])
    given = {"background": background, "method": "exact"}
    try:
        found = mercer.explain_rows(board.best, take(data.X, rows), **given)
        frame = mercer.reasons.importances(board.best, some, **given)
    except (ImportError, TypeError, ValueError):  # `NotFactored` is one of the last
        return []
    names = data.X.index if hasattr(data.X, "iloc") else np.arange(len(data))
    figures = []
    for i, (index, said) in enumerate(zip(chosen, words, strict=True)):
        output = int(found.scores[i].argmax()) if found.values.ndim == 3 else None
        draw = partial(mercer.plot.waterfall, found, i, output, 7)
        row, truth, answer = (
            shown(value) for value in (names[rows[i]], held.truth[index], held.predicted[index])
        )
        drawn = figure(draw, (5.2, 3.6), f"reasons of row {row}")
        figures.append(captioned(drawn, f"Row {row}, {said}: {truth}, taken for {answer}."))
    intro = (
        f"What each column adds to the score of the saved model, exactly: {found.definition}. This "
        "says what the model does with a column, not what would happen if the column were changed "
        "in the world; columns that go together share what they say."
    )
    return [tag("h2", "Why these rows"), tag("p", intro, class_="soft"), *_compared(frame, done),
            tag("div", *figures, class_="pictures")]  # fmt: skip


def _chosen(held: Any, task: str) -> tuple[np.ndarray, list[str]]:
    """The worst rows, and of classes the least certain ones."""
    worst = held.worst(EACH)
    if task != "classification":
        return worst, ["far off"] * len(worst)
    rest = np.setdiff1d(np.flatnonzero(np.isfinite(held.certainty)), worst)
    unsure = rest[np.argsort(held.certainty[rest], kind="stable")[:EACH]]
    return np.concatenate([worst, unsure]), ["wrong"] * len(worst) + ["unsure"] * len(unsure)


def _compared(frame: Any, done: Study) -> list[Markup]:
    """Importances of columns side by side, and a sentence where their first columns differ."""
    if done.importance is not None:
        falls = dict(zip(done.importance.names, done.importance.fall, strict=True))
        frame = frame.assign(permutation=[falls.get(name, np.nan) for name in frame.index])
    heads = [HEADS[name] for name in frame.columns]
    numbers = [["–" if v != v else f"{v:.3g}" for v in row] for row in frame.to_numpy()[:LINES]]
    lines = [[shown(name), *row] for name, row in zip(frame.index, numbers, strict=False)]
    made = [table(["column", *heads], lines, frozenset({1, 2, 3}), fixed=True)]
    first = [shown(name) for name in frame.fillna(-np.inf).idxmax()]
    if len(set(first)) > 1:
        each = ", ".join(f"{name} by {head}" for name, head in zip(first, heads, strict=True))
        words = (
            f"They disagree on the first column: {each}. A column can move scores that are far "
            "from a boundary, and others can stand in for one that is shuffled."
        )
        made.append(tag("p", words, class_="soft"))
    return made
