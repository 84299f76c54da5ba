"""A first look, all through the command line: compare, report, save, predict, prove, refute.

Writes report.html, model.mercer and the scoreboard to the folder demo/.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

from rich.console import Console

from mercer.cli.app import app

SAY = Console(highlight=False)


def mercer(*arguments: str) -> None:
    """One command, shown as it would be typed, and run."""
    words = (f'"{a}"' if any(c in a for c in " ()*") else a for a in arguments)
    SAY.print(f"\n[bold]$ mercer {' '.join(words)}[/]", soft_wrap=True)
    try:
        app.main(list(arguments), prog_name="mercer")
    except SystemExit as end:
        if end.code not in (0, 1):  # 1 is "no": the answer to one question below
            raise


def check(folder: Path) -> None:
    """The answers that were written, beside the truth."""
    with (folder / "rows.csv").open() as stream:
        truth = [row["digit"] for row in csv.DictReader(stream)]
    with (folder / "answers.csv").open() as stream:
        said = [row["prediction"] for row in csv.DictReader(stream)]
    right = sum(a == b for a, b in zip(truth, said, strict=True))
    SAY.print(f"truth     {' '.join(truth[:24])} …")
    SAY.print(f"predicted {' '.join(said[:24])} …")
    SAY.print(f"{right} of {len(truth)} as they were (it was fitted on them: this is no test)")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--budget", default="45s", help="time for the comparison")
    options.add_argument("--out", default="demo", type=Path, help="folder for what is written")
    given = options.parse_args()
    started = time.perf_counter()
    folder: Path = given.out
    mercer("compare", "digits", "--budget", given.budget, "--out", str(folder))
    mercer("data", "digits", "--out", str(folder / "rows.csv"))
    files = [str(folder / name) for name in ("model.mercer", "rows.csv", "answers.csv")]
    mercer("predict", files[0], files[1], "--out", files[2])
    check(folder)
    mercer("prove", "0.5*gaussian(sigma=2) + polynomial(3, offset=1).normalized()")
    mercer("prove", "gaussian(1) - 2*linear()")
    seconds = time.perf_counter() - started
    SAY.print(f"\nDone in {seconds:.0f} s. Look at {folder / 'report.html'} in a browser.")


if __name__ == "__main__":
    main()
