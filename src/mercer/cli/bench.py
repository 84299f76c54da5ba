"""`mercer bench`: the claims about speed and memory, measured beside their peers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click


@click.command("bench")
@click.argument("names", nargs=-1)
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Measure every claim, or those NAMES (files under bench/). Needs a source checkout.

    Exit code: 0 all met, 1 a claim was missed.
    """
    script = runner()
    if script is None:
        raise click.ClickException(
            "the benchmarks are in the source, not in the installed package: clone it, and run "
            "`make bench` there"
        )
    done = subprocess.run([sys.executable, str(script), *names], check=False)
    ctx.exit(done.returncode)


def runner() -> Path | None:
    """bench/run.py beside the source of this package, if this is a checkout."""
    script = Path(__file__).resolve().parents[3] / "bench" / "run.py"
    return script if script.is_file() else None
