"""The importance of columns as bars of plain HTML, which fit any width."""

from __future__ import annotations

from mercer._escape.html import Markup, tag
from mercer.report.study import Importance
from mercer.report.tables import shown
from mercer.selection.board.shown import as_percent, metric_name, show_score, show_spread

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
