"""Gaussian Gram of pixels, 8192 × 8192, D = 784: less than the bare product, which BLAS rounds.

Pixels are multiples of 1/255, so that their products are sums of products of bytes. The peer is
A Bᵀ by BLAS in the same precision, without any of what makes a Gram of it.
"""

from __future__ import annotations

import numpy as np
from _harness import Row, Target, at_most, claim, main, race, skipped

from mercer.gram.cpu.byte_loops import tile_shape
from mercer.kernels import Gaussian

N, D, SIGMA = 8192, 784, 5.0
CASES = {"float32": at_most(0.8), "float64": at_most(0.45)}


def name(dtype: str) -> str:
    return f"Gaussian Gram of pixels 8192², D 784, {dtype}, vs A @ B.T"


def one(dtype: str, target: Target) -> Row:
    rng = np.random.default_rng(0)
    A, B = ((rng.integers(0, 256, (N, D)) / 255).astype(dtype) for _ in range(2))
    k = Gaussian(sigma=SIGMA)
    gaps = np.square(A[:64, None].astype(float) - B[None, :64].astype(float)).sum(axis=2)
    error = np.abs(k(A, B)[:64, :64] - np.exp(-gaps / (2 * SIGMA**2))).max()
    assert error < {"float32": 1e-6, "float64": 1e-14}[dtype], error
    product = race(lambda: k(A, B), lambda: A @ B.T, rounds=5)
    return claim(
        name(dtype), product.ours, product.peer, target, f"error {error:.1e}; {product.note}"
    )


def measure() -> list[Row]:
    if tile_shape() is None:
        why = "this processor has no instruction for products of bytes"
        return [skipped(name(dtype), target, why) for dtype, target in CASES.items()]
    return [one(dtype, target) for dtype, target in CASES.items()]


if __name__ == "__main__":
    main(measure)
