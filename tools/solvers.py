"""Write out what the tables of solvers say: `python tools/solvers.py [--write]`.

Two texts follow from each table: the entry "solver" in the docstring of the learner, and a table in
`docs/gpu.md`, between comments that say "begin" and "end". Without `--write` a stale one is
reported and the exit status is 1; with it, rewritten.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

from mercer.solvers.requirements import GIVES, solvers_for

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = "docs/gpu.md"
#: Where the docstring is that lists the solvers of a problem.
LEARNERS = {
    "ridge": "src/mercer/learners/ridges/estimators.py",
    "logistic": "src/mercer/learners/logistic.py",
}
ENTRY = re.compile(r"^    solver : \{.*?(?=^    \w)", re.DOTALL | re.MULTILINE)
NEEDS = {
    "features": "a finite φ",
    "penalty": "λ > 0",
    "psd": "a PSD kernel",
    "resident": "all rows at once",
    "together": "all rows in one process",
}


def entry(problem: str) -> str:
    """The parameter `solver` in the docstring of a learner."""
    solvers = solvers_for(problem).values()
    names = ", ".join(f'"{s.name}"' for s in solvers)
    each = " ".join(f'"{s.name}": {s.summary}.' for s in solvers)
    auto = "; ".join(f'"{s.name}" {s.when}' for s in solvers if s.when)
    indent = " " * 8
    text = textwrap.fill(
        f'{each} "auto": {auto}.',
        width=100,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    return f'    solver : {{"auto", {names}}}\n{text}\n'


def table(problem: str) -> str:
    """One row per solver, in Markdown."""
    rows = ["| solver | what it is | needs | gives | memory | works |", "|---|---|---|---|---|---|"]
    for solver in solvers_for(problem).values():
        needs = ", ".join(NEEDS[need] for need in sorted(solver.needs)) or "–"
        gives = ", ".join(GIVES[what] for what in sorted(solver.gives)) or "–"
        cells = (f"`{solver.name}`", solver.summary, needs, gives, solver.memory, solver.where)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def texts() -> dict[str, tuple[str, str]]:
    """Each file as it is and as it should be."""
    result = {}
    for problem, path in LEARNERS.items():
        old = (ROOT / path).read_text(encoding="utf-8")
        new = ENTRY.sub(lambda _, problem=problem: entry(problem), old, count=1)  # type: ignore[misc]
        result[path] = (old, new)
    old = new = (ROOT / DOCUMENT).read_text(encoding="utf-8")
    for problem in LEARNERS:
        begin, end = (f"<!-- solvers of {problem}: {word} -->\n" for word in ("begin", "end"))
        before, rest = new.split(begin)
        new = before + begin + table(problem) + end + rest.split(end)[1]
    result[DOCUMENT] = (old, new)
    return result


def main(arguments: list[str]) -> int:
    stale = {path: new for path, (old, new) in texts().items() if new != old}
    for path, new in stale.items():
        if "--write" in arguments:
            (ROOT / path).write_text(new, encoding="utf-8")
        print(f"{path} {'rewritten' if '--write' in arguments else 'is stale'}")
    return int(bool(stale) and "--write" not in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
