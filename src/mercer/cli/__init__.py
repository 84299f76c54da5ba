"""`mercer`: the command line. `main` is its entry point; `mercer --help` lists the commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    try:
        from mercer.cli.app import app
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        print("the command line needs click: pip install 'mercer[cli]'", file=sys.stderr)
        sys.exit(2)
    app.main(list(arguments) if arguments is not None else None, prog_name="mercer")
