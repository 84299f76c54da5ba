"""Kernel regression against statsmodels' KernelReg: the same numbers, and how long they take.

KernelReg goes query by query, so for 20000 examples it is timed on some of the queries and its time
multiplied: every query costs it the same.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from _harness import Row, Target, at_most, below, claim, faster, main, race, skipped

import mercer
from mercer import LocalLinearRegressor, NadarayaWatsonRegressor

ESTIMATORS = {"lc": NadarayaWatsonRegressor, "ll": LocalLinearRegressor}
NAMES = {"lc": "weighted mean", "ll": "local line"}
SOME = 200


def data(n: int, columns: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = 6 * rng.random((n, columns))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, -1] + 0.3 * rng.normal(size=n)


def peer(X: np.ndarray, y: np.ndarray, kind: str, bandwidth: Any) -> Any:
    from statsmodels.nonparametric.kernel_regression import KernelReg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of its own random numbers, unused here
        return KernelReg(y, X, "c" * X.shape[1], reg_type=kind, bw=bandwidth)


def equality(kind: str) -> Row:
    """The largest difference over one, two and four inputs, of values and (for lines) slopes."""
    largest = 0.0
    for columns, h in ((1, [0.2]), (2, [0.4, 0.7]), (4, [0.9, 1.0, 1.1, 1.2])):
        X, y = data(300, columns)
        Q, _ = data(60, columns, seed=1)
        ours = ESTIMATORS[kind](bandwidth=h).fit(X, y)
        value, slope = peer(X, y, kind, h).fit(Q)
        largest = max(largest, float(np.abs(ours.predict(Q) - value).max()))
        if kind == "ll":
            largest = max(largest, float(np.abs(ours.gradient(Q) - slope).max()))
    name = f"{NAMES[kind]}: largest difference from KernelReg ({kind})"
    return claim(name, largest, None, below(1e-8, ""), "1, 2 and 4 inputs, given bandwidths")


def optimum(kind: str) -> Row:
    X, y = data(300)
    theirs = float(peer(X, y, kind, "cv_ls").bw[0])
    found = float(ESTIMATORS[kind]().fit(X, y).bandwidth_)
    note = f"h = {found:.4f}, KernelReg {theirs:.4f}"
    off = 100 * abs(found / theirs - 1)
    return claim(f"{NAMES[kind]}: leave-one-out optimum, off by", off, None, below(1, "%"), note)


def predict(kind: str, n: int, target: Target, some: int) -> Row:
    """`some` of the n queries are given to the peer, and its time is multiplied by n / some."""
    X, y = data(n)
    Q, _ = data(n, seed=1)
    ours, theirs = ESTIMATORS[kind](bandwidth=0.1).fit(X, y), peer(X, y, kind, [0.1])
    with mercer.config(memory="256MB"):
        rounds = 7 if n < 5000 else 5
        times = race(lambda: ours.predict(Q), lambda: theirs.fit(Q[:some]), rounds=rounds)
    name = f"{NAMES[kind]}: predict {n} from {n}, one input"
    note = times.note
    if some < n:
        note = f"peer on {some} queries × {n // some}; memory limit 256 MB; {note}"
    return claim(name, times.ours, times.peer * n / some, target, note)


def search(kind: str) -> Row:
    X, y = data(5000)
    few = X[:500], y[:500]
    model = ESTIMATORS[kind]()
    times = race(lambda: model.fit(X, y), lambda: peer(*few, kind, "cv_ls"), rounds=2)
    name = f"{NAMES[kind]}: bandwidth for n = 5000, vs KernelReg for n = 500"
    return claim(name, times.ours, times.peer, at_most(1), times.note)


def measure() -> list[Row]:
    try:
        import statsmodels  # noqa: F401
    except ImportError:
        return [skipped("kernel regression vs statsmodels", faster(20), "statsmodels is absent")]
    rows = [equality(kind) for kind in ESTIMATORS]
    rows += [optimum(kind) for kind in ESTIMATORS]
    rows += [predict(kind, 2000, faster(20), 2000) for kind in ESTIMATORS]
    rows += [
        predict("lc", 20_000, faster(100), SOME),
        predict("ll", 20_000, faster(100), SOME // 4),
    ]
    return rows + [search(kind) for kind in ESTIMATORS]


if __name__ == "__main__":
    main(measure)
