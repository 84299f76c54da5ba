"""Text from outside, so written that a terminal shows it and does not obey it."""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata
from collections.abc import Callable
from functools import wraps
from typing import Any

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


def safe(text: str) -> str:
    """The text with a sign in place of each character that a terminal obeys.

    >>> safe("name\\x1b[31m\\r"), safe("abc\\u202edef")
    ('name␛[31m␍', 'abc�def')
    """
    return text.translate(_SHOWN)


#: The name for `errors=` of streams and codecs that spells out what an encoding lacks.
SPELLED = "mercer.spelled"
#: Signs that some encodings lack, and do not come apart, in letters that all of them have.
_SPELLED = {
    "✓": "yes:", "✗": "no:", "≥": ">=", "≤": "<=", "≠": "!=", "−": "-", "‖": "||", "·": "*",
    "×": "x", "∞": "inf", "√": "sqrt", "∇": "grad", "→": "->", "∈": "in", "Σ": "sum", "Π": "prod",
    "│": "|", "├": "|", "└": "`", "─": "-", "━": "-", "…": "...", "█": "#", "≈": "~", "±": "+-",
}  # fmt: skip


def encodable(text: str, encoding: str) -> str:
    """The text in characters of that encoding; others are spelled out.

    >>> encodable("✓ σ ≥ 0, cᵀKc", "cp1252")
    'yes: sigma >= 0, cTKc'
    """
    try:
        return text.encode(encoding, SPELLED).decode(encoding)
    except LookupError:  # an encoding that Python does not know
        return text


def as_lines(drawn: Any, width: int = 80) -> str:
    """What `rich` draws, without colors and without blanks at the ends of lines."""
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None, highlight=False).print(drawn)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def printable(show: Callable[[Any], str]) -> Callable[[Any], str]:
    """Let a `__str__` print to where ``print`` writes, a pipe on Windows, say."""

    @wraps(show)
    def shown(self: Any) -> str:
        return encodable(show(self), getattr(sys.stdout, "encoding", None) or "utf-8")

    return shown


def _spelled(error: Any) -> tuple[str, int]:
    """What stands for characters that an encoding lacks, as `codecs` asks for it."""
    spelled = []
    for character in error.object[error.start : error.end]:
        apart = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
        name = unicodedata.name(character, "?").rpartition(" ")[2].lower()
        letters = name if character.isalpha() else "?"
        spelled.append(_SPELLED.get(character) or apart or letters)
    return "".join(spelled), error.end


codecs.register_error(SPELLED, _spelled)
