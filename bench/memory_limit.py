"""`set_config(memory="1GB")` holds: K @ V with N = 200000, and a dense K that refuses at once.

K itself would be 160 GB. The growth counts everything the call allocates, result included.
"""

from __future__ import annotations

import time

import numpy as np
from _harness import MB, Row, below, claim, in_new_process, main, peak_growth

import mercer
from mercer.kernels import Gaussian

N, D, COLUMNS = 200_000, 32, 10


def growth() -> tuple[float, float]:
    """Peak growth in bytes and seconds, in a process that has only compiled so far."""
    k = Gaussian(sigma=1.0)
    rng = np.random.default_rng(0)
    X = rng.random((N, D), dtype=np.float32)
    V = rng.standard_normal((N, COLUMNS)).astype(np.float32)
    with mercer.config(memory="1GB"):
        k.gram(X[:10_000]) @ V[:10_000]
        start = time.perf_counter()
        return peak_growth(lambda: k.gram(X) @ V), time.perf_counter() - start


def refusal() -> tuple[float, float, str]:
    """Seconds and growth until `dense()` says no, and its sentence."""
    X = np.zeros((N, D), dtype=np.float32)
    said = ""

    def ask() -> None:
        nonlocal said
        try:
            gram.dense()
        except MemoryError as error:
            said = str(error)

    with mercer.config(memory="1GB"):
        gram = Gaussian(sigma=1.0).gram(X)
        start = time.perf_counter()
        grown = peak_growth(ask)
        return time.perf_counter() - start, grown, said


def measure() -> list[Row]:
    grown, seconds = in_new_process(__file__, "growth")
    wait, refused_growth, said = in_new_process(__file__, "refusal")
    assert said, "dense() of a 160 GB matrix did not raise MemoryError"
    assert refused_growth < 50 * MB, refused_growth
    return [
        claim(
            "K @ V, N 200000, memory limit 1 GB: peak growth",
            grown / MB,
            None,
            below(1100, "MB"),
            f"took {seconds:.0f} s; the matrix would be 160 GB",
        ),
        claim("  dense() of it refuses at once", wait, None, below(0.1, "s"), said),
    ]


if __name__ == "__main__":
    main(measure)
