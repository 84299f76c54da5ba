"""The page: its sections in order, put together into one file."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

import mercer
from mercer._config import show_bytes
from mercer._escape.html import Markup, code, join, tag
from mercer.data.dataset import Dataset
from mercer.report.errors import errors
from mercer.report.pictures import pictures
from mercer.report.style import CSS
from mercer.report.svg import formula
from mercer.report.words import fine_print, metric_name, score, summary
from mercer.selection.board.render import (
    as_percent,
    fitted_words,
    short_name,
    show_score,
    show_spread,
)
from mercer.selection.board.scoreboard import show_seconds
from mercer.store import write_atomically

#: Rows of the scoreboard that are seen at once; the rest unfold.
MOST_ROWS = 14
#: Turned-down kernels that the search tree shows below each node.
MOST_TURNED_DOWN = 4


def write(board: Any, data: Any, path: str | os.PathLike[str], model: Any = None) -> Path:
    """Write the report on a `Scoreboard` and what it compared on: a `Dataset`, or (X, y).

    `model` is where the best is saved, as the page shows it.
    """
    path = Path(path)
    text = render(board, data, "model.mercer" if model is None else Path(model).name)
    write_atomically(path, lambda stream: stream.write(text.encode("utf-8", "replace")))
    return path


def render(board: Any, data: Any, model: str = "model.mercer") -> str:
    """The page as text: no script, no link, nothing that is fetched."""
    if isinstance(data, tuple):
        X, y = data
        data = Dataset(X, np.asarray(y), board.kind, board.task)
    title = f"{data.target or 'target'} in {data.source or 'data'}"
    body = [
        tag("h1", "What predicts ", tag("em", str(data.target or "the target")), " in ",
            data.source or "the data", "?"),
        tag("p", summary(board), class_="lead"),
        _cards(board, data),
        tag("p", fine_print(board), class_="note"),
        _notes(board),
        tag("h2", "Scoreboard"), _scoreboard(board),
        tag("h2", "Pictures"), tag("div", *pictures(board, data), class_="pictures"),
        tag("h2", "The winning kernel"), _kernel(board),
        tag("h2", "Errors worth looking at"), errors(board, data),
    ]  # fmt: skip
    if board.search is not None:
        body += [tag("h2", "The search for a kernel"), _search(board.search)]
    body += [tag("h2", "Use the model"), _use(board, data, model)]
    body.append(tag("footer", f"Written by mercer {mercer.__version__}."))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(CSS)),
    )
    page = tag("html", head, "\n", tag("body", tag("main", join(body))), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _cards(board: Any, data: Any) -> Markup:
    top, saved = board.headline, board.saved
    value, what = (
        (top.score, "on rows it had not seen") if top else (board.best_row.mean, "in the race")
    )
    cards = [
        (score(value, board.metric), f"{metric_name(board.metric)} {what}"),
        (score(board.baseline.mean, board.metric), "knowing nothing"),
        (f"{saved.rows:,}", f"rows it was fitted on ({board.kind})"),
        (f"{saved.points:,}", "points the model keeps"),
        (show_bytes(saved.memory_bytes), "memory of the model"),
        (show_seconds(saved.seconds), "to fit it"),
    ]
    return tag(
        "div", *(tag("div", tag("b", v), w, class_="card") for v, w in cards), class_="cards"
    )


def _notes(board: Any) -> Markup:
    notes = [f"{board.task}: {board.task_reason}"]
    notes += [n for n in board.notes if n not in notes]
    items = [tag("li", note) for note in notes]
    return tag("details", tag("summary", f"What was noticed and done ({len(items)})"),
               tag("ul", *items, class_="soft"), open="")  # fmt: skip


def _scoreboard(board: Any) -> Markup:
    name = metric_name(board.metric) + (" %" if as_percent(board.metric) else "")
    # The score first: it must be seen where the page is narrow, and columns at the end are hidden.
    heads = [name, "kernel", "learner", "support", "fit", "predict", "memory"]
    kinds: dict[int, str | None] = {0: "s", 1: "k", **dict.fromkeys((3, 4, 5, 6), "n second")}
    head = tag("tr", *(tag("th", h, class_=kinds.get(i)) for i, h in enumerate(heads)))
    lines = [_line(board, row, kinds) for row in board.rows]
    # The baseline is seen wherever it stands.
    first = [i for i, row in enumerate(board.rows) if i < MOST_ROWS or not row.kernel]
    made = tag("table", tag("thead", head), tag("tbody", *(lines[i] for i in first)))
    rest = [line for i, line in enumerate(lines) if i not in set(first)]
    parts = [tag("div", made, class_="scroll")]
    if rest:
        more = tag("table", tag("thead", head), tag("tbody", *rest))
        words = tag("summary", f"{len(rest)} more")
        parts.append(tag("details", words, tag("div", more, class_="scroll")))
    return join(parts)


def _line(board: Any, row: Any, kinds: dict[int, str | None]) -> Markup:
    learner = short_name(row)
    shown = [
        f"{show_score(row.mean, board.metric)} ± {show_spread(row.spread, board.metric)}",
        code(row.kernel) if row.kernel else row.name,
        tag("span", learner, tag("span", f"; {row.note}", class_="second"))
        if row.stopped
        else learner,
        f"{row.n_support:,}",
        show_seconds(row.fit_seconds),
        show_seconds(row.predict_seconds),
        show_bytes(row.memory_bytes),
    ]
    cells = [tag("td", value, class_=kinds.get(i)) for i, value in enumerate(shown)]
    best = row is board.best_row or row.name == board.best_row.name
    style = "best" if best else ("dim" if row.stopped or not row.kernel else None)
    return tag("tr", *cells, class_=style)


def _kernel(board: Any) -> Markup:
    parts: list[Any] = [tag("p", code(board.best_row.kernel))]
    latex = _latex(board)
    if latex:
        drawn = formula(f"k(x, z) = {latex}")
        parts.append(
            tag("div", drawn, class_="math") if drawn else tag("pre", f"k(x, z) = {latex}")
        )
    if board.best_row.params:
        chosen = ", ".join(f"{k} = {_number(v)}" for k, v in board.best_row.params.items())
        parts.append(tag("p", f"Fitted on {fitted_words(board)} with {chosen}.", class_="soft"))
    proof = board.proof
    if getattr(proof, "holds", False):
        where = f" {proof.limits}" if proof.limits else ""
        parts.append(tag("p", f"It is a kernel{where}, because:"))
        parts.append(tag("ul", _proof(proof), class_="tree"))
    else:
        parts.append(tag("pre", str(proof)))
    return join(parts)


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _latex(board: Any) -> str:
    kernel = getattr(board.proof, "kernel", None)
    try:
        return str(kernel.latex()) if kernel is not None else ""
    except (AttributeError, NotImplementedError, TypeError):
        return ""


def _proof(proof: Any) -> Markup:
    why = f": {proof.rule}" + (f" ({proof.because})" if proof.because else "")
    below = tag("ul", *(_proof(p) for p in proof.parts)) if proof.parts else Markup("")
    return tag("li", code(repr(proof.kernel)), why, below)


def _search(tree: Any) -> Markup:
    words = f"Grown step by step, judged by {tree.criterion}; what was kept stands out."
    return Markup(tag("p", words, class_="soft") + _grown(tree, None))


def _grown(tree: Any, parent: int | None) -> Markup:
    mine = [i for i, node in enumerate(tree.nodes) if node.parent == parent]
    mine.sort(key=lambda i: (not tree.nodes[i].accepted, -tree.nodes[i].score, i))
    turned_down = [i for i in mine if not tree.nodes[i].accepted]
    hidden = set(turned_down[MOST_TURNED_DOWN:])
    items = []
    for i in mine:
        if i in hidden:
            continue
        node = tree.nodes[i]
        line = [tag("code", node.expression, class_="kept" if node.accepted else None),
                f" {node.score:.4g} ", tag("span", f"({node.why})", class_="soft")]  # fmt: skip
        items.append(tag("li", *line, _grown(tree, i)))
    if hidden:
        items.append(tag("li", f"and {len(hidden)} more", class_="soft"))
    return tag("ul", *items, class_="tree" if parent is None else None) if items else Markup("")


def _use(board: Any, data: Any, model: str) -> Markup:
    rows = {
        "table": 'pandas.read_csv("rows.csv")',
        "strings": '["a text", "another"]',
        "mail": "[message_bytes]",
    }.get(data.kind, "X")
    python = (
        "import mercer\n\n"
        f"model = mercer.load({model!r})    # reads arrays and names; runs no code from the file\n"
        f"model.predict({rows})"
    )
    name = quote(model)
    shell = f"mercer predict {name} < rows.csv > answers.csv\nmercer explain {name}"
    keeps = (
        f"The file holds the whole pipeline: "
        f"{' → '.join(type(step).__name__ for _, step in board.best.steps)}."
    )
    return join([tag("p", keeps, class_="soft"), tag("pre", shell), tag("pre", python)])
