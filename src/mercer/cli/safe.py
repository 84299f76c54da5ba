"""Text from files, so written that neither a terminal nor a spreadsheet obeys it."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import IO, Any

from mercer._escape.terminal import safe

#: With one of these a spreadsheet begins a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def cell(value: Any) -> str:
    """A cell of a CSV file; a quote stands before what a spreadsheet would execute.

    >>> cell("=1+1"), cell("-1.5e3"), cell("-"), cell("-a"), cell("age")
    ("'=1+1", '-1.5e3', '-', "'-a", 'age')
    """
    text = repr(value) if isinstance(value, float) else str(value)
    if len(text) < 2 or not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def write_csv(stream: IO[str], rows: Iterable[Iterable[Any]]) -> None:
    """Rows as CSV; safe for the terminal too where that is what the stream is."""
    show = (lambda value: safe(cell(value))) if stream.isatty() else cell
    csv.writer(stream, lineterminator="\n").writerows([show(v) for v in row] for row in rows)


__all__ = ["cell", "safe", "write_csv"]
