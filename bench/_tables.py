"""Reading the benchmark data that comes as text: gzipped tables, backslash-escaped."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

_ESCAPES = {"\\\\": "\\", "\\n": "\n", "\\t": "\t", "\\r": "\r"}


def read_columns(path: Path) -> dict[str, list[str]]:
    """The columns of a .tsv.gz file by name."""
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    # Not splitlines: texts hold other characters that it takes for the end of a line.
    lines = [line.split("\t") for line in text.split("\n") if line]
    names, rows = lines[0], lines[1:]
    return {name: [_unescape(row[i]) for row in rows] for i, name in enumerate(names)}


def _unescape(text: str) -> str:
    return re.sub(r"\\[\\ntr]", lambda found: _ESCAPES[found.group()], text)
