"""Small problems, where overhead per call is the cost: scikit-learn's time over ours.

CPU time on one thread, because a few hundred rows are worth no more; minima of interleaved rounds
of as many calls as last 20 ms.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from _harness import Row, claim, faster, main
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

import mercer

SHAPES = ((100, 2), (500, 10))
#: Seconds of a round at least, and rounds.
ROUND, ROUNDS = 0.02, 7
#: Seconds before the first: a process imports Numba when it has fitted small machines so long
#: (bench/cold.py has what comes before).
WARM = 0.5


def race(ours: Callable[[], Any], peer: Callable[[], Any]) -> tuple[float, float]:
    """The least CPU seconds of one call of each."""
    best = [np.inf, np.inf]
    begin = time.process_time()
    while time.process_time() - begin < WARM:
        ours()
    peer()
    for _ in range(ROUNDS):
        for i, side in enumerate((ours, peer)):
            begin, calls = time.process_time(), 0
            while time.process_time() - begin < ROUND:
                side()
                calls += 1
            best[i] = min(best[i], (time.process_time() - begin) / calls)
    return best[0], best[1]


def pairs(k: Any, gamma: float) -> dict[str, tuple[Any, Any, bool, float]]:
    """Ours, the peer, whether it learns classes, and how many times as fast ours should be."""
    return {
        "SVC": (mercer.KernelSVC(k, C=10), SVC(gamma=gamma, C=10), True, 2.0),
        "SVR": (mercer.KernelSVR(k, C=10), SVR(gamma=gamma, C=10), False, 1.0),
        "ridge": (
            mercer.KernelRidge(k, alpha=0.1, fit_intercept=False),
            KernelRidge(kernel="rbf", gamma=gamma, alpha=0.1),
            False,
            1.0,
        ),
        "neighbors": (mercer.KernelNeighborsClassifier(k), KNeighborsClassifier(), True, 1.0),
        "neighbors (numbers)": (
            mercer.KernelNeighborsRegressor(k),
            KNeighborsRegressor(),
            False,
            1.0,
        ),
    }


def rows_of(n: int, d: int) -> list[Row]:
    rng = np.random.default_rng(0)
    X, asked = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    numbers, labels = np.sin(X[:, 0]), (X[:, 0] * X[:, 1] > 0).astype(int)
    gamma = 0.5 / d
    k = mercer.Gaussian.from_gamma(gamma)
    size = f"{n} × {d}"
    rows = [
        claim(f"Gram {size}", *race(lambda: k(X), lambda: rbf_kernel(X, gamma=gamma)), faster(1.0))
    ]
    for name, (ours, peer, classes, times) in pairs(k, gamma).items():
        y = labels if classes else numbers
        for what, mine, theirs in (
            ("fit", partial(ours.fit, X, y), partial(peer.fit, X, y)),
            ("predict", partial(ours.predict, asked), partial(peer.predict, asked)),
            ("one row", partial(ours.predict, asked[:1]), partial(peer.predict, asked[:1])),
        ):
            rows.append(claim(f"{name} {what} {size}", *race(mine, theirs), faster(times)))
    return rows


def search() -> Row:
    """50 candidates × 3 folds on 500 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 10))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    gammas, Cs = np.logspace(-3, 0, 10), np.logspace(-1, 2, 5)
    ours = GridSearchCV(mercer.KernelSVC("rbf"), {"gamma": gammas, "C": Cs}, cv=3)
    peer = GridSearchCV(SVC(), {"gamma": gammas, "C": Cs}, cv=3)
    times = race(partial(ours.fit, X, y), partial(peer.fit, X, y))
    return claim("grid search, 50 × 3 folds of 500 × 10", *times, faster(2.0))


def measure() -> list[Row]:
    warnings.simplefilter("ignore")
    with threadpool_limits(1), mercer.config(threads=1):
        return [row for shape in SHAPES for row in rows_of(*shape)] + [search()]


if __name__ == "__main__":
    main(measure)
