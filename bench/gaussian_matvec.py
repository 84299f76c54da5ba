"""Gaussian K @ v without K, 20000 × 20000, D = 4, float32: time and extra memory.

The peer builds the 1.6 GB matrix first; its time is taken warm, with the memory already touched.
"""

from __future__ import annotations

import numpy as np
from _harness import MB, Row, below, claim, faster, in_new_process, main, peak_growth, race
from sklearn.metrics.pairwise import rbf_kernel

from mercer.kernels import Gaussian

N, D, SIGMA = 20_000, 4, 0.5


def inputs(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((n, D), dtype=np.float32)
    Z = rng.random((n, D), dtype=np.float32)
    return X, Z, rng.standard_normal(n).astype(np.float32)


def extra_memory() -> float:
    """Growth over the inputs, after a problem just large enough to be compiled for."""
    k = Gaussian(sigma=SIGMA)
    X, Z, v = inputs(N // 2)
    k.gram(X, Z) @ v
    X, Z, v = inputs(N)
    return peak_growth(lambda: k.gram(X, Z) @ v)


def measure() -> list[Row]:
    X, Z, v = inputs(N)
    k = Gaussian(sigma=SIGMA)
    gamma = 1 / (2 * SIGMA**2)
    ours, peer = k.gram(X, Z) @ v, rbf_kernel(X, Z, gamma=gamma) @ v
    assert np.abs(ours - peer).max() < 1e-4 * np.abs(v).sum()

    times = race(lambda: k.gram(X, Z) @ v, lambda: rbf_kernel(X, Z, gamma=gamma) @ v, rounds=3)
    memory = in_new_process(__file__, "extra_memory") / MB
    return [
        claim(
            "Gaussian K @ v 20000², D 4, vs rbf_kernel @ v",
            times.ours,
            times.peer,
            faster(40),
            times.note,
        ),
        claim("  its extra memory", memory, None, below(64, "MB"), "the matrix would be 1600 MB"),
    ]


if __name__ == "__main__":
    main(measure)
