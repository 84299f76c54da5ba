"""`mercer compare DATA`: from a data file to a scoreboard, a report and a saved model."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from shlex import join, quote
from typing import Any

import click

from mercer._machine.deadline import announced, command_seconds, now
from mercer.cli.app import INTERRUPTED
from mercer.cli.learners import NAMES
from mercer.cli.output import (
    console,
    data_options,
    echo_tree,
    json_option,
    print_json,
    resource_options,
    say,
)
from mercer.cli.safe import cell

#: What a report takes, as a share of the time that loading the program and the data took; and of
#: that, what follows its last picture.
REPORT, LAST = 0.8, 0.1
#: Seconds that the race has in any case.
LEAST = 0.2


def _holdout(context: Any, parameter: Any, value: str) -> Any:
    """A share, "auto", or None for "none"."""
    if value in ("auto", "none"):
        return None if value == "none" else value
    try:
        return float(value)
    except ValueError:
        raise click.BadParameter(f"auto, none, or a share such as 0.2; got {value!r}") from None


@click.command("compare")
@resource_options
@data_options
@click.option("--budget", metavar="TIME", help="The time for everything, such as 60s, 5min or 1h.")
@click.option(
    "--search", is_flag=True, help="Also search for a kernel by adding and multiplying simple ones."
)
@click.option("--cv", type=click.IntRange(min=2), default=5, show_default=True,
              help="Parts that rows are held out in.")  # fmt: skip
@click.option("--repeats", type=click.IntRange(min=1), default=1, show_default=True,
              help="How often to divide the rows into folds anew.")  # fmt: skip
@click.option("--seed", "random_state", type=int, default=0, show_default=True,
              help="Draws folds and samples; the same seed gives the same board.")  # fmt: skip
@click.option("--metric", metavar="NAME",
              help="What the best is the best in: accuracy, balanced_accuracy, f1_macro, auc, ap, "
                   "log_loss; r2, mae, rmse, pinball(0.9).")  # fmt: skip
@click.option("--class-weight", type=click.Choice(["balanced"]),
              help="Let rare classes count as much as others.")  # fmt: skip
@click.option("--kernel", "kernels", multiple=True, metavar="EXPR",
              help="A kernel to try, such as 'gaussian(2)'; may be given several times. Else "
                   "kernels that suit the data are tried.")  # fmt: skip
@click.option("--learner", "learners", multiple=True, metavar="NAME",
              help=f"A learner to try; may be given several times: {NAMES}.")  # fmt: skip
@click.option("--probabilities", is_flag=True, help="Save a model with calibrated probabilities.")
@click.option(
    "--groups",
    metavar="COLUMN",
    help="Hold out rows together that have the same value here; it is left out.",
)
@click.option(
    "--time",
    metavar="COLUMN",
    help="Hold out rows that are later than those fitted on; it is left out.",
)
@click.option("--rivals", default="auto", metavar="NAMES",
              help="Learners without a kernel that take part: all (unless --learner is given), "
                   "none, or some of linear,nearest,boosting,forest,rfm.")  # fmt: skip
@click.option("--holdout", default="auto", show_default=True, metavar="SHARE", callback=_holdout,
              help="Rows kept from the choice, for the headline: auto, a share such as 0.2, or "
                   "none.")  # fmt: skip
@click.option(
    "--out",
    metavar="DIR",
    help="Write report.html, report-errors.csv, model.mercer, scoreboard.csv here.",
)
@click.option("--report", metavar="FILE", help="Write the report here.")
@click.option("--model", metavar="FILE", help="Save the best model here.")
@json_option
def command(
    found: Any,
    kernels: tuple[str, ...],
    learners: tuple[str, ...],
    out: str | None,
    report: str | None,
    model: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Try kernels × learners on DATA, all on the same held-out folds; show and keep the best.

    \b
      mercer compare data.csv --target label --out found
      mercer compare mail.mbox --target X-Label --budget 60s --json
      mercer compare                     (scikit-learn's digits)

    DATA is a table (CSV, TSV, Parquet), LIBSVM, .npz, IDX images, FASTA, mbox or a Maildir, or the
    name of a built-in set (`mercer data`).
    """
    import mercer
    from mercer.selection import compare
    from mercer.selection.racing.clock import seconds_of

    paths = destinations(out, report, model)
    asked = [mercer.parse(k) for k in kernels]
    say(str(replace(found, notes=())))  # the board tells the notes
    whole, begun = seconds_of(options.pop("budget")), command_seconds()
    options["budget"] = whole and _for_the_race(whole, begun, "report" in paths)
    board = compare(found, kernels=asked or None, learners=learners or None, **options)
    end = math.inf
    if whole is not None:
        board = replace(board, budget=whole, seconds=command_seconds())
        end = now() + whole - board.seconds
    try:
        if as_json:
            print_json(board.to_dict() | {"written": {k: str(p) for k, p in paths.items()}})
        else:
            show(board)
    finally:  # also where nobody reads on: `mercer compare … | head`
        # Of the pictures, the first takes longest: what draws them must be loaded. After Ctrl-C
        # there is time for none.
        end = 0.0 if board.interrupted else end - LAST * begun
        with announced(end, 0.4 * begun):
            keep(board, found, paths)
    return INTERRUPTED if board.interrupted else 0


