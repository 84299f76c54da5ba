"""Cells of CSV files, so written that no spreadsheet executes them."""

from __future__ import annotations

from typing import Any

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
