"""What K of a few rows costs beyond NumPy's own time, on the road that every K takes.

    python bench/toll.py

20 rows of 10 columns against themselves, and one row against 700: CPU time in microseconds, the
least of many rounds. NumPy's own time is that of SciPy's distances and one exponential.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist

from mercer import Gaussian, KernelExpansion

#: Microseconds beyond NumPy's own time at most.
TARGET = 20.0
CALLS, ROUNDS = 100, 60


def least(call: Callable[[], object]) -> float:
    """Microseconds of CPU time per call."""
    call()
    rounds = timeit.repeat(call, number=CALLS, repeat=ROUNDS, timer=time.process_time)
    return 1e6 * min(rounds) / CALLS


def gaussian(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """K by NumPy and SciPy alone."""
    return np.asarray(np.exp(-0.5 * cdist(X, Z, "sqeuclidean")))


def main() -> None:
    rng = np.random.default_rng(0)
    kernel = Gaussian(1.0)
    for n, m in ((20, 20), (1, 700)):
        X, Z = rng.normal(size=(n, 10)), rng.normal(size=(m, 10))
        Z = X if n == m else Z
        bare = least(partial(gaussian, X, Z))
        f = KernelExpansion(kernel, Z, rng.normal(size=m))
        calls = {"k(X, Z)": partial(kernel, X, None if X is Z else Z), "f(X)": partial(f, X)}
        for name, call in calls.items():
            ours = least(call)
            print(
                f"{n:3} × {m:3}  {name:8} {ours:6.1f} µs, NumPy alone {bare:5.1f} µs, "
                f"beyond it {ours - bare:5.1f} µs (target {TARGET:g})"
            )


if __name__ == "__main__":
    main()
