"""Text from files, so written that neither a terminal nor a spreadsheet obeys it."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import IO, Any

from mercer._escape.spreadsheet import cell
from mercer._escape.terminal import safe


def write_csv(stream: IO[str], rows: Iterable[Iterable[Any]]) -> None:
    """Rows as CSV; safe for the terminal too where that is what the stream is."""
    show = (lambda value: safe(cell(value))) if stream.isatty() else cell
    csv.writer(stream, lineterminator="\n").writerows([show(v) for v in row] for row in rows)


__all__ = ["cell", "safe", "write_csv"]
