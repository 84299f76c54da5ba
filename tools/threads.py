"""Say which learners keep their bits with any number of threads: `tools/threads.py [--write]`.

Learners are fitted with one, two and three threads on sizes where work is shared out, with the
probes of `tests/pure`. The table is in `docs/guide/reproducible.md`, between comments that say
"begin" and "end"; a slow test compares it with what is measured.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/guide/reproducible.md"
THREADS = (1, 2, 3)
#: Learners at their defaults, on 2000 rows; processes, whose cost is cubic, on 400.
PROBES = (r"learner (?!Gauss|Deform)\w+ large", r"learner GaussianProcess\w+ medium")
#: Up to here a difference is rounding.
ROUNDING = 1e-12
BEGIN, END = "<!-- threads: begin -->\n", "<!-- threads: end -->\n"


def measured(*patterns: str) -> dict[str, float]:
    """By probe, the largest difference of a result between numbers of threads, relative to the
    largest entry of the result; 0 where all bits are equal."""
    found = []
    with TemporaryDirectory() as folder:
        for threads in THREADS:
            path = f"{folder}/{threads}.npz"
            script = [sys.executable, str(ROOT / "tests/pure/measure.py"), "--threads"]
            subprocess.run(
                [*script, str(threads), "--save", path, "--only", *patterns],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            with np.load(path) as kept:
                found.append(dict(kept))
    largest: dict[str, float] = {}
    for other in found[1:]:
        for name, values in found[0].items():
            probe = name.partition(":")[0]
            largest[probe] = max(largest.get(probe, 0.0), difference(values, other[name]))
    return largest


def difference(one: np.ndarray, other: np.ndarray) -> float:
    if one.shape != other.shape:
        return float("inf")
    if np.array_equal(one, other, equal_nan=True):
        return 0.0
    return float(np.nanmax(np.abs(one - other)) / np.nanmax(np.abs(one)))


def words(largest: float) -> str:
    if largest == 0:
        return "to the bit"
    return "up to rounding (10⁻¹²)" if largest <= ROUNDING else "up to the tolerance of its solver"


def table(largest: dict[str, float]) -> str:
    rows = ["| learner | equal with 1, 2 and 3 threads |", "|---|---|"]
    for probe, value in sorted(largest.items(), key=lambda pair: pair[0].split()[1]):
        rows.append(f"| `{probe.split()[1]}` | {words(value)} |")
    return "\n".join(rows) + "\n"


def promised() -> dict[str, str]:
    """What the page says about each learner."""
    text = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    cells = [line.strip("| ").split(" | ") for line in text.splitlines()[2:]]
    return {name.strip("`"): said for name, said in cells}


def main(arguments: list[str]) -> int:
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    new = before + BEGIN + table(measured(*PROBES)) + END + rest.split(END)[1]
    if new != page and "--write" in arguments:
        PAGE.write_text(new, encoding="utf-8")
    print(f"{PAGE.name} {'agrees' if new == page else 'has other words than were measured'}")
    return int(new != page and "--write" not in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
