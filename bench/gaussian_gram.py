"""Gaussian Gram, 8192 × 8192, D = 784, float32: against the bare product and scikit-learn.

The product A Bᵀ is the floor: exp(−‖a − b‖²/2σ²) needs it and then touches every entry once.
"""

from __future__ import annotations

import numpy as np
from _harness import Row, at_most, claim, faster, main, race
from sklearn.metrics.pairwise import rbf_kernel

from mercer.kernels import Gaussian

N, D, SIGMA = 8192, 784, 8.0


def measure() -> list[Row]:
    rng = np.random.default_rng(0)
    A = rng.random((N, D), dtype=np.float32)
    B = rng.random((N, D), dtype=np.float32)
    k = Gaussian(sigma=SIGMA)
    gamma = 1 / (2 * SIGMA**2)
    difference = np.abs(k(A[:512], B) - rbf_kernel(A[:512], B, gamma=gamma)).max()
    assert difference < 1e-5, difference

    product = race(lambda: k(A, B), lambda: A @ B.T, rounds=7)
    sklearn = race(lambda: k(A, B), lambda: rbf_kernel(A, B, gamma=gamma), rounds=3)
    return [
        claim(
            "Gaussian Gram 8192², D 784, vs A @ B.T",
            product.ours,
            product.peer,
            at_most(1.15),
            product.note,
        ),
        claim(
            "Gaussian Gram 8192², D 784, vs rbf_kernel",
            sklearn.ours,
            sklearn.peer,
            faster(2.5),
            sklearn.note,
        ),
    ]


if __name__ == "__main__":
    main(measure)
