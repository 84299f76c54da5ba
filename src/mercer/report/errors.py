"""Errors worth looking at: the held-back rows that went most wrong, with what is in them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._escape.html import Markup, code, tag
from mercer._escape.spreadsheet import cell
from mercer.data.schema import DATES
from mercer.report.study import Importance, held_back
from mercer.report.svg import picture
from mercer.report.tables import shown, table

#: Rows shown, values of a row, and characters of a text.
SHOWN, VALUES, LETTERS = 12, 6, 240
#: Columns of the data in the file of wrong rows.
MOST_COLUMNS = 200


def errors(board: Any, data: Any, file: str = "", known: Importance | None = None) -> Markup:
    """The worst of the answers for rows that the model had not seen; `file` has all of them.

    Of many columns those that are `known` to be the most important are shown.
    """
    worst = held_back(board).worst(SHOWN)
    if not len(worst):
        return tag("p", "Every held-out row was predicted right: there is no error to look at.")
    intro = tag("p", _words(board, len(worst)), class_="soft")
    if file:
        intro = Markup(intro + tag("p", "All of them are in ", code(file), ".", class_="soft"))
    if data.shape is not None and data.kind == "images":
        body = tag("div", *(_image(board, data, i) for i in worst), class_="looks")
    elif data.kind in ("strings", "mail"):
        body = _texts(board, data, worst)
    else:
        body = _table(board, data, worst, known.names if known else [])
    return Markup(intro + body)


def _words(board: Any, count: int) -> str:
    held = held_back(board)
    if board.task == "regression":
        return f"The {count} largest errors on held-out rows. Rows are counted from 0."
    wrong = int((held.errors > 0).sum())
    return (
        f"{wrong} of {len(held.rows)} held-out rows were predicted wrongly; these {count} "
        "with the most certainty: look for wrong labels first. Rows are counted from 0."
    )


def wrong_rows(board: Any, data: Any) -> str:
    """A CSV file: every held-out row that was predicted wrongly, the surest or worst first."""
    held = held_back(board)
    measure = held.certainty if board.task == "classification" else held.truth - held.predicted
    last = "certainty" if board.task == "classification" else "error"
    names, values = _columns(data)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([cell(name) for name in ("row", "truth", "predicted", last, *names)])
    for index in held.worst(len(held.rows)):
        row = int(held.rows[index])
        said = (_name(data, row), held.truth[index], held.predicted[index], measure[index])
        writer.writerow([cell(_plain(v)) for v in (*said, *values(row))])
    return stream.getvalue()


def _plain(value: Any) -> Any:
    """Numbers of NumPy as Python writes them; nothing for what is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    return "" if value is None or value != value else value


def _columns(data: Any) -> tuple[list[str], Any]:
    """Names of what is known of a row, and a function that gives it."""
    if data.kind in ("strings", "mail"):
        return ["text"], lambda row: [_letters(data.X[row])]
    if data.kind == "images" or data.X.shape[1] > MOST_COLUMNS:
        return [], lambda row: []
    if hasattr(data.X, "iloc"):
        types = _types(data)
        columns = list(data.X.columns)
        return [str(c) for c in columns], lambda row: [
            _value(data.X[c].iloc[row], types.get(c, ""), exact=True) for c in columns
        ]
    return [f"x{j}" for j in range(data.X.shape[1])], lambda row: list(_dense(data.X, row))


def _name(data: Any, row: int) -> Any:
    """A row as the file counts it: rows without a target are gone, and the file still has them."""
    return data.X.index[row] if hasattr(data.X, "iloc") else row


def _answer(board: Any, data: Any, index: int) -> tuple[str, str, str]:
    """(row, truth, prediction) as text."""
    held = held_back(board)
    name = str(_name(data, int(held.rows[index])))
    return name, shown(held.truth[index]), shown(held.predicted[index])


def _image(board: Any, data: Any, index: int) -> Markup:
    row, truth, predicted = _answer(board, data, index)
    words = f"row {row}: {truth}, taken for {predicted}"
    pixels = np.asarray(data.X[int(row)], dtype=float).reshape(data.shape)
    return tag("figure", picture(pixels, words), tag("figcaption", words))


def _texts(board: Any, data: Any, worst: np.ndarray) -> Markup:
    lines: list[list[Any]] = []
    for index in worst:
        row, truth, predicted = _answer(board, data, index)
        lines.append([row, truth, predicted, _cut(data.X[int(row)])])
    return table(["row", "truth", "predicted", "text"], lines, frozenset({0}))


def _letters(example: Any) -> str:
    if isinstance(example, bytes):
        example = example.decode("utf-8", errors="replace")
    return " ".join(str(example).split())


def _cut(example: Any) -> str:
    words = _letters(example)
    return words if len(words) <= LETTERS else words[: LETTERS - 1] + "…"


def _table(board: Any, data: Any, worst: np.ndarray, first: Sequence[str]) -> Markup:
    framed = hasattr(data.X, "iloc")
    columns = list(data.X.columns) if framed else list(range(data.X.shape[1]))
    at = {name: i for i, name in enumerate(first)}
    label = str if framed else "x{}".format
    chosen = sorted(columns, key=lambda c: at.get(label(c), len(at)))[:VALUES]
    types = _types(data) if framed else {}
    held = held_back(board)
    lines: list[list[Any]] = []
    for index in worst:
        row = int(held.rows[index])
        values = data.X.iloc[row] if framed else _dense(data.X, row)
        cells = [_value(values[c], types.get(c, "")) for c in chosen]
        lines.append([*_answer(board, data, index), *cells])
    heads = ["row", "truth", "predicted", *map(label, chosen)]
    numbers = [i for i, c in enumerate(chosen) if not framed or data.X[c].dtype.kind in "iuf"]
    made = table(heads, lines, frozenset({0, *(3 + i for i in numbers)}))
    if len(chosen) == len(columns):
        return made
    which = "The most important" if first else "The first"
    words = f"{which} {len(chosen)} of {len(columns)} columns."
    return Markup(made + tag("p", words, class_="soft"))


def _types(data: Any) -> dict[Any, str]:
    """The types of the columns of a frame, where they are known."""
    if data.schema is None or not data.schema.types:
        return {}
    return dict(zip(data.schema.columns, data.schema.types, strict=True))


def _value(value: Any, kind: str, exact: bool = False) -> Any:
    """A cell as it was in the file: dates and truths were made numbers of."""
    if value is None or value != value:
        return "" if exact else "–"
    if kind in DATES:
        return str(np.datetime64(round(float(value)), "s")).removesuffix("T00:00:00")
    if kind == "truth":
        return "True" if value else "False"
    return value if exact else shown(value)


def _dense(X: Any, row: int) -> np.ndarray:
    return X[row].toarray()[0] if hasattr(X, "tocsr") else X[row]
