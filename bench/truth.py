"""Whether the headline of `compare` tells the truth: 40 simulated tables whose true score is known.

A table is drawn from a formula chosen at random (lines, bumps, products of columns, steps; words
among the columns; noise), with 200 to 20,000 rows. The true score of the saved model is its score
on 20,000 new rows of the same formula. The 90 % interval of the headline should hold it in about
nine of ten tables, and the headline should be neither too high nor too low on the average.
Rows that took no part in the choice make it unbiased for the model chosen on the others; where that
is fitted once more on all rows, what is saved is a little better than what was judged. What chance
alone does to both figures, with so few tables, is said beside them.

    python bench/truth.py [--seed=0] [--tables=40] [--budget=8]
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from _harness import Row, below, claim, main

from mercer.selection import compare
from mercer.selection.metrics import accuracy, r2

#: Rows on which the true score is measured.
NEW_ROWS = 20_000


def option(name: str, value: float) -> float:
    given = [a.partition("=")[2] for a in sys.argv if a.startswith(f"--{name}=")]
    return float(given[0]) if given else value


def formula(random: np.random.Generator) -> Callable[[int], tuple[pd.DataFrame, np.ndarray]]:
    """A way to draw rows and the value that their targets come from."""
    width = int(random.integers(2, 12))
    weights = random.normal(size=width) * (random.random(width) < 0.7)
    pair, bend = random.permutation(width)[:2], random.normal(size=width)
    kind = random.integers(4)
    towns = np.array(["north", "east", "south", "west"])
    effect = random.normal(size=4) * random.integers(2)
    noise = random.uniform(0.2, 1.2)

    def draw(n: int) -> tuple[pd.DataFrame, np.ndarray]:
        X = random.normal(size=(n, width))
        town = random.integers(4, size=n)
        value = X @ weights + effect[town]
        a, b = X[:, pair[0]], X[:, pair[1]]
        wave = np.sin(2 * X @ bend / np.sqrt(width))
        value += [0.0 * a, 1.5 * wave, 1.2 * a * b, 2.0 * (a > 0.3)][kind]
        frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(width)])
        if effect.any():
            frame["town"] = towns[town]
        return frame, value + noise * random.normal(size=n)

    return draw


def one(seed: int, budget: float) -> tuple[bool, float, str]:
    """Whether the interval holds the true score, the error in standard errors, and a line."""
    random = np.random.default_rng(seed)
    draw, n = formula(random), int(np.exp(random.uniform(np.log(200), np.log(20_000))))
    X, y = draw(n)
    Z, t = draw(NEW_ROWS)
    score = r2
    if seed % 2:
        cut, score = float(np.median(y)), accuracy
        y, t = y > cut, t > cut
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        board = compare(X, y, budget=budget, random_state=seed)
    top = board.headline
    assert top is not None
    true = score(t, np.asarray(board.best.predict(Z)))
    half = (top.high - top.low) / 2
    error = (top.score - true) / (half / 1.645)
    line = (
        f"{n} rows, {board.task}: {top.score:.4f} [{top.low:.4f}, {top.high:.4f}], true {true:.4f}"
    )
    return top.low <= true <= top.high, error, line


def measure() -> list[Row]:
    tables, budget, first = int(option("tables", 40)), option("budget", 8.0), int(option("seed", 0))
    inside, errors = [], []
    for seed in range(first, first + tables):
        held, error, line = one(seed, budget)
        inside.append(held)
        errors.append(error)
        print(f"{'in ' if held else 'OUT'} {line}", file=sys.stderr, flush=True)
    share, mean = float(np.mean(inside)), float(np.mean(errors))
    # What an exact interval and an unbiased score would be off by, with so few tables.
    chance, luck = np.sqrt(0.9 * 0.1 / tables), np.std(errors) / np.sqrt(tables)
    return [
        claim("headline: distance of its coverage from 90 %", abs(share - 0.9), None,
              below(0.07, ""), f"{100 * share:.0f} % of {tables} intervals hold the true score; "
              f"by chance ± {100 * chance:.0f} %"),
        claim("headline: mean error in standard errors", abs(mean), None, below(1 / 3, ""),
              f"{mean:+.2f} (above zero: too high); by chance ± {luck:.2f}"),
    ]  # fmt: skip


if __name__ == "__main__":
    main(measure)
