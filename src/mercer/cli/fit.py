"""`mercer fit DATA`: one kernel, one learner, one file."""

from __future__ import annotations

import time
from typing import Any

import click

from mercer.cli import learners
from mercer.cli.output import (
    data_options,
    json_option,
    load_data,
    parse_settings,
    print_json,
    resource_options,
    resources,
    say,
)


@click.command("fit")
@click.argument("data", required=False)
@data_options
@click.option("--kernel", metavar="EXPR", required=True, help='Such as "gaussian(sigma=2)".')
@click.option("--learner", metavar="NAME", default="svm", show_default=True,
              help=f"One of {learners.NAMES}, or the name of a class.")  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Such as C=10.")
@click.option("--model", metavar="FILE", required=True, help="Where to save it.")
@click.option("--cv", type=click.IntRange(min=0), default=0, help="Also score on so many folds.")
@json_option
@resource_options
def command(
    data: str | None,
    target: str | None,
    file_format: str | None,
    columns: str | None,
    kernel: str,
    learner: str,
    settings: tuple[str, ...],
    model: str,
    cv: int,
    as_json: bool,
    memory: str | None,
    threads: int | None,
) -> None:
    """Fit one learner with one kernel on DATA (without it: the digits) and save it.

    \b
      mercer fit data.csv --target label --model m.mercer \\
          --kernel "gaussian(2)" --learner svm --set C=10
    """
    import mercer

    k = mercer.parse(kernel)
    found = load_data(data, target, file_format, columns)
    with resources(memory, threads):
        pipeline, notes = build(found, learner, k, parse_settings(settings))
        if not as_json:
            say("\n".join([str(found), *(f"· {n}" for n in notes if n not in found.notes)]))
        scores = _scores(pipeline, found, cv) if cv else None
        started = time.perf_counter()
        pipeline.fit(found.X, found.y)
        seconds = time.perf_counter() - started
    pipeline.schema_ = found.schema
    mercer.save(pipeline, model)
    last = pipeline[-1]
    report = {
        "model": model,
        "learner": type(last).__name__,
        "kernel": repr(k),
        "task": found.task,
        "rows": len(found),
        "seconds": round(seconds, 3),
        "scores": scores,
    }
    if as_json:
        print_json(report)
        return
    click.echo(f"{report['learner']} with {report['kernel']}: {len(found)} rows in {seconds:.2f} s")
    if scores:
        mean = sum(scores) / len(scores)
        name = "accuracy" if found.task == "classification" else "R²"
        click.echo(
            f"{name} on {cv} held-out folds: {mean:.4f} ({min(scores):.4f}–{max(scores):.4f})"
        )
    say(f"wrote {model}")


def build(found: Any, learner: str, kernel: Any, settings: dict[str, Any]) -> tuple[Any, Any]:
    """An unfitted pipeline, with the preprocessing that `compare` uses, and what it says."""
    from sklearn.pipeline import Pipeline

    from mercer.selection.preprocess import preprocessing

    made = preprocessing(found)
    estimator = learners.make(learner, found.task, kernel, settings)
    return Pipeline([*made.steps, ("learner", estimator)]), made.notes


def _scores(pipeline: Any, found: Any, cv: int) -> list[float]:
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

    folds = StratifiedKFold if found.task == "classification" else KFold
    split = folds(cv, shuffle=True, random_state=0)
    return [float(s) for s in cross_val_score(pipeline, found.X, found.y, cv=split)]
