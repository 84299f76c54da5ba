"""The scoreboard of the page: a line per candidate, its folds drawn on one common scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mercer._config import show_bytes
from mercer._escape.html import Markup, code, join, tag
from mercer.selection.board.render import short_name
from mercer.selection.board.scoreboard import show_seconds
from mercer.selection.board.shown import as_percent, metric_name, show_mean, with_unit

#: Rows of the scoreboard that are seen at once; the rest unfold.
MOST_ROWS = 14
#: The drawing of a row's folds, in pixels.
WIDTH, HEIGHT, RADIUS = 140.0, 16.0, 3.0


def standings(board: Any) -> Markup:
    """The table, how it is ordered, and what its drawings mean."""
    name = metric_name(board.metric) + (" %" if as_percent(board.metric) else "")
    heads = [name, "", "kernel", "learner", "folds", "support", "fit", "predict", "memory"]
    kinds = ["s", "d", "k", "l", *["n second"] * 5]
    head = tag("tr", *(tag("th", h, class_=k) for h, k in zip(heads, kinds, strict=True)))
    low, high = _scale(board)
    lines = [_line(board, row, kinds, low, high) for row in board.rows]
    # The baseline and rivals are seen wherever they stand.
    always = [row is board.baseline or row.rival for row in board.rows]
    first = [i for i in range(len(lines)) if i < MOST_ROWS or always[i]]
    rest = [line for i, line in enumerate(lines) if i not in set(first)]
    parts = [
        tag("p", _words(board, low, high), class_="soft"),
        _table(head, [lines[i] for i in first]),
    ]
    if rest:
        parts.append(tag("details", tag("summary", f"{len(rest)} more"), _table(head, rest)))
    return join(parts)


def _words(board: Any, low: float, high: float) -> str:
    ends = f"{with_unit(low, board.metric)} to {with_unit(high, board.metric)}"
    return (
        "Ordered by the mean over the folds of the race, ± the spread between them "
        "where there are several: these have chosen the best, and are not its score above. Faint "
        f"dots are single folds on a scale from {ends}, the strong one is their mean."
    )


def _table(head: Markup, lines: Sequence[Markup]) -> Markup:
    return tag("table", tag("thead", head), tag("tbody", *lines), class_="board")


def _scale(board: Any) -> tuple[float, float]:
    """From the worst to the best fold of those that saw everything, or else of all."""
    tried = [row for row in board.rows if row is not board.baseline]
    seen = [s for row in tried if not row.stopped for s in row.scores]
    seen = seen or [s for row in tried for s in row.scores]
    return min(seen), max(seen)


def _line(board: Any, row: Any, kinds: Sequence[str], low: float, high: float) -> Markup:
    learner = short_name(row) if row.kernel else ""
    values = [
        show_mean(row.scores, board.metric),
        _folds(row, low, high),
        code(row.kernel) if row.kernel else row.name,
        "; ".join(filter(None, [learner, row.note if row.stopped else ""])),
        str(len(row.scores)),
        f"{row.n_support:,}",
        show_seconds(row.fit_seconds),
        show_seconds(row.predict_seconds),
        show_bytes(row.memory_bytes),
    ]
    cells = [tag("td", v, class_=k) for v, k in zip(values, kinds, strict=True)]
    best = row is board.best_row or row.name == board.best_row.name
    style = "best" if best else ("dim" if row.stopped or row is board.baseline else None)
    return tag("tr", *cells, class_=style)


def _folds(row: Any, low: float, high: float) -> Markup:
    """Single folds and their mean; what lies off the scale is not drawn."""
    room = (high - low) or 1.0

    def dot(value: float, radius: float, kind: str | None) -> Markup:
        x = RADIUS + (value - low) / room * (WIDTH - 2 * RADIUS)
        return tag("circle", cx=f"{x:.1f}", cy=f"{HEIGHT / 2:g}", r=f"{radius:g}", class_=kind)

    drawn = [dot(s, 2.0, "fold") for s in row.scores if low <= s <= high]
    if low <= row.mean <= high:
        drawn.append(dot(row.mean, RADIUS, None))
    middle = f"{HEIGHT / 2:g}"
    axis = tag("line", x1="0", x2=f"{WIDTH:g}", y1=middle, y2=middle)
    return tag("svg", axis, *drawn, viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}", class_="folds",
               aria_hidden="true")  # fmt: skip
