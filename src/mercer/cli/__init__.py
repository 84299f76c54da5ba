"""`mercer`: the command line. `main` is its entry point; `mercer --help` lists the commands."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    if arguments is None:
        _open_streams()
    try:
        from mercer.cli.app import app
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        print("the command line needs click: pip install click pandas", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    app.main(list(arguments) if arguments is not None else None, prog_name="mercer")


def _open_streams() -> None:
    """Open in the null device what the shell closed (`>&-`), so that text has a place to go, and
    no file of ours gets the number of a standard stream; spell out what a pipe cannot encode."""
    from mercer._escape.terminal import SPELLED

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif mode == "w" and isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors=SPELLED)
