"""`mercer export MODEL OUT`: a model as ONNX."""

from __future__ import annotations

from pathlib import Path

import click

from mercer.cli.output import say


@click.command("export")
@click.argument("model", type=click.Path(dir_okay=False))
@click.argument("out", type=click.Path(dir_okay=False))
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64"]),
    default="float32",
    show_default=True,
    help="Of the numbers that go in and come out.",
)
def command(model: str, out: str, dtype: str) -> None:
    """Write MODEL (a .mercer file) to OUT (an .onnx file) that any ONNX runtime evaluates."""
    import mercer
    from mercer.onnx import NotExportable, export

    try:
        export(mercer.load(model), out, dtype=dtype)
    except NotExportable as error:
        raise click.ClickException(str(error)) from error
    say(f"wrote {out} ({Path(out).stat().st_size:,} bytes)")
