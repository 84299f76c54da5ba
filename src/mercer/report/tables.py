"""Tables that need no sideways scrolling: on a narrow page a row becomes a small block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._escape.html import Markup, join, tag
from mercer.report.study import Importance
from mercer.selection.board.shown import as_percent, metric_name, show_score, show_spread

#: Characters of a name or a value in a table.
LETTERS = 40


def shown(value: Any) -> str:
    """A value; of a long one, the middle is left out, since many names differ in their ends.

    >>> shown(3.14159265), shown("a_rather_long_name_of_a_column_that_was_joined_to_another")
    ('3.1416', 'a_rather_long_name_of_a_…ined_to_another')
    """
    if isinstance(value, (float, np.floating)):
        return f"{value:.5g}"
    text = str(value)
    return text if len(text) <= LETTERS else f"{text[:24]}…{text[-15:]}"


def table(
    heads: Sequence[Any],
    lines: Sequence[Sequence[Any]],
    numeric: frozenset[int] = frozenset(),
    most: int | None = None,
    fixed: bool = False,
) -> Markup:
    """A table; `numeric` columns stand right, and rows beyond `most` unfold.

    On a narrow page each cell stands below the other with its head, unless the table is narrow
    enough to stay as it is, `fixed`.
    """

    def cell(column: int, value: Any) -> Markup:
        kind = "n" if column in numeric else None
        return tag("td", value, class_=kind, data_head=None if fixed else heads[column])

    head = tag("tr", *(tag("th", h, class_="n" if i in numeric else None)
                       for i, h in enumerate(heads)))  # fmt: skip
    rows = [tag("tr", *(cell(i, v) for i, v in enumerate(line))) for line in lines]
    look = "fixed" if fixed else "stack"

    def made(some: list[Markup]) -> Markup:
        return tag("table", tag("thead", head), tag("tbody", *some), class_=look)

    if most is None or len(rows) <= most:
        return made(rows)
    rest = tag("details", tag("summary", f"{len(rows) - most} more"), made(rows[most:]))
    return join([made(rows[:most]), rest])


# --- The importance of columns as bars of plain HTML, which fit any width -------------------------


#: Columns that have a bar.
MOST_BARS = 15


def importance(found: Importance, metric: str) -> list[Markup]:
    """What was done, and a bar per column."""
    unit = " points" if as_percent(metric) else ""
    words = (
        f"How far the {metric_name(metric)} on held-back rows falls when one column is shuffled in "
        f"them{f', in{unit}' if unit else ''}, ± the spread between repetitions. Columns that say "
        "the same stand in for each other, and each then looks less important than they are."
    )
    if found.left_out:
        words += f" There was no time for {found.left_out} other columns."
    top = max(float(found.fall.max()), 1e-12)
    rows: list[Markup] = []
    for name, fall, spread in zip(found.names, found.fall, found.spread, strict=True):
        if len(rows) == MOST_BARS:
            break
        width = f"{100 * max(float(fall), 0.0) / top:.1f}%"
        number = f"{show_score(float(fall), metric)} ± {show_spread(float(spread), metric)}"
        rows.append(
            tag("div", tag("span", shown(name), class_="name"),
                tag("span", tag("i", style=f"width:{width}"), class_="track"),
                tag("span", number, class_="n"), class_="bar")
        )  # fmt: skip
    rest = len(found.names) - len(rows)
    made = [tag("p", words, class_="soft"), tag("div", *rows, class_="bars")]
    if rest:
        most = show_score(float(found.fall[len(rows)]), metric)
        made.append(tag("p", f"{rest} more columns: {most}{unit} or less each.", class_="soft"))
    return made
