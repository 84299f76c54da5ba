"""`mercer lab`: the web page, which this version does not have."""

from __future__ import annotations

import click


@click.command("lab")
def command() -> None:
    """The web page to try kernels in (not part of this version)."""
    raise click.ClickException(
        "this version has no lab. Until then: `mercer compare`, `mercer prove`, and the pictures "
        "of mercer.plot."
    )
