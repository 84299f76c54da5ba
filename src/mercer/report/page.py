"""The page: its sections in order, put together into one file."""

from __future__ import annotations

import hashlib
import os
from importlib import resources
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

import mercer
from mercer._arrays import is_sparse
from mercer._config import show_bytes
from mercer._escape.html import Markup, code, join, tag
from mercer._escape.mathematics import in_characters
from mercer.data.dataset import Dataset
from mercer.report.classes import class_figures, class_table
from mercer.report.errors import errors, wrong_rows
from mercer.report.metric import learned_metric
from mercer.report.pictures import captioned, learning_figure, number_figures, pictures
from mercer.report.reasons import reasons
from mercer.report.standings import standings
from mercer.report.study import Study, held_back, more_rows, study
from mercer.report.svg import formula
from mercer.report.tables import importance
from mercer.report.words import error_sizes, fine_print, held_words, in_short, summary, unbroken
from mercer.selection.board.render import fitted_words
from mercer.selection.board.scoreboard import show_seconds
from mercer.selection.board.shown import metric_name, with_unit
from mercer.selection.metrics import answers_metric
from mercer.store.files import write_atomically

#: Turned-down kernels that the search tree shows below each node.
MOST_TURNED_DOWN = 4


def write(
    board: Any, data: Any, path: str | os.PathLike[str], model: Any = None, command: str = ""
) -> Path:
    """Write the report on a `Scoreboard` and what it compared on: a `Dataset`, or (X, y).

    Beside it a CSV file has all rows that were predicted wrongly, named after the report:
    report.html and report-errors.csv. `model` is where the best is saved, as the page shows it.

    Parameters
    ----------
    board : Scoreboard
        What `compare` found.
    data : Dataset or (X, y)
        What it compared on.
    path : str or path-like
        The HTML file.
    model : str, path-like or None
        Where the best is saved, as the page shows it.
    command : str
        What was typed, as the page shows it.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import mercer
    >>> from mercer import report
    >>> X, y = mercer.data.moons(60)
    >>> board = mercer.compare(X, y, kernels=["gaussian(1)"], learners=["ridge"], holdout=None)
    >>> report.write(board, (X, y), pathlib.Path(tempfile.mkdtemp()) / "report.html").name
    'report.html'
    """
    path, data = Path(path), _dataset(board, data)
    file = errors_file(path)
    name = "model.mercer" if model is None else Path(model).name
    text = render(board, data, name, file.name, command)
    _write(path, text)
    _write(file, wrong_rows(board, data))
    return path


def _write(path: Path, text: str) -> None:
    write_atomically(path, lambda stream: stream.write(text.encode("utf-8", "replace")))


def errors_file(path: Path) -> Path:
    """Where the wrong rows of a report go.

    Parameters
    ----------
    path : Path
        Of the report.

    Returns
    -------
    Path
        Beside it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from mercer.report import errors_file
    >>> errors_file(Path("report.html")).name
    'report-errors.csv'
    """
    return path.with_name(f"{path.stem}-errors.csv")


def _dataset(board: Any, data: Any) -> Dataset:
    X, y = data if isinstance(data, tuple) else (data, None)
    return Dataset.of(X, y, task=board.task)


