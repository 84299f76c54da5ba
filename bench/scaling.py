"""How time and memory grow with N, for each learner next to its peer, and the fitted exponents.

    python bench/scaling.py                        N = 1000, 2000, … up to 16 000
    python bench/scaling.py 100000 --plot out.png  more, and a drawing

Each measurement is a process of its own, whose peak memory is counted above that of the data. An
exponent is the slope of log time, or log memory, against log N over the larger half of the sizes.
A side that took longer than `PATIENCE` is not asked for more rows. The curves are kept in
bench/results, and the site draws them.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from typing import Any

import _stored
import numpy as np
from _harness import MB, in_new_process, peak_growth
from _peers import WeightedMeans
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

import mercer

#: Seconds of one fit and prediction after which a side is given no more rows.
PATIENCE = 20.0
COLUMNS, ASKED, GAMMA = 10, 1000, 0.05
KERNEL = mercer.Gaussian.from_gamma(GAMMA)
#: Ours, the peer, whether classes are learned, and the exponent of the algorithm's own time.
PAIRS: dict[str, tuple[Any, Any, bool, float]] = {
    "SVC": (mercer.KernelSVC(KERNEL, C=10), SVC(gamma=GAMMA, C=10), True, 2.3),
    "SVR": (mercer.KernelSVR(KERNEL, C=10), SVR(gamma=GAMMA, C=10), False, 2.3),
    "ridge": (
        mercer.KernelRidge(KERNEL, alpha=1.0, solver="cholesky"),
        KernelRidge(kernel="rbf", gamma=GAMMA),
        False,
        3.0,
    ),
    "ridge, centers": (
        mercer.KernelRidge(KERNEL, alpha=1.0, solver="nystrom", n_centers=500),
        make_pipeline(Nystroem(gamma=GAMMA, n_components=500), Ridge()),
        False,
        1.0,
    ),
    "logistic, centers": (
        mercer.KernelLogisticRegression(KERNEL, solver="nystrom", n_centers=500),
        make_pipeline(Nystroem(gamma=GAMMA, n_components=500), LogisticRegression()),
        True,
        1.0,
    ),
    "neighbors": (mercer.KernelNeighborsClassifier(KERNEL), KNeighborsClassifier(), True, 1.0),
    "smoother": (
        mercer.NadarayaWatsonRegressor(KERNEL, bandwidth=1.0),
        WeightedMeans({"kernel": "rbf", "gamma": GAMMA}),
        False,
        1.0,
    ),
    "perceptron": (mercer.KernelPerceptron(KERNEL, epochs=2), None, True, 2.0),
}


def once(name: str, side: int, n: int) -> list[float]:
    """Seconds of a fit and a prediction, and bytes, in this process."""
    warnings.simplefilter("ignore")
    ours, peer, classes, _ = PAIRS[name]
    model = (ours, peer)[side]
    rng = np.random.default_rng(0)
    X, asked = rng.normal(size=(n, COLUMNS)), rng.normal(size=(ASKED, COLUMNS))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    y = (y > 0).astype(int) if classes else y
    seconds: list[float] = []

    def work() -> None:
        start = time.perf_counter()
        model.fit(X, y).predict(asked)
        seconds.append(time.perf_counter() - start)

    work()  # imports and compiles
    grown = peak_growth(work)
    return [min(seconds), grown]


def grow(name: str, side: int, sizes: list[int]) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for n in sizes:
        found[n] = in_new_process(__file__, "once", name, side, n)
        if found[n][0] > PATIENCE:
            break
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("largest", type=int, nargs="?", default=16_000)
    parser.add_argument("--learner", action="append", choices=sorted(PAIRS))
    parser.add_argument("--plot", metavar="FILE")
    given = parser.parse_args()
    sizes = [n for n in (1000 * 2**i for i in range(20)) if n <= given.largest]
    results, before = {}, _stored.environment()
    for name in given.learner or list(PAIRS):
        sides = [grow(name, 0, sizes), grow(name, 1, sizes) if PAIRS[name][1] else {}]
        results[name] = sides
        for found, label in zip(sides, ("ours", "peer"), strict=True):
            steps = ", ".join(f"{n}: {s:.3g} s {b / MB:.0f} MB" for n, (s, b) in found.items())
            powers = f"time N^{exponent(found, 0):.1f}, memory N^{exponent(found, 1):.1f}"
            print(f"{name:>18} {label}: {powers if found else '–':32} {steps}", flush=True)
        own = PAIRS[name][3]
        if exponent(sides[0], 0) > own + 0.3:
            print(f"{name:>18} GROWS FASTER than its algorithm, N^{own:g}")
    _stored.write("scaling", before, curves=results)
    if given.plot:
        draw(results, given.plot)


if __name__ == "__main__":
    main()
