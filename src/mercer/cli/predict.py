"""`mercer predict MODEL`: answers for rows from a file or a pipe, a block at a time."""

from __future__ import annotations

import glob
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import click
import numpy as np

from mercer.cli.output import resource_options, say, steps_of
from mercer.cli.safe import write_csv
from mercer.data.schema import DataError


@click.command("predict")
@resource_options
@click.argument("model", type=click.Path(dir_okay=False))
@click.argument("rows", required=False, default="-")
@click.option("--proba", is_flag=True, help="Probabilities, one column per class.")
@click.option("--out", metavar="FILE", default="-", help="Where to write; stdout unless given.")
@click.option("--keep", multiple=True, metavar="NAME",
              help="Copy this column into the output; may be given several times.")  # fmt: skip
@click.option("--format", "file_format", metavar="NAME", help="csv, tsv, libsvm, fasta, mbox, …")
@click.option("--block", type=click.IntRange(min=1), default=10_000, show_default=True,
              help="Rows in memory at a time.")  # fmt: skip
def command(
    model: str,
    rows: str,
    proba: bool,
    out: str,
    keep: tuple[str, ...],
    file_format: str | None,
    block: int,
) -> None:
    """Predict with MODEL for ROWS (a file, or stdin) and write CSV.

    \b
      mercer predict model.mercer < rows.csv > answers.csv
      mercer predict model.mercer rows.parquet --proba --keep id --out answers.csv
      mercer predict model.mercer 'rows/*.parquet' --cluster tcp://host:8786

    Tables need a header line; the columns may stand in any order, and others are ignored. Strings
    and messages come one per line, as FASTA or as mbox. Memory does not grow with the rows.
    """
    import mercer

    fitted = mercer.load(model)
    header = [*keep, *names_of(fitted, proba)]
    answers = predictions(fitted, _blocks(fitted, rows, file_format, keep, block), proba)
    # Rows that cannot be read are found out before anything is written.
    first = list(islice(answers, 1))
    answers = chain(first, answers)
    if out == "-":
        count = write(sys.stdout, header, answers)
    else:
        with Path(out).open("w", encoding="utf-8", newline="") as stream:
            count = write(stream, header, answers)
        say(f"wrote {out} ({count:,} rows)")


def _blocks(
    fitted: Any, rows: str, file_format: str | None, keep: tuple[str, ...], block: int
) -> Iterator[Any]:
    from mercer.data.row_files import rows_of_file
    from mercer.data.rows import read_rows, schema_of

    schema = schema_of(fitted)
    width = None if schema.columns else getattr(fitted, "n_features_in_", None)
    options: dict[str, Any] = {"format": file_format, "keep": keep, "width": width, "block": block}
    if glob.has_magic(rows) and not Path(rows).exists():
        from mercer.engines.cluster.tables.sources import files_of

        files = files_of(rows)
        return chain.from_iterable(rows_of_file(Path(name), schema, **options) for name in files)
    if rows != "-":
        return rows_of_file(Path(rows), schema, **options)
    if sys.stdin.isatty():
        say("reading rows from the terminal; end with Ctrl-D")
    return read_rows(sys.stdin.buffer, schema, **options)


def names_of(fitted: Any, proba: bool) -> list[str]:
    """The columns that are written."""
    if not proba:
        return ["prediction"]
    if not hasattr(fitted, "predict_proba"):
        last = steps_of(fitted)[-1]
        raise DataError(
            f"{type(last).__name__} gives no probabilities; KernelLogisticRegression does, and "
            "KernelSVC with probability=true; `mercer compare --probabilities` saves a model that "
            "does"
        )
    return [f"p({label})" for label in fitted.classes_]


def predictions(fitted: Any, blocks: Iterable[Any], proba: bool) -> Iterator[list[list[Any]]]:
    """The rows to write, a block at a time; on a cluster, some blocks at a time."""
    from mercer.engines.cluster.pool import in_turn

    ask = partial(_answers, fitted, "predict_proba" if proba else "predict")
    for block, answers in in_turn(ask, blocks):
        columns = [answers.tolist()]
        if proba:
            columns = [[f"{v:.6g}" for v in column] for column in answers.T]
        yield [list(row) for row in zip(*block.kept, *columns, strict=True)]


def _answers(fitted: Any, method: str, block: Any) -> np.ndarray:
    return np.asarray(getattr(fitted, method)(block.X))


def write(stream: IO[str], header: list[str], blocks: Iterable[list[list[Any]]]) -> int:
    """CSV with a header; each block is flushed, so that a pipe sees it."""
    write_csv(stream, [header])
    count = 0
    for block in blocks:
        write_csv(stream, block)
        stream.flush()
        count += len(block)
    return count
