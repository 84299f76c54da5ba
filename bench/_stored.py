"""What `make bench` measured last, kept in bench/results: the site and the README quote it.

There is one file per bench, because a part of them may be measured anew: each says when, on what
kind of machine, how busy that machine was, and with which versions.
"""

from __future__ import annotations

import datetime
import json
import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from _harness import HERE, Row, cores

RESULTS = HERE / "results"
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "statsmodels")


def environment() -> dict[str, Any]:
    """The day, the machine in general words, how busy its cores are now, and the versions."""
    import psutil

    memory = psutil.virtual_memory().total / 2**30
    versions = {"Python": platform.python_version()}
    for name in ("mercer", *PACKAGES):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {cores()} cores, {memory:.0f} GB",
        # The average load of the last minute would count the bench before this one, too.
        "busy": round(psutil.cpu_percent(interval=1.0) / 100, 2),
        "versions": versions,
    }


def read(name: str) -> dict[str, Any]:
    """What a bench found last; nothing, if it never ran."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write(name: str, before: dict[str, Any], **found: Any) -> None:
    """Keep what a bench found, beside the environment as it was before the bench began."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({**before, **found}, indent=1, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def write_rows(name: str, before: dict[str, Any], seconds: float, rows: list[Row]) -> None:
    """Keep the rows of one bench, unless it failed or had no data to measure."""
    if any(row.ours is not None for row in rows):
        write(name, before, seconds=round(seconds), rows=[asdict(row) for row in rows])
