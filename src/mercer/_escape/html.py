"""HTML as strings that cannot be forgotten to be escaped: the report, and what notebooks show.

`Markup` is text that is HTML already; everything else is escaped where it is put in.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

#: Elements without an end tag.
_EMPTY = {"meta", "img", "wbr"}


class Markup(str):
    """HTML; only `tag` and `join` make it, and constants of this package."""

    __slots__ = ()


def text(value: Any) -> Markup:
    """A value with every character that HTML would read as its own replaced."""
    if isinstance(value, Markup):
        return value
    # Characters that no page may hold are shown as a question mark in a box.
    plain = "".join(c if c.isprintable() or c in "\n\t\xa0" else "\N{REPLACEMENT CHARACTER}"
                    for c in str(value))  # fmt: skip
    return Markup(escape(plain, quote=True))


def code(expression: Any) -> Markup:
    """An expression that may be broken behind its brackets and commas, and nowhere else."""
    parts = re.split(r"(?<=[(.,)])", str(expression))
    return tag("code", join(parts, tag("wbr")))


def join(parts: Any, between: str = "\n") -> Markup:
    return Markup(text(Markup(between)).join(text(part) for part in parts))


def tag(element: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element: `tag("p", "a < b", class_="note")`.

    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if element in _EMPTY:
        return Markup(f"<{element}{given}>")
    return Markup(f"<{element}{given}>{join(children, '')}</{element}>")


def tree(heading: Any, below: Any = ()) -> Markup:
    """A heading, and below it a list of such trees: pairs of a heading and what is below that.

    >>> tree("sum", [("a < b", []), ("c", [])])
    'sum<ul><li>a &lt; b</li><li>c</li></ul>'
    """
    items = [tag("li", tree(*part)) for part in below]
    return join([heading, *([tag("ul", *items)] if items else [])], "")


def table(
    header: list[Any], rows: list[list[Any]], numeric: frozenset[int] = frozenset()
) -> Markup:
    """A table that scrolls sideways where the page is narrow; `numeric` columns stand right."""

    def cell(kind: str, column: int, value: Any) -> Markup:
        return tag(kind, value, class_="n" if column in numeric else None)

    head = tag("tr", *(cell("th", i, h) for i, h in enumerate(header)))
    body = [tag("tr", *(cell("td", i, v) for i, v in enumerate(row))) for row in rows]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="scroll")
