"""Regular expressions that take no time without end: tried on repetitions before they are used."""

from __future__ import annotations

import re
import time
from functools import lru_cache

#: Lengths to try. A pattern that doubles its work with every character is found by the first ones,
#: one that takes a high power of the length by the last.
LENGTHS = (*range(4, 28, 2), 64, 128, 256, 512)
#: Seconds of work: harmless patterns take microseconds.
MOST = 0.05


@lru_cache(maxsize=256)
def checked_pattern(pattern: str) -> re.Pattern[str]:
    """The compiled pattern; a ValueError if it is none, or if it may search without end."""
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"BagOfWords: {pattern!r} is not a pattern: {error}") from None
    letters = dict.fromkeys([*"a0 -", *(c for c in pattern if c.isalnum())])
    for letter in list(letters)[:24]:
        for length in LENGTHS:
            start = time.thread_time()
            for end in ("", "\0"):  # a search is longest where it fails at the end
                for _ in compiled.finditer(letter * length + end):
                    pass
            if time.thread_time() - start > MOST:
                raise ValueError(
                    f"BagOfWords: the pattern {pattern!r} takes too long on {length} characters "
                    f"{letter!r}: parts of it match the same text in many ways. Make them exclude "
                    "each other, as in \\w+ instead of (\\w+)+."
                )
    return compiled
