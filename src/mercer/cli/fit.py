"""`mercer fit DATA`: one kernel, one learner, one file."""

from __future__ import annotations

import time
from typing import Any

import click

from mercer.cli import learners
from mercer.cli.output import (
    data_options,
    echo,
    json_option,
    parse_settings,
    print_json,
    resource_options,
    say,
)
from mercer.data.schema import DataError


@click.command("fit")
@resource_options
@data_options
@click.option("--kernel", metavar="EXPR", required=True, help='Such as "gaussian(sigma=2)".')
@click.option("--learner", metavar="NAME", default="svm", show_default=True,
              help=f"One of {learners.NAMES}, or the name of a class.")  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Such as C=10.")
@click.option("--model", metavar="FILE", required=True, help="Where to save it.")
@click.option("--cv", type=click.IntRange(min=0), default=0, help="Also score on so many folds.")
@click.option("--checkpoint", metavar="DIR",
              help="Keep sums over pieces here; the same command goes on from them.")  # fmt: skip
@json_option
def command(
    found: Any,
    kernel: str,
    learner: str,
    settings: tuple[str, ...],
    model: str,
    cv: int,
    checkpoint: str | None,
    as_json: bool,
) -> None:
    """Fit one learner with one kernel on DATA (without it: the digits) and save it.

    \b
      mercer fit data.csv --target label --model m.mercer \\
          --kernel "gaussian(2)" --learner svm --set C=10
      mercer fit 'rows/*.parquet' --target y --model m.mercer \\
          --kernel "gaussian(2)" --learner ridge --cluster tcp://host:8786

    Several files, or one too large for memory, are read in pieces.
    """
    import mercer
    from mercer.store.files import replaceable

    replaceable(model)  # found out before the fit
    k = mercer.parse(kernel)
    pipeline, notes = build(found, learner, k, parse_settings(settings))
    if not as_json:
        say("\n".join([str(found), *(f"· {n}" for n in notes)]))
    try:
        scores = _scores(pipeline, found, cv) if cv else None
        started = time.perf_counter()
        with mercer.config(checkpoint=checkpoint):
            rows = fit_all(pipeline, found)
        seconds = time.perf_counter() - started
    except TypeError as error:
        # Here what was typed meets the data: a kernel on strings, numbers; a word, a number.
        raise DataError(f"{type(pipeline[-1]).__name__} with {k!r}: {error}") from error
    pipeline.schema_ = found.schema
    mercer.save(pipeline, model)
    name = type(pipeline[-1]).__name__
    if as_json:
        print_json({"model": model, "learner": name, "kernel": repr(k), "task": found.task,
                    "rows": rows, "seconds": round(seconds, 3), "scores": scores})  # fmt: skip
        return
    echo(f"{name} with {k!r}: {rows} rows in {seconds:.2f} s")
    if scores:
        mean, low, high = sum(scores) / len(scores), min(scores), max(scores)
        metric = "accuracy" if found.task == "classification" else "R²"
        echo(f"{metric} on {cv} held-out folds: {mean:.4f} ({low:.4f}–{high:.4f})")
    say(f"wrote {model}")


def build(found: Any, learner: str, kernel: Any, settings: dict[str, Any]) -> tuple[Any, Any]:
    """An unfitted pipeline, with the preprocessing that `compare` uses, and what it says."""
    from sklearn.pipeline import Pipeline

    from mercer.selection.preprocess import preprocessing

    made = preprocessing(found)
    estimator = learners.make(learner, found.task, kernel, settings)
    return Pipeline([*made.steps, ("learner", estimator)]), made.notes


def fit_all(pipeline: Any, found: Any) -> int:
    """Fit, and say on how many rows; of a table in pieces, the sample prepares all of them."""
    table = getattr(found, "table", None)
    if table is None:
        pipeline.fit(found.X, found.y)
        return len(found)
    from mercer.engines.cluster.tables import prepared

    X, y = prepared(found, pipeline[:-1].fit(found.X))
    learner = pipeline[-1]
    if hasattr(learner, "n_centers"):
        say(str(X.plan(learner.kernel, learner.n_centers).check()))
    learner.fit(X, y)
    return len(table)


def _scores(pipeline: Any, found: Any, cv: int) -> list[float]:
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

    from mercer._machine.interrupts import noting_interrupts

    folds = StratifiedKFold if found.task == "classification" else KFold
    split = folds(cv, shuffle=True, random_state=0)
    with noting_interrupts():  # a model that Ctrl-C left unfinished has no score
        return [float(s) for s in cross_val_score(pipeline, found.X, found.y, cv=split)]
