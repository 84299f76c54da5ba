"""exp(−rate ‖x − z‖₁), D = 32, where no matrix product helps: against scikit-learn."""

from __future__ import annotations

import numpy as np
from _harness import Row, claim, faster, main, race
from sklearn.metrics.pairwise import laplacian_kernel

from mercer.kernels import Laplacian

N, D, RATE = 4096, 32, 0.1


def compare(dtype: type[np.floating]) -> Row:
    rng = np.random.default_rng(0)
    X, Z = rng.random((N, D)).astype(dtype), rng.random((N, D)).astype(dtype)
    k = Laplacian(rate=RATE, norm=1)
    difference = np.abs(k(X[:256], Z) - laplacian_kernel(X[:256], Z, gamma=RATE)).max()
    assert difference < (1e-5 if dtype is np.float32 else 1e-12), difference
    times = race(lambda: k(X, Z), lambda: laplacian_kernel(X, Z, gamma=RATE))
    name = f"Laplacian L1 4096², D 32, {np.dtype(dtype)}, vs laplacian_kernel"
    return claim(name, times.ours, times.peer, faster(5), times.note)


def measure() -> list[Row]:
    return [compare(np.float64), compare(np.float32)]


if __name__ == "__main__":
    main(measure)
