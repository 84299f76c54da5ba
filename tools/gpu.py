"""What the benches of a GPU measured, in docs/gpu.md: `python tools/gpu.py [--write]`.

The table stands between "measured on a GPU: begin" and "end", and is made from bench/results/gpu.
Without `--write` a stale page is reported and the exit status is 1.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "gpu.md"
BLOCK = re.compile(
    r"(<!-- measured on a GPU: begin -->\n).*?(<!-- measured on a GPU: end -->)", re.DOTALL
)


def results() -> dict[str, dict[str, Any]]:
    """The stored files by the name of their bench."""
    files = sorted((ROOT / "bench" / "results" / "gpu").glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files}


def table(found: dict[str, dict[str, Any]]) -> str:
    """A row per claim: what was asked for beside what was measured, missed ones in bold."""
    lines = ["| | measured | asked for | |", "|---|---|---|---|"]
    for stored in found.values():
        for row in stored["rows"]:
            value = f"{row['value']:.3g} {row['unit']}"
            target = "" if row["target"] is None else f"≤ {row['target']:g}"
            if row["target"] is not None and row["value"] > row["target"]:
                value = f"**{value}**"
            lines.append(f"| {row['what']} | {value} | {target} | {row['note']} |")
    for name, stored in found.items():
        versions = ", ".join(
            f"{package} {number}" for package, number in stored["versions"].items()
        )
        said = f"`bench/{name}.py`: {stored['device']}, {stored['date']}, {versions}."
        lines += ["", said]
    return "\n".join(lines) + "\n"


def stale() -> str | None:
    """The page with its table up to date, or None where it is."""
    old = PAGE.read_text(encoding="utf-8")
    new = BLOCK.sub(lambda match: match[1] + table(results()) + match[2], old)
    return None if new == old else new


def main(arguments: list[str]) -> int:
    text = stale()
    if text is None:
        return 0
    print(f"docs/gpu.md is {'rewritten' if '--write' in arguments else 'stale'}")
    if "--write" not in arguments:
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
