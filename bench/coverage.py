"""How often the interval that `compare` announces holds the score of the saved model.

    python bench/coverage.py [--tables 200] [--jobs 2] [--holdout 0.2] [--budget 5]

Tables are drawn: 60 to 900 rows, 2 to 8 columns, smooth functions and kinks with little or much
noise, normal or heavy-tailed; numbers or two to four classes. The truth is the score on 4000 other
rows. Asked: within 85 to 95 % of the 90 % intervals.
"""

from __future__ import annotations

import argparse
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mercer import set_config
from mercer.selection import compare

TESTED = 4000
KERNELS = ["gaussian(1)", "gaussian(3)", "linear", "laplacian(0.3)"]


def table(seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows, targets (whole numbers for classes), and how many of the rows are known."""
    random = np.random.default_rng(seed)
    n, d = int(np.exp(random.uniform(np.log(60), np.log(900)))), int(random.integers(2, 9))
    X = random.normal(size=(n + TESTED, d))
    along = X @ random.normal(size=(d, 3)) / np.sqrt(d)
    parts = np.column_stack([np.sin(2 * along[:, 0]), along[:, 1], np.abs(along[:, 2])])
    f = parts @ random.uniform(0, 2, size=3)
    heavy = random.random() < 0.3
    noise = random.standard_t(3, size=len(f)) if heavy else random.normal(size=len(f))
    y = (f - f.mean()) / f.std() + random.choice([0.05, 0.3, 1.0]) * noise
    if random.random() < 0.5:
        classes = int(random.integers(2, 5))
        y = np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))
    return X, y, n


def judged(seed: int, given: argparse.Namespace) -> tuple[bool, float, float, float, float]:
    """Whether these are classes; the announced score and interval, and the true score."""
    warnings.simplefilter("ignore")
    threadpool_limits(1)
    set_config(threads=1)
    X, y, n = table(seed)
    classes = y.dtype.kind == "i"
    options: dict[str, Any] = {"holdout": given.holdout, "budget": given.budget}
    if given.budget is None:
        options |= {"kernels": KERNELS, "learners": ["ridge"], "cv": 4}
    board = compare(X[:n], y[:n], random_state=seed, progress=False, **options)
    said, truth, told = board.best.predict(X[n:]), y[n:], board.headline
    assert told is not None
    wrong = np.mean(np.square(said - truth)) / np.var(truth)
    score = float(np.mean(said == truth) if classes else 1.0 - wrong)
    return classes, told.score, told.low, told.high, score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--holdout", type=lambda t: t if t == "auto" else float(t), default="auto")
    parser.add_argument("--budget", type=float)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        found = np.array(list(pool.map(partial(judged, given=given), range(given.tables))))
    for task, rows in (("numbers", found[found[:, 0] == 0]), ("classes", found[found[:, 0] == 1])):
        _, told, low, high, score = rows.T
        print(
            f"{task}: {len(rows)} tables, inside {np.mean((low <= score) & (score <= high)):.1%} "
            f"(asked 85 to 95 %), above {np.mean(score > high):.1%}, below "
            f"{np.mean(score < low):.1%}; width {np.median(high - low):.3f}, the score told is "
            f"{np.mean(score - told):+.4f} from the true one",
            flush=True,
        )


if __name__ == "__main__":
    main()
