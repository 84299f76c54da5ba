"""`mercer explain`: what an expression computes, what a model holds, why a row got its answer."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import numpy as np

from mercer.cli.output import echo, json_option, print_json, steps_of

#: Rows of a file that one of them is compared with.
OTHERS = 100
#: What the rules say about a kernel.
CLAIMS = {True: "yes, by rule", False: "no", None: "no rule says so: try mercer prove"}


@click.command("explain", context_settings={"ignore_unknown_options": True})
@click.argument("what")
@click.argument("data", required=False)
@click.option("--row", type=click.IntRange(min=0), default=0, show_default=True,
              help="Which row of DATA, counted from 0.")  # fmt: skip
@click.option("--proba", is_flag=True, help="Explain probabilities instead of scores.")
@click.option("--picture", metavar="FILE", help="Draw the columns of the row: .png, .svg, .pdf.")
@click.option("--rows", type=click.IntRange(min=1), default=1000, show_default=True,
              help="Rows that the plan is made for.")  # fmt: skip
@click.option("--columns", type=click.IntRange(min=1), default=10, show_default=True,
              help="Columns that it is made for.")  # fmt: skip
@json_option
def command(
    what: str,
    data: str | None,
    row: int,
    proba: bool,
    picture: str | None,
    rows: int,
    columns: int,
    as_json: bool,
) -> None:
    """Explain WHAT: a kernel expression, a model file, or its answer for a row of DATA.

    \b
      mercer explain "gaussian(2) * polynomial(3)" --rows 100000 --columns 50
      mercer explain model.mercer
      mercer explain model.mercer rows.csv --row 7 --picture why.png

    What each column adds to the score is its Shapley value against the other rows of DATA: exact
    for kernels that are products over columns, else sampled, which is said.
    """
    if data is not None:
        known = of_row(what, data, row, proba, picture)
    elif Path(what).exists() or what.endswith(".mercer"):
        import mercer

        known = of_model(mercer.load(what))
    else:
        known = of_kernel(what, rows, columns)
    if as_json:
        print_json(known)
    else:
        if "mathematics" in known:
            from mercer._escape.mathematics import in_characters

            known["mathematics"] = in_characters(known["mathematics"])
        echo(as_text(known))


def of_kernel(expression: str, rows: int, columns: int) -> dict[str, Any]:
    """Formula, proof and plan of a kernel on so many rows and columns."""
    import mercer

    kernel = mercer.parse(expression)
    # The rules alone: looking for counterexamples is what `mercer prove` is for.
    claim = kernel.claim(None if kernel.is_opaque else columns)
    known = {
        "expression": repr(kernel),
        "mathematics": kernel.latex(),
        "a kernel?": CLAIMS[claim.holds],
    }
    with suppress(TypeError, ValueError, NotImplementedError):
        known["dimensions of φ"] = str(kernel.n_dims(columns))
    if kernel.is_opaque:
        return known | {"plan": "it works on objects other than rows of numbers"}
    X = np.random.default_rng(0).uniform(0.1, 1.0, (min(rows, 2000), columns))
    Z = X if rows <= 2000 else np.broadcast_to(X[:1], (rows, columns))
    plan = kernel.explain(X) if rows <= 2000 else kernel.explain(Z)
    return known | {"plan": str(plan)}


def of_row(file: str, data: str, row: int, proba: bool, picture: str | None) -> dict[str, Any]:
    """What the columns of one row add to the answer of a model, the largest first."""
    import mercer
    from mercer._examples import count, take
    from mercer.data.row_files import rows_of_file
    from mercer.data.rows import schema_of
    from mercer.data.schema import DataError

    model = mercer.load(file)
    schema = schema_of(model)
    width = None if schema.columns else getattr(model, "n_features_in_", None)
    X = next(rows_of_file(Path(data), schema, width=width)).X
    if row >= count(X):
        raise DataError(f"there is no row {row}: the first rows of {data} are 0 to {count(X) - 1}")
    others = np.random.default_rng(0).permutation(np.delete(np.arange(count(X)), row))
    some = take(X, np.sort(others[:OTHERS]) if len(others) else [row])
    asked = "probability" if proba else "margin"
    found = mercer.explain_rows(model, take(X, [row]), some, output=asked)
    output = int(found.scores[0].argmax()) if found.values.ndim == 3 else 0
    values, base = found.of(output)
    order = np.argsort(-np.abs(values[0]), kind="stable")
    known: dict[str, Any] = {
        "row": row,
        "answer": str(model.predict(take(X, [row]))[0]),
        "explained": f"{asked} of {found.output_names[output]}",
        "f(x)": float(base[0] + values[0].sum()),
        "base": float(base[0]),
        "columns": {found.feature_names[j]: float(values[0, j]) for j in order},
        "method": f"{found.method}, {found.note or f'sums right to {np.max(found.error):.1g}'}",
        "definition": found.definition,
    }
    if picture is not None:
        from mercer import plot

        plot.waterfall(found, output=output).figure.savefig(picture)
    return known


def of_model(model: Any) -> dict[str, Any]:
    """The steps of a pipeline, its learner and kernel, and the rows it takes."""
    import mercer

    *before, whole = steps_of(model)
    last = getattr(whole, "estimator_", whole)
    known: dict[str, Any] = {"learner": type(last).__name__}
    if last is not whole:
        known["probabilities"] = "calibrated on rows that it had not seen"
    if before:
        known["preprocessing"] = [type(step).__name__ for step in before]
    kernel = getattr(last, "kernel_", getattr(last, "kernel", None))
    if isinstance(kernel, mercer.Kernel):
        known |= {"kernel": repr(kernel), "mathematics": kernel.latex()}
        known["a kernel?"] = CLAIMS[kernel.claim().holds]
    own = last if isinstance(last, mercer.KernelExpansion) else None
    expansion: Any = getattr(last, "expansion_", own)
    if hasattr(expansion, "__len__"):
        known["points kept"] = len(expansion)
    if hasattr(last, "get_params"):
        settings = last.get_params(deep=False)
        known["settings"] = {k: str(v) for k, v in settings.items() if k != "kernel"}
    if getattr(model, "classes_", None) is not None:
        known["classes"] = [str(c) for c in model.classes_]
    return known | _rows_of(model)


def _rows_of(model: Any) -> dict[str, Any]:
    """The rows that a model takes, and what it predicts."""
    from mercer.data.rows import schema_of

    schema = schema_of(model)
    known: dict[str, Any] = {"takes": schema.kind}
    if schema.columns:
        types = schema.types or ("",) * len(schema.columns)
        pairs = zip(schema.columns, types, strict=True)
        known["columns"] = [f"{name} ({kind})" if kind else name for name, kind in pairs]
    elif getattr(model, "n_features_in_", None) is not None:
        known["columns"] = int(model.n_features_in_)
    return known | ({"predicts": schema.target} if schema.target else {})


def as_text(known: dict[str, Any]) -> str:
    lines = []
    for name, value in known.items():
        if name == "columns" and isinstance(value, dict):
            value = "".join(f"\n{v:+11.4g}  {k}" for k, v in value.items())
        if isinstance(value, dict):
            value = ", ".join(f"{k}={v}" for k, v in value.items())
        if isinstance(value, list):
            value = ", ".join(value[:30]) + (f", … ({len(value)})" if len(value) > 30 else "")
        if "\n" in str(value):
            lines += [name, *(f"  {line}" for line in str(value).strip("\n").splitlines())]
        else:
            lines.append(f"{name}: {value}")
    return "\n".join(lines)
