"""Recursive feature machines: a fit with all choices, and fixed settings beside `xrfm`, in one run.

Fixed: four solutions with three full metrics learned between them, kernel exp(−r/length), 20
columns. `xrfm` counts in float32, we in float64. With more rows than `ROUND_ROWS`, our metrics are
learned from so many of them; xrfm's from all.

    python bench/learned.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _harness import Row, below, claim, faster, main, race, skipped

from mercer import RFMRegressor
from mercer.maps.learned.metric import ROUND_ROWS

ROWS, COLUMNS, TESTED = (2_000, 10_000), 20, 2_000


def problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n + TESTED, COLUMNS))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * random.normal(size=len(X))
    return X, y


def cpu(function: Callable[[], Any]) -> float:
    begin = time.process_time()
    function()
    return time.process_time() - begin


def measure() -> list[Row]:
    X, y = problem(ROWS[0])
    X, y = X[: ROWS[0]], y[: ROWS[0]]
    cold = cpu(lambda: RFMRegressor().fit(X, y))
    best = min(cpu(lambda: RFMRegressor().fit(X, y)) for _ in range(3))
    name = f"learned metrics: {ROWS[0]} rows × {COLUMNS} columns, all choices, CPU"
    rows = [claim(name, best, None, below(4.0, "s"), f"first call {cold:.2f} s")]
    return rows + [beside_xrfm(n, rounds) for n, rounds in zip(ROWS, (5, 2), strict=True)]


def beside_xrfm(n: int, rounds: int) -> Row:
    name, target = f"learned metrics: {n} rows, four solutions, beside xrfm", faster(3.0)
    try:
        import torch
        from xrfm import xRFM
    except ImportError:
        return skipped(name, target, "xrfm is not installed")
    X, y = problem(n)
    T, t = torch.tensor(X, dtype=torch.float32), torch.tensor(y[:, None], dtype=torch.float32)
    learn, test = slice(0, n), slice(n, n + TESTED)
    ours = RFMRegressor("full", 3, norm=2.0, inputs="values", power=1.0, length=1.0, alpha=1e-3)
    peers: list[Any] = []

    def theirs() -> None:
        kernel = {"kernel": "l2", "bandwidth": 5.0, "exponent": 1.0, "diag": False}
        options = {"model": kernel, "fit": {"reg": 1e-3, "iters": 3, "verbose": False}}
        model = xRFM(options, device="cpu", random_state=0, verbose=False)
        peers[:] = [model.fit(T[learn], t[learn], T[test][:100], t[test][:100])]

    found = race(lambda: ours.fit(X[learn], y[learn]), theirs, rounds)
    wrong = np.square(np.asarray(peers[0].predict(T[test])).ravel() - y[test]).mean()
    score = 1.0 - wrong / y[test].var()
    note = (
        f"{found.note}; R² {ours.score(X[test], y[test]):.3f}, xrfm {score:.3f}; metrics from "
        f"{min(n, ROUND_ROWS)} rows"
    )
    return claim(name, found.ours, found.peer, target, note)


if __name__ == "__main__":
    main(measure)
