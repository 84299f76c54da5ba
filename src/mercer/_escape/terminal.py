"""Text from outside, so written that a terminal shows it and does not obey it."""

from __future__ import annotations

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
