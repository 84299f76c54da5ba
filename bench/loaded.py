"""A machine that others use: each learner while every core has another busy process.

With as many busy processes as cores, half of the time is a fair share: a fit should take twice as
long as on the idle machine. Threads that wait busily for one another take far longer.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from _harness import Row, at_most, claim, cores, main
from sklearn.base import clone

import mercer

#: Seconds of calls that are timed on the idle and on the loaded machine: far more than the time
#: slices of the system, of which a short call meets one or none. The mean of a call counts.
SPAN = 0.5


def _spin() -> None:  # pragma: no cover - in another process
    while True:
        sum(range(10_000))


@contextlib.contextmanager
def busy() -> Iterator[None]:
    """As many busy processes as there are cores."""
    others = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(cores())]
    for other in others:
        other.start()
    try:
        time.sleep(0.5)
        yield
    finally:
        for other in others:
            other.terminate()
            other.join()


def mean(work: Callable[[], Any]) -> float:
    work()  # imports and compiles
    start, calls = time.perf_counter(), 0
    while time.perf_counter() - start < SPAN:
        work()
        calls += 1
    return (time.perf_counter() - start) / calls


def jobs() -> dict[str, Callable[[], Any]]:
    rng = np.random.default_rng(0)
    found: dict[str, Callable[[], Any]] = {}
    for n in (500, 2000):
        X = rng.normal(size=(n, 10))
        numbers, labels = np.sin(X[:, 0]), (X[:, 0] * X[:, 1] > 0).astype(int)
        k = mercer.Gaussian(2.0)
        found[f"Gram {n}"] = partial(k, X)
        for model, y in (
            (mercer.KernelRidge(k, alpha=0.1, fit_intercept=False), numbers),
            (mercer.KernelSVC(k, C=10), labels),
            (mercer.KernelNeighborsClassifier(k), labels),
            (mercer.KernelLogisticRegression(k), labels),
            (mercer.KernelPerceptron(k), labels),
            (mercer.NadarayaWatsonRegressor(k, bandwidth=1.0), numbers),
        ):
            ready = clone(model).fit(X, y)
            name = type(model).__name__
            found[f"{name} fit {n}"] = partial(model.fit, X, y)
            found[f"{name} predict {n}"] = partial(ready.predict, X)
    return found


def measure() -> list[Row]:
    warnings.simplefilter("ignore")
    work = jobs()
    idle = {name: mean(job) for name, job in work.items()}
    with busy():
        loaded = {name: mean(job) for name, job in work.items()}
    note = f"{cores()} busy processes; the fair share is 2 ×"
    return [claim(name, loaded[name], idle[name], at_most(4.0), note) for name in work]


if __name__ == "__main__":
    main(measure)
