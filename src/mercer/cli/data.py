"""`mercer data`: the data sets there are, one of them, or what a file holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, Any

import click
import numpy as np

from mercer.cli.output import console, echo, json_option, print_json, say
from mercer.cli.safe import write_csv

#: Rows, and columns of numbers, that are shown of a data set.
MOST_SHOWN = 8


@click.command("data")
@click.argument("what", default="list")
@click.option("--target", metavar="NAME", help="The column to predict (of a file).")
@click.option("--format", "file_format", metavar="NAME", help="What the file is.")
@click.option(
    "--out", metavar="FILE", help="Write a built-in set as CSV to this file; - prints it."
)
@click.option("--rows", type=click.IntRange(min=2), help="How many rows a built-in set is to have.")
@click.option("--noise", type=click.FloatRange(min=0), help="How noisy they are to be.")
@click.option("--seed", type=int, help="Draws them; the same seed gives the same rows.")
@json_option
def command(
    what: str,
    target: str | None,
    file_format: str | None,
    out: str | None,
    rows: int | None,
    noise: float | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """List the built-in data sets, make one (WHAT is its name), or describe a file.

    \b
      mercer data
      mercer data spirals --rows 400 --out spirals.csv
      mercer data table.csv --target label
    """
    from mercer import data

    if what == "list":
        _list(data.catalog(), as_json)
        return
    options = {"n": rows, "noise": noise, "random_state": seed}
    given = {k: v for k, v in options.items() if v is not None}
    is_file = Path(what).exists() or any(c in what for c in "./\\")
    found = data.load(what, target, file_format) if is_file else data.named(what, **given)
    if out is not None:
        if is_file:
            raise click.UsageError("--out writes a built-in set; this is a file already")
        if out == "-":
            write(sys.stdout, found)
        else:
            with Path(out).open("w", encoding="utf-8", newline="") as stream:
                write(stream, found)
            say(f"wrote {out} ({len(found):,} rows; the target is {found.target!r})")
        return
    if as_json:
        print_json(describe(found))
        return
    echo(str(found))
    console().print(_columns(found) if found.kind == "table" else _first(found))


def _first(found: Any) -> Any:
    """The first rows, as far as they fit."""
    from rich.table import Table
    from rich.text import Text

    names = ["example"]
    if hasattr(found.X, "shape"):
        names = [f"x{i}" for i in range(min(MOST_SHOWN, found.X.shape[1]))]
        names += ["…"] if found.X.shape[1] > MOST_SHOWN else []
    table = Table(*names, *([found.target or "y"] if found.y is not None else []), box=None,
                  pad_edge=False)  # fmt: skip
    for i in range(min(MOST_SHOWN, len(found))):
        label = [str(found.y[i])] if found.y is not None else []
        table.add_row(*(Text(cell) for cell in [*_cells(found, i), *label]))
    if len(found) > MOST_SHOWN:
        table.add_row(f"… and {len(found) - MOST_SHOWN} more")
    return table


def _cells(found: Any, i: int) -> list[str]:
    """One example as text."""
    row = found.take(np.array([i]))
    if not hasattr(row, "shape"):
        return [" ".join(str(row[0]).split())[:60]]
    values = (row.toarray() if hasattr(row, "toarray") else np.asarray(row))[0]
    more = ["…"] if len(values) > MOST_SHOWN else []
    return [f"{v:.4g}" for v in values[:MOST_SHOWN]] + more


def _list(sets: dict[str, str], as_json: bool) -> None:
    if as_json:
        print_json(sets)
        return
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    for name, words in sets.items():
        table.add_row(name, words)
    console().print(table)
    console().print("formats of files: csv, tsv, parquet, libsvm, idx, fasta, mbox, maildir, npz")


def write(stream: IO[str], found: Any) -> None:
    """A data set as CSV, the target last; texts are one column."""
    numbers = hasattr(found.X, "shape")
    names = [f"x{i}" for i in range(found.X.shape[1])] if numbers else ["text"]
    rows = found.X.tolist() if numbers else [[text] for text in found.X]
    write_csv(stream, [[*names, found.target]])
    labeled = zip(rows, found.y.tolist(), strict=True)
    write_csv(stream, ([*row, label] for row, label in labeled))


def describe(found: Any) -> dict[str, Any]:
    """What is to be known about a data set, ready for JSON."""
    known: dict[str, Any] = {
        "source": found.source,
        "rows": len(found),
        "kind": found.kind,
        "task": found.task,
        "target": found.target,
        "notes": found.notes,
    }
    if hasattr(found.X, "shape"):
        known["columns"] = int(found.X.shape[1])
    if found.task == "classification":
        labels, sizes = np.unique(found.y, return_counts=True)
        known["classes"] = {str(k): int(n) for k, n in zip(labels, sizes, strict=True)}
    if found.kind == "table":
        types = dict(zip(found.schema.columns, found.schema.types, strict=True))
        known["names"] = [
            {"name": c, "type": types[c], "missing": int(found.X[c].isna().sum()),
             "distinct": int(found.X[c].nunique())}
            for c in found.X.columns
        ]  # fmt: skip
    return known


def _columns(found: Any) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table("column", "type", "missing", "distinct", "values", box=None, pad_edge=False)
    for entry in describe(found)["names"][:40]:
        shown = _values(found.X[entry["name"]].dropna(), entry["type"])
        values = (entry["name"], entry["type"], str(entry["missing"]), str(entry["distinct"]))
        # As text: what a file holds must not be read as instructions to the printer.
        table.add_row(*(Text(v) for v in (*values, shown)))
    if found.X.shape[1] > 40:
        table.add_row(f"… and {found.X.shape[1] - 40} more")
    return table


def _values(column: Any, kind: str) -> str:
    if kind == "category":
        return ", ".join(map(str, column.value_counts().index[:4]))[:40]
    if not len(column) or kind == "truth":
        return ""
    from mercer.data.schema import DATES

    low, high = column.min(), column.max()
    if kind in DATES:
        return " … ".join(str(np.datetime64(int(s), "s"))[:10] for s in (low, high))
    return f"{low:.4g} … {high:.4g}"
