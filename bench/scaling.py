"""How time and memory grow with N, for each learner next to its peer, and the fitted exponents.

    python bench/scaling.py                        N = 1000, 2000, 5000, … 100 000, or 10⁶
    python bench/scaling.py 10000 --learner SVC    fewer rows, and one learner
    python bench/scaling.py --plot out.png         a drawing

Each measurement is a process of its own, whose peak memory is counted above that of the data. An
exponent is the slope of log time, or log memory, against log N over the larger half of the sizes.
A side stops where its next size would take longer than `PATIENCE`, or hold more than `HELD` bytes.
The curves are kept in bench/results, those of learners that were not asked for, too, and the site
draws them.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from typing import Any, NamedTuple

import _stored
import numpy as np
from _harness import MB, in_new_process, peak_growth
from _peers import LoopPerceptron, WeightedMeans
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

import mercer

#: Seconds of one fit and prediction that a side may take, by what it took for fewer rows.
PATIENCE = 20.0
#: Bytes of what a side holds of K at most.
HELD = 4e9
#: Rows that a process warms up with at least, and seconds below which a measurement is repeated.
WARM, SHORT, TIMES = 20_000, 2.0, 3
COLUMNS, ASKED, GAMMA, CENTERS = 10, 1000, 0.05, 500
KERNEL, WORDS = mercer.Gaussian.from_gamma(GAMMA), {"kernel": "rbf", "gamma": GAMMA}


class Pair(NamedTuple):
    """Ours and the peer, whether classes are learned, and the exponent of the algorithm's time."""

    ours: Any
    peer: Any
    classes: bool
    exponent: float
    #: The exponent of our memory, and of the bytes of K that the peer holds: N², or N × centers.
    memory: float = 1.0
    peer_holds: str = ""
    #: Rows at most: more where the solver streams.
    most: int = 100_000


PAIRS = {
    "SVC": Pair(mercer.KernelSVC(KERNEL, C=10), SVC(gamma=GAMMA, C=10), True, 2.3, 2.0),
    "SVR": Pair(mercer.KernelSVR(KERNEL, C=10), SVR(gamma=GAMMA, C=10), False, 2.3, 2.0),
    "ridge": Pair(
        mercer.KernelRidge(KERNEL, alpha=1.0, solver="cholesky", fit_intercept=False),
        KernelRidge(**WORDS),
        False,
        3.0,
        2.0,
        "all",
    ),
    "ridge, centers": Pair(
        mercer.KernelRidge(
            KERNEL, alpha=1.0, solver="nystrom", n_centers=CENTERS, fit_intercept=False
        ),
        make_pipeline(Nystroem(gamma=GAMMA, n_components=CENTERS), Ridge()),
        False,
        1.0,
        peer_holds="centers",
        most=1_000_000,
    ),
    "logistic, centers": Pair(
        mercer.KernelLogisticRegression(KERNEL, alpha=1.0, solver="nystrom", n_centers=CENTERS),
        make_pipeline(Nystroem(gamma=GAMMA, n_components=CENTERS), LogisticRegression()),
        True,
        1.0,
        peer_holds="centers",
        most=1_000_000,
    ),
    "neighbors": Pair(
        mercer.KernelNeighborsClassifier(KERNEL), KNeighborsClassifier(), True, 1.0, most=1_000_000
    ),
    "smoother": Pair(
        mercer.NadarayaWatsonRegressor(KERNEL, bandwidth=1.0),
        WeightedMeans(WORDS),
        False,
        1.0,
        peer_holds="asked",
        most=1_000_000,
    ),
    "perceptron": Pair(
        mercer.KernelPerceptron(KERNEL, epochs=1), LoopPerceptron(WORDS), True, 2.0, 1.0, "all"
    ),
}


def once(name: str, side: int, n: int) -> list[float]:
    """Seconds of a fit and a prediction, and bytes, in this process."""
    warnings.simplefilter("ignore")
    pair = PAIRS[name]
    model = (pair.ours, pair.peer)[side]
    rng = np.random.default_rng(0)
    X, asked = rng.normal(size=(n, COLUMNS)), rng.normal(size=(ASKED, COLUMNS))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    y = (y > 0).astype(int) if pair.classes else y
    seconds: list[float] = []

    def work() -> None:
        start = time.perf_counter()
        model.fit(X, y).predict(asked)
        seconds.append(time.perf_counter() - start)

    some = max(WARM, n // 4)  # of few rows all: more of them may compile more
    for _ in range(2):  # imports and compiles; a first fit of few rows does not
        model.fit(X[:some], y[:some]).predict(asked)
    grown = peak_growth(work)
    while len(seconds) < TIMES and max(seconds) < SHORT:
        work()
    return [min(seconds), grown]


def grow(name: str, side: int, sizes: list[int]) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    pair = PAIRS[name]
    width = {"all": 0, "centers": CENTERS, "asked": ASKED}.get(pair.peer_holds if side else "")
    for n in sizes:
        if found:
            last = max(found)
            expected = found[last][0] * (n / last) ** pair.exponent
            if expected > PATIENCE or (width is not None and 8 * n * (width or n) > HELD):
                break
        found[n] = in_new_process(__file__, "once", name, side, n)
    return found


def exponent(found: dict[int, list[float]], which: int) -> float:
    sizes = list(found)[len(found) // 2 - 1 :]
    if len(sizes) < 2:
        return math.nan
    values = [max(found[n][which], 1e-9) for n in sizes]
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def draw(results: dict[str, list[dict[int, list[float]]]], path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(results), 7))
    axes = figure.subplots(2, len(results), squeeze=False)
    for column, (name, sides) in enumerate(results.items()):
        for row, unit in ((0, "seconds"), (1, "bytes")):
            ax = axes[row, column]
            for found, label in zip(sides, ("Mercer", "peer"), strict=True):
                if found:
                    ax.loglog(list(found), [v[row] for v in found.values()], "o-", label=label)
            ax.set(title=name, xlabel="N", ylabel=unit)
            ax.legend()
    figure.tight_layout()
    figure.savefig(path)


def judge(name: str, found: dict[int, list[float]]) -> None:
    """Say where ours grows faster than its algorithm."""
    own = (PAIRS[name].exponent, PAIRS[name].memory)
    for which, what in enumerate(("time", "memory")):
        if exponent(found, which) > own[which] + 0.3:
            print(f"{name:>18} {what.upper()} GROWS FASTER than its algorithm, N^{own[which]:g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("largest", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--learner", action="append", choices=sorted(PAIRS))
    parser.add_argument("--plot", metavar="FILE")
    given = parser.parse_args()
    results, before = {}, _stored.environment()
    for name in given.learner or list(PAIRS):
        most = min(given.largest, PAIRS[name].most)
        sizes = [n for i in range(3, 7) for n in (10**i, 2 * 10**i, 5 * 10**i) if n <= most]
        sides = [grow(name, side, sizes) for side in (0, 1)]
        results[name] = sides
        for found, label in zip(sides, ("ours", "peer"), strict=True):
            steps = ", ".join(f"{n}: {s:.3g} s {b / MB:.0f} MB" for n, (s, b) in found.items())
            powers = f"time N^{exponent(found, 0):.1f}, memory N^{exponent(found, 1):.1f}"
            print(f"{name:>18} {label}: {powers:32} {steps}", flush=True)
        judge(name, sides[0])
        _stored.write("scaling", before, curves=_stored.read("scaling").get("curves", {}) | results)
    if given.plot:
        draw(results, given.plot)


if __name__ == "__main__":
    main()
