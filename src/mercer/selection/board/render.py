"""A scoreboard as text and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mercer._config import show_bytes
from mercer._escape import html
from mercer._escape.terminal import as_lines
from mercer.learners.catalog import name_of
from mercer.selection.board.scoreboard import Row, Scoreboard, show_seconds
from mercer.selection.board.shown import as_percent, metric_name, show_mean, show_score, with_unit

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

#: Stopped candidates that are printed; `rows` has all of them.
MOST_STOPPED = 4
#: Candidates that saw all rows, of which so many are printed.
MOST_DONE = 12


def _without_kernel(row: Row) -> str:
    return "(learned metric)" if row.learner == "rfm" else "(rival, no kernel)"


def short_name(row: Row) -> str:
    """The learner as the catalog calls it, for a narrow table."""
    return name_of(row.learner) if row.kernel or row.rival else "baseline"


def as_text(board_of: Scoreboard, width: int) -> str:
    return as_lines(Board(board_of), width)


class Board:
    """Heading, table and notes, for a terminal of 80 columns or more."""

    def __init__(self, result: Scoreboard) -> None:
        self.result = result

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        result, best = self.result, self.result.best_row
        yield Text(heading(result))
        yield ""
        yield table(result, options.max_width)
        yield Text("sorted by mean accuracy or error over the folds of the race; they also chose "
                   "the winner, so its score is a little too good", style="dim")  # fmt: skip
        yield ""
        yield Text(f"best: {best.name}", style="bold")
        if best.note:
            yield Text(f"judged on little, for want of time: {best.note}")
        if result.headline is not None:
            yield Text(headline_words(result), style="bold")
        chosen = ", ".join(f"{k} = {_short_value(v)}" for k, v in best.params.items())
        spent = f"{result.seconds:.1f} s"
        if result.budget is not None:
            spent += f" of a budget of {result.budget:g} s"
        rows = fitted_words(result)
        yield Text(f"fitted on {rows}{' with ' if chosen else ''}{chosen}; {spent} in all")
        for note in result.notes:
            yield Text(f"· {note}", style="dim")
        if result.search is not None:
            yield result.search.__rich__()


def heading(result: Scoreboard) -> str:
    """The task, how it is known and how to say otherwise; rows and folds."""
    classes = [] if result.classes is None else result.classes.tolist()
    numbers = len(classes) > 2 and not isinstance(classes[0], (str, bool))
    other = numbers and result.task_reason != "as asked for"
    why = result.task_reason + (" (for numbers, task='regression')" if other else "")
    return f"{result.task}: {why}; {result.n_rows} rows, {result.folds}"


def headline_words(result: Scoreboard) -> str:
    """The score to believe, in one sentence."""
    top, metric = result.headline, result.metric
    assert top is not None
    low, high = show_score(top.low, metric), show_score(top.high, metric)
    return (
        f"{metric_name(metric)} {with_unit(top.score, metric)} (90 % interval {low} to {high}) on "
        f"rows that took no part in the choice: {top.how}"
    )


def fitted_words(result: Scoreboard) -> str:
    """On which rows the saved model was fitted."""
    if result.saved.rows == result.n_rows:
        return "all rows"
    return f"{result.saved.rows} of {result.n_rows} rows"


def _short_value(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _heads(result: Scoreboard) -> tuple[str, ...]:
    unit = " %" if as_percent(result.metric) else ""
    score = f"{metric_name(result.metric, short=True)}{unit}"
    return "kernel", "learner", score, "folds", "fit", "predict", "support", "memory"


def as_html(result: Scoreboard) -> str:
    """For notebooks: all rows that saw everything, and how many did not."""
    rows = []
    for row in result.rows:
        if not row.stopped:
            first, *others = _cells(row, result.metric)
            cells = [html.code(first) if row.kernel else first, *others]
            rows.append([html.tag("b", c) for c in cells] if row is result.best_row else cells)
    heads = [*_heads(result)]
    stopped = sum(bool(row.stopped) for row in result.rows)
    notes = [f"{stopped} candidates were stopped early"] if stopped else []
    below = [html.tag("li", note) for note in (*notes, *result.notes)]
    board = html.table(heads, rows, frozenset(range(2, len(heads))))
    return html.tag("div", html.tag("p", heading(result)), board, html.tag("ul", *below))


def table(result: Scoreboard, width: int) -> Table:
    """The best rows, the baseline among them, and a few that were stopped early."""
    done = [row for row in result.rows if not row.stopped and row is not result.baseline]
    behind = [row for row in result.rows if row.stopped]
    shown = sorted([*done[:MOST_DONE], result.baseline], key=result.rows.index)
    heads = _heads(result)
    lines = {id(row): _cells(row, result.metric) for row in (*shown, *behind[:MOST_STOPPED])}
    made = _empty_table(heads, [heads, *lines.values()], width)
    for row in shown:
        style = (
            "bold green" if row is result.best_row else ("" if row.kernel or row.rival else "dim")
        )
        made.add_row(*lines[id(row)], style=style)
    if len(done) > MOST_DONE:
        made.add_row(f"… and {len(done) - MOST_DONE} more", style="dim")
    if behind:
        made.add_row("")
        for row in behind[:MOST_STOPPED]:
            made.add_row(*lines[id(row)], style="dim")
        made.add_row(f"({len(behind)} stopped early)", style="dim")
    return made


def _empty_table(heads: tuple[str, ...], lines: list[tuple[str, ...]], width: int) -> Table:
    """The table without rows. The column of kernels takes the width that the others leave."""
    from rich.table import Table

    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    room = max(16, width - sum(widths[1:]) - len(heads) + 1)
    widths[0] = min(widths[0], room)
    made = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for i, head in enumerate(heads):
        justify: Any = "left" if i < 2 else "right"
        made.add_column(head, justify=justify, no_wrap=True, overflow="ellipsis", width=widths[i])
    return made


def _cells(row: Row, metric: str) -> tuple[str, ...]:
    return (
        row.kernel or (_without_kernel(row) if row.rival else "(ignores the examples)"),
        short_name(row),
        show_mean(row.scores, metric),
        str(len(row.scores)),
        show_seconds(row.fit_seconds),
        show_seconds(row.predict_seconds),
        str(row.n_support),
        show_bytes(row.memory_bytes),
    )


def plot_board(result: Scoreboard, ax: Any = None, most: int = 15) -> Any:
    """Dots with bars of one standard deviation, best on top; every fold a faint dot."""
    from mercer._figures import axes, color_of, tidy

    tried = [r for r in result.rows if r is not result.baseline]
    # Where time was too short for any to see everything, those that got furthest are shown.
    rows = ([r for r in tried if not r.stopped] or tried)[:most]
    ax = axes(ax, (7.0, 0.32 * len(rows) + 1.2))
    factor = 100.0 if as_percent(result.metric) else 1.0
    for y, row in enumerate(rows):
        color = color_of(1) if row is result.best_row else color_of(0)
        ax.scatter(
            [factor * s for s in row.scores], [y] * len(row.scores), s=9, color="0.75", zorder=2
        )
        ax.errorbar(
            factor * row.mean, y, xerr=factor * row.spread, fmt="o", color=color, zorder=3,
            markersize=5, linewidth=1.2,
        )  # fmt: skip
    base = factor * result.baseline.mean
    low = min(factor * min(r.scores) for r in rows)
    high = max(factor * max(r.scores) for r in rows)
    if base > low - 2 * (high - low):  # a line far away would squeeze the dots together
        ax.axvline(base, color="0.4", linestyle="--", linewidth=1, label="baseline")
        ax.legend(frameon=False, loc="best", fontsize="small")
    names = [f"{_cut(r.kernel or 'rival', 44)}, {short_name(r)}" for r in rows]
    ax.set_yticks(range(len(rows)), names, fontsize="small")
    ax.invert_yaxis()
    unit = " (%)" if as_percent(result.metric) else ""
    return tidy(ax, "", f"{result.metric}{unit} on held-out folds")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
