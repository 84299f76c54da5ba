"""Text from files, so written that neither a terminal nor a spreadsheet obeys it."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import IO, Any

#: C0 and DEL as pictures of themselves (␛ for escape), but for tabs and ends of lines.
_PICTURES = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
#: C1, marks and overrides of direction, line separators, tags, halves of surrogate pairs.
_HIDDEN = (
    range(0x80, 0xA0),
    (0x61C, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF),
    range(0x202A, 0x202F),
    range(0x2066, 0x206A),
    range(0xE0000, 0xE0080),
    range(0xD800, 0xE000),
)
_SHOWN = _PICTURES | {0x7F: "␡"} | {code: "\ufffd" for part in _HIDDEN for code in part}

#: With one of these a spreadsheet begins a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def safe(text: str) -> str:
    """The text with a sign in place of each character that a terminal obeys.

    >>> safe("name\\x1b[31m\\r"), safe("abc\\u202edef")
    ('name␛[31m␍', 'abc�def')
    """
    return text.translate(_SHOWN)


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
