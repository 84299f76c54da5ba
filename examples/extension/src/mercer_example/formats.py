"""Files with one JSON object per line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mercer.extend import register_format


def read_lines(path: Path, target: str | None, columns: Any) -> Any:
    """All lines as one table; the library picks the target and the columns."""
    import pandas as pd

    return pd.read_json(path, lines=True)


register_format("jsonl", read_lines, (".jsonl",), is_table=True)
