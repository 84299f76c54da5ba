"""`mercer lab`: the laboratory in the browser."""

from __future__ import annotations

import click

from mercer.cli.output import echo, load_data


@click.command("lab")
@click.argument("data", required=False)
@click.option("--target", metavar="NAME", help="The column of classes in the file.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0, as here: a free one.")
@click.option("--host", default="127.0.0.1", show_default=True,
              help="Where to listen; any other address lets other machines in.")  # fmt: skip
@click.option("--state", metavar="TEXT", default="",
              help="What to show first: what follows the # of a copied link.")  # fmt: skip
@click.option("--no-browser", is_flag=True, help="Print the address only.")
def command(
    data: str | None, target: str | None, port: int, host: str, state: str, no_browser: bool
) -> None:
    """See kernels move: draw points, write a kernel, watch it learn. Ctrl-C ends it.

    \b
      mercer lab
      mercer lab iris.csv --target species
      mercer lab --state "panel=gram&data=circles&kernel=gaussian(0.5)"

    A file gives the first points: its two columns of numbers, or two of kernel PCA.
    """
    from mercer.lab.serving.run import serve

    first = None
    if data is not None:
        from mercer.lab.compute.tables import plane

        first = plane(load_data(data, target, None, None))
    serve(host, port, not no_browser, first, echo, state)
