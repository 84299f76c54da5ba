"""The points of a lecture, and where a chapter of the site has them.

`tests/lectures/COVERAGE.md` lists what the lectures contain, item by item. A chapter marks where
it has an item with the role {items}`20 21`; `table` makes the list of links at its end.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ITEM = re.compile(r"^\| (\d+) \| (\d{3}):(.*?) \| (.*) \| (.*) \|$", re.MULTILINE)
MARK = re.compile(r"\{items\}`([\d ]+)`")


def items(lecture: str) -> dict[int, tuple[str, str]]:
    """Number → (lines of the lecture, what), for the items of one lecture: "000" to "004"."""
    text = (ROOT / "tests" / "lectures" / "COVERAGE.md").read_text(encoding="utf-8")
    return {
        int(n): (lines, what) for n, where, lines, what, _ in ITEM.findall(text) if where == lecture
    }


def marked(text: str) -> list[int]:
    """The items that a page marks, in order."""
    return [int(number) for group in MARK.findall(text) for number in group.split()]


def table(lecture: str) -> str:
    """One row per item, in Markdown, with a link to where this page has it."""
    rows = ["| lines of the slides | where it is here |", "|---|---|"]
    for number, (lines, what) in items(lecture).items():
        rows.append(f'| {lines} | <a href="#item-{number}">{what}</a> |')
    return ":::{dropdown} Where each point is\n" + "\n".join(rows) + "\n:::\n"
