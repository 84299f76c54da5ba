"""Freund and Schapire's experiment (1999) on MNIST: ten perceptrons one against all, (1 + x·z)^d.

One run of 10 epochs holds all shorter ones as its beginning, so each degree is learned once and
the errors of the vote, the average and the last predictor are read off on the way.
`python bench/freund_schapire.py` prints the table of the paper; `make bench` its claims.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from _harness import Row, below, claim, data_file, main, no_data, skipped
from perceptron_mnist import inputs

from mercer.gram.host import HostGram
from mercer.kernels import Polynomial
from mercer.solvers.online.dual import DualPerceptron
from mercer.solvers.online.memory import RunningScores
from mercer.solvers.online.rule import Rule
from mercer.solvers.online.run import Schedule, run

DEGREES, PASSES = (1, 2, 3, 4, 5), (0.1, 1, 2, 3, 4, 10)
MODES = ("vote", "average", "last")
TARGET = below(2.0, "%")


def name(degree: int, mode: str) -> str:
    return f"Freund & Schapire d = {degree}, T = 10, {mode}: test error (1.4–2.0)"


def learn(degree: int, X: np.ndarray, y: np.ndarray, T: np.ndarray, t: np.ndarray) -> list[dict]:
    """For each number of passes: errors in %, support vectors, mistakes."""
    kernel, rule = Polynomial(degree, offset=1.0), Rule(10, ranked=False)
    walker = DualPerceptron(HostGram(kernel, X), y, rule)
    start = time.perf_counter()
    run(walker, Schedule(len(X), max(PASSES)))
    seconds = time.perf_counter() - start
    journal = walker.journal
    followers = {mode: RunningScores(len(T), rule, mode) for mode in MODES}
    rows, done = [], 0
    for passes in PASSES:
        visits = round(passes * len(X))
        stop = int(np.searchsorted(journal.times, visits, side="right"))
        while done < stop:
            # K between the test set and a stretch of the journal, once for all three predictors
            part = slice(done, min(done + 2048, stop))
            K = HostGram(kernel, T, X[journal.positions[part]]).dense()
            for follower in followers.values():
                follower.add(K, journal.units[part], journal.times[part])
            done = part.stop
        errors = {
            mode: 100 * float(np.mean(follower.scores(visits).argmax(axis=1) != t))
            for mode, follower in followers.items()
        }
        kept = journal.positions[:stop]
        made = int(rule.updates(journal.units[:stop]).sum())
        rows.append({"T": passes, **errors, "SVs": len(np.unique(kept)), "mistakes": made})
    rows[-1]["seconds"] = seconds
    return rows


def table() -> dict[int, list[dict]]:
    X, y, T, t = inputs()
    return {degree: learn(degree, X, y, T, t) for degree in DEGREES}


def show(results: dict[int, list[dict]]) -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table("d", "", *(f"T = {passes:g}" for passes in PASSES))
    for degree, rows in results.items():
        for at, row in enumerate((*MODES, "SVs", "mistakes")):
            values = (f"{r[row]:.2f} %" if row in MODES else f"{r[row]}" for r in rows)
            shown.add_row(str(degree) if at == 0 else "", row, *values, end_section=at == 4)
    Console(width=None if sys.stdout.isatty() else 120).print(shown)


def measure() -> list[Row]:
    names = [(d, mode) for d in DEGREES if d > 1 for mode in ("vote", "average")]
    if data_file("mnist.npz") is None:
        return [skipped(name(*pair), TARGET, no_data("mnist.npz")) for pair in names]
    results = table()
    if "--json" not in sys.argv[1:]:
        show(results)
    rows = []
    for degree, mode in names:
        end = results[degree][-1]
        note = f"{end['mistakes']} mistakes, {end['SVs']} SVs, {end['seconds']:.0f} s"
        row = claim(name(degree, mode), end[mode], None, TARGET, note)
        rows.append(row if end[mode] >= 1.4 else Row(**{**vars(row), "ok": False}))
    return rows


if __name__ == "__main__":
    main(measure)