def render(
    board: Any, data: Any, model: str = "model.mercer", file: str = "", command: str = ""
) -> str:
    """The page as text: no script, no link, nothing that is fetched.

    Parameters
    ----------
    board : Scoreboard
        What `compare` found.
    data : Dataset or (X, y)
        What it compared on.
    model : str
        Where the best is saved, as the page shows it.
    file : str
        Name of the file of wrong rows, as the page shows it.
    command : str
        What was typed, as the page shows it.

    Returns
    -------
    str
        One HTML document.

    Examples
    --------
    >>> import mercer
    >>> from mercer import report
    >>> X, y = mercer.data.moons(60)
    >>> board = mercer.compare(X, y, kernels=["gaussian(1)"], learners=["ridge"], holdout=None)
    >>> report.render(board, (X, y))[:15]
    '<!DOCTYPE html>'
    """
    data = _dataset(board, data)
    title = f"{data.target or 'target'} in {data.source or 'data'}"
    done = study(board, data)
    body = [
        tag("h1", "What predicts ", tag("em", str(data.target or "the target")), " in ",
            data.source or "the data", "?"),
        tag("p", in_short(board, held_back(board), str(data.target or "target")), class_="lead"),
        tag("p", unbroken(summary(board))),
        _cards(board, data),
        tag("p", unbroken(fine_print(board)), class_="note"),
        _notes(board),
        tag("h2", "Scoreboard"), standings(board),
        *_judged(board),
        *_studied(board, done),
        tag("h2", "Errors worth looking at"), errors(board, data, file, done.importance),
        *reasons(board, data, done),
        tag("h2", "The winner"), _kernel(board), *learned_metric(board, data),
        tag("div", *pictures(board, data), class_="pictures"),
    ]  # fmt: skip
    if board.search is not None:
        body += [tag("h2", "The search for a kernel"), _search(board.search)]
    body += [tag("h2", "Use the model"), _use(board, data, model)]
    made = f"Written by mercer {mercer.__version__}, seed {board.seed}, data {fingerprint(data)}"
    body.append(tag("footer", made, *([": ", code(command)] if command else []), "."))
    css = resources.files(__package__).joinpath("page.css").read_text("utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(f"\n{css}")),
    )
    page = tag("html", head, "\n", tag("body", tag("main", join(body))), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def fingerprint(data: Dataset) -> str:
    """Twelve digits of a SHA-256 sum over rows and targets: the same data have the same."""
    X, found = data.X, hashlib.sha256(np.asarray(data.y).tobytes())
    if hasattr(X, "iloc"):
        parts: Any = [X[c].to_numpy() for c in X.columns]
    else:
        parts = [X.data, X.indices, X.indptr] if is_sparse(X) else [X]
    for part in parts:
        plain = isinstance(part, np.ndarray) and part.dtype.kind != "O"
        found.update(part.tobytes() if plain else repr(list(part)).encode("utf-8", "replace"))
    return found.hexdigest()[:12]


def _judged(board: Any) -> list[Markup]:
    """How good the answers for held-out rows are, by class or by size."""
    held = held_back(board)
    rows = f"{len(held.rows):,} rows {held_words(board)}"
    if board.task == "classification":
        words = (
            f"From {rows}. Precision: how many of the answers for a class are right; recall: how "
            "many of its rows are found; F1: their harmonic mean, all in per cent."
        )
        if held.scores is not None and np.isfinite(held.scores).all():
            words += " AUC and AP: the areas under the two curves over all thresholds, below."
        head, made = "Class by class", class_table(held, board.classes)
        figures = class_figures(held, board.classes)
    else:
        words, head = f"From {rows}.", "How far off it is"
        made, figures = _tiles(error_sizes(held.truth, held.predicted)), number_figures(held)
    drawn = [captioned(*pair) for pair in figures]
    return [tag("h2", head), tag("p", words, class_="soft"), made,
            tag("div", *drawn, class_="pictures")]  # fmt: skip


def _studied(board: Any, done: Study) -> list[Markup]:
    """Importance of columns, and whether more rows would help."""
    made: list[Markup] = []
    metric, _ = answers_metric(board.task, board.metric)
    if done.importance is not None:
        made += [tag("h2", "Which columns matter"),
                 *importance(done.importance, metric)]  # fmt: skip
    elif board.kind in ("table", "vectors"):
        made += [tag("h2", "Which columns matter"), tag("p", f"Not known: {done.missing}.")]
    if board.headline is not None:
        made += [
            tag("h2", "Would more rows help?"),
            tag("p", unbroken(more_rows(done.curve, board.task))),
        ]
    if len(done.curve) > 1:
        drawn = learning_figure(done.curve, metric_name(metric))
        words = (
            "The winner, fitted anew on parts of the rows and judged on those kept back, with 90 % "
            "intervals."
        )
        made.append(tag("div", captioned(drawn, words), class_="pictures"))
    return made


def _cards(board: Any, data: Any) -> Markup:
    top, saved = board.headline, board.saved
    value, what = (
        (top.score, "on rows it had not seen") if top else (board.best_row.mean, "in the race")
    )
    cards = [
        (with_unit(value, board.metric), f"{metric_name(board.metric)} {what}"),
        (with_unit(board.baseline.mean, board.metric), "knowing nothing"),
        (f"{saved.rows:,}", f"rows it was fitted on ({board.kind})"),
        *([] if board.best_row.rival else [(f"{saved.points:,}", "points the model keeps")]),
        (show_bytes(saved.memory_bytes), "memory of the model"),
        (show_seconds(saved.seconds), "to fit it"),
    ]
    return _tiles(cards)


def _tiles(cards: list[tuple[str, str]]) -> Markup:
    made = [tag("div", tag("b", value), words, class_="card") for value, words in cards]
    return tag("div", *made, class_="cards")


def _notes(board: Any) -> Markup:
    notes = [f"{board.task}: {board.task_reason}"]
    notes += [n for n in board.notes if n not in notes]
    items = [tag("li", unbroken(note)) for note in notes]
    return tag("details", tag("summary", f"What was noticed and done ({len(items)})"),
               tag("ul", *items, class_="soft"), open="")  # fmt: skip


def _kernel(board: Any) -> Markup:
    best = board.best_row
    parts: list[Any] = [tag("p", best.name if best.rival else code(best.kernel))]
    latex = _latex(board)
    if latex:
        drawn = formula(f"k(x, z) = {latex}")
        plain = tag("p", f"k(x, z) = {in_characters(latex)}")
        parts.append(tag("div", drawn, class_="math") if drawn else plain)
    if board.best_row.params:
        chosen = ", ".join(f"{k} = {_number(v)}" for k, v in board.best_row.params.items())
        parts.append(tag("p", f"Fitted on {fitted_words(board)} with {chosen}.", class_="soft"))
    proof = board.proof
    if getattr(proof, "holds", False):
        where = f" {proof.limits}" if proof.limits else ""
        parts.append(tag("p", f"It is a kernel{where}, because:"))
        parts.append(tag("ul", _proof(proof), class_="tree"))
    elif proof is not None:
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