def _for_the_race(whole: float, begun: float, report: bool) -> float:
    """Seconds of a budget that are left to the race, when so many are gone since the start.

    What follows, a report above all, takes time as the start did: longer on a busy machine.
    """
    after = min((REPORT if report else 0.1) * begun, 0.25 * whole)
    return max(whole - begun - after, LEAST)


def destinations(out: str | None, report: str | None, model: str | None) -> dict[str, Path]:
    """What is to be written where; a place that cannot be written to is found out beforehand."""
    from mercer.store.files import replaceable

    paths: dict[str, Path] = {}
    if out is not None:
        folder = Path(out)
        if folder.exists() and not folder.is_dir():
            raise click.UsageError(f"--out takes a folder; {out} is a file")
        folder.mkdir(parents=True, exist_ok=True)
        paths |= {"scoreboard": folder / "scoreboard.csv", "json": folder / "scoreboard.json"}
        paths |= {"model": folder / "model.mercer", "report": folder / "report.html"}
    paths |= {k: Path(v) for k, v in (("model", model), ("report", report)) if v is not None}
    for path in paths.values():
        replaceable(path)
        if not path.parent.is_dir():
            raise click.UsageError(f"there is no folder {path.parent} to write {path.name} to")
    return paths


def show(board: Any) -> None:
    """The scoreboard, and why the winner's kernel is one."""
    printer = console()
    printer.print(board)
    if board.proof is not None:
        printer.print()
        echo_tree(str(board.proof))


def keep(board: Any, found: Any, paths: dict[str, Path]) -> None:
    """Write the files that were asked for, and how to go on."""
    written: list[Path] = []
    try:
        for what, path in paths.items():
            written += _write(what, board, found, path, paths.get("model"))
    finally:  # after Ctrl-C, too
        if written:
            say("wrote " + ", ".join(map(str, written)))
    if "model" in paths:
        say(f"next: mercer predict {quote(str(paths['model']))} < rows.csv > answers.csv")


def _write(what: str, board: Any, found: Any, path: Path, model: Path | None) -> list[Path]:
    """Write one of the files; gives what is complete then, which for a report are two."""
    import mercer

    if what == "report":
        typed = join(["mercer", *sys.argv[1:]])
        mercer.report.write(board, found, path, model=model, command=typed)
        return [path, mercer.report.errors_file(path)]
    if what == "scoreboard":
        frame = board.to_frame()
        words = frame.select_dtypes(exclude="number").columns
        plain = {c: frame[c].map(cell, na_action="ignore") for c in words}
        frame.assign(**plain).to_csv(path, index=False)
    elif what == "json":
        text = json.dumps(board.to_dict(), ensure_ascii=False, indent=2)
        path.write_text(text + "\n", encoding="utf-8")
    else:
        mercer.save(board.best, path)
    return [path]
