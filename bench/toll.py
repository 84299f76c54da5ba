"""What K of a few rows costs beyond NumPy's own time, on the road that every K takes.

    python bench/toll.py

20 rows of 10 columns against themselves, and one row against 700: CPU time in microseconds, the
least of many rounds. NumPy's own time is that of SciPy's distances and one exponential.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable

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


def main() -> None:
    rng = np.random.default_rng(0)
    kernel = Gaussian(1.0)
    for n, m in ((20, 20), (1, 700)):
        X, Z = rng.normal(size=(n, 10)), rng.normal(size=(m, 10))
        Z = X if n == m else Z
        bare = least(lambda X=X, Z=Z: np.exp(-0.5 * cdist(X, Z, "sqeuclidean")))
        f = KernelExpansion(kernel, Z, rng.normal(size=m))
        for name, call in (
            ("k(X, Z)", lambda X=X, Z=Z: kernel(X) if X is Z else kernel(X, Z)),
            ("f(X) of an expansion", lambda X=X, f=f: f(X)),
        ):
            ours = least(call)
            print(
                f"{n:3} × {m:3}  {name:22} {ours:6.1f} µs, NumPy alone {bare:5.1f} µs, "
                f"beyond it {ours - bare:5.1f} µs (target {TARGET:g})"
            )


if __name__ == "__main__":
    main()
