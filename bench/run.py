"""`make bench`: every claim in one table. `make bench BENCH="gaussian_gram composite"` for a few.

Each file runs in a process of its own, one after the other, so that no claim inherits the threads,
caches or memory of another. What was found is kept in bench/results, from where the site and the
README take their numbers; so run it on a machine that does nothing else. Exit status 1 if a claim
is missed or a file fails.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from pathlib import Path

import _stored
from _harness import HERE, Row, cores, print_rows


def scripts(names: list[str]) -> list[Path]:
    """The bench files asked for, or all that measure claims (others are run by hand)."""
    files = sorted(HERE.glob("*.py"))
    known = {p.stem: p for p in files if "\ndef measure(" in p.read_text(encoding="utf-8")}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no bench named {', '.join(unknown)}; there are: {', '.join(known)}")
    return [known[name] for name in names or known]


def run(script: Path) -> list[Row]:
    """Rows of one file; a crash becomes a row that says so instead of ending the table."""
    done = subprocess.run(
        [sys.executable, str(script), "--json"], capture_output=True, text=True, check=False
    )
    if done.returncode or "\n@@" not in done.stdout:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return [Row(script.stem, None, None, None, "runs", "s", False, last[:200])]
    return [Row(**row) for row in json.loads(done.stdout.rsplit("\n@@", 1)[1])]


def curves() -> None:
    """The growth of time and memory, which has a table of its own."""
    subprocess.run([sys.executable, str(HERE / "scaling.py")], check=False)


def main() -> None:
    import numpy as np

    rows: list[Row] = []
    print(f"{platform.machine()}, {cores()} cores, Python {platform.python_version()}, NumPy "
          f"{np.__version__}; both sides take turns in one process, minima compared")  # fmt: skip
    names = sys.argv[1:]
    if names == ["scaling"]:
        curves()
        return
    for script in scripts([name for name in names if name != "scaling"]):
        before, start = _stored.environment(), time.perf_counter()
        found = run(script)
        _stored.write_rows(script.stem, before, time.perf_counter() - start, found)
        rows += found
        print(f"  {script.stem}: {time.perf_counter() - start:.0f} s", flush=True)
    print_rows(rows)
    if not names or "scaling" in names:
        curves()
    missed = sum(row.ok is False for row in rows)
    skipped = sum(row.ok is None for row in rows)
    print(f"{len(rows) - missed - skipped} met, {missed} missed, {skipped} skipped")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
