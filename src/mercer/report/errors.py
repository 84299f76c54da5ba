"""Errors worth looking at: the held-out rows that went most wrong, with what is in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._escape.html import Markup, table, tag, text
from mercer.data.schema import DATES
from mercer.report.svg import picture

#: Rows shown, values of a row, and characters of a text.
SHOWN, VALUES, LETTERS = 12, 8, 240


def errors(board: Any, data: Any) -> Markup:
    """The worst of the out-of-fold predictions."""
    worst = board.oof.worst(SHOWN)
    if not len(worst):
        return tag("p", "Every held-out row was predicted right: there is no error to look at.")
    intro = tag("p", _words(board, len(worst)), class_="soft")
    if data.shape is not None and data.kind == "images":
        body = tag("div", *(_image(board, data, i) for i in worst), class_="looks")
    elif data.kind in ("strings", "mail"):
        body = _texts(board, data, worst)
    else:
        body = _table(board, data, worst)
    return Markup(intro + body)


def _words(board: Any, shown: int) -> str:
    wrong = int((board.oof.errors > 0).sum())
    if board.task == "regression":
        return f"The {shown} largest errors on held-out rows. Rows are counted from 0."
    return (
        f"{wrong} of {len(board.oof.rows)} held-out rows were predicted wrongly; these {shown} "
        "with the most certainty: look for wrong labels first. Rows are counted from 0."
    )


def _answer(board: Any, index: int) -> tuple[str, str, str]:
    """(row, truth, prediction) as text."""
    out = board.oof
    return str(out.rows[index]), _short(out.truth[index]), _short(out.predicted[index])


def _short(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.5g}"
    shown = str(value)
    return shown if len(shown) <= 40 else shown[:39] + "…"


def _image(board: Any, data: Any, index: int) -> Markup:
    row, truth, predicted = _answer(board, index)
    words = f"row {row}: {truth}, taken for {predicted}"
    pixels = np.asarray(data.X[int(row)], dtype=float).reshape(data.shape)
    return tag("figure", picture(pixels, words), tag("figcaption", words))


def _texts(board: Any, data: Any, worst: np.ndarray) -> Markup:
    lines: list[list[Any]] = []
    for index in worst:
        row, truth, predicted = _answer(board, index)
        lines.append([row, truth, predicted, _cut(data.X[int(row)])])
    return table(["row", "truth", "predicted", "text"], lines, frozenset({0}))


def _cut(example: Any) -> str:
    if isinstance(example, bytes):
        example = example.decode("utf-8", errors="replace")
    words = " ".join(str(example).split())
    return words if len(words) <= LETTERS else words[: LETTERS - 1] + "…"


def _table(board: Any, data: Any, worst: np.ndarray) -> Markup:
    framed = hasattr(data.X, "iloc")
    columns = list(data.X.columns) if framed else list(range(data.X.shape[1]))
    chosen = columns[:VALUES]
    more = len(columns) - len(chosen)
    types = _types(data) if framed else {}
    lines: list[list[Any]] = []
    for index in worst:
        row, truth, predicted = _answer(board, index)
        values = data.X.iloc[int(row)] if framed else _dense(data.X, int(row))
        if framed:  # rows without a target are gone; the file still has them
            row = str(data.X.index[int(row)])
        cells = [_value(values[c], types.get(c, "")) for c in chosen]
        lines.append([row, truth, predicted, *cells, *([f"{more} more"] if more else [])])
    names = [str(c) if framed else f"x{c}" for c in chosen]
    header = ["row", "truth", "predicted", *names, *(["…"] if more else [])]
    numbers = [i for i, c in enumerate(chosen) if not framed or data.X[c].dtype.kind in "iuf"]
    return table([text(h) for h in header], lines, frozenset({0, *(3 + i for i in numbers)}))


def _types(data: Any) -> dict[Any, str]:
    """The types of the columns of a frame, where they are known."""
    if data.schema is None or not data.schema.types:
        return {}
    return dict(zip(data.schema.columns, data.schema.types, strict=True))


def _value(value: Any, kind: str) -> str:
    """A cell as it was in the file: dates and truths were made numbers of."""
    if value is None or value != value:
        return "–"
    if kind in DATES:
        return str(np.datetime64(round(float(value)), "s")).removesuffix("T00:00:00")
    if kind == "truth":
        return "True" if value else "False"
    return _short(value)


def _dense(X: Any, row: int) -> np.ndarray:
    return X[row].toarray()[0] if hasattr(X, "tocsr") else X[row]
